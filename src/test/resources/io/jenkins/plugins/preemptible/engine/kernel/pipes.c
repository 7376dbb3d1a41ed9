/* Pipes and FIFOs: what is in them, how large they are, who waits at them. */
#define FAMILY "pipes"
#include "kernel.h"
#include <sys/sendfile.h>

static void check_blocks(int writer) {
    MUST(fcntl(writer, F_SETFL, fcntl(writer, F_GETFL) | O_NONBLOCK));
    CHECK(write(writer, "x", 1) < 0 && errno == EAGAIN, "it was full and is not any more");
}

RESOURCE(pipe_data, "pipe with data in it") {
    int ends[2];
    MUST(pipe(ends));
    write_all(ends[1], "in the pipe", 11);
    ready_and_wait();
    write_all(ends[1], ", and after", 11);
    expect(ends[0], "in the pipe, and after");
    close(ends[1]);
    char byte;
    CHECK(read(ends[0], &byte, 1) == 0, "no end of file");
}

RESOURCE(pipe_full, "full pipe") {
    int ends[2];
    MUST(pipe2(ends, O_NONBLOCK));
    static unsigned char bytes[65536], got[65536];
    fill(bytes, sizeof bytes, 1);
    CHECK(write(ends[1], bytes, sizeof bytes) == sizeof bytes, "a new pipe holds less than 64 KiB");
    ready_and_wait();
    check_blocks(ends[1]);
    read_all(ends[0], got, sizeof got);
    check_filled(got, sizeof got, 1, "the pipe");
}

RESOURCE(pipe_resized, "enlarged pipe") {
    int ends[2];
    MUST(pipe2(ends, O_NONBLOCK));
    int size = fcntl(ends[1], F_SETPIPE_SZ, 262144);
    CHECK(size == 262144, "F_SETPIPE_SZ: %s", strerror(errno));
    static unsigned char bytes[200000];
    fill(bytes, sizeof bytes, 2);
    write_all(ends[1], bytes, sizeof bytes);
    ready_and_wait();
    CHECK(fcntl(ends[0], F_GETPIPE_SZ) == size, "its size is %d now", fcntl(ends[0], F_GETPIPE_SZ));
    memset(bytes, 0, sizeof bytes);
    read_all(ends[0], bytes, sizeof bytes);
    check_filled(bytes, sizeof bytes, 2, "the pipe");
}

REFUSED(pipe_packets, "pipe in packet mode (O_DIRECT)", "UNSUPPORTED") {
    int ends[2];
    MUST(pipe2(ends, O_DIRECT));
    ready_and_wait();
    CHECK(fcntl(ends[1], F_GETFL) & O_DIRECT, "it left packet mode");
    write_all(ends[1], "one", 3);
    write_all(ends[1], "second", 6);
    char text[20];
    CHECK(read(ends[0], text, sizeof text) == 3, "two packets became one");
    CHECK(read(ends[0], text, sizeof text) == 6, "the second packet is lost");
}

RESOURCE(pipe_without_writer, "pipe whose writer is gone") {
    int ends[2];
    MUST(pipe(ends));
    write_all(ends[1], "last words", 10);
    close(ends[1]);
    ready_and_wait();
    expect(ends[0], "last words");
    char byte;
    CHECK(read(ends[0], &byte, 1) == 0, "no end of file");
}

static int reading[2], answering[2];

static void pipe_reader(void) {
    char text[6] = {0};
    mark("reading");
    read_all(reading[0], text, 5);
    CHECK(strcmp(text, "hello") == 0, "the child read '%s'", text);
    write_all(answering[1], "answer", 6);
}

RESOURCE(pipe_reader_waits, "process that waits in read(2)") {
    MUST(pipe(reading));
    MUST(pipe(answering));
    pid_t child = spawn(pipe_reader);
    await_mark("reading");
    ready_and_wait();
    write_all(reading[1], "hello", 5);
    expect(answering[0], "answer");
    join(child);
}

static void fifo_reader(void) {
    int fd = MUST(open("fifo", O_RDONLY));
    mark("opened");
    wait_go();
    expect(fd, "through the fifo, and more");
}

RESOURCE(fifo, "FIFO with data, its ends in two processes") {
    MUST(mkfifo("fifo", 0600));
    pid_t child = spawn(fifo_reader);
    int fd = MUST(open("fifo", O_WRONLY));
    write_all(fd, "through the fifo", 16);
    await_mark("opened");
    ready_and_wait();
    write_all(fd, ", and more", 10);
    join(child);
}

RESOURCE(fifo_unlinked, "FIFO without a name any more") {
    MUST(mkfifo("fifo", 0600));
    int fd = MUST(open("fifo", O_RDWR));
    write_all(fd, "still here", 10);
    MUST(unlink("fifo"));
    ready_and_wait();
    expect(fd, "still here");
    write_all(fd, "x", 1);
    expect(fd, "x");
    CHECK(access("fifo", F_OK) < 0, "its name came back");
}

static void fifo_opener(void) {
    mark("opening");
    int fd;
    while ((fd = open("fifo", O_RDONLY)) < 0) CHECK(errno == EINTR, "open: %s", strerror(errno));
    expect(fd, "late");
}

RESOURCE(fifo_open_waits, "process that waits in open(2) for a FIFO's other end") {
    MUST(mkfifo("fifo", 0600));
    pid_t child = spawn(fifo_opener);
    await_mark("opening");
    ready_and_wait();
    int fd = MUST(open("fifo", O_WRONLY));
    write_all(fd, "late", 4);
    join(child);
}

enum { MOVED = 400 * 4096 };
static int from[2], to[2];

/* Slowly, so that every suspension meets the others in the middle of it. */
static void feeder(void) {
    static unsigned char page[4096];
    close(from[0]);
    for (unsigned i = 0; i < MOVED / 4096; i++) {
        fill(page, sizeof page, i);
        write_all(from[1], page, sizeof page);
        if (!going()) pause_millis(10);
    }
}

static void splicer(void) {
    close(from[1]);
    size_t moved = 0;
    while (moved < MOVED) {
        ssize_t now = splice(from[0], NULL, to[1], NULL, 65536, SPLICE_F_MOVE);
        if (now < 0 && errno == EINTR) continue;
        CHECK(now > 0, "splice after %zu bytes: %s", moved, now == 0 ? "end" : strerror(errno));
        moved += (size_t)now;
    }
}

RESOURCE(splice_under_way, "splice(2) between two pipes under way") {
    MUST(pipe(from));
    MUST(pipe(to));
    pid_t first = spawn(feeder), second = spawn(splicer);
    mark("ready");
    static unsigned char page[4096];
    for (unsigned i = 0; i < MOVED / 4096; i++) {
        read_all(to[0], page, sizeof page);
        check_filled(page, sizeof page, i, "what was spliced");
    }
    wait_go();
    join(first);
    join(second);
}

static void sender(void) {
    int file = MUST(open("source", O_RDONLY));
    close(to[0]);
    size_t sent = 0;
    while (sent < MOVED) {
        ssize_t now = sendfile(to[1], file, NULL, MOVED);
        if (now < 0 && errno == EINTR) continue;
        CHECK(now > 0, "sendfile after %zu bytes: %s", sent, strerror(errno));
        sent += (size_t)now;
    }
    CHECK(lseek(file, 0, SEEK_CUR) == MOVED, "the file's offset is wrong");
}

RESOURCE(sendfile_under_way, "sendfile(2) into a full pipe under way") {
    int file = MUST(open("source", O_WRONLY | O_CREAT, 0600));
    static unsigned char bytes[MOVED];
    fill(bytes, sizeof bytes, 9);
    write_all(file, bytes, sizeof bytes);
    close(file);
    MUST(pipe(to));
    pid_t child = spawn(sender);
    ready_and_wait();
    memset(bytes, 0, sizeof bytes);
    read_all(to[0], bytes, sizeof bytes);
    check_filled(bytes, sizeof bytes, 9, "what was sent");
    join(child);
}
