/*
 * The privileged part of preemptible stages: starts, enters, freezes, thaws and kills the stages of the user who called
 * it through sudo. docs/security.md argues each line.
 *
 * 1. main.c       the verb, the caller, the locks
 * 2. caller.c     who called; becoming that user for good
 * 3. request.c    the words on standard input, which only the user's own processes ever look at
 * 4. record.c     what root remembers of a stage
 * 5. group.c      the stage's control group
 * 6. stage.c      the stage's namespaces: start and enter
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
#define PROTOCOL 2

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

/* Gives up the capabilities that become() kept. */
bool drop_capabilities(void);

/* --- request.c --------------------------------------------------------------------------------------------------- */

struct request {
	char **command;     /* ends with NULL; command[0] is an absolute path */
	char **environment; /* ends with NULL */
};

/* Reads standard input to its end. Bytes stay bytes: nothing in them has a meaning here but the NUL. */
void read_request(struct request *request);

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

/* Waits until nothing in it moves; refuses, thawed, after ten seconds. */
void freeze(int folder);
void thaw(int folder);

/* Puts the calling process into it. */
void join(int folder);

/* Kills everything in it, waits for the end and removes it. False after fifteen seconds. */
bool kill_group(const struct stage_group *group);

/* --- record.c ---------------------------------------------------------------------------------------------------- */

enum { MNT, PID, IPC, NAMESPACES };
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

/* --- stage.c ----------------------------------------------------------------------------------------------------- */

/* What is true of a stage's init now. */
bool is_alive(const struct record *record);

/* Kills the init, and with it everything in its namespaces. False after fifteen seconds. */
bool end_init(const struct record *record);

/* Refuses, with nothing left running, when the program does not begin within 20 seconds. */
void start_stage(int home, int stage, struct record *record, const struct caller *caller, const struct request *request);

/* Runs a command in a stage; returns its exit code. */
int enter_stage(const struct record *record, const struct caller *caller, const struct request *request);

/* Makes a stage in the group, ends it at once and removes the group; refuses when this host cannot. */
void try_stage(struct record *record, const struct caller *caller);

#endif
