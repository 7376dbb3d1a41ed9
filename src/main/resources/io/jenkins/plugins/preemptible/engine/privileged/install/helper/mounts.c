/*
 * The host's mounts. A path of one may lead through a folder of the user's, who could put a link in its place: a mount is
 * used only through a descriptor that was opened without links and is the root of this very mount.
 */
#define _GNU_SOURCE
#include "helper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

struct mount_line {
	int id;
	char at[PATH_MAX];
	char kind[64];
};

/* As many as there are: a user may mount a thousand with FUSE, and the others' stages must not miss theirs. */
static struct mount_line *lines;
static int room;

/* Blank, tab, newline and backslash stand in mountinfo as three octal digits. */
static void unescape(char *text)
{
	char *to = text;
	for (; *text; text++) {
		if (*text == '\\' && text[1] && text[2] && text[3]) {
			*to++ = (char) ((text[1] - '0') * 64 + (text[2] - '0') * 8 + (text[3] - '0'));
			text += 3;
		} else {
			*to++ = *text;
		}
	}
	*to = '\0';
}

/* -1 with errno. */
static int read_mounts(void)
{
	FILE *in = fopen("/proc/self/mountinfo", "re");
	char *line = NULL;
	size_t size = 0;
	int count = 0;
	if (!in)
		return -1;
	while (count >= 0 && getline(&line, &size, in) > 0) {
		const char *rest = strstr(line, " - ");
		if (count == room) {
			struct mount_line *more = reallocarray(lines, (size_t) room + 256, sizeof *lines);
			if (!more) {
				count = -1;
				break;
			}
			lines = more;
			room += 256;
		}
		if (rest && sscanf(line, "%d %*d %*s %*s %4095s", &lines[count].id, lines[count].at) == 2
			   && sscanf(rest, " - %63s", lines[count].kind) == 1) {
			unescape(lines[count++].at);
		}
	}
	free(line);
	fclose(in);
	return count;
}

/* -1 when its path leads to anything else. */
static int open_mount(const struct mount_line *line)
{
	struct open_how how = {.flags = O_PATH | O_NOFOLLOW | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
	struct statx seen;
	int fd = (int) syscall(SYS_openat2, AT_FDCWD, line->at, &how, sizeof how);
	/* Of the file itself nothing is asked: a FUSE of somebody else's refuses that, or never answers. */
	if (fd >= 0 && statx(fd, "", AT_EMPTY_PATH | AT_NO_AUTOMOUNT | AT_STATX_DONT_SYNC, 0, &seen) == 0
	    && (seen.stx_mask & STATX_MNT_ID) && seen.stx_mnt_id == (unsigned) line->id
	    && (seen.stx_attributes & STATX_ATTR_MOUNT_ROOT))
		return fd;
	if (fd >= 0)
		close(fd);
	return -1;
}

static bool is_below(const char *path, const char *folder)
{
	size_t length = strlen(folder);
	return strncmp(path, folder, length) == 0 && (path[length] == '\0' || path[length] == '/');
}

/* What the stage has of its own, what comes and goes with others, and what would hang when somebody else ends. */
static bool is_unwanted(const struct mount_line *line, bool host_tmp)
{
	static const char *const own[] = {"/dev/shm", "/dev/pts", YARD};
	static const char *const others[] = {
		"/var/lib/docker/", "/var/lib/containers/", "/var/lib/containerd/", "/run/containerd/", "/run/docker/"};
	for (size_t at = 0; at < sizeof own / sizeof *own; at++)
		if (is_below(line->at, own[at]))
			return true;
	for (size_t at = 0; at < sizeof others / sizeof *others; at++)
		if (strncmp(line->at, others[at], strlen(others[at])) == 0)
			return true;
	return (is_below(line->at, "/proc") && strcmp(line->at, "/proc") != 0) || (!host_tmp && is_below(line->at, "/tmp"))
		|| strcmp(line->kind, "nsfs") == 0 || strcmp(line->kind, "autofs") == 0
		|| strncmp(line->kind, "fuse", 4) == 0 || strpbrk(line->at, "\n\r:]") != NULL;
}

static void descriptor_path(char path[64], int fd)
{
	snprintf(path, 64, "/proc/self/fd/%d", fd);
}

static bool take_out(const struct mount_line *line)
{
	int fd = open_mount(line);
	char path[64];
	if (fd < 0)
		return false;
	descriptor_path(path, fd);
	bool taken = umount2(path, MNT_DETACH) == 0;
	close(fd);
	return taken;
}

/* The folder's own rights are asked, not those of what is mounted there, which may not answer. */
static bool is_reached(char *at)
{
	char *name = strrchr(at, '/');
	if (!name || name == at)
		return true;
	*name = '\0';
	bool reached = access(at, X_OK) == 0;
	*name = '/';
	return reached;
}

/* The caller's process from here on: it has nothing of root's but a pipe. */
static noreturn void be_looker(const struct caller *caller, int count, char *reached, int said)
{
	if (dup2(said, STDOUT_FILENO) < 0 || syscall(SYS_close_range, STDERR_FILENO + 1, ~0U, 0) != 0 || !become(caller, 0)
	    || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) != 0)
		_exit(NOT_ENTERED);
	for (int which = 0; which < count; which++)
		reached[which] = is_reached(lines[which].at);
	_exit(write(STDOUT_FILENO, reached, (size_t) count) == count ? DONE : NOT_ENTERED);
}

/* One byte for each mount; NULL with errno. */
static char *find_reached(const struct caller *caller, int count)
{
	int said[2];
	char *reached = calloc((size_t) count + 1, 1);
	if (!reached || pipe2(said, O_CLOEXEC) != 0)
		return NULL;
	pid_t looker = fork();
	if (looker == 0)
		be_looker(caller, count, reached, said[1]);
	close(said[1]);
	ssize_t got, all = 0;
	while (looker > 0 && (got = read(said[0], reached + all, (size_t) (count - all))) > 0)
		all += got;
	close(said[0]);
	if (looker > 0)
		waitpid(looker, NULL, 0);
	if (all == count)
		return reached;
	errno = EIO;
	return NULL;
}

bool take_out_mounts(const struct caller *caller, bool host_tmp)
{
	int count;
	/* Once more where one lay on another of the same path. */
	for (bool again = true; again;) {
		again = false;
		count = read_mounts();
		if (count < 0)
			return false;
		/* Outer ones first, which take along what is below: so no path leads through one that does not answer. */
		for (int which = 0; which < count; which++)
			again = (is_unwanted(&lines[which], host_tmp) && take_out(&lines[which])) || again;
	}
	/* criu opens files as the user: below a folder that shuts the user out it could not mount anything again. */
	for (bool again = true; again;) {
		again = false;
		count = read_mounts();
		char *reached = count < 0 ? NULL : find_reached(caller, count);
		if (!reached)
			return false;
		for (int which = 0; which < count; which++)
			again = (!reached[which] && take_out(&lines[which])) || again;
		free(reached);
	}
	return true;
}

bool make_yard(void)
{
	struct stat seen;
	if ((mkdir(YARD, 0755) != 0 && errno != EEXIST) || lstat(YARD, &seen) != 0)
		return false;
	if (!S_ISDIR(seen.st_mode) || seen.st_uid != 0 || (seen.st_mode & 022) != 0) {
		errno = EPERM;
		return false;
	}
	/* Where parts of the host's /proc are covered (containers), the kernel lets nobody mount one in a user namespace that
	 * sees none which is whole. */
	return mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0
		&& mount("yard", YARD, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=755,size=4m") == 0
		&& mkdir(YARD "/proc", 0755) == 0
		&& mount("proc", YARD "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) == 0;
}

/* A folder or a file for it, as the kernel asks for. */
static bool bind_to(const char *from, int fd, const char *to)
{
	struct statx seen;
	if (fd >= 0 && statx(fd, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_TYPE, &seen) != 0)
		return false;
	if (fd < 0 || S_ISDIR(seen.stx_mode)) {
		if (mkdir(to, 0755) != 0)
			return false;
	} else {
		int file = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
		if (file < 0)
			return false;
		close(file);
	}
	return mount(from, to, NULL, MS_BIND, NULL) == 0;
}

bool fill_yard(struct host_mounts *mounts)
{
	/* Without children: a namespace of less rights may not copy a mount and leave out what covers parts of it. */
	if (!bind_to("/", -1, YARD "/root"))
		return false;
	/* For each mount of the image that this host has no more. */
	if (mkdir(YARD "/none", 0755) != 0)
		return false;
	int count = read_mounts();
	if (count < 0)
		return false;
	mounts->count = 0;
	mounts->at = calloc((size_t) count + 1, sizeof *mounts->at);
	if (!mounts->at)
		return false;
	for (int which = 0; which < count; which++) {
		if (strcmp(lines[which].at, "/") == 0 || is_below(lines[which].at, "/proc") || is_unwanted(&lines[which], true))
			continue;
		int fd = open_mount(&lines[which]);
		if (fd < 0)
			continue;
		char from[64], to[PATH_MAX];
		descriptor_path(from, fd);
		snprintf(to, sizeof to, YARD "/%d", mounts->count);
		bool bound = bind_to(from, fd, to);
		close(fd);
		/* Somebody who deletes its folder takes it out of all mount namespaces, at any time. */
		if (!bound && errno != EINVAL)
			return false;
		mounts->at[mounts->count++] = bound ? lines[which].at : "";
	}
	return true;
}
