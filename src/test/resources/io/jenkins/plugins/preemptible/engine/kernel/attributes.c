/* What a process is allowed and how it is treated: ids, capabilities, filters, limits, priorities, names. */
#define FAMILY "process attributes"
#include "kernel.h"
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/securebits.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static void await_go_in(int folder) {
    MUST(close(MUST(openat(folder, "ready", O_CREAT | O_WRONLY, 0666))));
    while (faccessat(folder, "go", F_OK, 0) < 0) pause_millis(10);
}

static void capabilities(struct __user_cap_data_struct data[2], bool set) {
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    MUST(syscall(set ? SYS_capset : SYS_capget, &head, data));
}

static void other_user(void) {
    gid_t groups[] = {1234, 2345};
    MUST(setgroups(2, groups));
    MUST(setresgid(1001, 1002, 1003));
    MUST(setresuid(2001, 2002, 2003));
    mark("ready");
    wait_go();
    uid_t u[3];
    gid_t g[3], now[10];
    MUST(getresuid(u, u + 1, u + 2));
    MUST(getresgid(g, g + 1, g + 2));
    CHECK(u[0] == 2001 && u[1] == 2002 && u[2] == 2003, "user ids %u %u %u", u[0], u[1], u[2]);
    CHECK(g[0] == 1001 && g[1] == 1002 && g[2] == 1003, "group ids %u %u %u", g[0], g[1], g[2]);
    CHECK(getgroups(10, now) == 2 && now[0] == 1234 && now[1] == 2345, "its other groups changed");
    CHECK(setresuid(0, 0, 0) < 0, "it can become root");
}

RESOURCE(user_ids, "process with real, effective and saved ids and groups of others (setuid helper)") {
    struct __user_cap_data_struct own[2];
    capabilities(own, false);
    if (!(own[0].permitted & 1u << CAP_SYS_RESOURCE)) {
        skip("without CAP_SYS_RESOURCE, as here, CRIU cannot read the limits of another user's process");
    }
    MUST(chmod(".", 0777));
    join(spawn(other_user));
}

RESOURCE(capabilities_kept, "capabilities: fewer effective, permitted, inheritable, bounding ones") {
    struct __user_cap_data_struct before[2], now[2];
    capabilities(before, false);
    MUST(prctl(PR_CAPBSET_DROP, CAP_SYS_TIME));
    before[0].effective &= ~(1u << CAP_NET_RAW);
    before[0].permitted &= ~(1u << CAP_SYS_NICE);
    before[0].effective &= ~(1u << CAP_SYS_NICE);
    before[0].inheritable = 1u << CAP_CHOWN;
    capabilities(before, true);
    if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, CAP_CHOWN, 0, 0) < 0) skip("no ambient capabilities");
    ready_and_wait();
    capabilities(now, false);
    CHECK(memcmp(before, now, sizeof now) == 0, "effective 0x%x, was 0x%x; permitted 0x%x, was 0x%x; inheritable 0x%x",
          now[0].effective, before[0].effective, now[0].permitted, before[0].permitted, now[0].inheritable);
    CHECK(prctl(PR_CAPBSET_READ, CAP_SYS_TIME) == 0, "the bounding set is larger");
    CHECK(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, CAP_CHOWN, 0, 0) == 1, "an ambient one is lost");
}

RESOURCE(secure_bits, "securebits and keep-capabilities") {
    MUST(prctl(PR_SET_SECUREBITS, SECBIT_NOROOT | SECBIT_NO_SETUID_FIXUP));
    ready_and_wait();
    int now = prctl(PR_GET_SECUREBITS);
    CHECK(now == (SECBIT_NOROOT | SECBIT_NO_SETUID_FIXUP), "they are 0x%x", (unsigned)now);
}

RESOURCE(no_new_privileges, "no_new_privs") {
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    ready_and_wait();
    CHECK(prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1, "it is off");
}

static void forbid_getpriority(unsigned flags) {
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getpriority, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTSUP),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof filter / sizeof *filter, filter};
    MUST(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program) < 0) skip("seccomp: %s", strerror(errno));
}

static bool forbidden(void) {
    errno = 0;
    return syscall(SYS_getpriority, PRIO_PROCESS, 0) < 0 && errno == ENOTSUP;
}

static void check_forbidden(void) { CHECK(forbidden(), "a child is not filtered"); }

RESOURCE(seccomp_filter, "seccomp filter") {
    forbid_getpriority(0);
    ready_and_wait();
    CHECK(forbidden(), "it does not filter any more");
    join(spawn(check_forbidden));
}

static pthread_barrier_t both;

static void *filtered(void *unused) {
    (void)unused;
    forbid_getpriority(0);
    pthread_barrier_wait(&both);
    wait_go();
    CHECK(forbidden(), "the thread is not filtered any more");
    return NULL;
}

RESOURCE(seccomp_filter_thread, "seccomp filter of one thread only") {
    pthread_t thread;
    MUST0(pthread_barrier_init(&both, NULL, 2));
    MUST0(pthread_create(&thread, NULL, filtered, NULL));
    pthread_barrier_wait(&both);
    ready_and_wait();
    CHECK(!forbidden(), "the main thread is filtered, too");
    MUST0(pthread_join(thread, NULL));
}

static void strict(void) {
    int file = MUST(open("strict", O_WRONLY | O_CREAT, 0600)), go = MUST(open("go-pipe", O_RDONLY));
    mark("strict runs");
    MUST(prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT));
    char byte;
    if (read(go, &byte, 1) == 1) write(file, "ok", 2);
    syscall(SYS_exit, 0);
}

RESOURCE(seccomp_strict, "seccomp strict mode") {
    MUST(mkfifo("go-pipe", 0600));
    pid_t child = spawn(strict);
    int go = MUST(open("go-pipe", O_WRONLY));
    await_mark("strict runs");
    pause_millis(20);
    ready_and_wait();
    write_all(go, "x", 1);
    join(child);
    expect(MUST(open("strict", O_RDONLY)), "ok");
}

RESOURCE(limits, "resource limits, soft and hard") {
    struct rlimit files = {300, 4000}, core = {12345, 67890}, stack = {4 << 20, RLIM_INFINITY}, now;
    MUST(getrlimit(RLIMIT_STACK, &now));
    stack.rlim_max = now.rlim_max;
    MUST(getrlimit(RLIMIT_NOFILE, &now));
    files.rlim_max = now.rlim_max < 4000 ? now.rlim_max : 4000;
    if (setrlimit(RLIMIT_CORE, &core) < 0) MUST(getrlimit(RLIMIT_CORE, &core));
    MUST(setrlimit(RLIMIT_NOFILE, &files));
    MUST(setrlimit(RLIMIT_STACK, &stack));
    ready_and_wait();
    MUST(getrlimit(RLIMIT_NOFILE, &now));
    CHECK(now.rlim_cur == files.rlim_cur && now.rlim_max == files.rlim_max, "RLIMIT_NOFILE %lu/%lu",
          (unsigned long)now.rlim_cur, (unsigned long)now.rlim_max);
    MUST(getrlimit(RLIMIT_CORE, &now));
    CHECK(now.rlim_cur == core.rlim_cur && now.rlim_max == core.rlim_max, "RLIMIT_CORE changed");
    MUST(getrlimit(RLIMIT_STACK, &now));
    CHECK(now.rlim_cur == stack.rlim_cur && now.rlim_max == stack.rlim_max, "RLIMIT_STACK changed");
}

RESOURCE(nice_value, "nice value") {
    MUST(setpriority(PRIO_PROCESS, 0, 7));
    ready_and_wait();
    CHECK(getpriority(PRIO_PROCESS, 0) == 7, "it is %d", getpriority(PRIO_PROCESS, 0));
}

RESOURCE(scheduling, "scheduler policy and priority: batch here, round robin in a thread") {
    struct sched_param none = {0};
    MUST(sched_setscheduler(0, SCHED_BATCH, &none));
    ready_and_wait();
    CHECK(sched_getscheduler(0) == SCHED_BATCH, "it is %d", sched_getscheduler(0));
}

RESOURCE(scheduling_real_time, "real-time scheduler policy (SCHED_RR)") {
    struct sched_param three = {.sched_priority = 3}, now;
    if (sched_setscheduler(0, SCHED_RR, &three) < 0) skip("no real-time policy here (%s)", strerror(errno));
    ready_and_wait();
    MUST(sched_getparam(0, &now));
    CHECK(sched_getscheduler(0) == SCHED_RR && now.sched_priority == 3, "policy %d, priority %d", sched_getscheduler(0),
          now.sched_priority);
}

RESOURCE(affinity, "CPU affinity") {
    cpu_set_t all, one, now;
    MUST(sched_getaffinity(0, sizeof all, &all));
    if (CPU_COUNT(&all) < 2) skip("this host has one processor");
    CPU_ZERO(&one);
    for (int i = CPU_SETSIZE - 1; i >= 0 && CPU_COUNT(&one) == 0; i--) {
        if (CPU_ISSET(i, &all)) CPU_SET(i, &one);
    }
    MUST(sched_setaffinity(0, sizeof one, &one));
    ready_and_wait();
    MUST(sched_getaffinity(0, sizeof now, &now));
    CHECK(CPU_EQUAL(&one, &now), "it may run on %d processors", CPU_COUNT(&now));
}

RESOURCE(io_priority, "I/O priority") {
    enum { BEST_EFFORT_6 = 2 << 13 | 6 };
    MUST(syscall(SYS_ioprio_set, 1, 0, BEST_EFFORT_6));
    ready_and_wait();
    long now = MUST(syscall(SYS_ioprio_get, 1, 0));
    CHECK(now == BEST_EFFORT_6, "it is class %ld, %ld", now >> 13, now & 0x1fff);
}

RESOURCE(oom_score, "oom_score_adj") {
    int fd = MUST(open("/proc/self/oom_score_adj", O_RDWR));
    write_all(fd, "321", 3);
    close(fd);
    ready_and_wait();
    expect(MUST(open("/proc/self/oom_score_adj", O_RDONLY)), "321");
}

static void *named(void *unused) {
    (void)unused;
    MUST0(pthread_setname_np(pthread_self(), "a thread"));
    pthread_barrier_wait(&both);
    wait_go();
    char name[20];
    MUST0(pthread_getname_np(pthread_self(), name, sizeof name));
    CHECK(strcmp(name, "a thread") == 0, "the thread is called '%s'", name);
    return NULL;
}

RESOURCE(names, "names of process and thread (prctl)") {
    pthread_t thread;
    MUST0(pthread_barrier_init(&both, NULL, 2));
    MUST0(pthread_create(&thread, NULL, named, NULL));
    pthread_barrier_wait(&both);
    MUST(prctl(PR_SET_NAME, "a (name) x"));
    ready_and_wait();
    char name[20] = {0};
    MUST(prctl(PR_GET_NAME, name));
    CHECK(strcmp(name, "a (name) x") == 0, "it is called '%s'", name);
    MUST0(pthread_join(thread, NULL));
}

static void bereaved(void) {
    MUST(prctl(PR_SET_PDEATHSIG, SIGUSR1));
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    MUST(sigprocmask(SIG_BLOCK, &set, NULL));
    mark("child runs");
    siginfo_t info;
    while (sigwaitinfo(&set, &info) < 0) CHECK(errno == EINTR, "sigwaitinfo: %s", strerror(errno));
    mark("told");
}

static void dying_parent(void) {
    spawn(bereaved);
    await_mark("child runs");
    mark("ready");
    wait_go();
}

RESOURCE(parent_death_signal, "parent death signal") {
    join(spawn(dying_parent));
    await_mark("told");
}

RESOURCE(dumpable, "dumpable flag, timer slack, transparent huge pages switched off (prctl)") {
    MUST(prctl(PR_SET_DUMPABLE, 0));
    MUST(prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0));
    ready_and_wait();
    CHECK(prctl(PR_GET_DUMPABLE) == 0, "dumpable is %d", prctl(PR_GET_DUMPABLE));
    CHECK(prctl(PR_GET_THP_DISABLE, 0, 0, 0, 0) == 1, "huge pages are on");
}

RESOURCE(timer_slack, "timer slack") {
    MUST(prctl(PR_SET_TIMERSLACK, 123456));
    ready_and_wait();
    CHECK(prctl(PR_GET_TIMERSLACK) == 123456, "it is %d ns", prctl(PR_GET_TIMERSLACK));
}

RESOURCE(umask_kept, "umask") {
    umask(0137);
    ready_and_wait();
    mode_t now = umask(0);
    CHECK(now == 0137, "it is 0%o", now);
}

RESOURCE(working_folder, "working folder in the workspace, with blanks and other letters in its name") {
    MUST(mkdir("a folder", 0700));
    MUST(mkdir("a folder/größe", 0700));
    int start = MUST(open(".", O_RDONLY | O_DIRECTORY));
    char before[4096], now[4096];
    MUST(chdir("a folder/größe"));
    CHECK(getcwd(before, sizeof before), "getcwd");
    await_go_in(start);
    bool same = getcwd(now, sizeof now) && strcmp(before, now) == 0;
    mark("new");
    MUST(fchdir(start));
    CHECK(same, "it is '%s'", now);
    CHECK(access("a folder/größe/new", F_OK) == 0, "a file went elsewhere");
}

static void confined(void) {
    int start = MUST(open(".", O_RDONLY | O_DIRECTORY));
    MUST(mkdir("jail", 0700));
    mark("jail/inside");
    MUST(chroot("jail"));
    MUST(chdir("/"));
    await_go_in(start);
    bool inside = access("/inside", F_OK) == 0, outside = access("/proc", F_OK) == 0;
    MUST(fchdir(start));
    CHECK(inside && !outside, "its root is another folder");
}

RESOURCE(changed_root, "chroot(2)") { join(spawn(confined)); }

static void without_randomization(void) {
    MUST(personality(ADDR_NO_RANDOMIZE));
    mark("ready");
    wait_go();
    CHECK(personality(0xffffffff) == ADDR_NO_RANDOMIZE, "it is 0x%x", (unsigned)personality(0xffffffff));
}

LOST(personality_kept, "personality (ADDR_NO_RANDOMIZE, as setarch -R sets it)", "it is 0x0") {
    join(spawn(without_randomization));
}

RESOURCE(command_line, "command line and environment as /proc shows them") {
    char before[2000] = {0}, now[2000] = {0};
    int fd = MUST(open("/proc/self/cmdline", O_RDONLY));
    ssize_t size = MUST(read(fd, before, sizeof before));
    close(fd);
    setenv("ADDED", "later", 1);
    ready_and_wait();
    fd = MUST(open("/proc/self/cmdline", O_RDONLY));
    CHECK(read(fd, now, sizeof now) == size && memcmp(before, now, sizeof now) == 0, "the command line changed");
    CHECK(getenv("ADDED") && strcmp(getenv("ADDED"), "later") == 0 && getenv("PATH"), "the environment changed");
    char exe[1000] = {0};
    MUST(readlink("/proc/self/exe", exe, sizeof exe - 1));
    CHECK(access(exe, X_OK) == 0, "its program is %s", exe);
}
