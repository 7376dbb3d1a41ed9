/*
 * What the tests of WaysToRoot cannot do from a shell: the attacker's own program, run by ordinary users only. Compiled twice, as a
 * program whose first argument is the attack, and as a library for LD_PRELOAD, whose attack is in the variable WAY.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void quiet(void)
{
	int nothing = open("/dev/null", O_RDWR);
	dup2(nothing, 0);
	dup2(nothing, 1);
	dup2(nothing, 2);
}

static int put(const char *path, const char *text)
{
	int file = open(path, O_WRONLY | O_CREAT, 0644);
	int failed = file < 0 || write(file, text, strlen(text)) < 0;
	close(file);
	return failed;
}

static void pause_for(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* Namespaces of the user's own, in which every program that a helper might call is the file 'evil'. */
static void hijack(int kinds, const char *evil, const char *ready)
{
	static const char *const victims[] = {"/bin/sh", "/bin/dash", "/usr/bin/id", "/usr/bin/env", "/bin/true", "/usr/bin/setpriv",
		"/lib/x86_64-linux-gnu/libc.so.6", "/etc/passwd", "/etc/ld.so.preload", "/proc/self/status", "/proc", "/etc", "/dev"};
	char text[64];
	uid_t uid = getuid();
	gid_t gid = getgid();
	if (unshare(kinds) != 0) {
		put(ready, strerror(errno));
		return;
	}
	put("/proc/self/setgroups", "deny");
	snprintf(text, sizeof text, "0 %u 1", uid);
	put("/proc/self/uid_map", text);
	snprintf(text, sizeof text, "0 %u 1", gid);
	put("/proc/self/gid_map", text);
	mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL);
	put(ready, "1");
	for (size_t at = 0; at < 6; at++)
		mount(evil, victims[at], NULL, MS_BIND, NULL);
	mount("/tmp", "/proc", NULL, MS_BIND, NULL);
}

static int kinds_of(const char *word)
{
	return CLONE_NEWUSER | (strstr(word, "mnt") ? CLONE_NEWNS : 0) | (strstr(word, "pid") ? CLONE_NEWPID : 0)
		| (strstr(word, "ipc") ? CLONE_NEWIPC : 0);
}

/* --- against root's processes while they work --------------------------------------------------------------------- */

/* The uid and the effective capabilities, as anybody may read them. */
static int look(pid_t pid, char name[32], unsigned *uid, unsigned long long *caps)
{
	char path[64], line[256];
	snprintf(path, sizeof path, "/proc/%d/status", (int) pid);
	FILE *in = fopen(path, "re");
	if (!in)
		return 0;
	*uid = 0;
	*caps = 0;
	while (fgets(line, sizeof line, in)) {
		sscanf(line, "Name: %31s", name);
		sscanf(line, "Uid: %u", uid);
		sscanf(line, "CapEff: %llx", caps);
	}
	fclose(in);
	return 1;
}

static int attack(pid_t pid, const char *way)
{
	char path[64], bytes[8] = "";
	if (strcmp(way, "attach") == 0 || strcmp(way, "seize") == 0) {
		if (ptrace(*way == 'a' ? PTRACE_ATTACH : PTRACE_SEIZE, pid, 0, 0) != 0)
			return 0;
		ptrace(PTRACE_DETACH, pid, 0, 0);
		return 1;
	}
	if (strcmp(way, "mem") == 0 || strcmp(way, "environ") == 0 || strcmp(way, "maps") == 0 || strcmp(way, "syscall") == 0) {
		snprintf(path, sizeof path, "/proc/%d/%s", (int) pid, way);
		int file = open(path, strcmp(way, "mem") == 0 ? O_RDWR : O_RDONLY);
		int won = file >= 0 && (strcmp(way, "mem") == 0 || read(file, bytes, 1) == 1);
		close(file);
		return won;
	}
	if (strcmp(way, "fd") == 0 || strcmp(way, "ns") == 0) {
		int won = 0;
		for (int number = 3; number < 12; number++) {
			static const char *const names[] = {"mnt", "pid", "ipc", "user", "net", "uts", "cgroup", "mnt", "pid"};
			snprintf(path, sizeof path, "/proc/%d/fd/%d", (int) pid, number);
			if (*way == 'n')
				snprintf(path, sizeof path, "/proc/%d/ns/%s", (int) pid, names[number - 3]);
			int file = open(path, O_RDONLY);
			won += file >= 0;
			if (file >= 0)
				close(file);
		}
		return won;
	}
	if (strcmp(way, "vm") == 0) {
		struct iovec here = {bytes, sizeof bytes}, there = {(void *) 0x400000, sizeof bytes};
		return process_vm_writev(pid, &here, 1, &there, 1, 0) >= 0 || (errno != EPERM && errno != ESRCH);
	}
	if (strcmp(way, "pidfd") == 0) {
		int handle = (int) syscall(SYS_pidfd_open, pid, 0);
		int won = 0;
		for (int number = 0; handle >= 0 && number < 8; number++)
			won += syscall(SYS_pidfd_getfd, handle, number, 0) >= 0;
		close(handle);
		return won;
	}
	if (strcmp(way, "setns") == 0) {
		int handle = (int) syscall(SYS_pidfd_open, pid, 0);
		int won = handle >= 0 && setns(handle, CLONE_NEWNS | CLONE_NEWPID) == 0;
		close(handle);
		return won;
	}
	if (strcmp(way, "stop") == 0) {
		/* Allowed, once it has the user's uid; what it is worth shows afterwards. */
		kill(pid, SIGSTOP);
		pause_for(2);
		int won = ptrace(PTRACE_ATTACH, pid, 0, 0) == 0;
		kill(pid, SIGCONT);
		return won;
	}
	if (strcmp(way, "limits") == 0) {
		struct rlimit none = {0, 0};
		prlimit(pid, RLIMIT_NPROC, &none, NULL);
		prlimit(pid, RLIMIT_NOFILE, &none, NULL);
		return 0;
	}
	if (strcmp(way, "kill") == 0)
		kill(pid, SIGKILL);
	return 0;
}

/*
 * For some time: attacks each new process of this name, root's or ours; prints how many were seen, how many of them with
 * our uid and capabilities, and how many attacks did what they must not.
 */
static int spin(const char *way, const char *name, long ms)
{
	long seen = 0, window = 0, won = 0;
	struct timespec start, now;
	clock_gettime(CLOCK_MONOTONIC, &start);
	pid_t before = 0;
	do {
		pid_t last = 0;
		FILE *load = fopen("/proc/loadavg", "re");
		if (fscanf(load, "%*s %*s %*s %*s %d", &last) != 1)
			last = 0;
		fclose(load);
		for (pid_t pid = last; pid > last - 12 && pid > 1; pid--) {
			char is[32] = "";
			unsigned uid;
			unsigned long long caps;
			while (look(pid, is, &uid, &caps) && strcmp(is, name) == 0) {
				seen += pid != before;
				before = pid;
				window += uid == getuid() && caps != 0;
				int done = attack(pid, way);
				char still[32] = "";
				/* Only what still runs root's program counts; afterwards it is the user's own process. */
				if (done && look(pid, still, &uid, &caps) && strcmp(still, name) == 0)
					won++;
				clock_gettime(CLOCK_MONOTONIC, &now);
				if ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 >= ms)
					break;
			}
		}
		/* A sudo stops with its command. */
		if (strcmp(way, "stop") == 0)
			kill(0, SIGCONT);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while ((now.tv_sec - start.tv_sec) * 1000 + (now.tv_nsec - start.tv_nsec) / 1000000 < ms);
	for (int times = 0; times < 20 && strcmp(way, "stop") == 0; times++, pause_for(25))
		kill(0, SIGCONT);
	printf("seen %ld window %ld won %ld\n", seen, window, won);
	return 0;
}

/* --- descriptors --------------------------------------------------------------------------------------------------- */

static int talk(const char *path, int *give)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};
	strncpy(at.sun_path, path, sizeof at.sun_path - 1);
	char byte = 'x', room[CMSG_SPACE(sizeof(int))] = "";
	struct iovec bytes = {&byte, 1};
	struct msghdr message = {.msg_iov = &bytes, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
	int end = socket(AF_UNIX, SOCK_STREAM, 0);
	if (give) {
		unlink(path);
		if (bind(end, (struct sockaddr *) &at, sizeof at) != 0 || listen(end, 4) != 0)
			return -1;
		alarm(20);
		int other = accept(end, NULL, NULL);
		struct cmsghdr *head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET;
		head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(head), give, sizeof(int));
		int failed = sendmsg(other, &message, 0) < 0;
		pause_for(200);
		return failed;
	}
	for (int tries = 0; connect(end, (struct sockaddr *) &at, sizeof at) != 0; tries++) {
		if (tries > 1000)
			return -1;
		pause_for(10);
	}
	if (recvmsg(end, &message, 0) <= 0 || !CMSG_FIRSTHDR(&message))
		return -1;
	int got;
	memcpy(&got, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof got);
	return got;
}

/* --- a terminal ---------------------------------------------------------------------------------------------------- */

/* Runs a command on a terminal and types the characters, again and again; prints what it said. */
static int terminal(const char *typed, char **command)
{
	int master;
	pid_t child = forkpty(&master, NULL, NULL, NULL);
	if (child == 0) {
		execv(command[0], command);
		_exit(99);
	}
	fcntl(master, F_SETFL, O_NONBLOCK);
	int status = 0;
	for (int times = 0; times < 4000; times++) {
		char said[512];
		ssize_t got = read(master, said, sizeof said);
		if (got > 0 && write(1, said, (size_t) got) < 0)
			break;
		if (write(master, typed, strlen(typed)) < 0 && errno != EAGAIN)
			break;
		if (waitpid(child, &status, WNOHANG | WUNTRACED) == child) {
			if (!WIFSTOPPED(status))
				break;
			kill(child, SIGCONT);
		}
		pause_for(1);
	}
	return 0;
}

static int nothing(void *argument)
{
	(void) argument;
	pause_for(300);
	return 0;
}

static void *tick(void *path)
{
	for (;;) {
		FILE *out = fopen(path, "a");
		fputs("x\n", out);
		fclose(out);
		pause_for(20);
	}
	return NULL;
}

#ifdef LIBRARY

static char ready_file[4096], evil_file[4096], kind_word[64];

static void later(int number)
{
	(void) number;
	hijack(kinds_of(kind_word), evil_file, ready_file);
}

__attribute__((constructor)) static void loaded(void)
{
	const char *way = getenv("WAY"), *mark = getenv("WAY_MARK");
	if (mark && geteuid() == 0 && getuid() == 0)
		put(mark, "root");
	if (mark && way && strcmp(way, "mark") == 0)
		put(mark, "user");
	if (way && strstr(way, "mnt") && getpid() == 1) {
		snprintf(kind_word, sizeof kind_word, "%s", way);
		snprintf(ready_file, sizeof ready_file, "%s", getenv("WAY_READY"));
		snprintf(evil_file, sizeof evil_file, "%s", getenv("WAY_EVIL"));
		signal(SIGALRM, later);
		setitimer(ITIMER_REAL, &(struct itimerval){.it_value = {.tv_usec = 300000}}, NULL);
	}
}

#else

int main(int argc, char **argv)
{
	const char *way = argc > 1 ? argv[1] : "";
	if (strcmp(way, "hijack") == 0) {
		quiet();
		hijack(kinds_of(argv[2]), argv[3], argv[4]);
		for (;;)
			pause();
	}
	if (strcmp(way, "hijack-child") == 0) {
		quiet();
		if (fork() == 0)
			hijack(kinds_of(argv[2]), argv[3], argv[4]);
		for (;;)
			pause();
	}
	if (strcmp(way, "hijack-nested") == 0) {
		quiet();
		for (int depth = 0; depth < 3; depth++)
			hijack(kinds_of(argv[2]), argv[3], argv[4]);
		for (;;)
			pause();
	}
	/* Leaves its namespaces, so that their numbers are free, and takes new ones until one has the old number. */
	if (strcmp(way, "hijack-number") == 0) {
		quiet();
		struct stat old, seen;
		stat("/proc/self/ns/mnt", &old);
		int own = open("/proc/self", O_RDONLY);
		hijack(CLONE_NEWUSER | CLONE_NEWNS, argv[3], argv[5]);
		int times = 0;
		do
			unshare(CLONE_NEWNS);
		while (fstatat(own, "ns/mnt", &seen, 0) == 0 && seen.st_ino != old.st_ino && ++times < 3000);
		put(argv[4], seen.st_ino == old.st_ino ? "same" : "other");
		for (;;)
			pause();
	}
	if (strcmp(way, "spin") == 0)
		return spin(argv[2], argv[3], atol(argv[4]));
	if (strcmp(way, "give") == 0) {
		int file = open(argv[3], O_RDONLY | O_DIRECTORY);
		if (file < 0)
			file = open(argv[3], O_RDONLY);
		return talk(argv[2], &file);
	}
	/* Takes a descriptor and uses it as a folder, as a namespace, and as a place to execute from. */
	if (strcmp(way, "take") == 0) {
		int got = talk(argv[2], NULL);
		if (got < 0)
			return 3;
		setns(got, 0);
		fchdir(got);
		execv(argv[3], argv + 3);
		return 4;
	}
	if (strcmp(way, "share") == 0) {
		static char stack[65536];
		clone(nothing, stack + sizeof stack, CLONE_FS | CLONE_FILES | SIGCHLD, NULL);
		execv(argv[2], argv + 2);
		return 99;
	}
	if (strcmp(way, "trace") == 0) {
		pid_t child = fork();
		if (child == 0) {
			ptrace(PTRACE_TRACEME, 0, 0, 0);
			execv(argv[2], argv + 2);
			_exit(99);
		}
		int status;
		while (waitpid(child, &status, 0) == child && WIFSTOPPED(status))
			ptrace(PTRACE_CONT, child, 0, WSTOPSIG(status) == SIGTRAP ? 0 : WSTOPSIG(status));
		return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
	}
	if (strcmp(way, "counter") == 0) {
		prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0);
		execv(argv[2], argv + 2);
		return 99;
	}
	if (strcmp(way, "timer") == 0) {
		struct itimerval soon = {.it_value = {.tv_usec = atol(argv[2])}};
		setitimer(ITIMER_REAL, &soon, NULL);
		execv(argv[3], argv + 3);
		return 99;
	}
	/* Every signal ignored, and blocked. */
	if (strcmp(way, "deaf") == 0) {
		sigset_t all;
		sigfillset(&all);
		sigprocmask(SIG_BLOCK, &all, NULL);
		for (int number = 1; number < 65; number++)
			signal(number, SIG_IGN);
		execv(argv[2], argv + 2);
		return 99;
	}
	if (strcmp(way, "terminal") == 0)
		return terminal(argv[2], argv + 3);
	if (strcmp(way, "nonblocking") == 0) {
		int ends[2];
		if (pipe2(ends, O_NONBLOCK) != 0)
			return 98;
		dup2(ends[0], 0);
		execv(argv[2], argv + 2);
		return 99;
	}
	/* The first thread ends; another one goes on. */
	if (strcmp(way, "headless") == 0) {
		pthread_t other;
		quiet();
		pthread_create(&other, NULL, tick, argv[2]);
		pthread_exit(NULL);
	}
	if (strcmp(way, "name") == 0) {
		quiet();
		prctl(PR_SET_NAME, ") Z 1 1\n) X (", 0, 0, 0);
		for (;;)
			pause();
	}
	/* A child in this cgroup from the first moment on. */
	if (strcmp(way, "into") == 0) {
		int folder = open(argv[2], O_RDONLY | O_DIRECTORY);
		struct clone_args how = {.flags = CLONE_INTO_CGROUP, .exit_signal = SIGCHLD, .cgroup = (unsigned long long) folder};
		long child = syscall(SYS_clone3, &how, sizeof how);
		if (child == 0) {
			put(argv[3], "escaped");
			_exit(0);
		}
		put(argv[4], child < 0 ? strerror(errno) : "cloned");
		return 0;
	}
	/* Forks until a child has this id, which stays. */
	if (strcmp(way, "reuse") == 0) {
		pid_t wanted = atoi(argv[2]);
		for (int times = 0; times < 2000; times++) {
			pid_t child = fork();
			if (child == 0 && getpid() != wanted)
				_exit(0);
			if (child == 0) {
				quiet();
				pause_for(20000);
				_exit(0);
			}
			if (child == wanted) {
				puts("reused");
				return 0;
			}
			waitpid(child, NULL, 0);
		}
		puts("not reused");
		return 1;
	}
	if (strcmp(way, "mount") == 0)
		return mount("/tmp", "/mnt", NULL, MS_BIND, NULL) == 0 || mount("none", "/proc", "proc", 0, NULL) == 0
			|| umount2("/proc", MNT_DETACH) == 0 || unshare(CLONE_NEWNS) == 0 || chroot("/tmp") == 0 ? 66 : 0;
	return 97;
}

#endif
