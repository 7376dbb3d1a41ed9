/*
 * The privileged part of preemptible stages: starts, enters, freezes, thaws and kills the stages of the user who called
 * it through sudo. docs/security.md argues each line.
 *
 * 1. main.c       the verb, the caller, the locks
 * 2. caller.c     who called; becoming that user for good
 * 3. request.c    the words on standard input, which only the user's own processes ever look at
 * 4. record.c     what root remembers of a stage
 * 5. group.c      the stage's control group
 * 6. process.c    the stage's init, becoming the user's program, and enter
 * 7. stage.c      the stage's namespaces
 *
 * The level "checkpoints" has in place of stage.c, with CHECKPOINTS, CRIU, PRELOAD, HOOK and READER defined:
 * 8. userns.c     a stage whose namespaces belong to a user namespace of root's, and inspect
 * 9. mounts.c     the host's mounts that a stage has, and criu's view of them
 * 10. checkpoint.c  criu inside of that user namespace: dump and restore
 * 11. broker.c    the one thing that only the initial user namespace can open for criu
 * 12. preload.c   the library in criu that asks the broker
 * 13. reader.c    what "inspect" runs: it reads /proc for the engine
 *
 * Rules that hold in every file:
 * - All signals stay blocked until the process is the user's. Whoever kills or freezes it meets a state from which 'kill'
 *   cleans up.
 * - No path of the user's is opened, no word of the user's is parsed, and no program is executed with root's rights.
 * - A function that cannot do its work ends the process with an answer, see refuse().
 */
#ifndef PREEMPTIBLE_HELPER_H
#define PREEMPTIBLE_HELPER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdnoreturn.h>
#include <sys/types.h>

/* The interface to the engine: the two sides have to have the same number. */
#define PROTOCOL 3

/* The folder of root's for all users; fixed when this program is built. */
#ifndef STORE
#error "STORE has to be defined: the folder for the records of stages"
#endif

enum exit_status { DONE = 0, REFUSED = 1, NOT_UNDERSTOOD = 2, NOT_ENTERED = 125 };

/* What an answer can refuse with; the engine's FailureReason has the same names. */
#define UNKNOWN_STAGE "UNKNOWN_STAGE"
#define STAGE_ENDED "STAGE_ENDED"
#define STAGE_RUNS "STAGE_RUNS"
#define STAGE_SUSPENDED "STAGE_SUSPENDED"
#define STAGE_BUSY "STAGE_BUSY"
#define BAD_SPEC "BAD_SPEC"
#define NO_FREEZER "NO_FREEZER"
#define NO_RIGHTS "NO_RIGHTS"
#define KERNEL_WAIT "KERNEL_WAIT"
#define LAUNCH_FAILED "LAUNCH_FAILED"
#define CRIU_FAILED "CRIU_FAILED"
#define IMAGE_UNUSABLE "IMAGE_UNUSABLE"

/* --- main.c ------------------------------------------------------------------------------------------------------ */

/* Answers with a reason and a sentence, and ends the process. */
noreturn void refuse(const char *reason, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* As refuse, with the text of errno. */
noreturn void refuse_errno(const char *reason, const char *what);

/* --- caller.c ---------------------------------------------------------------------------------------------------- */

#define MOST_GROUPS 4096

struct caller {
	uid_t uid;
	gid_t gid;
	int group_count;
	gid_t groups[MOST_GROUPS];
};

/* From SUDO_UID, which sudo sets, and the user database. Refuses root and unknown users. */
void find_caller(struct caller *caller);

/*
 * Gives up root's ids and every capability but these (bits as in capabilities(7)), and sets no_new_privs.
 * False, with errno, when the kernel refused or something is left: the process must end then.
 */
bool become(const struct caller *caller, uint64_t keep);

/* Makes every permitted capability effective again. False with errno. */
bool raise_capabilities(void);

/* Gives up the capabilities that become() kept. */
bool drop_capabilities(void);

/* --- request.c --------------------------------------------------------------------------------------------------- */

struct request {
	char **command;     /* ends with NULL; command[0] is an absolute path */
	char **environment; /* ends with NULL */
};

/* Reads standard input to its end. Bytes stay bytes: nothing in them has a meaning here but the NUL. */
void read_request(struct request *request);

/* Until it is called with false, a reader or writer at the other end that keeps this process waiting ends it. */
void limit_waiting(bool limited);

/* --- group.c ----------------------------------------------------------------------------------------------------- */

#define GROUP_PATH 4096

struct stage_group {
	char path[GROUP_PATH];
	ino_t inode; /* of its folder; never given again while the host runs */
};

/* Chooses a new name below the last group of the caller's path that is root's from the top on. */
void name_group(struct stage_group *group, uid_t uid, const char *id);

/* Makes it; refuses when it exists. */
void make_group(struct stage_group *group);

/* The folder, or -1 when it is gone. Refuses one that is not root's or not the one that was made. */
int open_group(const struct stage_group *group);

/* Whether somebody asked for it to be frozen. */
bool is_frozen(int folder);

/* Whether anything is in it. */
bool is_populated(int folder);

/* Waits until nothing in it moves; refuses, thawed, after ten seconds. */
void freeze(int folder);
void thaw(int folder);

/* Puts the calling process into it. */
void join(int folder);

/* Kills the processes that are in it, or those of them that are chosen. */
void kill_each(int folder, bool (*chosen)(pid_t process));

/* Kills everything in it, waits for the end and removes it. False after fifteen seconds. */
bool kill_group(const struct stage_group *group);

/* --- record.c ---------------------------------------------------------------------------------------------------- */

#ifdef CHECKPOINTS
enum { USER, MNT, PID, IPC, TIME, NAMESPACES };
#else
enum { MNT, PID, IPC, NAMESPACES };
#endif
extern const char *const namespace_names[NAMESPACES];

struct namespace_id {
	dev_t device;
	ino_t inode;
};

enum stage_state { STARTING, RUNNING, KILLED };

struct record {
	enum stage_state state;
	char boot[40];      /* id of the boot in which it was started */
	long long started;  /* milliseconds since 1970 */
	struct stage_group group;
	pid_t init;
	unsigned long long init_ticks; /* field 22 of its stat: start time after boot, in ticks */
	struct namespace_id namespaces[NAMESPACES];
};

/* The caller's folder, made when it is missing. */
int open_home(uid_t uid);

/* Makes the folder of a new stage and locks it; refuses when there is one, or there are too many. */
int create_stage(int home, const char *id);

/* Opens the folder of a stage; waits for its lock when 'lock' is set. */
int open_stage(int home, const char *id, bool lock);

void write_record(int stage, const struct record *record);

/* False when the stage's start never got so far. */
bool read_record(int stage, struct record *record);

void remove_stage(int home, int stage, const char *id);

/* Of this boot. */
void read_boot(char boot[40]);

/* --- process.c --------------------------------------------------------------------------------------------------- */

/* What a new process of a stage could not do, on its way to the one who waits for it. */
struct trouble {
	int number;
	char what[60];
};

noreturn void tell(int told, const char *what);

/* Becomes the user's program; 'told' is closed by the kernel when that succeeds. */
noreturn void run(const struct request *request, int told);

/*
 * Root's still: takes a new session keyring in place of the caller's. A kernel or a container that refuses this call lets a
 * stage have no keys at all. False with errno.
 */
bool leave_keyring(void);

/*
 * For a process that is the user's, and in the stage's namespaces: runs the program in a session of its own, and waits for its
 * end. Returns its exit code, 128 + n for signal n.
 */
int run_inside(const struct request *request);

int open_namespace(pid_t pid, const char *name);

/* Field 22 of /proc/PID/stat; 0 when there is no such process. It may have ended, and wait for its parent. */
unsigned long long ticks_of(pid_t pid);

/* Those of the init. */
void note_namespaces(struct record *record);

/* Waits until the init has become the user's program, for 20 seconds; refuses where it could not. */
void await_init(int go, int told);

/* What is true of a stage's init now. */
bool is_alive(const struct record *record);

/* Kills the init, and with it everything in its namespaces. False after fifteen seconds. */
bool end_init(const struct record *record);

noreturn void refuse_namespaces(void);

/*
 * Opens the namespaces of the init, and looks at what was opened: first a handle of the process, then its namespaces, then
 * whether it is the one of the record and still there. While it is, nobody else has its id. The caller closes them; one is -1
 * where the stage has the host's.
 */
void open_namespaces(const struct record *record, int spaces[NAMESPACES]);

/* Runs a command in a stage; returns its exit code. */
int enter_stage(const struct record *record, const struct caller *caller, const struct request *request);

/* --- stage.c ----------------------------------------------------------------------------------------------------- */

/* The new process keeps none of these folders: one is the lock, which a program that never begins would hold for ever. */
void close_folders(void);

void start_stage(int stage, struct record *record, const struct caller *caller, const struct request *request);

/* What setns(2) takes for each, and the capabilities that it asks for. */
extern const int namespace_kinds[NAMESPACES];
extern const uint64_t enter_rights;

/* Whether a namespace with a recorded inode was made by root for this stage; it may be closed, as -1, as the host's. */
bool is_stages(const struct record *record, int which, int *space);

/* Makes a stage in the record's group, and ends it at once; refuses when this host cannot. */
void try_stage(struct record *record, const struct caller *caller);

#ifndef CHECKPOINTS

/* A stage of this level is never between two states. */
static inline void repair_stage(int stage, const struct record *record)
{
	(void) stage;
	(void) record;
}

#else

/* Added to the user's id: an id for each user that nothing else on the host has. */
#define SUBSTITUTE_BASE 2100000000u

/* --- userns.c ---------------------------------------------------------------------------------------------------- */

/* Set before start_stage(): the stage keeps the host's /tmp. */
extern bool keeps_host_tmp;

/* The user's substitute for root inside; refuses when somebody else could have the id. */
uid_t substitute_of(const struct caller *caller);

/* Only the user, the user's groups and the substitute exist in the new user namespace. */
void write_maps(const struct caller *caller, pid_t child);

/* In the user namespace: becomes its root, which is the substitute outside, with the user's groups. */
bool become_substitute(const struct caller *caller);

/* Becomes the program that reads /proc for the engine, in the stage's user namespace and none of its others. */
noreturn void inspect_stage(const struct record *record, const struct caller *caller);

/* --- mounts.c ---------------------------------------------------------------------------------------------------- */

struct host_mounts {
	int count;
	char **at;
};

/* Where criu's view of the host is mounted, in a mount namespace of each call's own. */
#define YARD STORE "/yard"

/* In a mount namespace of root's: takes out what no stage has. False with errno. */
bool take_out_mounts(const struct caller *caller, bool host_tmp);

/* In a mount namespace of root's: an empty yard with a /proc of its own. False with errno. */
bool make_yard(void);

/* Binds the root and each of the host's mounts into the yard, each without its children: YARD/root, YARD/0, YARD/1 ... */
bool fill_yard(struct host_mounts *mounts);

/* --- checkpoint.c ------------------------------------------------------------------------------------------------ */

/* Ends what a dump left that was cut off; the caller holds the stage's lock. */
void repair_stage(int stage, const struct record *record);

/* Returns criu's exit code. */
int dump_stage(int stage, const struct record *record, const struct caller *caller);

/* Returns when the restored stage runs and was looked at; refuses, with nothing left of it. */
void restore_stage(int stage, struct record *record, const struct caller *caller);

/* --- broker.c ---------------------------------------------------------------------------------------------------- */

/* Serves one dump until its socket closes. */
noreturn void be_broker(int socket, const struct record *record, const struct caller *caller);

#endif

#endif
