/*
 * Loaded into criu, which runs inside of the stage's user namespace: the few calls that answer otherwise there. It gives
 * criu no right; what it asks the broker for, a criu without it could ask for as well.
 */
#define _GNU_SOURCE
#include "broker.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static int has_broker;

/*
 * Files are opened with the id of the stage's user: rights in the user namespace do not count for files whose owner or group
 * it does not know, such as those of the user's in a group of root's.
 */
__attribute__((constructor)) static void open_as_user(void)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	const char *uid = getenv("PREEMPTIBLE_UID");
	has_broker = getenv("PREEMPTIBLE_BROKER") != NULL;
	if (!uid)
		return;
	setfsuid((uid_t) strtoul(uid, NULL, 10));
	if (syscall(SYS_capget, &header, data) != 0)
		_exit(126);
	data[0].effective = data[0].permitted;
	data[1].effective = data[1].permitted;
	if (syscall(SYS_capset, &header, data) != 0)
		_exit(126);
	/* Not for what criu executes. */
	unsetenv("PREEMPTIBLE_UID");
	unsetenv("PREEMPTIBLE_BROKER");
	unsetenv("LD_PRELOAD");
}

/* --- /proc/PID/map_files: only the initial user namespace may open what is behind its links ---------------------------- */

static int ask_broker(struct mapped_file wanted)
{
	int answer, file = -1;
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control;
	struct iovec data = {&answer, sizeof answer};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	if (send(BROKER_FD, &wanted, sizeof wanted, MSG_NOSIGNAL) != sizeof wanted
	    || recvmsg(BROKER_FD, &message, MSG_CMSG_CLOEXEC) != sizeof answer)
		return -1;
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	if (head && head->cmsg_type == SCM_RIGHTS)
		memcpy(&file, CMSG_DATA(head), sizeof file);
	if (answer != 0) {
		errno = answer;
		return -1;
	}
	return file;
}

static int open_mapped(int folder, const char *name, int flags)
{
	char link[64], path[128] = "";
	struct mapped_file wanted = {.pid = getpid()};
	int used = 0;
	if (!has_broker) {
		errno = EPERM;
		return -1;
	}
	if (folder >= 0) {
		snprintf(link, sizeof link, "/proc/self/fd/%d", folder);
		ssize_t length = readlink(link, path, sizeof path - 1);
		if (length <= 0 || sscanf(path, "/proc/%d", &wanted.pid) != 1) {
			errno = EPERM;
			return -1;
		}
	}
	if (strncmp(name, "map_files/", 10) == 0)
		name += 10;
	if (sscanf(name, "%lx-%lx%n", &wanted.start, &wanted.end, &used) != 2 || name[used] != '\0') {
		errno = EPERM;
		return -1;
	}
	int file = ask_broker(wanted);
	if (file < 0 || (flags & O_PATH))
		return file;
	/* With criu's own rights. */
	snprintf(link, sizeof link, "/proc/self/fd/%d", file);
	int opened = open(link, flags), why = errno;
	close(file);
	errno = why;
	return opened;
}

/*
 * Each PID namespace has a limit of its own since Linux 6.14, and a new one the largest: more than the host's, which criu would
 * raise. Where the kernel has one limit for all, it refuses a larger id itself.
 */
static int open_pid_max(void)
{
	static const char largest[] = "4194304\n";
	int file = memfd_create("pid_max", MFD_CLOEXEC);
	if (file >= 0 && pwrite(file, largest, sizeof largest - 1, 0) == sizeof largest - 1)
		return file;
	close(file);
	return -1;
}

int openat(int folder, const char *name, int flags, ...)
{
	static int (*real)(int, const char *, int, ...);
	mode_t mode = 0;
	if (flags & (O_CREAT | O_TMPFILE)) {
		va_list rest;
		va_start(rest, flags);
		mode = va_arg(rest, mode_t);
		va_end(rest);
	}
	if (!real)
		real = (int (*)(int, const char *, int, ...)) dlsym(RTLD_NEXT, "openat");
	if (strcmp(name, "sys/kernel/pid_max") == 0)
		return open_pid_max();
	int fd = real(folder, name, flags, mode);
	return fd < 0 && errno == EPERM && folder >= 0 ? open_mapped(folder, name, flags) : fd;
}

__typeof__(openat) openat64 __attribute__((alias("openat")));

/* For shared memory of System V criu looks at what it has mapped itself. */
int stat(const char *restrict path, struct stat *restrict to)
{
	if (fstatat(AT_FDCWD, path, to, 0) == 0)
		return 0;
	if (errno != EPERM || strncmp(path, "/proc/self/map_files/", 21) != 0)
		return -1;
	int file = open_mapped(-1, path + 21, O_PATH);
	if (file < 0)
		return -1;
	int answer = fstat(file, to), why = errno;
	close(file);
	errno = why;
	return answer;
}

int stat64(const char *restrict path, struct stat64 *restrict to)
{
	return stat(path, (struct stat *) to);
}

/* --- what differs in a user namespace --------------------------------------------------------------------------------- */

/*
 * A tmpfs that was mounted in a user namespace shows its owner with the ids of the initial one, which do not exist in here.
 * The user namespace's root takes its place, which it was.
 */
int mount(const char *source, const char *target, const char *kind, unsigned long flags, const void *data)
{
	static int (*real)(const char *, const char *, const char *, unsigned long, const void *);
	if (!real)
		real = (int (*)(const char *, const char *, const char *, unsigned long, const void *)) dlsym(RTLD_NEXT, "mount");
	if (!kind || strcmp(kind, "tmpfs") != 0 || !data)
		return real(source, target, kind, flags, data);
	char *left = strdup(data), *rest = left, *to = malloc(strlen(data) + 16), *option;
	if (!left || !to) {
		free(left);
		free(to);
		errno = ENOMEM;
		return -1;
	}
	*to = '\0';
	while ((option = strsep(&rest, ",")) != NULL)
		if (strncmp(option, "uid=", 4) != 0 && strncmp(option, "gid=", 4) != 0)
			strcat(strcat(to, option), *option ? "," : "");
	strcat(to, "uid=0,gid=0");
	int answer = real(source, target, kind, flags, to), why = errno;
	free(left);
	free(to);
	errno = why;
	return answer;
}

/* The owner of a device node is the host's root, which has no id in here: nothing has to be changed, and nothing could be. */
int fchown(int fd, uid_t uid, gid_t gid)
{
	static int (*real)(int, uid_t, gid_t);
	struct stat is;
	if (!real)
		real = (int (*)(int, uid_t, gid_t)) dlsym(RTLD_NEXT, "fchown");
	if (fstat(fd, &is) == 0 && is.st_uid == uid && is.st_gid == gid)
		return 0;
	return real(fd, uid, gid);
}

/* Larger buffers than net.core.wmem_max and rmem_max need rights over the network namespace. */
int setsockopt(int fd, int level, int name, const void *value, socklen_t size)
{
	long answer = syscall(SYS_setsockopt, fd, level, name, value, size);
	if (answer != 0 && errno == EPERM && level == SOL_SOCKET && (name == SO_SNDBUFFORCE || name == SO_RCVBUFFORCE))
		answer = syscall(SYS_setsockopt, fd, level, name == SO_SNDBUFFORCE ? SO_SNDBUF : SO_RCVBUF, value, size);
	return (int) answer;
}
