/* Trees of processes: zombies, orphans, daemons, groups, sessions, waiting parents. */
#define FAMILY "processes"
#include "kernel.h"
#include <sys/prctl.h>
#include <sys/syscall.h>

static void exit_42(void) { _exit(42); }

static void die(void) {
    signal(SIGTERM, SIG_DFL);
    raise(SIGTERM);
}

static void await_zombie(pid_t child) {
    siginfo_t info;
    MUST(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT));
}

RESOURCE(zombies, "zombies with an exit code and with a signal") {
    pid_t exited = spawn(exit_42), killed = spawn(die);
    await_zombie(exited);
    await_zombie(killed);
    ready_and_wait();
    int status = 0;
    CHECK(waitpid(exited, &status, WNOHANG) == exited && WIFEXITED(status) && WEXITSTATUS(status) == 42,
          "the exit code is lost: 0x%x", status);
    CHECK(waitpid(killed, &status, WNOHANG) == killed && WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM,
          "the signal is lost: 0x%x", status);
    CHECK(wait(&status) < 0 && errno == ECHILD, "there is another child");
}

static pid_t *orphan;

static void orphaned(void) {
    CHECK(getppid() == *orphan || getppid() == 1, "parent %d", getppid());
    while (getppid() != 1) pause_millis(1);
    mark("orphaned");
    wait_go();
    CHECK(getppid() == 1, "its parent is %d", getppid());
    mark("orphan lives");
}

static void orphan_parent(void) {
    *orphan = getpid();
    spawn(orphaned);
}

RESOURCE(orphan, "orphan below the stage's init") {
    orphan = MUST((pid_t *)mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
    join(spawn(orphan_parent));
    await_mark("orphaned");
    ready_and_wait();
    await_mark("orphan lives");
}

static void daemon_body(void) {
    pid_t self = getpid();
    MUST(chdir("/proc/self/cwd"));
    mark("daemon runs");
    wait_go();
    CHECK(getsid(0) != self && getsid(0) == getpgid(0), "its session is %d, its group %d", getsid(0), getpgid(0));
    CHECK(getppid() == 1, "its parent is %d", getppid());
    mark("daemon lives");
}

static void daemon_leader(void) {
    MUST(setsid());
    spawn(daemon_body);
}

RESOURCE(daemon_double_fork, "daemon: fork, setsid, fork; the session's leader is gone") {
    join(spawn(daemon_leader));
    await_mark("daemon runs");
    ready_and_wait();
    await_mark("daemon lives");
}

static void grouped(void) {
    wait_go();
    CHECK(getpgid(0) != getppid() && getpgid(0) == getpid(), "its group is %d", getpgid(0));
    MUST(kill(0, 0));
}

static pid_t group;

static void joined(void) {
    wait_go();
    CHECK(getpgid(0) == group, "its group is %d, not %d", getpgid(0), group);
}

RESOURCE(process_groups, "process groups: a leader, a member, a member whose leader is gone") {
    pid_t leader = spawn(grouped);
    MUST(setpgid(leader, leader));
    group = leader;
    pid_t member = spawn(joined);
    MUST(setpgid(member, leader));
    pid_t gone = spawn(wait_go);
    MUST(setpgid(gone, gone));
    group = gone;
    pid_t left = spawn(joined);
    MUST(setpgid(left, gone));
    MUST(kill(gone, SIGKILL));
    int status;
    MUST(waitpid(gone, &status, 0));
    ready_and_wait();
    CHECK(getpgid(member) == leader && getpgid(left) == gone, "groups %d and %d", getpgid(member), getpgid(left));
    join(leader);
    join(member);
    join(left);
}

static void session_member(void) {
    wait_go();
    CHECK(getsid(0) == getppid(), "its session is %d", getsid(0));
}

static void session_leader(void) {
    MUST(setsid());
    pid_t child = spawn(session_member);
    mark("session");
    wait_go();
    CHECK(getsid(0) == getpid() && getpgid(0) == getpid(), "session %d, group %d", getsid(0), getpgid(0));
    join(child);
}

RESOURCE(sessions, "session of its own with two processes") {
    pid_t leader = spawn(session_leader);
    await_mark("session");
    ready_and_wait();
    CHECK(getsid(leader) == leader, "its session is %d", getsid(leader));
    join(leader);
}

static void waiting_parent(void) {
    pid_t child = spawn(wait_go);
    mark("waits");
    join(child);
    CHECK(going(), "it woke too early");
}

RESOURCE(waitpid_waits, "process that waits in waitpid(2)") {
    pid_t child = spawn(waiting_parent);
    await_mark("waits");
    ready_and_wait();
    join(child);
}

static void vfork_parent(void) {
    pid_t child = vfork();
    if (child == 0) {
        /* Long enough to be met by a suspension, short enough that it does not give up. */
        struct timespec rest = {0, 400000000};
        nanosleep(&rest, NULL);
        execl("/bin/sh", "sh", "-c", "while [ ! -e go ]; do sleep 0.02; done; exit 5", NULL);
        _exit(9);
    }
    int status = 0;
    while (waitpid(child, &status, 0) < 0) CHECK(errno == EINTR, "waitpid: %s", strerror(errno));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 5, "its child ended with 0x%x", status);
}

RESOURCE(vfork_parent, "process that waits in vfork(2): the suspension waits until its child runs") {
    pid_t child = spawn(vfork_parent);
    pause_millis(5);
    ready_and_wait();
    join(child);
}

static void deep(int depth) {
    if (depth > 0) {
        pid_t child = MUST(fork());
        if (child == 0) {
            deep(depth - 1);
            _exit(0);
        }
        join(child);
    } else {
        mark("deep");
        wait_go();
    }
}

static void deepest(void) { deep(25); }

RESOURCE(deep_tree, "chain of 25 processes, each the parent of the next") {
    pid_t child = spawn(deepest);
    await_mark("deep");
    ready_and_wait();
    join(child);
}

RESOURCE(process_ids, "process ids: those that ran keep theirs, new ones are given") {
    pid_t self = getpid(), parent = getppid(), child = spawn(wait_go);
    ready_and_wait();
    CHECK(getpid() == self && getppid() == parent && syscall(SYS_gettid) == self, "its own changed");
    join(child);
    pid_t new = spawn(exit_42);
    CHECK(new > 0, "no new one");
    int status;
    MUST(waitpid(new, &status, 0));
}

static int shares(void *unused) {
    (void)unused;
    int fd = MUST(open("shared", O_RDWR | O_CREAT, 0600));
    MUST(dup2(fd, 200));
    umask(0);
    mark("opened");
    wait_go();
    write_all(200, "seen", 4);
    close(fd);
    MUST(dup2(200, 201));
    _exit(0);
}

static void share(int flags) {
    static char stack[65536] __attribute__((aligned(16)));
    umask(022);
    pid_t child = MUST(clone(shares, stack + sizeof stack, flags | SIGCHLD, NULL));
    await_mark("opened");
    ready_and_wait();
    join(child);
    MUST(lseek(201, 0, SEEK_SET));
    expect(201, "seen");
}

RESOURCE(shared_descriptors, "processes that share one table of descriptors (CLONE_FILES)") { share(CLONE_FILES); }

REFUSED(shared_folder, "processes that share one working folder and umask (CLONE_FS)", "UNSUPPORTED|CRIU_FAILED") {
    share(CLONE_FILES | CLONE_FS);
    CHECK(umask(0) == 0, "the umask is not shared any more");
}

static void *leaderless(void *unused) {
    (void)unused;
    while (going() || access("inner", F_OK) < 0) pause_millis(1);
    mark("ready");
    wait_go();
    int file = open("result", O_WRONLY | O_CREAT | O_EXCL, 0666);
    write_all(file, "pass", 4);
    _exit(0);
}

static void without_leader(void) {
    pthread_t thread;
    MUST0(pthread_create(&thread, NULL, leaderless, NULL));
    mark("inner");
    syscall(SYS_exit, 0);
}

REFUSED(dead_main_thread, "process whose main thread ended while another runs", "DEAD_LEADER") {
    pid_t child = spawn(without_leader);
    join(child);
}

static void subreaped(void) {
    pid_t child = MUST(fork());
    if (child > 0) _exit(0);
    while (getppid() == 1) pause_millis(1);
    mark("reparented");
    wait_go();
    mark("grandchild lives");
}

RESOURCE(child_subreaper, "child subreaper gets the orphans") {
    MUST(prctl(PR_SET_CHILD_SUBREAPER, 1));
    join(spawn(subreaped));
    await_mark("reparented");
    ready_and_wait();
    int value = 0;
    MUST(prctl(PR_GET_CHILD_SUBREAPER, &value));
    CHECK(value == 1, "it is none any more");
    await_mark("grandchild lives");
    MUST(wait(&value));
}

RESOURCE(many_children, "200 children at once") {
    pid_t children[200];
    for (int i = 0; i < 200; i++) children[i] = spawn(wait_go);
    ready_and_wait();
    for (int i = 0; i < 200; i++) join(children[i]);
}
