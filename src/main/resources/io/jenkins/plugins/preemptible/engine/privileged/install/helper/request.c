/* The words on standard input: the number of words of a command, the command, then its environment. */
#define _GNU_SOURCE
#include "helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The kernel takes about 2 MiB for the arguments and the environment of a process together. */
#define LARGEST (4 * 1024 * 1024)

#define LONGEST_WAIT_S 10

void limit_waiting(bool limited)
{
	sigset_t alarms;
	sigemptyset(&alarms);
	sigaddset(&alarms, SIGALRM);
	signal(SIGALRM, SIG_DFL);
	alarm(limited ? LONGEST_WAIT_S : 0);
	sigprocmask(limited ? SIG_UNBLOCK : SIG_BLOCK, &alarms, NULL);
}

static size_t read_all(char *into)
{
	size_t length = 0;
	while (length <= LARGEST) {
		ssize_t got = read(STDIN_FILENO, into + length, LARGEST + 1 - length);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			refuse_errno(BAD_SPEC, "the request cannot be read");
		if (got == 0)
			return length;
		length += (size_t) got;
	}
	refuse(BAD_SPEC, "the request has more than %d bytes", LARGEST);
}

void read_request(struct request *request)
{
	char *text = malloc(LARGEST + 1);
	if (!text)
		refuse_errno(BAD_SPEC, "there is no memory for the request");
	limit_waiting(true);
	size_t length = read_all(text);
	limit_waiting(false);
	if (length == 0 || text[length - 1] != '\0')
		refuse(BAD_SPEC, "the request is cut off");
	size_t count = 0;
	for (size_t at = 0; at < length; at++)
		count += text[at] == '\0';
	/* One more for the end of each of the two lists. */
	char **words = calloc(count + 2, sizeof *words);
	if (!words)
		refuse_errno(BAD_SPEC, "there is no memory for the request");
	char *end = NULL;
	unsigned long command = *text >= '1' && *text <= '9' ? strtoul(text, &end, 10) : 0;
	if (command == 0 || *end != '\0' || command > count - 1)
		refuse(BAD_SPEC, "the request does not begin with the number of words of a command");
	char *word = text + strlen(text) + 1;
	for (size_t at = 0; at < count - 1; at++) {
		/* Behind the command's end is a gap for its NULL. */
		words[at < command ? at : at + 1] = word;
		word += strlen(word) + 1;
	}
	request->command = words;
	request->environment = words + command + 1;
	if (request->command[0][0] != '/')
		refuse(BAD_SPEC, "the command's program is not an absolute path");
	int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0)
		refuse_errno(BAD_SPEC, "/dev/null cannot be opened");
	close(nothing);
}
