/*
 * A stage whose namespaces belong to a user namespace of root's, U. In U exist the user, the user's groups, and the user's
 * substitute: an id of nobody's, which is root in U. No process of the stage is the substitute; criu is, see checkpoint.c.
 */
#define _GNU_SOURCE
#include "helper.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/nsfs.h>
#include <linux/sched.h>
#include <poll.h>
#include <pwd.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BIT(capability) (UINT64_C(1) << (capability))

/* The kernel takes a map in one write of less than a page. */
#define LARGEST_MAP 4000

/* The sizes that the engine of root gives its stages. */
#define TMP_SIZE "25%"
#define SHM_SIZE "50%"

/* Of the mounts and the namespaces of a start. */
#define MAKE_LIMIT_MS 20000

/* By this source the engine tells the stage's own mounts from the host's; criu keeps it. */
#define SOURCE "preemptible"

bool keeps_host_tmp;

/* --- ids --------------------------------------------------------------------------------------------------------- */

/* Whether one of the ranges that users may map (subuid(5)) holds the id. */
static bool is_delegated(const char *file, unsigned long long id)
{
	FILE *in = fopen(file, "re");
	char *line = NULL;
	size_t size = 0;
	bool held = false;
	while (in && !held && getline(&line, &size, in) > 0) {
		unsigned long long first, count;
		const char *at = strchr(line, ':');
		held = at && sscanf(at, ":%llu:%llu", &first, &count) == 2 && id >= first && id - first < count;
	}
	free(line);
	if (in)
		fclose(in);
	return held;
}

static void refuse_delegated(unsigned long long id)
{
	if (is_delegated("/etc/subuid", id) || is_delegated("/etc/subgid", id))
		refuse(NO_RIGHTS, "the id %llu is in a range of /etc/subuid or /etc/subgid, so that another user could have it; "
		       "an administrator can take it out there", id);
}

uid_t substitute_of(const struct caller *caller)
{
	if (caller->uid >= UINT32_MAX / 2 - SUBSTITUTE_BASE || caller->gid >= UINT32_MAX / 2)
		refuse(NO_RIGHTS, "checkpoints need a user whose id is less than %u", UINT32_MAX / 2 - SUBSTITUTE_BASE);
	uid_t id = SUBSTITUTE_BASE + caller->uid;
	if (getpwuid(id) || getgrgid(id))
		refuse(NO_RIGHTS, "the id %u has a user or a group, and checkpoints need an id without one", id);
	refuse_delegated(id);
	refuse_delegated(caller->uid);
	return id;
}

static void put_map(pid_t child, const char *name, const char *map)
{
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/%s", (int) child, name);
	int file = open(path, O_WRONLY | O_CLOEXEC);
	if (file < 0 || write(file, map, strlen(map)) < 0)
		refuse_errno(LAUNCH_FAILED, "the ids of the stage's user namespace cannot be set");
	close(file);
}

void write_maps(const struct caller *caller, pid_t child)
{
	uid_t substitute = substitute_of(caller);
	char map[LARGEST_MAP + 64];
	snprintf(map, sizeof map, "0 %u 1\n%u %u 1\n", substitute, caller->uid, caller->uid);
	put_map(child, "uid_map", map);
	size_t at = (size_t) snprintf(map, sizeof map, "0 %u 1\n%u %u 1\n", substitute, caller->gid, caller->gid);
	for (int which = 0; which < caller->group_count; which++) {
		gid_t group = caller->groups[which];
		if (group == 0)
			refuse(NO_RIGHTS, "checkpoints need a user who is not in the group root");
		/* The group of another user's substitute, which a dump lends that user's freezer to. */
		if (group >= SUBSTITUTE_BASE)
			refuse(NO_RIGHTS, "checkpoints need a user whose groups are less than %u", SUBSTITUTE_BASE);
		if (at > LARGEST_MAP)
			refuse(NO_RIGHTS, "the user is in too many groups for a user namespace");
		if (group != caller->gid)
			at += (size_t) snprintf(map + at, sizeof map - at, "%u %u 1\n", group, group);
	}
	put_map(child, "gid_map", map);
}

bool become_substitute(const struct caller *caller)
{
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
		&& setgroups((size_t) caller->group_count, caller->groups) == 0 && setresgid(0, 0, 0) == 0
		&& setresuid(0, 0, 0) == 0;
}

/* --- start ------------------------------------------------------------------------------------------------------- */

/* The pipes of a start: the init waits for the first, what goes wrong comes through the second. */
struct start_pipes {
	int go[2];
	int said[2];
	int number[2]; /* the init's process id */
};

/* Says that the namespaces are complete, as a trouble without a number. */
static void tell_ready(int told)
{
	errno = 0;
	struct trouble ready = {.number = 0};
	if (write(told, &ready, sizeof ready) != sizeof ready)
		_exit(NOT_ENTERED);
}

/* Root's code still; in the new namespaces, in which nothing of the user's has run. It has rights over those alone. */
static noreturn void be_init(const struct caller *caller, const struct request *request, int go, int told)
{
	char may;
	/* Until the ids exist and root's mounts are made. */
	if (read(go, &may, 1) != 1)
		_exit(NOT_ENTERED);
	/* The mounts so far are root's: the kernel lets nobody in here take one away. */
	if (unshare(CLONE_NEWNS) != 0)
		tell(told, "make the mounts its own");
	if (setsid() < 0)
		tell(told, "start a session");
	if (!leave_keyring())
		tell(told, "get a keyring of its own");
	if (!become_substitute(caller))
		tell(told, "become the user's substitute");
	if (mount(SOURCE, "/dev/pts", "devpts", MS_NOSUID | MS_NOEXEC, "newinstance,ptmxmode=0666,mode=0600") != 0)
		tell(told, "mount /dev/pts");
	tell_ready(told);
	/* Until the record says which namespaces these are. */
	if (read(go, &may, 1) != 1)
		_exit(NOT_ENTERED);
	close(go);
	if (!become(caller, 0))
		tell(told, "become the user");
	if (!request)
		_exit(DONE);
	run(request, told);
}

/* Root's own, in root's mount namespace: only the PID namespace is the stage's, since a /proc shows that of its maker. */
static void mount_own(pid_t init, uid_t substitute, int told)
{
	int space = open_namespace(init, "pid");
	if (space < 0 || setns(space, CLONE_NEWPID) != 0)
		tell(told, "enter its process ids");
	close(space);
	pid_t inner = fork();
	if (inner < 0)
		tell(told, "make a process");
	if (inner > 0) {
		int status;
		if (waitpid(inner, &status, 0) != inner || status != 0)
			_exit(NOT_ENTERED);
		return;
	}
	while (umount2("/proc", MNT_DETACH) == 0)
		;
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0)
		tell(told, "mount /proc");
	/* Not by the options uid and gid: those show in mountinfo with an id that the stage does not know. */
	if (!keeps_host_tmp && (mount(SOURCE, "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=" TMP_SIZE) != 0
				|| chown("/tmp", substitute, substitute) != 0))
		tell(told, "mount /tmp");
	if (mount(SOURCE, "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV, "mode=1777,size=" SHM_SIZE) != 0
	    || chown("/dev/shm", substitute, substitute) != 0)
		tell(told, "mount /dev/shm");
	_exit(DONE);
}

/* A process for the mounts, so that this one keeps the host's. It makes the init, tells its number, and ends. */
static noreturn void be_mounter(const struct record *record, const struct caller *caller, const struct request *request,
				const struct start_pipes *pipes)
{
	int told = pipes->said[1];
	/* The host's mounts, and the user's program, may lie where nobody answers: who waits there holds no lock. */
	close_folders();
	int folder = open_group(&record->group);
	if (unshare(CLONE_NEWNS) != 0 || mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0
	    || !take_out_mounts(caller, keeps_host_tmp))
		tell(told, "make the mounts its own");
	/* A process that was never outside of the group: nothing of a stage is ever unfrozen or unkilled. */
	struct clone_args how = {
		.flags = CLONE_NEWUSER | CLONE_NEWPID | CLONE_NEWIPC | CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.cgroup = (unsigned long long) folder,
	};
	long init = syscall(SYS_clone3, &how, sizeof how);
	if (init < 0)
		tell(told, "make its namespaces");
	if (init == 0) {
		close(pipes->go[1]);
		close(pipes->said[0]);
		close(pipes->number[1]);
		close(folder);
		be_init(caller, request, pipes->go[0], told);
	}
	mount_own((pid_t) init, substitute_of(caller), told);
	pid_t number = (pid_t) init;
	if (write(pipes->number[1], &number, sizeof number) != sizeof number)
		_exit(NOT_ENTERED);
	_exit(DONE);
}

/* Nothing is in the way of it but a host's mount that does not answer, or a stop by the user's substitute. */
static bool hear(int from, void *to, size_t length)
{
	struct pollfd heard = {.fd = from, .events = POLLIN};
	return poll(&heard, 1, MAKE_LIMIT_MS) == 1 && read(from, to, length) == (ssize_t) length;
}

static noreturn void refuse_trouble(const struct record *record, int told)
{
	struct trouble trouble = {.what = "be started"};
	struct pollfd said = {.fd = told, .events = POLLIN};
	if (poll(&said, 1, 0) == 1 && read(told, &trouble, sizeof trouble) != sizeof trouble)
		trouble = (struct trouble){.number = EIO, .what = "be started"};
	trouble.what[sizeof trouble.what - 1] = '\0';
	kill_group(&record->group);
	refuse(LAUNCH_FAILED, "the stage cannot %s: %s", trouble.what, strerror(trouble.number));
}

/* Returns the pipe for which the complete init waits. */
static int make_init(struct record *record, const struct caller *caller, const struct request *request, int *told)
{
	struct start_pipes pipes;
	if (pipe2(pipes.go, O_CLOEXEC) != 0 || pipe2(pipes.said, O_CLOEXEC) != 0 || pipe2(pipes.number, O_CLOEXEC) != 0)
		refuse_errno(LAUNCH_FAILED, "a pipe cannot be made");
	substitute_of(caller);
	fflush(stdout);
	pid_t mounter = fork();
	if (mounter < 0)
		refuse_errno(LAUNCH_FAILED, "no process can be made");
	if (mounter == 0)
		be_mounter(record, caller, request, &pipes);
	close(pipes.go[0]);
	close(pipes.said[1]);
	close(pipes.number[1]);
	*told = pipes.said[0];
	int status;
	struct trouble ready;
	if (!hear(pipes.number[0], &record->init, sizeof record->init)) {
		kill(mounter, SIGKILL);
		refuse_trouble(record, *told);
	}
	if (waitpid(mounter, &status, 0) != mounter || status != 0)
		refuse_trouble(record, *told);
	close(pipes.number[0]);
	write_maps(caller, record->init);
	if (write(pipes.go[1], "1", 1) != 1 || !hear(*told, &ready, sizeof ready))
		refuse_trouble(record, *told);
	if (ready.number != 0 || ready.what[0] != '\0') {
		ready.what[sizeof ready.what - 1] = '\0';
		kill_group(&record->group);
		refuse(LAUNCH_FAILED, "the stage cannot %s: %s", ready.what, strerror(ready.number));
	}
	return pipes.go[1];
}

void start_stage(int stage, struct record *record, const struct caller *caller, const struct request *request)
{
	int told;
	int go = make_init(record, caller, request, &told);
	record->init_ticks = ticks_of(record->init);
	note_namespaces(record);
	record->state = RUNNING;
	write_record(stage, record);
	await_init(go, told);
}

void try_stage(struct record *record, const struct caller *caller)
{
	int told;
	int go = make_init(record, caller, NULL, &told);
	await_init(go, told);
	int status;
	waitpid(record->init, &status, 0);
	kill_group(&record->group);
}

/* --- enter ------------------------------------------------------------------------------------------------------- */

const int namespace_kinds[NAMESPACES] = {
	[USER] = CLONE_NEWUSER, [MNT] = CLONE_NEWNS, [PID] = CLONE_NEWPID, [IPC] = CLONE_NEWIPC, [TIME] = CLONE_NEWTIME};
const uint64_t enter_rights = BIT(CAP_SYS_ADMIN);

/* One that somebody inside made of others' does not belong to the stage's user namespace. */
bool is_stages(const struct record *record, int which, int *space)
{
	struct stat host, seen, owner;
	const struct namespace_id *user = &record->namespaces[USER];
	if (which == USER)
		return true;
	if (stat("/proc/self/ns/time", &host) != 0 || fstat(*space, &seen) != 0)
		return false;
	/* A stage that was never restored has the host's clocks. */
	if (which == TIME && seen.st_dev == host.st_dev && seen.st_ino == host.st_ino) {
		close(*space);
		*space = -1;
		return true;
	}
	int owners = ioctl(*space, NS_GET_USERNS);
	if (owners < 0)
		return false;
	bool same = fstat(owners, &owner) == 0 && owner.st_dev == user->device && owner.st_ino == user->inode;
	close(owners);
	return same;
}

/* --- inspect ----------------------------------------------------------------------------------------------------- */

noreturn void inspect_stage(const struct record *record, const struct caller *caller)
{
	static char *const words[] = {READER, NULL}, *const environment[] = {NULL};
	int spaces[NAMESPACES];
	sigset_t none;
	open_namespaces(record, spaces);
	/* As for 'enter'; but of the stage's namespaces only the one that decides who may look. */
	if (!leave_keyring() || !become(caller, enter_rights) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0)
		refuse_errno(NO_RIGHTS, "the rights of root cannot be given up");
	if (setns(spaces[USER], CLONE_NEWUSER) != 0)
		refuse_errno(STAGE_ENDED, "the stage's user namespace cannot be entered");
	for (int which = 0; which < NAMESPACES; which++)
		if (spaces[which] >= 0)
			close(spaces[which]);
	if (!drop_capabilities())
		refuse_errno(NO_RIGHTS, "the rights in the stage's user namespace cannot be given up");
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	execve(words[0], words, environment);
	refuse_errno(NO_RIGHTS, READER " cannot be executed; install the privileged part again");
}
