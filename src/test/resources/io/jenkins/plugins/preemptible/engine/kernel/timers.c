/* Clocks, timers and sleeps: none jumps back, none forgets what was left. */
#define FAMILY "clocks and timers"
#include "kernel.h"
#include <poll.h>
#include <sys/select.h>
#include <sys/time.h>

static void goes_on(clockid_t clock) {
    int64_t last = nanos(clock);
    int64_t real = nanos(CLOCK_REALTIME), begun = last;
    mark("ready");
    while (!going()) {
        int64_t now = nanos(clock);
        CHECK(now >= last, "it went back by %lld µs", (long long)(last - now) / 1000);
        last = now;
        pause_millis(1);
    }
    int64_t passed = nanos(clock) - begun;
    CHECK(passed > 0 && passed <= nanos(CLOCK_REALTIME) - real + 1000000000LL, "it went on by %lld ms",
          (long long)passed / 1000000);
}

RESOURCE(clock_monotonic, "CLOCK_MONOTONIC goes on without a jump back") { goes_on(CLOCK_MONOTONIC); }
RESOURCE(clock_boottime, "CLOCK_BOOTTIME goes on without a jump back") { goes_on(CLOCK_BOOTTIME); }
RESOURCE(clock_monotonic_raw, "CLOCK_MONOTONIC_RAW goes on without a jump back") { goes_on(CLOCK_MONOTONIC_RAW); }

static volatile sig_atomic_t alarms, values;

static void on_alarm(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)context;
    alarms++;
    values = info->si_value.sival_int;
}

static void handle(int signal) {
    struct sigaction action = {.sa_sigaction = on_alarm, .sa_flags = SA_SIGINFO | SA_RESTART};
    MUST(sigaction(signal, &action, NULL));
}

static void await_alarm(const char *what) {
    for (int i = 0, before = alarms; alarms == before; i++) {
        CHECK(i < 20000, "%s: no signal within 20 s", what);
        pause_millis(1);
    }
}

static void check_left(struct timespec left, int64_t whole, int64_t begun, const char *what) {
    int64_t passed = nanos(CLOCK_MONOTONIC) - begun, now = left.tv_sec * 1000000000LL + left.tv_nsec;
    /* While it is suspended the clock goes on, but a timer does not. */
    CHECK(now <= whole && now >= whole - passed - 2000000000LL, "%s: %lld ms left of %lld ms after %lld ms", what,
          (long long)now / 1000000, (long long)whole / 1000000, (long long)passed / 1000000);
}

RESOURCE(posix_timers, "POSIX timers: remaining time, interval, value; one disarmed") {
    handle(SIGRTMIN + 3);
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGRTMIN + 3};
    event.sigev_value.sival_int = 77;
    timer_t far, often, idle;
    MUST(timer_create(CLOCK_REALTIME, &event, &idle));
    MUST(timer_create(CLOCK_MONOTONIC, &event, &far));
    MUST(timer_create(CLOCK_MONOTONIC, &event, &often));
    MUST(timer_delete(idle));
    MUST(timer_create(CLOCK_REALTIME, &event, &idle));
    struct itimerspec hour = {{9, 0}, {3600, 0}}, fast = {{0, 20000000}, {0, 20000000}}, now;
    int64_t begun = nanos(CLOCK_MONOTONIC);
    MUST(timer_settime(far, 0, &hour, NULL));
    MUST(timer_settime(often, 0, &fast, NULL));
    ready_and_wait();
    await_alarm("interval timer");
    CHECK(values == 77, "its value is %d", values);
    MUST(timer_gettime(far, &now));
    CHECK(now.it_interval.tv_sec == 9, "its interval changed");
    check_left(now.it_value, 3600000000000LL, begun, "timer");
    MUST(timer_gettime(idle, &now));
    CHECK(now.it_value.tv_sec == 0 && now.it_value.tv_nsec == 0, "the disarmed one is armed");
    MUST(timer_delete(often));
    MUST(timer_delete(far));
    MUST(timer_delete(idle));
}

static pthread_mutex_t ticking = PTHREAD_MUTEX_INITIALIZER;
static int ticks;

static void tick(union sigval value) {
    pthread_mutex_lock(&ticking);
    ticks += value.sival_int;
    pthread_mutex_unlock(&ticking);
}

static int ticked(void) {
    pthread_mutex_lock(&ticking);
    int now = ticks;
    pthread_mutex_unlock(&ticking);
    return now;
}

RESOURCE(posix_timer_thread, "POSIX timer that starts threads (SIGEV_THREAD)") {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD, .sigev_value = {.sival_int = 1}};
    event.sigev_notify_function = tick;
    timer_t timer;
    MUST(timer_create(CLOCK_MONOTONIC, &event, &timer));
    struct itimerspec fast = {{0, 30000000}, {0, 30000000}};
    MUST(timer_settime(timer, 0, &fast, NULL));
    ready_and_wait();
    int before = ticked();
    for (int i = 0; ticked() < before + 2; i++) {
        CHECK(i < 20000, "it does not tick any more");
        pause_millis(1);
    }
}

RESOURCE(itimers, "interval timers: real, virtual, profiling") {
    handle(SIGALRM);
    handle(SIGVTALRM);
    struct itimerval fast = {{0, 20000}, {0, 20000}}, hour = {{7, 0}, {3600, 0}}, now;
    MUST(setitimer(ITIMER_REAL, &fast, NULL));
    MUST(setitimer(ITIMER_VIRTUAL, &fast, NULL));
    MUST(setitimer(ITIMER_PROF, &hour, NULL));
    ready_and_wait();
    await_alarm("ITIMER_REAL");
    MUST(getitimer(ITIMER_PROF, &now));
    CHECK(now.it_interval.tv_sec == 7 && now.it_value.tv_sec > 3500, "ITIMER_PROF has %ld s left",
          (long)now.it_value.tv_sec);
    memset(&now, 0, sizeof now);
    MUST(setitimer(ITIMER_REAL, &now, NULL));
    int before = alarms;
    int64_t end = nanos(CLOCK_MONOTONIC) + 20000000000LL;
    while (alarms == before) CHECK(nanos(CLOCK_MONOTONIC) < end, "ITIMER_VIRTUAL: no signal within 20 s");
}

RESOURCE(alarm_remaining, "alarm(2): remaining time") {
    int64_t begun = nanos(CLOCK_MONOTONIC);
    alarm(3600);
    ready_and_wait();
    check_left((struct timespec){alarm(0), 0}, 3600000000000LL, begun, "alarm");
}

/* Over and over, so that every suspension meets it in the middle. It may be interrupted, but never be too short. */
RESOURCE(nanosleep_relative, "relative sleep: its remaining time is right when it is interrupted") {
    mark("ready");
    while (!going()) {
        int64_t begun = nanos(CLOCK_MONOTONIC);
        struct timespec rest = {0, 300000000};
        while (nanosleep(&rest, &rest) < 0) {
            CHECK(errno == EINTR, "nanosleep: %s", strerror(errno));
            CHECK(rest.tv_sec == 0 && rest.tv_nsec <= 300000000, "%ld.%09ld s left of 0.3 s", (long)rest.tv_sec,
                  rest.tv_nsec);
        }
        int64_t slept = nanos(CLOCK_MONOTONIC) - begun;
        CHECK(slept >= 295000000, "300 ms became %lld ms", (long long)slept / 1000000);
    }
}

RESOURCE(nanosleep_absolute, "sleep until a moment (clock_nanosleep, TIMER_ABSTIME)") {
    mark("ready");
    while (!going()) {
        int64_t due = nanos(CLOCK_MONOTONIC) + 300000000;
        struct timespec until = {due / 1000000000, due % 1000000000};
        int error;
        while ((error = clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL)) != 0) {
            CHECK(error == EINTR, "clock_nanosleep: %s", strerror(error));
        }
        int64_t early = due - nanos(CLOCK_MONOTONIC);
        CHECK(early <= 0, "it woke %lld µs early", (long long)early / 1000);
    }
}

RESOURCE(poll_limit, "poll(2) with a time limit: in time, or EINTR") {
    int ends[2];
    MUST(pipe(ends));
    struct pollfd watched = {ends[0], POLLIN, 0};
    mark("ready");
    while (!going()) {
        int64_t begun = nanos(CLOCK_MONOTONIC);
        int answer = poll(&watched, 1, 300);
        int64_t passed = nanos(CLOCK_MONOTONIC) - begun;
        CHECK(answer == 0 || (answer < 0 && errno == EINTR), "poll: %d %s", answer, strerror(errno));
        CHECK(answer != 0 || passed >= 295000000, "its 300 ms became %lld ms", (long long)passed / 1000000);
    }
    write_all(ends[1], "x", 1);
    CHECK(poll(&watched, 1, 1000) == 1, "it sees nothing afterwards");
}

RESOURCE(select_limit, "select(2) with a time limit: in time, or EINTR") {
    int ends[2];
    MUST(pipe(ends));
    mark("ready");
    while (!going()) {
        int64_t begun = nanos(CLOCK_MONOTONIC);
        fd_set set;
        FD_ZERO(&set);
        FD_SET(ends[0], &set);
        struct timeval limit = {0, 300000};
        int answer = select(ends[0] + 1, &set, NULL, NULL, &limit);
        int64_t passed = nanos(CLOCK_MONOTONIC) - begun;
        CHECK(answer == 0 || (answer < 0 && errno == EINTR), "select: %d %s", answer, strerror(errno));
        CHECK(answer != 0 || passed >= 295000000, "its 300 ms became %lld ms", (long long)passed / 1000000);
    }
}
