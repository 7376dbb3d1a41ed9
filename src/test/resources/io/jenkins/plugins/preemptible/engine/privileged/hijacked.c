/*
 * A program in CRIU's place, which its attacker has taken over: tries what leads out of the stage's user namespace. It reads
 * 'settings' (NAME=VALUE lines) from the folder of the images, and writes a line for each try into 'tries' in the one for logs:
 * the try, a tab, and 'refused ERRNO' or 'WORKS'.
 */
#define _GNU_SOURCE
#include "broker.h"
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/bpf.h>
#include <linux/capability.h>
#include <linux/if.h>
#include <linux/if_packet.h>
#include <linux/io_uring.h>
#include <linux/kcmp.h>
#include <linux/keyctl.h>
#include <linux/perf_event.h>
#include <linux/reboot.h>
#include <netinet/in.h>
#include <pty.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/fsuid.h>
#include <sys/io.h>
#include <sys/ioctl.h>
#include <sys/klog.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

static char *settings;
static FILE *tries;
static const char *as = "";

static const char *setting(const char *name)
{
	static char values[32][4096];
	static int next;
	char *value = values[next++ % 32], line[64];
	snprintf(line, sizeof line, "\n%s=", name);
	const char *at = strstr(settings, line);
	*value = '\0';
	if (at)
		sscanf(at + strlen(line), "%4095[^\n]", value);
	return value;
}

static int number(const char *name)
{
	return atoi(setting(name));
}

static void tell(const char *name, long result)
{
	int why = errno;
	if (result < 0)
		fprintf(tries, "%s%s\trefused %d\n", as, name, why);
	else
		fprintf(tries, "%s%s\tWORKS\n", as, name);
	fflush(tries);
}

/* The calls of a try that ends or changes its process are made in another one. */
#define TRY(name, expression) \
	do { \
		errno = 0; \
		tell(name, (long) (expression)); \
	} while (0)
#define TRY_APART(name, expression) \
	do { \
		fflush(tries); \
		pid_t apart = fork(); \
		if (apart == 0) { \
			errno = 0; \
			tell(name, (long) (expression)); \
			_exit(0); \
		} \
		waitpid(apart, NULL, 0); \
	} while (0)

static long reads(const char *path)
{
	char byte;
	int fd = open(path, O_RDONLY | O_NONBLOCK);
	long got = fd < 0 ? -1 : read(fd, &byte, 1);
	close(fd);
	return got == 0 ? 0 : got;
}

static long writes(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_NONBLOCK);
	long put = fd < 0 ? -1 : write(fd, text, strlen(text));
	int why = errno;
	close(fd);
	errno = why;
	return put;
}

static long lists(const char *path)
{
	DIR *all = opendir(path);
	long found = all && readdir(all) ? 0 : -1;
	if (all)
		closedir(all);
	return found;
}

static long makes(const char *path)
{
	return open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
}

static const char *in(const char *folder, const char *name)
{
	static char paths[16][8192];
	static int next;
	char *path = paths[next++ % 16];
	snprintf(path, 8192, "%s/%s", folder, name);
	return path;
}

static const char *of(int pid, const char *name)
{
	char folder[64];
	snprintf(folder, sizeof folder, "/proc/%d", pid);
	return in(folder, name);
}

static long enters(int pid, const char *space, int kind)
{
	int fd = open(of(pid, in("ns", space)), O_RDONLY);
	return fd < 0 ? -1 : setns(fd, kind);
}

static long signals(int pid)
{
	return kill(pid, 0);
}

static long attaches(int pid)
{
	return ptrace(PTRACE_SEIZE, pid, 0, 0);
}

static long vm_reads(int pid)
{
	char byte;
	unsigned long start = 0x400000;
	FILE *maps = fopen(of(pid, "maps"), "r");
	if (maps)
		fscanf(maps, "%lx", &start);
	struct iovec here = {&byte, 1}, there = {(void *) start, 1};
	return process_vm_readv(pid, &here, 1, &there, 1, 0);
}

static long takes_descriptor(int pid)
{
	int handle = syscall(SYS_pidfd_open, pid, 0);
	return handle < 0 ? -1 : syscall(SYS_pidfd_getfd, handle, 0, 0);
}

static long opens_by_handle(const char *path)
{
	char room[sizeof(struct file_handle) + MAX_HANDLE_SZ];
	struct file_handle *handle = (struct file_handle *) room;
	int mount;
	handle->handle_bytes = MAX_HANDLE_SZ;
	if (name_to_handle_at(AT_FDCWD, path, handle, &mount, 0) != 0) {
		/* The inode number alone is enough where no generation is asked for. */
		handle->handle_bytes = 8;
		handle->handle_type = 1;
		memset(handle->f_handle, 0, 8);
		handle->f_handle[0] = 2;
	}
	return open_by_handle_at(open("/", O_RDONLY), handle, O_RDONLY);
}

static long loads_bpf(int command)
{
	union bpf_attr attributes;
	struct bpf_insn code[] = {{.code = BPF_ALU64 | BPF_MOV | BPF_K}, {.code = BPF_JMP | BPF_EXIT}};
	memset(&attributes, 0, sizeof attributes);
	if (command == BPF_PROG_LOAD) {
		attributes.prog_type = BPF_PROG_TYPE_KPROBE;
		attributes.insns = (unsigned long) code;
		attributes.insn_cnt = 2;
		attributes.license = (unsigned long) "GPL";
	} else {
		attributes.map_type = BPF_MAP_TYPE_HASH_OF_MAPS;
		attributes.key_size = attributes.value_size = 4;
		attributes.max_entries = 1;
	}
	return syscall(SYS_bpf, command, &attributes, sizeof attributes);
}

static long counts_events(int pid, int cpu)
{
	struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE, .size = sizeof attributes, .config = PERF_COUNT_SW_CPU_CLOCK};
	return syscall(SYS_perf_event_open, &attributes, pid, cpu, -1, 0);
}

/* A path opened by the kernel's own thread of an io_uring. */
static long opens_by_uring(const char *path, unsigned flags)
{
	struct io_uring_params parameters = {.flags = flags};
	int ring = syscall(SYS_io_uring_setup, 4, &parameters);
	if (ring < 0)
		return -1;
	char *rings = mmap(NULL, parameters.cq_off.cqes + parameters.cq_entries * sizeof(struct io_uring_cqe), PROT_READ | PROT_WRITE,
			   MAP_SHARED, ring, IORING_OFF_SQ_RING);
	struct io_uring_sqe *entries = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, ring, IORING_OFF_SQES);
	if (rings == MAP_FAILED || entries == MAP_FAILED)
		return -1;
	memset(entries, 0, sizeof *entries);
	entries->opcode = IORING_OP_OPENAT;
	entries->flags = IOSQE_ASYNC;
	entries->fd = AT_FDCWD;
	entries->addr = (unsigned long) path;
	((unsigned *) (rings + parameters.sq_off.array))[0] = 0;
	__atomic_store_n((unsigned *) (rings + parameters.sq_off.tail), 1, __ATOMIC_RELEASE);
	/* Its thread may sleep already. */
	unsigned how = IORING_ENTER_GETEVENTS | (flags & IORING_SETUP_SQPOLL ? IORING_ENTER_SQ_WAKEUP : 0);
	if (syscall(SYS_io_uring_enter, ring, 1, 1, how, NULL, 0) < 0)
		return -1;
	int result = ((struct io_uring_cqe *) (rings + parameters.cq_off.cqes))->res;
	errno = result < 0 ? -result : 0;
	return result;
}

static long pushes_input(void)
{
	int master, slave;
	if (openpty(&master, &slave, NULL, NULL, NULL) != 0)
		return -1;
	return ioctl(slave, TIOCSTI, "x");
}

static long sends_as(int uid, int pid)
{
	int pair[2];
	char byte = 'x';
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(struct ucred))];
	} control = {0};
	struct ucred who = {.pid = pid, .uid = uid, .gid = 0};
	struct iovec data = {&byte, 1};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
	control.head.cmsg_len = CMSG_LEN(sizeof who);
	control.head.cmsg_level = SOL_SOCKET;
	control.head.cmsg_type = SCM_CREDENTIALS;
	memcpy(CMSG_DATA(&control.head), &who, sizeof who);
	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0)
		return 0;
	return sendmsg(pair[0], &message, 0);
}

static long raises_limit(int which)
{
	struct rlimit limit;
	getrlimit(which, &limit);
	if (limit.rlim_max == RLIM_INFINITY) {
		errno = EPERM;
		return -1;
	}
	limit.rlim_cur = ++limit.rlim_max;
	return setrlimit(which, &limit);
}

static long runs(const char *program, const char *first, const char *second)
{
	int status;
	pid_t child = fork();
	if (child == 0) {
		int nothing = open("/dev/null", O_RDWR);
		dup2(nothing, 0);
		dup2(nothing, 1);
		dup2(nothing, 2);
		execlp(program, program, first, second, NULL);
		_exit(127);
	}
	waitpid(child, &status, 0);
	return status == 0 ? 0 : -1;
}

static long binds_port(void)
{
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons(81), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	return bind(socket(AF_INET, SOCK_STREAM, 0), (struct sockaddr *) &to, sizeof to);
}

static long takes_down_network(void)
{
	struct ifreq request = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_PROMISC};
	return ioctl(socket(AF_INET, SOCK_DGRAM, 0), SIOCSIFFLAGS, &request);
}

static long leaves_group(const char *group)
{
	return writes(in(group, "cgroup.procs"), "0");
}

static long real_time(void)
{
	struct sched_param parameters = {.sched_priority = 1};
	return sched_setscheduler(0, SCHED_FIFO, &parameters);
}

static long sets_clock(void)
{
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	return clock_settime(CLOCK_REALTIME, &now);
}

static long sets_groups(gid_t group)
{
	return setgroups(1, &group);
}

static void try_files(void)
{
	const char *secret = setting("secret"), *roots = setting("roots"), *home = setting("home"), *store = setting("store");
	TRY("read root's file", reads(secret));
	TRY("write root's file", writes(secret, "x"));
	TRY("truncate root's file", truncate(secret, 0));
	TRY("remove root's file", unlink(secret));
	TRY("rename root's file", rename(secret, in(roots, "other")));
	TRY("change the mode of root's file", chmod(secret, 0666));
	TRY("change the owner of root's file", chown(secret, 0, 0));
	TRY("link root's file", link(secret, in(home, "linked")));
	TRY("change an attribute of root's file", setxattr(secret, "user.x", "x", 1, 0));
	TRY("give root's file a capability", setxattr(secret, "security.capability", "\0\0\0\2", 20, 0));
	TRY("make a file in root's folder", makes(in(roots, "made")));
	TRY("make a folder in root's folder", mkdir(in(roots, "made"), 0777));
	TRY("make a link in root's folder", symlink("/etc", in(roots, "made")));
	TRY("open root's file by a handle", opens_by_handle(secret));
	TRY("open root's file by io_uring", opens_by_uring(secret, 0));
	TRY("open root's file by the thread of io_uring", opens_by_uring(secret, IORING_SETUP_SQPOLL));
	TRY("read /etc/shadow", reads("/etc/shadow"));
	TRY("read the rule of sudo", reads(setting("rule")));
	TRY("write the rule of sudo", writes(setting("rule"), "x"));
	TRY("list the records", lists(store));
	TRY("list the user's records", lists(in(store, setting("uid"))));
	TRY("read a record", reads(in(in(store, setting("uid")), "own/record")));
	TRY("write a record", writes(in(in(store, setting("uid")), "own/record"), "x"));
	TRY("make a record", mkdir(in(store, "made"), 0700));
	TRY("write the privileged program", writes(setting("program"), "x"));
	TRY("replace the privileged program", rename(in(home, "settings"), setting("program")));
	TRY("write CRIU's program", writes(in(setting("library"), "criu"), "x"));
	TRY("write CRIU's library", writes(in(setting("library"), "preload.so"), "x"));
	TRY("write CRIU's script", writes(in(setting("library"), "hook"), "x"));
	TRY("read another user's file", reads(setting("foreign")));
	TRY("write another user's file", writes(setting("foreign"), "x"));
	TRY("list another user's folder", lists(setting("others")));
	TRY("read a file of a group that is not the user's", reads(setting("grouped")));
	TRY("give a file to root", chown(setting("mine"), 1, -1));
	TRY("give a file to another group", chown(setting("mine"), -1, 1));
	TRY("make a file immutable", ioctl(open(setting("mine"), O_RDONLY), 0x40086602, &(long){0x10}));
}

static void try_kernel(void)
{
	TRY("make a disk", mknod(in(setting("home"), "disk"), S_IFBLK | 0666, 0x800));
	TRY("make a memory device", mknod(in(setting("home"), "mem"), S_IFCHR | 0666, 0x101));
	TRY("read /dev/mem", reads("/dev/mem"));
	TRY("write /dev/kmsg", writes("/dev/kmsg", "x"));
	TRY("read /proc/kcore", reads("/proc/kcore"));
	TRY("set the core pattern", writes("/proc/sys/kernel/core_pattern", "core"));
	TRY("set the loader of modules", writes("/proc/sys/kernel/modprobe", "/bin/false"));
	TRY("set the last process id", writes("/proc/sys/kernel/ns_last_pid", "500"));
	TRY("set how memory is overcommitted", writes("/proc/sys/vm/overcommit_memory", "1"));
	TRY("press SysRq", writes("/proc/sysrq-trigger", "h"));
	TRY("load a module", syscall(SYS_init_module, "", 0, ""));
	TRY("remove a module", syscall(SYS_delete_module, "none", 0));
	TRY("load another kernel", syscall(SYS_kexec_load, 0, 0, NULL, 0));
	TRY("ignore the keys that restart", syscall(SYS_reboot, LINUX_REBOOT_MAGIC1, LINUX_REBOOT_MAGIC2, LINUX_REBOOT_CMD_CAD_OFF, NULL));
	TRY("load a BPF program", loads_bpf(BPF_PROG_LOAD));
	TRY("make a BPF map", loads_bpf(BPF_MAP_CREATE));
	TRY("count events of a processor", counts_events(-1, 0));
	TRY("count events of process 1", counts_events(1, -1));
	TRY("handle faults of the kernel", syscall(SYS_userfaultfd, 0));
	TRY("watch all files", fanotify_init(FAN_CLASS_CONTENT, O_RDONLY));
	TRY("read the kernel's log", klogctl(3, (char[64]){0}, 64));
	TRY("account processes", syscall(SYS_acct, in(setting("home"), "settings")));
	TRY("swap to a file", syscall(SYS_swapon, setting("mine"), 0));
	TRY("use all ports of the processor", iopl(3));
	TRY("set the host's name", sethostname("x", 1));
	TRY("set the clock", sets_clock());
	TRY("hang up a terminal", syscall(SYS_vhangup));
	TRY("push input to a terminal", pushes_input());
	TRY("open the console", open("/dev/console", O_RDWR | O_NOCTTY));
	TRY("use root's keyring", syscall(SYS_keyctl, KEYCTL_SETPERM, 0x1, 0x3f3f3f3f));
	TRY("become owner of the session's keyring", syscall(SYS_keyctl, KEYCTL_CHOWN, KEY_SPEC_SESSION_KEYRING, 1, -1));
	TRY("receive all packets", socket(AF_PACKET, SOCK_RAW, 0));
	TRY("send raw packets", socket(AF_INET, SOCK_RAW, 1));
	TRY("take a port of root's", binds_port());
	TRY("change a network device", takes_down_network());
	TRY("say it is process 1", sends_as(0, 1));
	TRY("say it is another user", sends_as(1, getpid()));
	TRY("be of real time", real_time());
	TRY("be nicer to itself", setpriority(PRIO_PROCESS, 0, -20));
	TRY("raise the limit of files", raises_limit(RLIMIT_NOFILE));
	TRY("raise the limit of locked memory", raises_limit(RLIMIT_MEMLOCK));
	TRY("survive where memory is short", writes("/proc/self/oom_score_adj", "-1000"));
	TRY("run sudo", runs("sudo", "-n", "true"));
}

static void try_groups(void)
{
	TRY("leave its control group for the top", leaves_group(setting("top")));
	TRY("leave its control group for another stage's", leaves_group(setting("second-group")));
	TRY("make a control group", mkdir(in(setting("top"), "made"), 0755));
	TRY("make a control group below its own", mkdir(in(setting("own-group"), "made"), 0755));
	TRY("freeze another stage", writes(in(setting("second-group"), "cgroup.freeze"), "1"));
	TRY("kill another stage", writes(in(setting("second-group"), "cgroup.kill"), "1"));
	TRY("kill its own stage by the control group", writes(in(setting("own-group"), "cgroup.kill"), "1"));
	TRY("change the subtree of control groups", writes(in(setting("top"), "cgroup.subtree_control"), "+pids"));
	TRY_APART("mount control groups", mount("none", "/tmp", "cgroup2", 0, NULL));
}

static void try_mounts(void)
{
	const char *yard = in(setting("store"), "yard");
	TRY_APART("unmount /sys", umount2("/sys", MNT_DETACH));
	TRY_APART("unmount /proc", umount2("/proc", MNT_DETACH));
	TRY_APART("unmount the yard", umount2(yard, MNT_DETACH));
	TRY_APART("let the yard execute", mount(NULL, yard, NULL, MS_REMOUNT | MS_BIND, NULL));
	TRY_APART("mount a disk", mount("/dev/vda", "/tmp", "ext4", 0, NULL));
	TRY_APART("mount debugfs", mount("none", "/tmp", "debugfs", 0, NULL));
	TRY_APART("mount devtmpfs", mount("none", "/tmp", "devtmpfs", 0, NULL));
	TRY_APART("mount sysfs", mount("none", "/tmp", "sysfs", 0, NULL));
	TRY_APART("move /sys", mount("/sys", "/tmp", NULL, MS_MOVE, NULL));
	TRY_APART("write where the host reads only", mount(NULL, "/", NULL, MS_REMOUNT, NULL));
}

static void try_processes(void)
{
	static const char *const whom[] = {"process 1", "another user's process", "the user's process outside", "another stage"};
	static const char *const names[] = {"one", "others-process", "users-process", "second-init"};
	static const struct {
		const char *name;
		int kind;
	} spaces[] = {{"user", CLONE_NEWUSER}, {"mnt", CLONE_NEWNS}, {"pid", CLONE_NEWPID}, {"ipc", CLONE_NEWIPC},
		{"net", CLONE_NEWNET}, {"cgroup", CLONE_NEWCGROUP}, {"uts", CLONE_NEWUTS}};
	char name[128];
	for (int at = 0; at < 4; at++) {
		int pid = at == 0 ? 1 : number(names[at]);
#define ON(what, expression) \
	do { \
		snprintf(name, sizeof name, what " %s", whom[at]); \
		TRY_APART(name, expression); \
	} while (0)
		ON("signal", signals(pid));
		ON("trace", attaches(pid));
		ON("read the memory of", vm_reads(pid));
		ON("open the memory of", open(of(pid, "mem"), O_RDWR));
		ON("take a file of", takes_descriptor(pid));
		ON("read the environment of", reads(of(pid, "environ")));
		ON("see the root folder of", lists(of(pid, "root/")));
		ON("see an open file of", readlink(of(pid, "fd/0"), name + 64, 64));
		ON("compare itself with", syscall(SYS_kcmp, getpid(), pid, KCMP_FILES, 0, 0));
		ON("change limits of", prlimit(pid, RLIMIT_NOFILE, &(struct rlimit){9, 9}, NULL));
		ON("change the priority of", setpriority(PRIO_PROCESS, pid, 19));
		for (int which = 0; which < 7; which++) {
			snprintf(name, sizeof name, "enter the %s namespace of %s", spaces[which].name, whom[at]);
			TRY_APART(name, enters(pid, spaces[which].name, spaces[which].kind));
		}
	}
	TRY_APART("become another user", setresuid(1, 1, 1));
	TRY_APART("become the host's root", setresuid(0, 0, 0) == 0 && getuid() == 0 ? reads("/etc/shadow") : -1);
	TRY_APART("become another group", setresgid(1, 1, 1));
	TRY_APART("take another group along", sets_groups(42));
}

/* The broker answers for processes of the stage's user namespace. */
static long asks(int pid, size_t length)
{
	struct {
		struct mapped_file wanted;
		char rest[4096];
	} asked = {.wanted = {.pid = pid, .start = 0x400000, .end = 0x401000}};
	char room[256], line[256];
	int answer = 0;
	FILE *maps = fopen(of(pid, "maps"), "r");
	if (maps && fgets(line, sizeof line, maps))
		sscanf(line, "%lx-%lx", &asked.wanted.start, &asked.wanted.end);
	struct iovec data = {&answer, sizeof answer};
	struct msghdr message = {.msg_iov = &data, .msg_iovlen = 1, .msg_control = room, .msg_controllen = sizeof room};
	if (send(BROKER_FD, &asked, length, MSG_NOSIGNAL) < 0 || recvmsg(BROKER_FD, &message, 0) <= 0)
		return -1;
	errno = answer;
	return answer == 0 ? 0 : -1;
}

static void try_broker(void)
{
	size_t length = sizeof(struct mapped_file);
	TRY("ask the broker for process 1", asks(1, length));
	TRY("ask the broker for another user's process", asks(number("others-process"), length));
	TRY("ask the broker for the user's process outside", asks(number("users-process"), length));
	TRY("ask the broker for another stage", asks(number("second-init"), length));
	TRY("ask the broker for the broker", asks(getppid(), length));
	TRY("ask the broker for process 0", asks(0, length));
	TRY("ask the broker for process -1", asks(-1, length));
	TRY("trace the broker", attaches(getppid()));
	TRY("ask the broker with a cut message", asks(1, 1));
	TRY("ask the broker afterwards", asks(getpid(), length));
}

/* --- a restore that pretends to be one ---------------------------------------------------------------------------- */

static void stay(const char *path)
{
	int file = open(path, O_WRONLY | O_CREAT | O_APPEND, 0600);
	for (;;) {
		write(file, "x", 1);
		usleep(1000);
	}
}

/* Made by another process: who has made a PID namespace makes all children in it. */
static pid_t make_init(int uid, int gid)
{
	int told[2];
	pid_t init = 0;
	pipe(told);
	if (fork() == 0) {
		unshare(CLONE_NEWPID);
		init = fork();
		write(told[1], &init, init == 0 ? 0 : sizeof init);
		if (init != 0)
			_exit(0);
		for (int fd = 3; fd < 64; fd++)
			close(fd);
		setresgid(gid, gid, gid);
		setresuid(uid, uid, uid);
		for (;;)
			pause();
	}
	read(told[0], &init, sizeof init);
	return init;
}

static void pretend(const char *mode)
{
	const char *yard = in(setting("store"), "yard");
	char name[64];
	pid_t init = make_init(number("uid"), number("gid"));
	usleep(50000);
	snprintf(name, sizeof name, "/proc/%d/ns/pid", init);
	int space = open(name, O_RDONLY);
	if (strcmp(mode, "fill") == 0) {
		int go = open(in(yard, "go"), O_RDWR | O_NONBLOCK);
		char rest[4096] = "";
		while (write(go, rest, sizeof rest) > 0)
			;
	}
	if (strcmp(mode, "drain") == 0) {
		int ready = open(in(yard, "ready"), O_RDWR | O_NONBLOCK);
		char rest[4096];
		for (int times = 0; times < 300000; times++) {
			write(ready, "x", 1);
			read(ready, rest, sizeof rest);
		}
		exit(1);
	}
	writes(in(yard, "ready"), "ready\n");
	if (strcmp(mode, "fill") == 0)
		sleep(1000);
	usleep(300000);
	if (strcmp(mode, "left") == 0 && fork() == 0)
		stay(setting("trace"));
	if (strcmp(mode, "late") == 0 && setns(space, CLONE_NEWPID) == 0 && fork() == 0)
		stay(setting("trace"));
	exit(0);
}

int main(int argc, char **argv)
{
	settings = calloc(1, 65537);
	*settings = '\n';
	int file = open("/proc/self/fd/4/settings", O_RDONLY);
	if (argc < 2 || file < 0 || read(file, settings + 1, 65535) <= 0)
		return 9;
	close(file);
	const char *mode = setting("mode");
	if (strcmp(mode, "tries") != 0)
		pretend(mode);
	int out = open("/proc/self/fd/5/tries", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	tries = fdopen(out, "w");
	if (!tries)
		return 8;
	/* A try that waits for ever shows in the last line. */
	alarm(40);
	for (int time = 0; time < 2; time++) {
		try_files();
		try_kernel();
		try_groups();
		try_mounts();
		/* With the substitute's id for files. */
		struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
		struct __user_cap_data_struct data[2];
		setfsuid(0);
		syscall(SYS_capget, &header, data);
		data[0].effective = data[0].permitted;
		data[1].effective = data[1].permitted;
		syscall(SYS_capset, &header, data);
		as = "as the substitute: ";
	}
	as = "";
	try_processes();
	if (strcmp(argv[1], "dump") == 0)
		try_broker();
	/* What runs on when it has ended. */
	if (fork() == 0) {
		setsid();
		signal(SIGTERM, SIG_IGN);
		stay(setting("trace"));
	}
	fprintf(tries, "end\trefused 0\n");
	fclose(tries);
	return 1;
}
