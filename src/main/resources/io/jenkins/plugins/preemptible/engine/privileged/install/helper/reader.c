/*
 * Reads /proc for the engine's preflight: the kernel lets nobody outside of a stage's user namespace look at its processes.
 * The verb 'inspect' starts it inside, as the stage's user and with no right of anybody else's, see inspect_stage().
 *
 * A request is a letter and a path below /proc, which ends with a NUL. The answer is a length in network byte order and as
 * many bytes, or NOTHING where the kernel tells nothing.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#define NOTHING UINT32_MAX
#define LARGEST (64 * 1024 * 1024)
#define LIMIT_S 60
/* kcmp(2): root, working folder and umask. */
#define KCMP_OF_FS 3

static char *answer;
static size_t length;

/* The next answer's bytes; they may be overwritten when there are fewer. */
static char *room(size_t more)
{
	static size_t size;
	if (length + more > size) {
		size = 2 * (length + more);
		answer = size > LARGEST ? NULL : realloc(answer, size);
		if (!answer)
			_exit(1);
	}
	return answer + length;
}

static int text(const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got;
	if (file < 0)
		return -1;
	while ((got = read(file, room(65536), 65536)) > 0)
		length += (size_t) got;
	close(file);
	return got < 0 ? -1 : 0;
}

static int link_of(const char *path)
{
	ssize_t got = readlink(path, room(PATH_MAX), PATH_MAX);
	length += got > 0 ? (size_t) got : 0;
	return got < 0 ? -1 : 0;
}

static int numbers(const char *path)
{
	DIR *folder = opendir(path);
	if (!folder)
		return -1;
	for (struct dirent *each; (each = readdir(folder));)
		if (isdigit((unsigned char) each->d_name[0]))
			length += (size_t) sprintf(room(NAME_MAX + 2), "%s\n", each->d_name);
	closedir(folder);
	return 0;
}

static int status_of(const char *path)
{
	struct statx seen;
	if (statx(AT_FDCWD, path, 0, STATX_BASIC_STATS, &seen) != 0)
		return -1;
	length += (size_t) sprintf(room(200), "%u %u %llu %llu %llu %u:%u %u:%u", seen.stx_mode, seen.stx_nlink,
				   (unsigned long long) seen.stx_size, (unsigned long long) seen.stx_blocks,
				   (unsigned long long) seen.stx_ino, seen.stx_dev_major, seen.stx_dev_minor, seen.stx_rdev_major,
				   seen.stx_rdev_minor);
	return 0;
}

static int protocol(const char *path)
{
	ssize_t got = getxattr(path, "system.sockprotoname", room(64), 64);
	length += got > 0 ? (size_t) got : 0;
	return got < 0 ? -1 : 0;
}

static int file_system(const char *path)
{
	struct statfs seen;
	if (statfs(path, &seen) != 0)
		return -1;
	length += (size_t) sprintf(room(64), "%llu %llu", (unsigned long long) seen.f_type,
				   (unsigned long long) (seen.f_blocks - seen.f_bfree) * (unsigned long long) seen.f_bsize);
	return 0;
}

/* In place of a path two process ids. */
static int shares_folder(const char *pids)
{
	int one, two;
	if (sscanf(pids, "%d %d", &one, &two) != 2)
		return -1;
	long equal = syscall(SYS_kcmp, one, two, KCMP_OF_FS, 0, 0);
	length += (size_t) sprintf(room(2), "%d", equal == 0);
	return equal < 0 ? -1 : 0;
}

static int look(int what, const char *path)
{
	switch (what) {
	case 't':
		return text(path);
	case 'l':
		return link_of(path);
	case 'n':
		return numbers(path);
	case 's':
		return status_of(path);
	case 'p':
		return protocol(path);
	case 'f':
		return file_system(path);
	case 'k':
		return shares_folder(path);
	default:
		return -1;
	}
}

int main(void)
{
	static char path[PATH_MAX];
	int what;
	/* Not even the stage's own processes may look into this one. */
	if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0 || chdir("/proc") != 0)
		return 1;
	alarm(LIMIT_S);
	while ((what = getchar()) != EOF) {
		size_t at = 0;
		int byte;
		while ((byte = getchar()) != EOF && byte != '\0' && at < sizeof path - 1)
			path[at++] = (char) byte;
		if (byte != '\0')
			return 1;
		path[at] = '\0';
		length = 0;
		uint32_t head = isdigit((unsigned char) path[0]) && look(what, path) == 0 ? htonl((uint32_t) length) : htonl(NOTHING);
		if (fwrite(&head, sizeof head, 1, stdout) != 1
		    || (head != htonl(NOTHING) && fwrite(answer, 1, length, stdout) != length) || fflush(stdout) != 0)
			return 1;
	}
	return 0;
}
