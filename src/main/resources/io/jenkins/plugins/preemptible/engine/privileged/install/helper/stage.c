/* A stage's namespaces: making them, and entering them again. */
#define _GNU_SOURCE
#include "helper.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/nsfs.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define BIT(capability) (UINT64_C(1) << (capability))

/* --- start ------------------------------------------------------------------------------------------------------- */

/* Root's code still, as the first process of the new namespaces; nothing of the user's has run in them. */
static noreturn void be_init(const struct caller *caller, const struct request *request, int go, int told)
{
	char may;
	/* Until the record says which namespaces these are. */
	if (read(go, &may, 1) != 1)
		_exit(NOT_ENTERED);
	close(go);
	/* What the host unmounts goes here, too; what is mounted here stays here. */
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) != 0)
		tell(told, "make the mounts its own");
	/* The stage has to see its own process ids, or a pkill in it looks for others. */
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) != 0)
		tell(told, "mount /proc");
	if (setsid() < 0)
		tell(told, "start a session");
	if (!leave_keyring())
		tell(told, "get a keyring of its own");
	if (!become(caller, 0))
		tell(told, "become the user");
	if (!request)
		_exit(DONE);
	run(request, told);
}

/*
 * Root with another effective id, and back. The real and the saved one stay root's, so the user can neither signal nor trace
 * this process; the capabilities stay in effect.
 */
static bool be_charged(uid_t uid)
{
	return seteuid(uid) == 0 && raise_capabilities();
}

/* Starts the init, which waits on the pipe that is returned; what it cannot do comes through 'told'. */
static int clone_init(struct record *record, const struct caller *caller, const struct request *request, int *told)
{
	int go[2], said[2];
	if (pipe2(go, O_CLOEXEC) != 0 || pipe2(said, O_CLOEXEC) != 0)
		refuse_errno(LAUNCH_FAILED, "a pipe cannot be made");
	int folder = open_group(&record->group);
	/* A process that was never outside of the group: nothing of a stage is ever unfrozen or unkilled. */
	struct clone_args how = {
		.flags = CLONE_NEWPID | CLONE_NEWNS | CLONE_NEWIPC | CLONE_INTO_CGROUP,
		.exit_signal = SIGCHLD,
		.cgroup = (unsigned long long) folder,
	};
	/* By the effective id the kernel charges new namespaces to a user, and a user may keep them open for long. */
	if (!be_charged(caller->uid))
		refuse_errno(LAUNCH_FAILED, "the namespaces cannot be charged to the user");
	long pid = syscall(SYS_clone3, &how, sizeof how);
	int why = errno;
	if (!be_charged(0))
		_exit(REFUSED);
	errno = why;
	if (pid == 0) {
		close(go[1]);
		close(said[0]);
		close(folder);
		close_folders();
		be_init(caller, request, go[0], said[1]);
	}
	if (pid < 0) {
		refuse_errno(LAUNCH_FAILED, "the stage's namespaces cannot be made");
	}
	close(go[0]);
	close(said[1]);
	close(folder);
	record->init = (pid_t) pid;
	*told = said[0];
	return go[1];
}

void start_stage(int stage, struct record *record, const struct caller *caller, const struct request *request)
{
	int told;
	int go = clone_init(record, caller, request, &told);
	record->init_ticks = ticks_of(record->init);
	note_namespaces(record);
	/* Still STARTING: nobody enters namespaces that root's code is still working in. */
	write_record(stage, record);
	await_init(go, told);
	record->state = RUNNING;
	write_record(stage, record);
}

void try_stage(struct record *record, const struct caller *caller)
{
	int told;
	int go = clone_init(record, caller, NULL, &told);
	await_init(go, told);
	int status;
	waitpid(record->init, &status, 0);
	kill_group(&record->group);
}

/* --- enter ------------------------------------------------------------------------------------------------------- */

const int namespace_kinds[NAMESPACES] = {[MNT] = CLONE_NEWNS, [PID] = CLONE_NEWPID, [IPC] = CLONE_NEWIPC};
const uint64_t enter_rights = BIT(CAP_SYS_ADMIN) | BIT(CAP_SYS_CHROOT);

/* It belongs to the user namespace that this process is in: one that a user made does not. */
bool is_stages(const struct record *record, int which, int *space)
{
	struct stat owner, own;
	(void) record;
	(void) which;
	int owners = ioctl(*space, NS_GET_USERNS);
	if (owners < 0)
		return false;
	bool same = fstat(owners, &owner) == 0 && stat("/proc/self/ns/user", &own) == 0 && owner.st_dev == own.st_dev
		&& owner.st_ino == own.st_ino;
	close(owners);
	return same;
}
