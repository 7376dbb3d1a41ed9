/* Signals: pending ones, handlers, masks, stacks, stopped processes. */
#define FAMILY "signals"
#include "kernel.h"
#include <sys/syscall.h>

static sigset_t set_of(int first, int second) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, first);
    if (second) sigaddset(&set, second);
    return set;
}

RESOURCE(pending_process, "signals pending for the process, queued real-time ones with values") {
    int queued = SIGRTMIN + 5;
    sigset_t set = set_of(queued, SIGUSR1);
    MUST(sigprocmask(SIG_BLOCK, &set, NULL));
    for (int i = 1; i <= 3; i++) MUST(sigqueue(getpid(), queued, (union sigval){.sival_int = 100 + i}));
    MUST(kill(getpid(), SIGUSR1));
    ready_and_wait();
    siginfo_t info;
    sigset_t one = set_of(SIGUSR1, 0), other = set_of(queued, 0);
    struct timespec none = {0, 0};
    CHECK(sigtimedwait(&one, &info, &none) == SIGUSR1 && info.si_code == SI_USER, "SIGUSR1 is lost");
    for (int i = 1; i <= 3; i++) {
        CHECK(sigtimedwait(&other, &info, &none) == queued, "queued signal %d is lost", i);
        CHECK(info.si_value.sival_int == 100 + i && info.si_code == SI_QUEUE && info.si_pid == getpid(),
              "queued signal %d has the value %d", i, info.si_value.sival_int);
    }
    CHECK(sigtimedwait(&other, &info, &none) < 0, "there is one more than was queued");
}

static pthread_barrier_t both;

static void *pending_thread(void *unused) {
    (void)unused;
    sigset_t set = set_of(SIGUSR2, 0);
    siginfo_t info;
    struct timespec none = {0, 0};
    pthread_barrier_wait(&both);
    wait_go();
    CHECK(sigtimedwait(&set, &info, &none) == SIGUSR2, "the thread's signal is lost");
    CHECK(info.si_pid == getpid(), "it comes from %d", info.si_pid);
    return NULL;
}

RESOURCE(pending_thread, "signal pending for one thread only") {
    sigset_t set = set_of(SIGUSR2, 0), pending;
    MUST0(pthread_sigmask(SIG_BLOCK, &set, NULL));
    pthread_t thread;
    MUST0(pthread_barrier_init(&both, NULL, 2));
    MUST0(pthread_create(&thread, NULL, pending_thread, NULL));
    pthread_barrier_wait(&both);
    MUST0(pthread_kill(thread, SIGUSR2));
    ready_and_wait();
    MUST(sigpending(&pending));
    CHECK(!sigismember(&pending, SIGUSR2), "it is pending for the main thread, too");
    MUST0(pthread_join(thread, NULL));
}

static volatile sig_atomic_t caught, on_stack;
static char other_stack[65536] __attribute__((aligned(16)));

static void on_signal(int signal, siginfo_t *info, void *context) {
    (void)info, (void)context;
    char here;
    caught = signal;
    on_stack = &here >= other_stack && &here < other_stack + sizeof other_stack;
}

RESOURCE(handlers, "signal handlers with flags and masks, ignored signals") {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_RESTART}, now;
    action.sa_mask = set_of(SIGTERM, SIGHUP);
    MUST(sigaction(SIGUSR1, &action, NULL));
    signal(SIGPIPE, SIG_IGN);
    ready_and_wait();
    MUST(sigaction(SIGUSR1, NULL, &now));
    CHECK(now.sa_sigaction == on_signal && (now.sa_flags & (SA_SIGINFO | SA_NODEFER | SA_RESTART)) == action.sa_flags,
          "its flags are 0x%x", (unsigned)now.sa_flags);
    CHECK(sigismember(&now.sa_mask, SIGTERM) && sigismember(&now.sa_mask, SIGHUP) && !sigismember(&now.sa_mask, SIGINT),
          "its mask changed");
    MUST(sigaction(SIGPIPE, NULL, &now));
    CHECK(now.sa_handler == SIG_IGN, "SIGPIPE is not ignored any more");
    MUST(raise(SIGUSR1));
    CHECK(caught == SIGUSR1, "the handler did not run");
}

RESOURCE(sigaltstack_kept, "alternate signal stack") {
    stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack}, now;
    MUST(sigaltstack(&stack, NULL));
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    MUST(sigaction(SIGUSR1, &action, NULL));
    ready_and_wait();
    MUST(sigaltstack(NULL, &now));
    CHECK(now.ss_sp == other_stack && now.ss_size == sizeof other_stack, "it is elsewhere");
    MUST(raise(SIGUSR1));
    CHECK(on_stack, "the handler did not run on it");
}

static void *masked(void *signal) {
    sigset_t set = set_of((int)(intptr_t)signal, 0), now;
    MUST0(pthread_sigmask(SIG_SETMASK, &set, NULL));
    pthread_barrier_wait(&both);
    wait_go();
    MUST0(pthread_sigmask(SIG_BLOCK, NULL, &now));
    for (int i = 1; i < 32; i++) {
        CHECK(sigismember(&now, i) == (i == (int)(intptr_t)signal), "signal %d changed in a thread's mask", i);
    }
    return NULL;
}

RESOURCE(masks, "signal masks, each thread its own") {
    pthread_t one, two;
    MUST0(pthread_barrier_init(&both, NULL, 3));
    MUST0(pthread_create(&one, NULL, masked, (void *)SIGUSR1));
    MUST0(pthread_create(&two, NULL, masked, (void *)SIGCHLD));
    pthread_barrier_wait(&both);
    ready_and_wait();
    MUST0(pthread_join(one, NULL));
    MUST0(pthread_join(two, NULL));
}

RESOURCE(stopped_child, "stopped process stays stopped until SIGCONT") {
    pid_t child = spawn(wait_go);
    int status;
    MUST(kill(child, SIGSTOP));
    MUST(waitpid(child, &status, WUNTRACED));
    ready_and_wait();
    char path[40], text[400] = {0};
    snprintf(path, sizeof path, "/proc/%d/stat", child);
    int fd = MUST(open(path, O_RDONLY));
    MUST(read(fd, text, sizeof text - 1));
    CHECK(strstr(text, ") T "), "it runs: %.60s", text);
    MUST(kill(child, SIGCONT));
    join(child);
}

static void sigwait_child(void) {
    sigset_t set = set_of(SIGUSR1, 0);
    siginfo_t info;
    mark("waiting");
    while (sigwaitinfo(&set, &info) < 0) CHECK(errno == EINTR, "sigwaitinfo: %s", strerror(errno));
    CHECK(info.si_signo == SIGUSR1 && going(), "it woke too early");
}

RESOURCE(sigwait_waits, "process that waits in sigwaitinfo(2)") {
    sigset_t set = set_of(SIGUSR1, 0);
    MUST(sigprocmask(SIG_BLOCK, &set, NULL));
    pid_t child = spawn(sigwait_child);
    await_mark("waiting");
    ready_and_wait();
    MUST(kill(child, SIGUSR1));
    join(child);
}

static void pause_child(void) {
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = SA_SIGINFO};
    sigset_t set = set_of(SIGUSR1, 0), before;
    MUST(sigprocmask(SIG_BLOCK, &set, &before));
    MUST(sigaction(SIGUSR1, &action, NULL));
    mark("waiting");
    /* A suspension may wake it, without a signal. */
    while (!caught) sigsuspend(&before);
    CHECK(going(), "it woke too early");
}

RESOURCE(sigsuspend_waits, "process that waits in sigsuspend(2)") {
    pid_t child = spawn(pause_child);
    await_mark("waiting");
    ready_and_wait();
    MUST(kill(child, SIGUSR1));
    join(child);
}
