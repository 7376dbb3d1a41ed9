/* What both levels do with a stage's processes: running the user's program, and knowing the init again. */
#define _GNU_SOURCE
#include "helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

noreturn void tell(int told, const char *what)
{
	struct trouble trouble = {.number = errno};
	strncpy(trouble.what, what, sizeof trouble.what - 1);
	ssize_t ignored = write(told, &trouble, sizeof trouble);
	(void) ignored;
	_exit(NOT_ENTERED);
}

noreturn void run(const struct request *request, int told)
{
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* A working folder of root's choosing, until the user's own program has chosen one. */
	if (chdir("/") != 0)
		tell(told, "enter /");
	execve(request->command[0], request->command, request->environment);
	tell(told, "execute the program");
}

int open_namespace(pid_t pid, const char *name)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/ns/%s", (int) pid, name);
	return open(path, O_RDONLY | O_CLOEXEC);
}

unsigned long long ticks_of(pid_t pid)
{
	char path[64], line[1024] = "";
	snprintf(path, sizeof path, "/proc/%d/stat", (int) pid);
	FILE *in = fopen(path, "re");
	if (!in)
		return 0;
	size_t length = fread(line, 1, sizeof line - 1, in);
	fclose(in);
	line[length] = '\0';
	/* The name in it is the process's to choose: only what follows its last parenthesis counts. */
	const char *at = strrchr(line, ')');
	char state = '\0';
	int threads = 0;
	unsigned long long ticks = 0;
	if (!at || sscanf(at + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %d %*d %llu", &state,
			  &threads, &ticks) != 3)
		return 0;
	/* The state is that of the first thread, which may have ended before the others. */
	return (state == 'Z' || state == 'X') && threads < 2 ? 0 : ticks;
}

void note_namespaces(struct record *record)
{
	for (int which = 0; which < NAMESPACES; which++) {
		struct stat seen;
		int space = open_namespace(record->init, namespace_names[which]);
		if (space < 0 || fstat(space, &seen) != 0)
			refuse_errno(LAUNCH_FAILED, "the stage's namespaces cannot be looked at");
		record->namespaces[which] = (struct namespace_id){seen.st_dev, seen.st_ino};
		close(space);
	}
}

void await_init(struct record *record, int go, int told)
{
	struct trouble trouble;
	bool gone = write(go, "1", 1) != 1;
	close(go);
	ssize_t got = gone ? 0 : read(told, &trouble, sizeof trouble);
	close(told);
	if (got != sizeof trouble)
		return;
	kill_group(&record->group);
	trouble.what[sizeof trouble.what - 1] = '\0';
	errno = trouble.number;
	refuse(LAUNCH_FAILED, "the stage cannot %s: %s", trouble.what, strerror(trouble.number));
}

bool is_alive(const struct record *record)
{
	char boot[40];
	read_boot(boot);
	return record->init > 0 && strcmp(boot, record->boot) == 0 && ticks_of(record->init) == record->init_ticks
		&& record->init_ticks != 0;
}

noreturn void refuse_namespaces(void)
{
	refuse(STAGE_ENDED, "the stage's init is gone or has left the namespaces that were made for it");
}
