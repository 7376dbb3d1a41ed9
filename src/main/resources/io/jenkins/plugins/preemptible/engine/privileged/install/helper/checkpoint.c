/*
 * criu, unchanged, inside of the stage's user namespace. It reads what the user wrote, and has no right outside of that
 * namespace: its ids are the user's substitute and the user's groups, and it opens files as the user.
 *
 * 1. The request names two folders of the user's and options. Only criu's own process looks at it, when it has no right
 *    of root's any more; it opens the folders as the user.
 * 2. A dump runs in a control group of its own; what is in there afterwards is killed.
 * 3. A restore makes a new user namespace. Before anything of the restored stage runs, root compares what the kernel
 *    says of each thread with what every process of a stage has, and once more when criu has ended.
 */
#define _GNU_SOURCE
#include "helper.h"
#include "broker.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/close_range.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#if !defined CRIU || !defined PRELOAD || !defined HOOK || !defined READER
#error "CRIU, PRELOAD, HOOK and READER have to be defined: the programs that run in the stage's user namespace"
#endif

#define LARGEST_WORDS (256 * 1024)
/* Of one dump or restore. */
#define CRIU_LIMIT_MS (10 * 60 * 1000)
/* For a criu that was told to end: it leaves every process as it found it. */
#define END_LIMIT_MS (30 * 1000)

/* Descriptors of criu's, behind the broker's. */
enum { IMAGES_FD = BROKER_FD + 1, LOGS_FD, FIRST_FREE_FD };

/* --- the request ------------------------------------------------------------------------------------------------- */

struct words {
	char *text; /* each ends with a NUL */
	size_t length;
};

/*
 * The number of words, then the words: the images folder, the folder for logs, options. The caller keeps the pipe open as
 * long as it wants the work done, so no byte behind the last word is waited for.
 */
static void read_words(struct words *words)
{
	/* Ends with a NUL, whatever follows the last word. */
	words->text = calloc(1, LARGEST_WORDS + 1);
	if (!words->text)
		refuse_errno(BAD_SPEC, "there is no memory for the request");
	size_t ends = 0, wanted = 0;
	words->length = 0;
	limit_waiting(true);
	while (wanted == 0 || ends < wanted + 1) {
		if (words->length == LARGEST_WORDS)
			refuse(BAD_SPEC, "the request has more than %d bytes", LARGEST_WORDS);
		ssize_t got = read(STDIN_FILENO, words->text + words->length, LARGEST_WORDS - words->length);
		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			refuse(BAD_SPEC, "the request is cut off");
		for (ssize_t at = 0; at < got; at++)
			ends += words->text[words->length + (size_t) at] == '\0';
		words->length += (size_t) got;
		if (wanted == 0 && ends > 0) {
			char *end = NULL;
			wanted = *words->text >= '1' && *words->text <= '9' ? strtoul(words->text, &end, 10) : 0;
			if (wanted < 2 || *end != '\0' || wanted > LARGEST_WORDS)
				refuse(BAD_SPEC, "the request does not begin with the number of its words");
		}
	}
	limit_waiting(false);
}

/* --- criu -------------------------------------------------------------------------------------------------------- */

/* What criu's process is to do; all of it is root's word but the words. */
struct errand {
	const struct caller *caller;
	const struct record *record;
	const struct words *words;
	const struct host_mounts *mounts; /* NULL for a dump */
	int broker;                       /* -1 for a restore */
	int told;
};

#define MOST_ARGUMENTS (2 * LARGEST_WORDS / 8)

static char *arguments[MOST_ARGUMENTS];
static int argument_count;

static void add(const char *word)
{
	if (argument_count < MOST_ARGUMENTS - 1)
		arguments[argument_count++] = (char *) word;
}

static void add_mount(const char *inside, const char *outside)
{
	char *text = NULL;
	if (asprintf(&text, "mnt[%s]:%s", inside, outside) < 0)
		_exit(NOT_ENTERED);
	add("--external");
	add(text);
}

/* Where the host's mount of this path is in criu's view; an empty folder when it is gone. */
static const char *find_mount(const struct host_mounts *mounts, const char *at)
{
	char *text = NULL;
	for (int which = mounts->count - 1; which >= 0 && !text; which--)
		if (strcmp(mounts->at[which], at) == 0 && asprintf(&text, YARD "/%d", which) < 0)
			_exit(NOT_ENTERED);
	return text ? text : YARD "/none";
}

static bool be_idle(void)
{
	/* A class of its own for I/O: see ioprio_set(2). */
	return setpriority(PRIO_PROCESS, 0, 19) == 0 && syscall(SYS_ioprio_set, 1, 0, 3 << 13) == 0;
}

/* A fixed set: a word that is none of them ends the errand. */
static bool add_option(const struct errand *errand, const char *word)
{
	if (strcmp(word, "tcp-established") == 0) {
		add("--tcp-established");
		add("--network-lock");
		add("skip");
		return true;
	}
	if (strcmp(word, "tcp-close") == 0) {
		add("--tcp-close");
		return true;
	}
	if (strcmp(word, "idle") == 0)
		return be_idle();
	if (strncmp(word, "ghost-limit=", 12) == 0 && word[12] && strspn(word + 12, "0123456789") == strlen(word + 12)) {
		add("--ghost-limit");
		add(word + 12);
		return true;
	}
	if (strncmp(word, "mount=/", 7) == 0 && !strpbrk(word, "]:")) {
		add_mount(word + 6, errand->mounts ? find_mount(errand->mounts, word + 6) : word + 6);
		return true;
	}
	errno = EINVAL;
	return false;
}

/* Opens files as the user from here on, with the rights of the stage's user namespace. */
static bool open_as_user(const struct caller *caller)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct data[2];
	setfsuid(caller->uid);
	if (syscall(SYS_capget, &header, data) != 0)
		return false;
	data[0].effective = data[0].permitted;
	data[1].effective = data[1].permitted;
	return syscall(SYS_capset, &header, data) == 0;
}

/* Behind all others, so that none of those that criu gets is in its way. */
static int moved(int fd)
{
	return fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, 64);
}

static bool set_descriptors(const struct errand *errand, int images, int logs, bool dumping)
{
	int nothing = moved(open("/dev/null", O_RDONLY));
	int words = moved(openat(logs, dumping ? "dump.out" : "restore.out", O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW, 0600));
	int broker = moved(errand->broker);
	images = moved(images);
	logs = moved(logs);
	if (nothing < 0 || words < 0 || images < 0 || logs < 0 || dup2(nothing, 0) < 0 || dup2(words, 1) < 0 || dup2(words, 2) < 0
	    || dup2(images, IMAGES_FD) < 0 || dup2(logs, LOGS_FD) < 0)
		return false;
	close(BROKER_FD);
	if (dumping && dup2(broker, BROKER_FD) < 0)
		return false;
	return syscall(SYS_close_range, FIRST_FREE_FD, ~0U, CLOSE_RANGE_CLOEXEC) == 0;
}

static bool set_environment(const struct caller *caller, bool dumping)
{
	char uid[16];
	snprintf(uid, sizeof uid, "%u", caller->uid);
	return clearenv() == 0 && setenv("PATH", "/usr/sbin:/usr/bin:/sbin:/bin", 1) == 0
		&& setenv("PREEMPTIBLE_UID", uid, 1) == 0
		&& (!dumping || setenv("PREEMPTIBLE_BROKER", "1", 1) == 0) && setenv("LD_PRELOAD", PRELOAD, 1) == 0;
}

/* In the stage's user namespace already, with root's mounts around it. */
static noreturn void be_criu(const struct errand *errand)
{
	bool dumping = errand->mounts == NULL;
	/* The user's folders may lie where nobody answers: a process that waits there holds no lock. */
	close_folders();
	int told = moved(errand->told);
	char tree[16];
	/* The mounts are root's: nothing in the user namespace can take one away or look below it. */
	if (unshare(CLONE_NEWNS) != 0 || setsid() < 0 || chdir("/") != 0)
		tell(told, "leave the host's mounts");
	/* What it restores keeps its keyring. */
	if (!leave_keyring())
		tell(told, "get a keyring of its own");
	if (!become_substitute(errand->caller) || !open_as_user(errand->caller))
		tell(told, "become the user's substitute");
	const char *word = errand->words->text, *end = word + errand->words->length;
	word += strlen(word) + 1;
	const char *images_path = word, *logs_path = images_path + strlen(images_path) + 1;
	int images = open(images_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (images < 0)
		tell(told, "open the folder of the images");
	int logs = open(logs_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (logs < 0)
		tell(told, "open the folder for the logs");
	/* What real root's criu found out about this host, in /run/criu.kdat, is not what this one may do. */
	if (mount("run", "/run", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=700,size=4m,uid=0,gid=0") != 0
	    || (!dumping && mount("mounts", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "mode=700,size=1m,uid=0,gid=0") != 0))
		tell(told, "mount folders of its own");
	add(CRIU);
	add(dumping ? "dump" : "restore");
	if (dumping) {
		snprintf(tree, sizeof tree, "%d", (int) errand->record->init);
		add("--tree");
		add(tree);
		add("--freeze-cgroup");
		add(errand->record->group.path);
		add("--leave-running");
	} else {
		add("--restore-detached");
		add("--root");
		add(YARD "/root");
		add("--action-script");
		add(HOOK);
	}
	add("--images-dir");
	add("/proc/self/fd/4");
	add("--work-dir");
	add("/proc/self/fd/5");
	add("--log-file");
	add(dumping ? "dump.log" : "restore.log");
	add("--file-locks");
	add("--manage-cgroups=ignore");
	add("-v2");
	for (word = logs_path + strlen(logs_path) + 1; word < end; word += strlen(word) + 1)
		if (!add_option(errand, word))
			tell(told, "take an option of the request");
	if (!set_descriptors(errand, images, logs, dumping) || !set_environment(errand->caller, dumping))
		tell(told, "prepare CRIU");
	/* A write beyond RLIMIT_FSIZE has to fail, not to kill; see end_gently(). */
	signal(SIGXFSZ, SIG_IGN);
	sigset_t none;
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* As the effective ids, or the kernel takes the program for one with more rights and drops its preloaded library. */
	setfsuid(0);
	execv(arguments[0], arguments);
	tell(told, "execute CRIU");
}

_Static_assert(IMAGES_FD == 4 && LOGS_FD == 5, "the paths above name them");

/* Whether it ended within the time. */
static bool await_end(int handle, int limit_ms)
{
	struct pollfd ended = {.fd = handle, .events = POLLIN};
	return poll(&ended, 1, limit_ms) == 1;
}

/* Its next write fails as on a full disk, and it undoes what it did: a criu that is killed may take processes along. */
static void end_gently(pid_t criu, int handle)
{
	struct rlimit nothing = {0};
	setpriority(PRIO_PROCESS, (id_t) criu, 0);
	if (prlimit(criu, RLIMIT_FSIZE, &nothing, NULL) == 0)
		await_end(handle, END_LIMIT_MS);
}

/* Refuses when criu was not even reached. */
static void refuse_told(int told)
{
	struct trouble trouble;
	ssize_t got = read(told, &trouble, sizeof trouble);
	close(told);
	if (got != sizeof trouble)
		return;
	trouble.what[sizeof trouble.what - 1] = '\0';
	refuse(CRIU_FAILED, "CRIU's process cannot %s: %s", trouble.what, strerror(trouble.number));
}

static int code_of(pid_t child)
{
	int status = 0;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* --- dump -------------------------------------------------------------------------------------------------------- */

/* The file that names the group of a dump's criu, beside the record. */
#define TOOL "tool"

static void write_tool(int stage, const struct stage_group *group)
{
	int file = openat(stage, TOOL, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (file < 0 || dprintf(file, "%s\n", group->path) < 0 || fsync(file) != 0)
		refuse_errno(LAUNCH_FAILED, "the dump cannot be noted");
	close(file);
}

static void end_tool(int stage)
{
	struct stage_group group = {0};
	struct stat seen;
	int file = openat(stage, TOOL, O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	FILE *in = file < 0 ? NULL : fdopen(file, "r");
	if (!in)
		return;
	/* Its name is random, so what has it is the dump's. */
	if (fscanf(in, "%4095s", group.path) == 1 && stat(group.path, &seen) == 0) {
		group.inode = seen.st_ino;
		if (!kill_group(&group))
			refuse(KERNEL_WAIT, "CRIU withstands being killed");
	}
	fclose(in);
	unlinkat(stage, TOOL, 0);
}

/* criu freezes and thaws the stage while it takes a picture of it: for that time the one file is the substitute's, too. */
static bool lend_freezer(int folder, gid_t to)
{
	int file = openat(folder, "cgroup.freeze", O_RDONLY | O_NOFOLLOW | O_CLOEXEC);
	bool lent = file >= 0 && (to == 0 ? fchmod(file, 0644) == 0 && fchown(file, 0, 0) == 0
					  : fchown(file, 0, to) == 0 && fchmod(file, 0664) == 0);
	if (file >= 0)
		close(file);
	return lent;
}

void repair_stage(int stage, const struct record *record)
{
	char boot[40];
	read_boot(boot);
	if (strcmp(boot, record->boot) != 0) {
		unlinkat(stage, TOOL, 0);
		return;
	}
	end_tool(stage);
	int folder = record->group.inode != 0 ? open_group(&record->group) : -1;
	if (folder < 0)
		return;
	lend_freezer(folder, 0);
	close(folder);
}

/* The namespaces are root's as long as criu's process has not entered the stage's. */
static noreturn void be_dumper(struct errand *errand, int space)
{
	if (unshare(CLONE_NEWNS) != 0 || !make_yard())
		tell(errand->told, "mount its view of the host");
	if (setns(space, CLONE_NEWUSER) != 0)
		tell(errand->told, "enter the stage's user namespace");
	be_criu(errand);
}

int dump_stage(int stage, const struct record *record, const struct caller *caller)
{
	struct words words;
	struct stage_group tool = {0};
	int spaces[NAMESPACES], talk[2], told[2];
	uid_t substitute = substitute_of(caller);
	read_words(&words);
	int folder = open_group(&record->group);
	if (folder < 0)
		refuse_namespaces();
	open_namespaces(record, spaces);
	freeze(folder);
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, talk) != 0 || pipe2(told, O_CLOEXEC) != 0)
		refuse_errno(LAUNCH_FAILED, "a socket cannot be made");
	fflush(stdout);
	pid_t broker = fork();
	if (broker == 0) {
		close(talk[1]);
		close(told[0]);
		close(told[1]);
		be_broker(talk[0], record, caller);
	}
	close(talk[0]);
	name_group(&tool, caller->uid, "dump");
	write_tool(stage, &tool);
	make_group(&tool);
	int tools = open_group(&tool);
	struct errand errand = {.caller = caller, .record = record, .words = &words, .broker = talk[1], .told = told[1]};
	int handle = -1;
	struct clone_args how = {
		.flags = CLONE_INTO_CGROUP | CLONE_PIDFD,
		.exit_signal = SIGCHLD,
		.cgroup = (unsigned long long) tools,
		.pidfd = (unsigned long long) &handle,
	};
	bool lent = lend_freezer(folder, substitute);
	long criu = broker > 0 && lent ? syscall(SYS_clone3, &how, sizeof how) : -1;
	if (criu == 0)
		be_dumper(&errand, spaces[USER]);
	close(talk[1]);
	close(told[1]);
	int code = NOT_ENTERED;
	if (criu > 0) {
		struct pollfd either[] = {{.fd = handle, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
		poll(either, 2, CRIU_LIMIT_MS);
		if (!(either[0].revents & POLLIN))
			end_gently((pid_t) criu, handle);
	}
	bool killed = kill_group(&tool);
	if (criu > 0)
		code = code_of((pid_t) criu);
	if (broker > 0) {
		kill(broker, SIGKILL);
		code_of(broker);
	}
	lend_freezer(folder, 0);
	if (!killed)
		refuse(KERNEL_WAIT, "CRIU withstands being killed");
	unlinkat(stage, TOOL, 0);
	freeze(folder);
	if (criu < 0)
		refuse(LAUNCH_FAILED, "CRIU's process cannot be made");
	refuse_told(told[0]);
	return code;
}

/* --- restore ----------------------------------------------------------------------------------------------------- */

/*
 * All of it, in a buffer that the next call uses again; NULL with errno. How long a status is, its process chooses: 65536
 * groups are more than half a megabyte, and what counts stands behind them.
 */
static const char *read_text(const char *path)
{
	static char *text;
	static size_t size;
	int file = open(path, O_RDONLY | O_CLOEXEC);
	size_t length = 0;
	ssize_t got = -1;
	while (file >= 0) {
		if (size - length < 4096) {
			char *longer = realloc(text, size + 65536);
			if (!longer)
				break;
			text = longer;
			size += 65536;
		}
		got = read(file, text + length, size - length - 1);
		if (got <= 0)
			break;
		length += (size_t) got;
	}
	int why = errno;
	if (file >= 0)
		close(file);
	errno = why;
	if (got != 0)
		return NULL;
	text[length] = '\0';
	return text;
}

/* The host's id of a process, and the next inner one. False for one that has the host's alone. */
static bool is_inner(const char *status, int *outer, int *inner)
{
	const char *numbers = strstr(status, "\nNSpid:\t");
	return numbers && sscanf(numbers, " NSpid: %d%*[\t]%d", outer, inner) == 2;
}

static bool has_line(const char *text, const char *line)
{
	size_t length = strlen(line);
	for (const char *at = text; (at = strstr(at, line)) != NULL; at++)
		if ((at == text || at[-1] == '\n') && at[length] == '\n')
			return true;
	return false;
}

/* Exactly the caller's: one that is missing could be a group that a file shuts out. */
static bool has_groups(const char *status, const struct caller *caller)
{
	const char *at = strstr(status, "\nGroups:\t");
	int count = 0;
	for (at = at ? at + 9 : ""; *at && *at != '\n'; count++) {
		char *end;
		unsigned long id = strtoul(at, &end, 10);
		if (end == at)
			break;
		bool known = false;
		for (int which = 0; which < caller->group_count; which++)
			known = known || caller->groups[which] == id;
		if (!known)
			return false;
		for (at = end; *at == ' '; at++)
			;
	}
	return count == caller->group_count;
}

static bool is_in(pid_t thread, const char *name, const struct namespace_id *wanted)
{
	struct stat seen;
	char path[64];
	snprintf(path, sizeof path, "/proc/%d/ns/%s", (int) thread, name);
	return stat(path, &seen) == 0 && seen.st_dev == wanted->device && seen.st_ino == wanted->inode;
}

struct look {
	const struct caller *caller;
	const struct namespace_id *user;
	struct namespace_id pids; /* of the first that was seen; all are in the same */
	pid_t init;
	int others; /* in the host's process ids: criu, and what it started */
	char fault[160];
};

/* False for one that a stage must not have. */
static bool look_at(pid_t thread, struct look *look)
{
	char path[64], ids[2][80];
	snprintf(path, sizeof path, "/proc/%d/status", (int) thread);
	const char *status = read_text(path);
	int outer, inner;
	/* It ended meanwhile. What cannot be read for another reason could be anything. */
	if (!status && (errno == ENOENT || errno == ESRCH))
		return true;
	if (!status || !strstr(status, "\nNSpid:\t")) {
		snprintf(look->fault, sizeof look->fault, "the rights of thread %d cannot be told", (int) thread);
		return false;
	}
	if (strstr(status, "\nState:\tZ") || strstr(status, "\nState:\tX"))
		return true;
	if (!is_inner(status, &outer, &inner)) {
		look->others++;
		return true;
	}
	const struct caller *caller = look->caller;
	snprintf(ids[0], sizeof ids[0], "Uid:\t%u\t%u\t%u\t%u", caller->uid, caller->uid, caller->uid, caller->uid);
	snprintf(ids[1], sizeof ids[1], "Gid:\t%u\t%u\t%u\t%u", caller->gid, caller->gid, caller->gid, caller->gid);
	const char *const wanted[] = {
		ids[0], ids[1], "CapInh:\t0000000000000000", "CapPrm:\t0000000000000000", "CapEff:\t0000000000000000",
		"CapAmb:\t0000000000000000", "NoNewPrivs:\t1",
	};
	for (size_t at = 0; at < sizeof wanted / sizeof *wanted; at++)
		if (!has_line(status, wanted[at])) {
			snprintf(look->fault, sizeof look->fault, "process %d has other rights than its user: not %s", inner, wanted[at]);
			return false;
		}
	if (!has_groups(status, caller)) {
		snprintf(look->fault, sizeof look->fault, "process %d has other groups than its user", inner);
		return false;
	}
	if (!is_in(thread, "user", look->user)) {
		snprintf(look->fault, sizeof look->fault, "process %d is in another user namespace", inner);
		return false;
	}
	struct stat seen;
	snprintf(path, sizeof path, "/proc/%d/ns/pid", (int) thread);
	if (stat(path, &seen) != 0)
		return true;
	if (look->pids.inode == 0)
		look->pids = (struct namespace_id){seen.st_dev, seen.st_ino};
	if (look->pids.inode != seen.st_ino || look->pids.device != seen.st_dev) {
		snprintf(look->fault, sizeof look->fault, "process %d is in another PID namespace", inner);
		return false;
	}
	if (inner == 1)
		look->init = outer;
	return true;
}

/* Every thread of a group whose members do not change meanwhile. False with a fault. */
static bool look_at_all(const struct stage_group *group, struct look *look)
{
	char path[GROUP_PATH + 32];
	snprintf(path, sizeof path, "%s/cgroup.threads", group->path);
	FILE *in = fopen(path, "re");
	int thread;
	bool good = in != NULL;
	if (!in)
		snprintf(look->fault, sizeof look->fault, "its threads cannot be listed");
	while (good && fscanf(in, "%d", &thread) == 1)
		good = look_at(thread, look);
	if (in)
		fclose(in);
	return good;
}

/* What a criu that somebody took over could have left; the stage's own are in a PID namespace below the host's. */
static bool is_other(pid_t process)
{
	char path[64];
	int outer, inner;
	snprintf(path, sizeof path, "/proc/%d/status", (int) process);
	const char *status = read_text(path);
	return status && !is_inner(status, &outer, &inner);
}

static noreturn void refuse_restored(const struct record *record, const char *reason, const char *fault)
{
	/* Their init ends when nobody of its namespace waits to be collected; orphans of criu's do so here. */
	signal(SIGCHLD, SIG_IGN);
	prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
	while (waitpid(-1, NULL, WNOHANG) > 0)
		;
	kill_group(&record->group);
	refuse(reason, "the stage is not let run: %s", fault);
}

/* criu has ended: nothing but the stage is in the group, each with the rights of its user. */
static void look_again(struct record *record, const struct caller *caller)
{
	int folder = open_group(&record->group);
	for (int tries = 0; tries < 50; tries++) {
		struct look look = {.caller = caller, .user = &record->namespaces[USER]};
		freeze(folder);
		bool good = look_at_all(&record->group, &look);
		if (!good)
			refuse_restored(record, IMAGE_UNUSABLE, look.fault);
		if (look.others == 0) {
			thaw(folder);
			close(folder);
			return;
		}
		kill_each(folder, is_other);
		thaw(folder);
		nanosleep(&(struct timespec){.tv_nsec = 2 * 1000 * 1000}, NULL);
	}
	refuse_restored(record, IMAGE_UNUSABLE, "something of CRIU's stays");
}

/* Opened before criu has a way to it. */
static int make_fifo(const char *path, uid_t owner)
{
	if (mkfifo(path, 0600) != 0)
		refuse_errno(LAUNCH_FAILED, "a FIFO cannot be made");
	/* Its other end may fill or empty it: nothing waits for that. */
	int fd = open(path, O_RDWR | O_NONBLOCK | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fchown(fd, owner, owner) != 0)
		refuse_errno(LAUNCH_FAILED, "a FIFO cannot be made");
	return fd;
}

/* Waits until criu says that all have their last ids and hold still. False when it has ended, or the caller closed its pipe. */
static bool await_ready(int ready, int handle)
{
	struct pollfd either[] = {
		{.fd = handle, .events = POLLIN}, {.fd = ready, .events = POLLIN}, {.fd = STDIN_FILENO, .events = POLLIN}};
	poll(either, 3, CRIU_LIMIT_MS);
	char byte;
	return (either[1].revents & POLLIN) && read(ready, &byte, 1) == 1;
}

void restore_stage(int stage, struct record *record, const struct caller *caller)
{
	static struct host_mounts mounts;
	struct words words;
	int told[2], may[2], handle = -1;
	uid_t substitute = substitute_of(caller);
	read_words(&words);
	/* What criu restores is orphaned as soon as it has ended. */
	if (prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) != 0 || unshare(CLONE_NEWNS) != 0 || !make_yard() || !fill_yard(&mounts))
		refuse_errno(LAUNCH_FAILED, "the host's mounts cannot be offered to CRIU");
	int ready = make_fifo(YARD "/ready", substitute), go = make_fifo(YARD "/go", substitute);
	if (pipe2(told, O_CLOEXEC) != 0 || pipe2(may, O_CLOEXEC) != 0)
		refuse_errno(LAUNCH_FAILED, "a pipe cannot be made");
	int folder = open_group(&record->group);
	struct errand errand = {
		.caller = caller, .record = record, .words = &words, .mounts = &mounts, .broker = -1, .told = told[1]};
	struct clone_args how = {
		.flags = CLONE_NEWUSER | CLONE_INTO_CGROUP | CLONE_PIDFD,
		.exit_signal = SIGCHLD,
		.cgroup = (unsigned long long) folder,
		.pidfd = (unsigned long long) &handle,
	};
	fflush(stdout);
	long criu = syscall(SYS_clone3, &how, sizeof how);
	if (criu == 0) {
		char byte;
		close(may[1]);
		if (read(may[0], &byte, 1) != 1)
			_exit(NOT_ENTERED);
		close(may[0]);
		be_criu(&errand);
	}
	if (criu < 0)
		refuse_errno(LAUNCH_FAILED, "a user namespace cannot be made");
	close(may[0]);
	close(told[1]);
	write_maps(caller, (pid_t) criu);
	int space = open_namespace((pid_t) criu, "user");
	struct stat seen;
	if (space < 0 || fstat(space, &seen) != 0 || write(may[1], "1", 1) != 1)
		refuse_errno(LAUNCH_FAILED, "a user namespace cannot be made");
	struct namespace_id user = {seen.st_dev, seen.st_ino};
	bool said = await_ready(ready, handle);
	if (said) {
		struct look look = {.caller = caller, .user = &user};
		/*
		 * criu as well, so that nothing changes meanwhile; and what is refused dies frozen: else criu could die first, and
		 * what it held would run until its own kill arrives.
		 */
		freeze(folder);
		if (!look_at_all(&record->group, &look))
			refuse_restored(record, IMAGE_UNUSABLE, look.fault);
		if (look.init == 0)
			refuse_restored(record, IMAGE_UNUSABLE, "it has no init");
		record->init = look.init;
		record->init_ticks = ticks_of(record->init);
		note_namespaces(record);
		if (record->namespaces[USER].inode != user.inode || record->namespaces[PID].inode != look.pids.inode)
			refuse_restored(record, IMAGE_UNUSABLE, "its init is in other namespaces");
		/* Not RUNNING yet: nobody enters while criu is there, not even when this process is killed now. */
		write_record(stage, record);
		thaw(folder);
		if (write(go, "go\n", 3) != 3)
			refuse_restored(record, CRIU_FAILED, strerror(errno));
	}
	bool ended = await_end(handle, said ? END_LIMIT_MS : 0);
	if (!said || !ended) {
		bool late = !ended;
		prctl(PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0);
		kill_group(&record->group);
		int code = code_of((pid_t) criu);
		if (late)
			refuse(CRIU_FAILED, "no end in time, or cancelled");
		refuse_told(told[0]);
		refuse(CRIU_FAILED, "code %d", code);
	}
	int code = code_of((pid_t) criu);
	if (code != 0) {
		kill_group(&record->group);
		refuse(CRIU_FAILED, "code %d", code);
	}
	look_again(record, caller);
	record->state = RUNNING;
	write_record(stage, record);
	close(folder);
	close(space);
}
