/*
 * Opens the links of /proc/PID/map_files for criu, for processes of the stage's user namespace only. The kernel asks for
 * CAP_CHECKPOINT_RESTORE in the initial user namespace to follow them, which criu does not have. This process has that one
 * capability. What it gives away is a path (O_PATH): to read or write the file, criu needs rights of its own.
 */
#define _GNU_SOURCE
#include "helper.h"
#include "broker.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/*
 * The effective id is the owner's of the user namespace, which gives the rights over the stage's processes; the others are
 * the possible owners of /proc/PID, so that the id for files may be set to them without a capability.
 */
static bool keep_one_capability(const struct caller *caller)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2] = {0};
	data[1].effective = data[1].permitted = 1u << (CAP_CHECKPOINT_RESTORE - 32);
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && setgroups(0, NULL) == 0
		&& setresuid(caller->uid, 0, substitute_of(caller)) == 0 && syscall(SYS_capset, &header, data) == 0
		&& prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) == 0;
}

/* -1 with errno. */
static int open_mapped(const struct mapped_file *wanted, const struct namespace_id *user)
{
	char path[64];
	struct stat seen;
	snprintf(path, sizeof path, "/proc/%d", wanted->pid);
	int process = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (process < 0)
		return -1;
	int file = -1, why = 0;
	if (fstatat(process, "ns/user", &seen, 0) != 0) {
		why = errno;
	} else if (seen.st_dev != user->device || seen.st_ino != user->inode) {
		why = EPERM;
	} else if (fstatat(process, "map_files", &seen, 0) != 0) {
		why = errno;
	} else {
		/* The folder lets its owner in only, and this process has no right to pass it otherwise. */
		setfsuid(seen.st_uid);
		snprintf(path, sizeof path, "map_files/%lx-%lx", wanted->start, wanted->end);
		file = openat(process, path, O_PATH | O_CLOEXEC);
		why = errno;
		setfsuid(0);
	}
	close(process);
	errno = why;
	return file;
}

noreturn void be_broker(int socket, const struct record *record, const struct caller *caller)
{
	close_folders();
	if (!keep_one_capability(caller))
		_exit(NOT_ENTERED);
	struct mapped_file wanted;
	while (recv(socket, &wanted, sizeof wanted, 0) == sizeof wanted) {
		int file = open_mapped(&wanted, &record->namespaces[USER]);
		int answer = file < 0 ? errno : 0;
		union {
			struct cmsghdr head;
			char room[CMSG_SPACE(sizeof(int))];
		} control = {0};
		struct iovec data = {&answer, sizeof answer};
		struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1};
		if (file >= 0) {
			message.msg_control = &control;
			message.msg_controllen = sizeof control;
			control.head.cmsg_len = CMSG_LEN(sizeof file);
			control.head.cmsg_level = SOL_SOCKET;
			control.head.cmsg_type = SCM_RIGHTS;
			memcpy(CMSG_DATA(&control.head), &file, sizeof file);
		}
		if (sendmsg(socket, &message, MSG_NOSIGNAL) < 0)
			_exit(NOT_ENTERED);
		if (file >= 0)
			close(file);
	}
	_exit(DONE);
}
