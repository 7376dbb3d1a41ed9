/* Descriptors that wait for events: epoll, eventfd, signalfd, timerfd, inotify, pidfd, AIO. */
#define FAMILY "events"
#include "kernel.h"
#include <linux/aio_abi.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>

RESOURCE(epoll, "epoll: watched pipes, edge and level, user data") {
    int level[2], edge[2], poll = MUST(epoll_create1(0));
    MUST(pipe(level));
    MUST(pipe(edge));
    struct epoll_event one = {EPOLLIN, {.u64 = 0x1111222233334444}}, two = {EPOLLIN | EPOLLET, {.u64 = 2}}, got[4];
    MUST(epoll_ctl(poll, EPOLL_CTL_ADD, level[0], &one));
    MUST(epoll_ctl(poll, EPOLL_CTL_ADD, edge[0], &two));
    ready_and_wait();
    CHECK(epoll_wait(poll, got, 4, 0) == 0, "an event without a cause");
    write_all(level[1], "x", 1);
    CHECK(epoll_wait(poll, got, 4, 2000) == 1 && got[0].data.u64 == one.data.u64, "the first pipe is not watched");
    CHECK(epoll_wait(poll, got, 4, 0) == 1, "it is not level-triggered any more");
    expect(level[0], "x");
    write_all(edge[1], "y", 1);
    CHECK(epoll_wait(poll, got, 4, 2000) == 1 && got[0].data.u64 == 2, "the second pipe is not watched");
    CHECK(epoll_wait(poll, got, 4, 0) == 0, "it is not edge-triggered any more");
}

static int waiting_poll;

static void epoll_child(void) {
    struct epoll_event got;
    int count;
    mark("waiting");
    while ((count = epoll_wait(waiting_poll, &got, 1, -1)) < 0) CHECK(errno == EINTR, "%s", strerror(errno));
    CHECK(count == 1 && got.data.u32 == 9 && going(), "epoll_wait woke too early");
}

RESOURCE(epoll_waits, "process that waits in epoll_wait(2) without a limit") {
    int event = MUST(eventfd(0, 0));
    waiting_poll = MUST(epoll_create1(0));
    struct epoll_event one = {EPOLLIN, {.u32 = 9}};
    MUST(epoll_ctl(waiting_poll, EPOLL_CTL_ADD, event, &one));
    pid_t child = spawn(epoll_child);
    await_mark("waiting");
    ready_and_wait();
    MUST(eventfd_write(event, 1));
    join(child);
}

RESOURCE(eventfd, "eventfd: value and flags") {
    int counter = MUST(eventfd(41, EFD_NONBLOCK | EFD_CLOEXEC));
    ready_and_wait();
    eventfd_t value = 0;
    MUST(eventfd_write(counter, 1));
    MUST(eventfd_read(counter, &value));
    CHECK(value == 42, "its value is %llu", (unsigned long long)value);
    CHECK(eventfd_read(counter, &value) < 0 && errno == EAGAIN, "it is not read without waiting any more");
}

LOST(eventfd_semaphore, "eventfd as a semaphore (EFD_SEMAPHORE)", "it became a counter") {
    int semaphore = MUST(eventfd(3, EFD_SEMAPHORE | EFD_NONBLOCK));
    ready_and_wait();
    eventfd_t value = 0;
    for (int i = 0; i < 3; i++) {
        MUST(eventfd_read(semaphore, &value));
        CHECK(value == 1, "it became a counter");
    }
    CHECK(eventfd_read(semaphore, &value) < 0 && errno == EAGAIN, "it gives more than it had");
}

RESOURCE(signalfd, "signalfd with a signal pending") {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigaddset(&set, SIGUSR2);
    MUST(sigprocmask(SIG_BLOCK, &set, NULL));
    int fd = MUST(signalfd(-1, &set, SFD_NONBLOCK));
    MUST(kill(getpid(), SIGUSR1));
    ready_and_wait();
    struct signalfd_siginfo info;
    CHECK(read(fd, &info, sizeof info) == sizeof info && info.ssi_signo == SIGUSR1, "the pending signal is lost");
    CHECK(info.ssi_pid == (uint32_t)getpid(), "it comes from %u", info.ssi_pid);
    MUST(kill(getpid(), SIGUSR2));
    CHECK(read(fd, &info, sizeof info) == sizeof info && info.ssi_signo == SIGUSR2, "its mask changed");
}

RESOURCE(timerfd, "timerfd: remaining time, interval, one that expired") {
    int far = MUST(timerfd_create(CLOCK_MONOTONIC, 0)), near = MUST(timerfd_create(CLOCK_REALTIME, 0));
    int done = MUST(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK));
    struct itimerspec hour = {{500, 0}, {3600, 0}}, often = {{0, 30000000}, {0, 30000000}}, once = {{0, 0}, {0, 1}};
    int64_t begun = nanos(CLOCK_MONOTONIC);
    MUST(timerfd_settime(far, 0, &hour, NULL));
    MUST(timerfd_settime(near, 0, &often, NULL));
    MUST(timerfd_settime(done, 0, &once, NULL));
    ready_and_wait();
    struct itimerspec now;
    MUST(timerfd_gettime(far, &now));
    int64_t passed = nanos(CLOCK_MONOTONIC) - begun;
    int64_t left = now.it_value.tv_sec * 1000000000LL + now.it_value.tv_nsec;
    CHECK(now.it_interval.tv_sec == 500, "its interval changed");
    /* While it is suspended the clock goes on, but a timer does not. */
    CHECK(left <= 3600000000000LL && left >= 3598000000000LL - passed, "%lld ms left after %lld ms",
          (long long)left / 1000000, (long long)passed / 1000000);
    uint64_t ticks = 0;
    read_all(done, &ticks, sizeof ticks);
    CHECK(ticks == 1, "the expired one ticked %llu times", (unsigned long long)ticks);
    read_all(near, &ticks, sizeof ticks);
    CHECK(ticks > 0, "no tick");
    read_all(near, &ticks, sizeof ticks);
    CHECK(ticks > 0, "no tick afterwards");
}

RESOURCE(inotify, "inotify on a file and a folder of the workspace") {
    mark("watched");
    MUST(mkdir("folder", 0700));
    int fd = MUST(inotify_init1(IN_NONBLOCK));
    int file = MUST(inotify_add_watch(fd, "watched", IN_MODIFY));
    int folder = MUST(inotify_add_watch(fd, "folder", IN_CREATE | IN_DELETE));
    ready_and_wait();
    char events[4096] __attribute__((aligned(8)));
    while (read(fd, events, sizeof events) > 0) {}
    mark("folder/new");
    struct inotify_event *event = (void *)events;
    CHECK(read(fd, events, sizeof events) > 0, "the folder is not watched any more");
    CHECK(event->wd == folder && event->mask == IN_CREATE && strcmp(event->name, "new") == 0, "event 0x%x of %d",
          event->mask, event->wd);
    int out = MUST(open("watched", O_WRONLY));
    write_all(out, "x", 1);
    CHECK(read(fd, events, sizeof events) > 0, "the file is not watched any more");
    CHECK(event->wd == file && event->mask == IN_MODIFY, "event 0x%x of %d", event->mask, event->wd);
}

LOST(inotify_deleted, "inotify on a file that was deleted and is open", "the file is not watched any more") {
    int file = MUST(open("deleted", O_RDWR | O_CREAT, 0600));
    int fd = MUST(inotify_init1(IN_NONBLOCK));
    MUST(inotify_add_watch(fd, "deleted", IN_MODIFY));
    MUST(unlink("deleted"));
    ready_and_wait();
    char events[4096] __attribute__((aligned(8)));
    while (read(fd, events, sizeof events) > 0) {}
    write_all(file, "x", 1);
    CHECK(read(fd, events, sizeof events) > 0, "the file is not watched any more");
}

RESOURCE(pidfd, "pidfd of a child") {
    pid_t child = spawn(wait_go);
    int fd = (int)MUST(syscall(SYS_pidfd_open, child, 0));
    ready_and_wait();
    siginfo_t info = {0};
    MUST(waitid((idtype_t)3 /* P_PIDFD */, (id_t)fd, &info, WEXITED));
    CHECK(info.si_pid == child, "it leads to process %d", info.si_pid);
}

RESOURCE(aio, "asynchronous I/O context (io_setup)") {
    aio_context_t context = 0;
    MUST(syscall(SYS_io_setup, 8, &context));
    int file = MUST(open("aio", O_RDWR | O_CREAT, 0600));
    ready_and_wait();
    struct iocb block = {.aio_fildes = (uint32_t)file, .aio_lio_opcode = IOCB_CMD_PWRITE, .aio_nbytes = 5};
    block.aio_buf = (uintptr_t) "async";
    struct iocb *blocks[] = {&block};
    struct io_event event;
    CHECK(MUST(syscall(SYS_io_submit, context, 1, blocks)) == 1, "nothing submitted");
    CHECK(MUST(syscall(SYS_io_getevents, context, 1, 1, &event, NULL)) == 1 && event.res == 5, "nothing written");
    expect(file, "async");
}
