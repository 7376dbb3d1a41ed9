/* File locks of every kind, and processes that wait for one. */
#define FAMILY "file locks"
#include "kernel.h"
#include <sys/file.h>

static int file(void) {
    int fd = MUST(open("locked", O_RDWR | O_CREAT, 0600));
    MUST(ftruncate(fd, 100));
    return fd;
}

static struct flock range(short type, off_t start, off_t length) {
    return (struct flock){.l_type = type, .l_whence = SEEK_SET, .l_start = start, .l_len = length};
}

static void other_flock(void) {
    CHECK(flock(file(), LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK, "another process gets the lock");
}

RESOURCE(lock_flock, "flock(2), exclusive") {
    int fd = file();
    MUST(flock(fd, LOCK_EX));
    ready_and_wait();
    join(spawn(other_flock));
    MUST(flock(fd, LOCK_UN));
    MUST(flock(file(), LOCK_EX | LOCK_NB));
}

static int inherited;

static void flock_child(void) {
    wait_go();
    MUST(flock(inherited, LOCK_UN));
    mark("unlocked");
    await_mark("tried");
}

RESOURCE(lock_flock_inherited, "flock(2) held over a descriptor that parent and child share") {
    inherited = file();
    MUST(flock(inherited, LOCK_SH));
    pid_t child = spawn(flock_child);
    ready_and_wait();
    await_mark("unlocked");
    MUST(flock(file(), LOCK_EX | LOCK_NB));
    mark("tried");
    join(child);
}

static void other_posix(void) {
    int fd = file();
    struct flock whole = range(F_WRLCK, 0, 0);
    MUST(fcntl(fd, F_GETLK, &whole));
    CHECK(whole.l_type == F_WRLCK && whole.l_start == 10 && whole.l_len == 20, "the first lock is %d %lld+%lld",
          whole.l_type, (long long)whole.l_start, (long long)whole.l_len);
    CHECK(whole.l_pid == getppid(), "its holder is %d", whole.l_pid);
    struct flock second = range(F_WRLCK, 40, 5);
    CHECK(fcntl(fd, F_SETLK, &second) < 0, "a range with a read lock can be write-locked");
    second.l_type = F_RDLCK;
    MUST(fcntl(fd, F_SETLK, &second));
}

RESOURCE(lock_posix, "POSIX record locks on two ranges") {
    int fd = file();
    struct flock first = range(F_WRLCK, 10, 20), second = range(F_RDLCK, 40, 5);
    MUST(fcntl(fd, F_SETLK, &first));
    MUST(fcntl(fd, F_SETLK, &second));
    ready_and_wait();
    join(spawn(other_posix));
}

static void posix_waiter(void) {
    int fd = file();
    struct flock lock = range(F_WRLCK, 0, 0);
    mark("waiting");
    while (fcntl(fd, F_SETLKW, &lock) < 0) CHECK(errno == EINTR, "F_SETLKW: %s", strerror(errno));
    CHECK(going(), "the waiting process got the lock too early");
}

RESOURCE(lock_posix_waiter, "process that waits for a POSIX lock") {
    int fd = file();
    struct flock lock = range(F_WRLCK, 0, 0);
    MUST(fcntl(fd, F_SETLK, &lock));
    pid_t child = spawn(posix_waiter);
    await_mark("waiting");
    pause_millis(20);
    ready_and_wait();
    lock.l_type = F_UNLCK;
    MUST(fcntl(fd, F_SETLK, &lock));
    join(child);
}

RESOURCE(lock_ofd, "open file description lock") {
    int fd = file(), other = file();
    struct flock lock = range(F_WRLCK, 5, 10), probe = range(F_WRLCK, 0, 0);
    MUST(fcntl(fd, F_OFD_SETLK, &lock));
    ready_and_wait();
    MUST(fcntl(other, F_OFD_GETLK, &probe));
    CHECK(probe.l_type == F_WRLCK && probe.l_start == 5 && probe.l_len == 10, "the lock is %d %lld+%lld",
          probe.l_type, (long long)probe.l_start, (long long)probe.l_len);
    lock.l_type = F_UNLCK;
    MUST(fcntl(fd, F_OFD_SETLK, &lock));
    lock.l_type = F_WRLCK;
    MUST(fcntl(other, F_OFD_SETLK, &lock));
}

RESOURCE(lock_lease, "lease on a file") {
    int fd = MUST(open("leased", O_RDWR | O_CREAT, 0600));
    MUST(fcntl(fd, F_SETLEASE, F_WRLCK));
    ready_and_wait();
    CHECK(fcntl(fd, F_GETLEASE) == F_WRLCK, "the lease is %d", fcntl(fd, F_GETLEASE));
    MUST(fcntl(fd, F_SETLEASE, F_UNLCK));
}
