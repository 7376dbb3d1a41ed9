/* What both levels do with a stage's processes: running the user's program, and knowing the init again. */
#define _GNU_SOURCE
#include "helper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/keyctl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BEGIN_LIMIT_MS 20000
#define END_LIMIT_MS 15000

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

bool leave_keyring(void)
{
	return syscall(SYS_keyctl, KEYCTL_JOIN_SESSION_KEYRING, NULL) >= 0 || errno == ENOSYS || errno == EPERM;
}

int run_inside(const struct request *request)
{
	int told[2];
	if (pipe2(told, O_CLOEXEC) != 0)
		refuse_errno(NO_RIGHTS, "a pipe cannot be made");
	pid_t child = fork();
	if (child < 0)
		refuse_errno(NO_RIGHTS, "no process can be made");
	if (child == 0) {
		if (setsid() < 0)
			tell(told[1], "start a session");
		run(request, told[1]);
	}
	close(told[1]);
	/* The user's own process now, which its user may end. */
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	struct trouble trouble;
	if (read(told[0], &trouble, sizeof trouble) == sizeof trouble)
		refuse(BAD_SPEC, "the program cannot be executed: %s", strerror(trouble.number));
	int status;
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return NOT_ENTERED;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
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
	unsigned long long ticks = 0;
	if (!at || sscanf(at + 1, " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
			  &ticks) != 1)
		return 0;
	return ticks;
}

void note_namespaces(struct record *record)
{
	for (int which = 0; which < NAMESPACES; which++) {
		struct stat seen;
		int space = open_namespace(record->init, namespace_names[which]);
		if (space < 0 || fstat(space, &seen) != 0)
			refuse_errno(LAUNCH_FAILED, "the stage's namespaces cannot be read");
		record->namespaces[which] = (struct namespace_id){seen.st_dev, seen.st_ino};
		close(space);
	}
}

void await_init(int go, int told)
{
	struct trouble trouble;
	bool gone = write(go, "1", 1) != 1;
	close(go);
	/* The program may lie where nobody answers, and its user may stop the process before it begins. */
	struct pollfd heard = {.fd = told, .events = POLLIN};
	if (!gone && poll(&heard, 1, BEGIN_LIMIT_MS) == 0)
		refuse(LAUNCH_FAILED, "the stage's program does not begin within %d ms", BEGIN_LIMIT_MS);
	ssize_t got = gone ? 0 : read(told, &trouble, sizeof trouble);
	close(told);
	if (got != sizeof trouble)
		return;
	trouble.what[sizeof trouble.what - 1] = '\0';
	errno = trouble.number;
	refuse(LAUNCH_FAILED, "the stage cannot %s: %s", trouble.what, strerror(trouble.number));
}

/* A handle of the init, or -1 when it has ended: with its last thread, and not with its first. */
static int open_init(const struct record *record)
{
	char boot[40];
	read_boot(boot);
	if (record->init <= 0 || record->init_ticks == 0 || strcmp(boot, record->boot) != 0)
		return -1;
	/* First the handle, then the look: while the process of the handle is there, nobody else has its id. */
	int handle = (int) syscall(SYS_pidfd_open, record->init, 0);
	if (handle < 0)
		return -1;
	struct pollfd ended = {.fd = handle, .events = POLLIN};
	if (ticks_of(record->init) == record->init_ticks && poll(&ended, 1, 0) == 0)
		return handle;
	close(handle);
	return -1;
}

bool is_alive(const struct record *record)
{
	int handle = open_init(record);
	if (handle >= 0)
		close(handle);
	return handle >= 0;
}

bool end_init(const struct record *record)
{
	int handle = open_init(record);
	if (handle < 0)
		return true;
	struct pollfd gone = {.fd = handle, .events = POLLIN};
	bool ended = syscall(SYS_pidfd_send_signal, handle, SIGKILL, NULL, 0) == 0 && poll(&gone, 1, END_LIMIT_MS) == 1;
	close(handle);
	return ended;
}

noreturn void refuse_namespaces(void)
{
	refuse(STAGE_ENDED, "the stage's init is gone or has left the namespaces that were made for it");
}

void open_namespaces(const struct record *record, int spaces[NAMESPACES])
{
	int handle = (int) syscall(SYS_pidfd_open, record->init, 0);
	if (handle < 0)
		refuse_namespaces();
	for (int which = 0; which < NAMESPACES; which++) {
		struct stat seen;
		spaces[which] = open_namespace(record->init, namespace_names[which]);
		if (spaces[which] < 0 || fstat(spaces[which], &seen) != 0
		    || seen.st_dev != record->namespaces[which].device
		    || seen.st_ino != record->namespaces[which].inode || !is_stages(record, which, &spaces[which]))
			refuse_namespaces();
	}
	struct pollfd ended = {.fd = handle, .events = POLLIN};
	if (!is_alive(record) || poll(&ended, 1, 0) != 0)
		refuse_namespaces();
	close(handle);
}

int enter_stage(const struct record *record, const struct caller *caller, const struct request *request)
{
	int spaces[NAMESPACES];
	int folder = open_group(&record->group);
	if (folder < 0)
		refuse_namespaces();
	if (is_frozen(folder))
		refuse(STAGE_SUSPENDED, "the stage is suspended");
	/* Before the namespaces, so that a freeze or a kill that happens now catches this process as well. */
	join(folder);
	close(folder);
	open_namespaces(record, spaces);
	/*
	 * The user from here on. What the user put into the stage's namespaces meets a process that has the user's ids, and
	 * capabilities that setns(2) asks for, of which no program that it executes gets any.
	 */
	if (!leave_keyring() || !become(caller, enter_rights) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		refuse_errno(NO_RIGHTS, "the rights of root cannot be given up");
	for (int which = 0; which < NAMESPACES; which++) {
		if (spaces[which] < 0)
			continue;
		if (setns(spaces[which], namespace_kinds[which]) != 0)
			refuse_errno(STAGE_ENDED, "the stage's namespaces cannot be entered");
		close(spaces[which]);
	}
	if (!drop_capabilities())
		refuse_errno(NO_RIGHTS, "the rights that were kept for this cannot be given up");
	return run_inside(request);
}
