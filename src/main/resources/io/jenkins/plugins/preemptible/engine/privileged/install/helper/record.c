/* What root remembers of a stage: one folder of root's for each, with one file. */
#define _GNU_SOURCE
#include "helper.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Of one user. Each is a folder, a group and an init, which the user's own limit of processes counts as one only. */
#define MOST_STAGES 1000

#define FORM "preemptible " "2\n"

static const char *const state_names[] = {"starting", "running", "killed"};
#ifdef CHECKPOINTS
const char *const namespace_names[NAMESPACES] = {"user", "mnt", "pid", "ipc", "time"};
#else
const char *const namespace_names[NAMESPACES] = {"mnt", "pid", "ipc"};
#endif

/* Everything on the way is root's alone since the installation; a folder that is not was made by nobody of ours. */
static int open_own(int at, const char *name)
{
	int folder = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat seen;
	if (folder >= 0 && (fstat(folder, &seen) != 0 || seen.st_uid != 0 || (seen.st_mode & 022) != 0))
		refuse(NO_RIGHTS, "another user than root could change %s; install the privileged part again", STORE);
	return folder;
}

int open_home(uid_t uid)
{
	char name[16];
	snprintf(name, sizeof name, "%" PRIu32, (uint32_t) uid);
	int store = open_own(AT_FDCWD, STORE);
	if (store < 0)
		refuse_errno(NO_RIGHTS, STORE " cannot be opened; install the privileged part again");
	if (mkdirat(store, name, 0700) != 0 && errno != EEXIST)
		refuse_errno(NO_RIGHTS, "a folder below " STORE " cannot be made");
	int home = open_own(store, name);
	if (home < 0)
		refuse_errno(NO_RIGHTS, "a folder below " STORE " cannot be opened");
	close(store);
	return home;
}

static bool lock(int folder)
{
	for (int tries = 0; tries < 1000; tries++) {
		if (flock(folder, LOCK_EX | LOCK_NB) == 0)
			return true;
		nanosleep(&(struct timespec){.tv_nsec = 10 * 1000 * 1000}, NULL);
	}
	return false;
}

static int count_entries(int home)
{
	int count = 0;
	DIR *all = fdopendir(dup(home));
	if (!all)
		refuse_errno(NO_RIGHTS, "the folder of the user's stages cannot be read");
	for (struct dirent *each; (each = readdir(all));)
		count += each->d_name[0] != '.';
	closedir(all);
	return count;
}

int create_stage(int home, const char *id)
{
	if (count_entries(home) >= MOST_STAGES)
		refuse(BAD_SPEC, "this user has %d stages on this host; forget those that ended", MOST_STAGES);
	if (mkdirat(home, id, 0700) != 0) {
		if (errno == EEXIST)
			refuse(BAD_SPEC, "the id %s is in use already", id);
		refuse_errno(LAUNCH_FAILED, "the stage's record cannot be made");
	}
	return open_stage(home, id, true);
}

int open_stage(int home, const char *id, bool with_lock)
{
	int stage = open_own(home, id);
	if (stage < 0 && errno == ENOENT)
		refuse(UNKNOWN_STAGE, "%s", id);
	if (stage < 0)
		refuse_errno(NO_RIGHTS, "the stage's record cannot be opened");
	if (with_lock && !lock(stage))
		refuse(STAGE_BUSY, "%s", id);
	return stage;
}

void write_record(int stage, const struct record *record)
{
	int file = openat(stage, "record.new", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	FILE *out = file < 0 ? NULL : fdopen(file, "w");
	if (!out)
		refuse_errno(LAUNCH_FAILED, "the stage's record cannot be written");
	fprintf(out, FORM "%s\n%s\n%lld\n%s\n%" PRIu64 "\n%d %llu\n", state_names[record->state], record->boot,
		record->started, record->group.path, (uint64_t) record->group.inode, (int) record->init,
		record->init_ticks);
	for (int which = 0; which < NAMESPACES; which++)
		fprintf(out, "%" PRIu64 " %" PRIu64 "\n", (uint64_t) record->namespaces[which].device,
			(uint64_t) record->namespaces[which].inode);
	/* A full disk shows at the flush: a record that was cut off never gets its name. */
	bool written = fflush(out) == 0 && fsync(file) == 0;
	if (fclose(out) != 0 || !written || renameat(stage, "record.new", stage, "record") != 0)
		refuse_errno(LAUNCH_FAILED, "the stage's record cannot be written");
}

bool read_record(int stage, struct record *record)
{
	memset(record, 0, sizeof *record);
	int file = openat(stage, "record", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	if (file < 0 && errno == ENOENT)
		return false;
	FILE *in = file < 0 ? NULL : fdopen(file, "r");
	if (!in)
		refuse_errno(NO_RIGHTS, "the stage's record cannot be read");
	char state[16];
	uint64_t group;
	uint64_t ids[NAMESPACES][2];
	int init;
	int got = fscanf(in, FORM "%15s %39s %lld %4095s %" SCNu64 " %d %llu", state, record->boot, &record->started,
			 record->group.path, &group, &init, &record->init_ticks);
	for (int which = 0; which < NAMESPACES; which++)
		got += fscanf(in, "%" SCNu64 " %" SCNu64, &ids[which][0], &ids[which][1]);
	fclose(in);
	if (got != 7 + 2 * NAMESPACES)
		refuse(NO_RIGHTS, "the stage's record is of another version; an administrator has to end its processes and to remove"
		       " its folder below " STORE);
	record->group.inode = (ino_t) group;
	record->init = init;
	for (int which = 0; which < NAMESPACES; which++) {
		record->namespaces[which].device = (dev_t) ids[which][0];
		record->namespaces[which].inode = (ino_t) ids[which][1];
	}
	for (int which = STARTING; which <= KILLED; which++)
		if (strcmp(state, state_names[which]) == 0)
			record->state = (enum stage_state) which;
	return true;
}

void remove_stage(int home, int stage, const char *id)
{
	if ((unlinkat(stage, "record", 0) != 0 && errno != ENOENT)
	    || (unlinkat(stage, "record.new", 0) != 0 && errno != ENOENT) || unlinkat(home, id, AT_REMOVEDIR) != 0)
		refuse_errno(LAUNCH_FAILED, "the stage's record cannot be removed");
}

void read_boot(char boot[40])
{
	FILE *in = fopen("/proc/sys/kernel/random/boot_id", "re");
	if (!in || fscanf(in, "%39s", boot) != 1)
		refuse(NO_RIGHTS, "the kernel does not tell the id of this boot");
	fclose(in);
}
