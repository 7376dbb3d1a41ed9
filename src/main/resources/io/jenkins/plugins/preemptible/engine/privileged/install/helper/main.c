/* The verb, the caller, the locks and the answer. */
#define _GNU_SOURCE
#include "helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* What a verb is done to. */
struct work {
	struct caller caller;
	int home;
	const char *id;
	int stage;
	struct record record;
	bool recorded;
};

static int refusal_status = REFUSED;

/* What holds the locks. */
static struct work *at_work;

/* What a start has made so far, and a refusal takes away again. */
static struct work *unfinished;

static void end(struct work *work);

/* Nobody who waits for this call's locks waits for the one who reads its answer. */
static bool answer(FILE *to)
{
	if (at_work)
		close_folders();
	limit_waiting(true);
	return fflush(to) == 0;
}

void close_folders(void)
{
	close(at_work->stage);
	close(at_work->home);
}

/* One line of plain text each: what is told is this program's words, numbers, and an id that was checked. */
noreturn void refuse(const char *reason, const char *format, ...)
{
	struct work *undone = unfinished;
	unfinished = NULL;
	va_list arguments;
	va_start(arguments, format);
	/* What the command of an 'enter' prints goes to the same place: there the answer is for people. */
	FILE *to = refusal_status == NOT_ENTERED ? stderr : stdout;
	fprintf(to, refusal_status == NOT_ENTERED ? "preemptible: %s: " : "refused %s ", reason);
	vfprintf(to, format, arguments);
	fputc('\n', to);
	va_end(arguments);
	/* It may be refused, too: then the first answer stays the first, and 'kill' and 'forget' find the rest. */
	if (undone) {
		end(undone);
		remove_stage(undone->home, undone->stage, undone->id);
	}
	answer(to);
	_exit(refusal_status);
}

noreturn void refuse_errno(const char *reason, const char *what)
{
	refuse(reason, "%s: %s", what, strerror(errno));
}

static void begin(struct work *work, bool locked)
{
	work->stage = open_stage(work->home, work->id, locked);
	work->recorded = read_record(work->stage, &work->record);
	if (locked && work->recorded)
		repair_stage(work->stage, &work->record);
}

/* Refuses where there is nothing that could be frozen, thawed or entered. */
static int group_of_living(struct work *work)
{
	int group = work->recorded && work->record.state == RUNNING && is_alive(&work->record)
		? open_group(&work->record.group) : -1;
	/* An init that is on its way out has left its group, and may wait there for long. */
	if (group < 0 || !is_populated(group))
		refuse(STAGE_ENDED, "%s", work->id);
	return group;
}

/* A group with a new name, and a record that says so. */
static void prepare(struct work *work)
{
	unfinished = work;
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	struct record *record = &work->record;
	memset(record, 0, sizeof *record);
	record->state = STARTING;
	record->started = now.tv_sec * 1000LL + now.tv_nsec / 1000000;
	read_boot(record->boot);
	name_group(&record->group, work->caller.uid, work->id);
	/* Before the group is made: a start that is cut off leaves nothing that 'kill' cannot find. */
	write_record(work->stage, record);
	work->recorded = true;
	make_group(&record->group);
}

static int check(struct work *work)
{
	/* No stage has this id. One that is left is of a check that was cut off. */
	work->id = "-check";
	if (mkdirat(work->home, work->id, 0700) != 0 && errno != EEXIST)
		refuse_errno(NO_RIGHTS, "a record cannot be made");
	begin(work, true);
	end(work);
	prepare(work);
	try_stage(&work->record, &work->caller);
	unfinished = NULL;
	remove_stage(work->home, work->stage, work->id);
	char *path = work->record.group.path;
	*strrchr(path, '/') = '\0';
	printf("ok\ngroup %s\n", path);
	return DONE;
}

static int answer_running(const struct record *record)
{
	unfinished = NULL;
	printf("ok\nstate running\ninit %d\nstarted %lld\ngroup %s\n", (int) record->init, record->started, record->group.path);
	return DONE;
}

static int start(struct work *work)
{
	struct request request;
	read_request(&request);
	work->stage = create_stage(work->home, work->id);
	prepare(work);
	start_stage(work->stage, &work->record, &work->caller, &request);
	return answer_running(&work->record);
}

static int enter(struct work *work)
{
	struct request request;
	read_request(&request);
	begin(work, false);
	close(group_of_living(work));
	/* Nothing of root's stays open in what becomes the user's process. */
	close_folders();
	at_work = NULL;
	return enter_stage(&work->record, &work->caller, &request);
}

static int status(struct work *work)
{
	begin(work, false);
	struct record *record = &work->record;
	const char *state = "ended";
	char boot[40];
	read_boot(boot);
	if (work->recorded && record->state == KILLED) {
		state = "killed";
	} else if (work->recorded && strcmp(boot, record->boot) != 0) {
		state = "lost";
	} else if (work->recorded && record->state == RUNNING && is_alive(record)) {
		int group = open_group(&record->group);
		if (group >= 0 && is_populated(group))
			state = is_frozen(group) ? "frozen" : "running";
	} else if (work->recorded && record->state == STARTING) {
		state = "starting";
	}
	printf("ok\nstate %s\n", state);
	if (work->recorded)
		printf("init %d\nstarted %lld\ngroup %s\n", (int) record->init, record->started, record->group.path);
	return DONE;
}

static int freeze_verb(struct work *work)
{
	begin(work, true);
	freeze(group_of_living(work));
	puts("ok");
	return DONE;
}

static int thaw_verb(struct work *work)
{
	begin(work, true);
	thaw(group_of_living(work));
	puts("ok");
	return DONE;
}

/* Ends what there is, in whatever state a start or another call was cut off. */
static void end(struct work *work)
{
	char boot[40];
	read_boot(boot);
	struct record *record = &work->record;
	/* Without an inode the group was only about to be made: its name is random, so what has it is the stage's. */
	struct stat seen;
	if (record->group.inode == 0 && stat(record->group.path, &seen) == 0)
		record->group.inode = seen.st_ino;
	if (!work->recorded || strcmp(boot, record->boot) != 0)
		return;
	/*
	 * First the init, and with it all of its namespace: root's services may have moved it to another group, and cgroup.kill
	 * does not reach a process whose first thread has ended.
	 */
	bool init_ended = end_init(record);
	if (!kill_group(&record->group) || !init_ended)
		refuse(KERNEL_WAIT, "processes of the stage withstand being killed");
}

static int kill_verb(struct work *work)
{
	begin(work, true);
	bool living = work->recorded && work->record.state != KILLED && is_alive(&work->record);
	end(work);
	if (living) {
		work->record.state = KILLED;
		write_record(work->stage, &work->record);
	}
	puts("ok");
	return DONE;
}

static int forget(struct work *work)
{
	begin(work, true);
	if (work->recorded && work->record.state != KILLED && is_alive(&work->record))
		refuse(STAGE_RUNS, "%s", work->id);
	end(work);
	remove_stage(work->home, work->stage, work->id);
	puts("ok");
	return DONE;
}

#ifdef CHECKPOINTS

#define LEVEL "checkpoints\ncriu " CRIU

static int start_host_tmp(struct work *work)
{
	keeps_host_tmp = true;
	return start(work);
}

static int inspect(struct work *work)
{
	begin(work, false);
	close(group_of_living(work));
	close_folders();
	at_work = NULL;
	inspect_stage(&work->record, &work->caller);
}

static int dump(struct work *work)
{
	begin(work, true);
	close(group_of_living(work));
	printf("ok\ncode %d\n", dump_stage(work->stage, &work->record, &work->caller));
	return DONE;
}

/* The stage may be one of another host's, or one that was killed when it was suspended. */
static int restore(struct work *work)
{
	struct stat seen;
	if (fstatat(work->home, work->id, &seen, AT_SYMLINK_NOFOLLOW) != 0) {
		work->stage = create_stage(work->home, work->id);
	} else {
		begin(work, true);
		if (work->recorded && work->record.state != KILLED && is_alive(&work->record))
			refuse(STAGE_RUNS, "%s", work->id);
		end(work);
	}
	prepare(work);
	restore_stage(work->stage, &work->record, &work->caller);
	return answer_running(&work->record);
}

#else

#define LEVEL "memory"

#endif

static int version(struct work *work)
{
	(void) work;
	printf("ok\nprotocol %d\nlevel %s\n", PROTOCOL, LEVEL);
	return DONE;
}

static const struct verb {
	const char *word;
	bool of_a_stage;
	int (*run)(struct work *);
} verbs[] = {
	{"version", false, version}, {"check", false, check}, {"start", true, start}, {"enter", true, enter},
	{"status", true, status}, {"freeze", true, freeze_verb}, {"thaw", true, thaw_verb}, {"kill", true, kill_verb},
	{"forget", true, forget},
#ifdef CHECKPOINTS
	{"start-host-tmp", true, start_host_tmp}, {"inspect", true, inspect}, {"dump", true, dump}, {"restore", true, restore},
#endif
};

/* Lower-case letters, digits and hyphens, 1 to 63 of them: what may stand in a file's name, with no other meaning. */
static bool is_id(const char *text)
{
	size_t length = strlen(text);
	return length >= 1 && length <= 63 && strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-") == length && *text != '-';
}

/* The three standard ones may be closed: the next file would get their numbers, and answers would go into it. */
static void open_standard(void)
{
	int fd;
	do
		fd = open("/dev/null", O_RDWR);
	while (fd >= 0 && fd <= STDERR_FILENO);
	if (fd < 0 || syscall(SYS_close_range, 3, ~0U, 0) != 0)
		_exit(NOT_UNDERSTOOD);
}

/* With fewer a call would be cut off somewhere in its midst. */
static void require_files(void)
{
	struct rlimit files;
	if (getrlimit(RLIMIT_NOFILE, &files) != 0 || files.rlim_cur < 64)
		refuse(BAD_SPEC, "the limit of open files (ulimit -n) is below 64");
}

int main(int argc, char **argv)
{
	sigset_t all;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, NULL);
	/* A core of root's memory would lie where the caller stood. The user's own program can be dumped again. */
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	/* Ignored, it would let children end without their exit code. */
	signal(SIGCHLD, SIG_DFL);
	open_standard();
	/* Whole until answer(): nothing that a terminal or a full pipe holds up is written without its limit. */
	static char buffers[2][4 * GROUP_PATH];
	setvbuf(stdout, buffers[0], _IOFBF, sizeof buffers[0]);
	setvbuf(stderr, buffers[1], _IOFBF, sizeof buffers[1]);
	umask(022);
	if (chdir("/") != 0)
		_exit(NOT_UNDERSTOOD);
	const struct verb *verb = NULL;
	for (size_t at = 0; argc > 1 && at < sizeof verbs / sizeof *verbs; at++)
		if (strcmp(argv[1], verbs[at].word) == 0)
			verb = &verbs[at];
	if (!verb || argc != (verb->of_a_stage ? 3 : 2) || (verb->of_a_stage && !is_id(argv[2]))) {
		fputs("preemptible: a verb and the id of a stage are expected\n", stderr);
		answer(stderr);
		return NOT_UNDERSTOOD;
	}
	static struct work work;
	/* What these run writes to the standard output. */
	if (strcmp(verb->word, "enter") == 0 || strcmp(verb->word, "inspect") == 0)
		refusal_status = NOT_ENTERED;
	find_caller(&work.caller);
	require_files();
	work.home = open_home(work.caller.uid);
	work.id = argv[2];
	work.stage = -1;
	at_work = &work;
	int code = verb->run(&work);
	return answer(stdout) ? code : REFUSED;
}
