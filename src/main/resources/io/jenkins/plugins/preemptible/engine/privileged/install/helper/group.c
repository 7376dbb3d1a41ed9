/* The control group of a stage: made for it alone, below a group of root's, with a name that nobody can know before. */
#define _GNU_SOURCE
#include "helper.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/magic.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <time.h>
#include <unistd.h>

#define FREEZE_LIMIT_MS 10000
#define KILL_LIMIT_MS 15000

/* Where the unified hierarchy is mounted, in the words of /proc/self/mountinfo. */
static void find_mount(char *path)
{
	FILE *in = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t size = 0;
	bool found = false;
	while (in && !found && getline(&line, &size, in) > 0) {
		char root[GROUP_PATH], point[GROUP_PATH];
		const char *rest = strstr(line, " - ");
		found = rest && strncmp(rest, " - cgroup2 ", 11) == 0
			&& sscanf(line, "%*d %*d %*s %4095s %4095s", root, point) == 2 && strcmp(root, "/") == 0;
		if (found)
			strcpy(path, point);
	}
	if (in)
		fclose(in);
	if (!found)
		refuse(NO_FREEZER, "no cgroup2 file system is mounted on this host; mount one (mount -t cgroup2 none /sys/fs/cgroup)");
}

/* The caller's own group: sudo leaves it in place. */
static void find_callers_group(char *path)
{
	FILE *in = fopen("/proc/self/cgroup", "re");
	char *line = NULL;
	size_t size = 0;
	bool found = false;
	while (in && !found && getline(&line, &size, in) > 0)
		found = sscanf(line, "0::%4095[^\n]", path) == 1;
	if (in)
		fclose(in);
	if (!found)
		refuse(NO_FREEZER, "the kernel has no cgroup of version 2 for this process");
}

static bool is_roots(int fd)
{
	struct stat seen;
	return fstat(fd, &seen) == 0 && seen.st_uid == 0 && (seen.st_mode & 022) == 0;
}

/* A folder whose members root alone can choose: who owns both files of two groups moves processes between them. */
static bool is_roots_group(int folder)
{
	int procs = openat(folder, "cgroup.procs", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	bool own = procs >= 0 && is_roots(procs) && is_roots(folder);
	if (procs >= 0)
		close(procs);
	return own;
}

static int open_top(const char *path)
{
	struct statfs system;
	int top = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (top < 0 || fstatfs(top, &system) != 0 || system.f_type != CGROUP2_SUPER_MAGIC || !is_roots_group(top))
		refuse(NO_FREEZER, "the top of the cgroup hierarchy at %s is not root's", path);
	return top;
}

void name_group(struct stage_group *group, uid_t uid, const char *id)
{
	char own[GROUP_PATH], path[GROUP_PATH];
	find_mount(path);
	find_callers_group(own);
	int folder = open_top(path);
	/* Down from the top, and not up from the caller's: below a folder that was delegated nothing counts as root's. */
	char *rest = NULL;
	for (char *part = strtok_r(own, "/", &rest); part; part = strtok_r(NULL, "/", &rest)) {
		int next = strcmp(part, "..") == 0 ? -1 : openat(folder, part, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (next < 0)
			break;
		if (!is_roots_group(next) || strlen(path) + strlen(part) + 2 > sizeof path - 256) {
			close(next);
			break;
		}
		close(folder);
		folder = next;
		strcat(strcat(path, "/"), part);
	}
	close(folder);
	uint64_t random;
	if (getrandom(&random, sizeof random, 0) != sizeof random)
		refuse_errno(NO_FREEZER, "the kernel gives no random number");
	snprintf(group->path, sizeof group->path, "%s/preemptible-%" PRIu32 "-%s-%016" PRIx64, path, (uint32_t) uid, id, random);
	/* The record is read back by words. */
	if (strpbrk(group->path, " \t\n\\"))
		refuse(NO_FREEZER, "the path of the caller's cgroup has white space in it");
}

void make_group(struct stage_group *group)
{
	struct stat seen;
	if (mkdir(group->path, 0755) != 0)
		refuse_errno(NO_FREEZER, "a cgroup for the stage cannot be made");
	if (stat(group->path, &seen) != 0)
		refuse_errno(NO_FREEZER, "the stage's cgroup cannot be read");
	group->inode = seen.st_ino;
	int folder = open_group(group);
	bool complete = folder >= 0 && faccessat(folder, "cgroup.freeze", F_OK, 0) == 0 && faccessat(folder, "cgroup.kill", F_OK, 0) == 0;
	if (folder >= 0)
		close(folder);
	if (!complete) {
		/* It has nothing to be killed by. */
		rmdir(group->path);
		refuse(NO_FREEZER, "the kernel's cgroups cannot be frozen and killed; Linux 5.14 or newer is needed");
	}
}

int open_group(const struct stage_group *group)
{
	struct stat seen;
	int folder = open(group->path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (folder < 0 && errno == ENOENT)
		return -1;
	if (folder < 0 || fstat(folder, &seen) != 0)
		refuse_errno(NO_FREEZER, "the stage's cgroup cannot be opened");
	if (seen.st_ino != group->inode || !is_roots_group(folder))
		refuse(NO_FREEZER, "the stage's cgroup is not the one that was made for it");
	return folder;
}

static int open_file(int folder, const char *name, int flags)
{
	int file = openat(folder, name, flags | O_NOFOLLOW | O_CLOEXEC);
	if (file < 0 || !is_roots(file))
		refuse(NO_FREEZER, "the stage's cgroup has no %s of root's", name);
	return file;
}

static void put(int folder, const char *name, const char *text)
{
	int file = open_file(folder, name, O_WRONLY);
	if (write(file, text, strlen(text)) < 0)
		refuse_errno(NO_FREEZER, "the stage's cgroup cannot be written to");
	close(file);
}

/* Whether one of its files holds this line. */
static bool holds(int folder, const char *name, const char *wanted)
{
	FILE *in = fdopen(open_file(folder, name, O_RDONLY), "r");
	char line[128];
	bool found = false;
	while (in && !found && fgets(line, sizeof line, in)) {
		line[strcspn(line, "\n")] = '\0';
		found = strcmp(line, wanted) == 0;
	}
	if (in)
		fclose(in);
	return found;
}

static long long now_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Whether cgroup.events, which is open, holds the line by now. */
static bool tells(int events, const char *line)
{
	char text[256];
	ssize_t length = pread(events, text, sizeof text - 1, 0);
	text[length > 0 ? length : 0] = '\0';
	return strstr(text, line) != NULL;
}

/* Waits until cgroup.events holds the line: the kernel wakes who has read that file and polls it. */
static bool await(int folder, const char *line, long long limit_ms)
{
	long long end = now_ms() + limit_ms;
	int events = open_file(folder, "cgroup.events", O_RDONLY);
	bool seen;
	while (!(seen = tells(events, line)) && now_ms() < end) {
		struct pollfd wait = {.fd = events, .events = POLLPRI};
		poll(&wait, 1, 10);
	}
	close(events);
	return seen;
}

bool is_frozen(int folder)
{
	int file = openat(folder, "cgroup.freeze", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	/* It is lent to criu for a dump, of a stage that is frozen: what stands there meanwhile does not count. */
	bool lent = file >= 0 && !is_roots(file);
	if (file >= 0)
		close(file);
	return lent || holds(folder, "cgroup.freeze", "1");
}

void freeze(int folder)
{
	put(folder, "cgroup.freeze", "1");
	if (await(folder, "frozen 1", FREEZE_LIMIT_MS))
		return;
	thaw(folder);
	refuse(KERNEL_WAIT, "not frozen within %d ms", FREEZE_LIMIT_MS);
}

void thaw(int folder)
{
	put(folder, "cgroup.freeze", "0");
}

void join(int folder)
{
	put(folder, "cgroup.procs", "0");
}

bool is_populated(int folder)
{
	return holds(folder, "cgroup.events", "populated 1");
}

/* Whether a process is in the group; its id is the host's. */
static bool has(int folder, pid_t pid)
{
	char line[16];
	snprintf(line, sizeof line, "%d", (int) pid);
	return holds(folder, "cgroup.procs", line);
}

/*
 * Kills the processes one by one, as processes: cgroup.kill sends its signal to the first thread of each, which may have
 * ended before the others. Listed after its handle was opened, a process is the group's: while it is, nobody else has its id.
 */
void kill_each(int folder, bool (*chosen)(pid_t process))
{
	FILE *in = fdopen(open_file(folder, "cgroup.procs", O_RDONLY), "r");
	int pid;
	while (in && fscanf(in, "%d", &pid) == 1) {
		int handle = pid > 1 ? (int) syscall(SYS_pidfd_open, pid, 0) : -1;
		if (handle < 0)
			continue;
		if (has(folder, pid) && (!chosen || chosen(pid)))
			syscall(SYS_pidfd_send_signal, handle, SIGKILL, NULL, 0);
		close(handle);
	}
	if (in)
		fclose(in);
}

bool kill_group(const struct stage_group *group)
{
	int folder = open_group(group);
	if (folder < 0)
		return true;
	long long end = now_ms() + KILL_LIMIT_MS;
	put(folder, "cgroup.kill", "1");
	bool empty = await(folder, "populated 0", 200);
	while (!empty && now_ms() < end) {
		kill_each(folder, NULL);
		empty = await(folder, "populated 0", 200);
	}
	close(folder);
	while (empty && rmdir(group->path) != 0 && errno != ENOENT) {
		/* The last process is still on its way out. */
		empty = errno == EBUSY && now_ms() < end;
		nanosleep(&(struct timespec){.tv_nsec = 1000 * 1000}, NULL);
	}
	return empty;
}
