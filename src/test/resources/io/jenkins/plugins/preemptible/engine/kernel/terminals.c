/* Pseudo terminals, both sides of which are in the tree. */
#define FAMILY "terminals"
#include "kernel.h"
#include <sys/ioctl.h>
#include <termios.h>

static int master, slave;

static void open_pair(void) {
    char name[100];
    master = MUST(posix_openpt(O_RDWR | O_NOCTTY));
    MUST(grantpt(master));
    MUST(unlockpt(master));
    MUST0(ptsname_r(master, name, sizeof name));
    slave = MUST(open(name, O_RDWR | O_NOCTTY));
}

static void raw(void) {
    struct termios settings;
    MUST(tcgetattr(slave, &settings));
    cfmakeraw(&settings);
    settings.c_cc[VINTR] = 7;
    MUST(tcsetattr(slave, TCSANOW, &settings));
}

RESOURCE(pty_pair, "pty: both sides, settings, window size") {
    open_pair();
    raw();
    struct winsize size = {33, 111, 0, 0}, now;
    MUST(ioctl(slave, TIOCSWINSZ, &size));
    ready_and_wait();
    MUST(ioctl(master, TIOCGWINSZ, &now));
    CHECK(now.ws_row == 33 && now.ws_col == 111, "the window is %ux%u", now.ws_row, now.ws_col);
    struct termios settings;
    MUST(tcgetattr(slave, &settings));
    CHECK(!(settings.c_lflag & (ECHO | ICANON)) && settings.c_cc[VINTR] == 7, "the settings changed");
    write_all(master, "down", 4);
    expect(slave, "down");
    write_all(slave, "up", 2);
    expect(master, "up");
}

static volatile sig_atomic_t interrupted;
static void on_interrupt(int signal) { interrupted = signal; }

static void terminal_session(void) {
    close(master);
    MUST(setsid());
    MUST(ioctl(slave, TIOCSCTTY, 0));
    signal(SIGINT, on_interrupt);
    mark("session");
    wait_go();
    CHECK(tcgetsid(slave) == getsid(0) && tcgetpgrp(slave) == getpgid(0), "session %d, foreground %d", tcgetsid(slave),
          tcgetpgrp(slave));
    int own = MUST(open("/dev/tty", O_RDWR));
    write_all(own, "through tty", 11);
    mark("asked");
    for (int i = 0; !interrupted; i++) {
        CHECK(i < 20000, "no SIGINT from the terminal");
        pause_millis(1);
    }
}

RESOURCE(pty_controlling, "pty as the controlling terminal of a session, Ctrl-C arrives") {
    open_pair();
    pid_t child = spawn(terminal_session);
    await_mark("session");
    ready_and_wait();
    await_mark("asked");
    expect(master, "through tty");
    write_all(master, "\3", 1);
    join(child);
}

static void terminal_reader(void) {
    close(master);
    mark("reading");
    expect(slave, "a line\n");
}

RESOURCE(pty_reader_waits, "process that waits for a line from its pty") {
    open_pair();
    pid_t child = spawn(terminal_reader);
    await_mark("reading");
    ready_and_wait();
    write_all(master, "a line\n", 7);
    join(child);
}

LOST(pty_hung_up, "pty whose other side is closed", "it is not hung up any more") {
    open_pair();
    close(slave);
    ready_and_wait();
    char byte;
    MUST(fcntl(master, F_SETFL, O_NONBLOCK));
    CHECK(read(master, &byte, 1) < 0 && errno == EIO, "it is not hung up any more");
}
