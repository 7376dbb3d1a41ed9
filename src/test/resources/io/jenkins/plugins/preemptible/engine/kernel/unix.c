/* Unix sockets of every type, with data and descriptors in flight. */
#define FAMILY "unix sockets"
#include "kernel.h"
#include <sys/socket.h>
#include <sys/un.h>

static socklen_t address(struct sockaddr_un *a, const char *path) {
    memset(a, 0, sizeof *a);
    a->sun_family = AF_UNIX;
    if (path[0] == '@') {
        /* The network namespace is the host's: the name must be this stage's own. */
        snprintf(a->sun_path + 1, sizeof a->sun_path - 1, "preemptible%s-%lld", path, (long long)nanos(CLOCK_REALTIME));
        return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + strlen(a->sun_path + 1));
    }
    snprintf(a->sun_path, sizeof a->sun_path, "%s", path);
    return sizeof *a;
}

static int bound(int type, const char *path, struct sockaddr_un *a, socklen_t *size) {
    int fd = MUST(socket(AF_UNIX, type, 0));
    *size = address(a, path);
    MUST(bind(fd, (struct sockaddr *)a, *size));
    return fd;
}

static void connect_to(int fd, const struct sockaddr_un *a, socklen_t size) {
    MUST(connect(fd, (const struct sockaddr *)a, size));
}

RESOURCE(unix_stream_pair, "stream pair with data both ways") {
    int ends[2];
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    static unsigned char bytes[100000];
    fill(bytes, sizeof bytes, 1);
    write_all(ends[0], bytes, sizeof bytes);
    write_all(ends[1], "back", 4);
    ready_and_wait();
    memset(bytes, 0, sizeof bytes);
    read_all(ends[1], bytes, sizeof bytes);
    check_filled(bytes, sizeof bytes, 1, "the queue");
    expect(ends[0], "back");
    write_all(ends[0], "more", 4);
    expect(ends[1], "more");
}

RESOURCE(unix_dgram_pair, "datagram pair with messages") {
    int ends[2];
    MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
    write_all(ends[0], "one", 3);
    write_all(ends[0], "second", 6);
    ready_and_wait();
    char text[20];
    CHECK(read(ends[1], text, sizeof text) == 3, "the first message is not as long as it was");
    CHECK(read(ends[1], text, sizeof text) == 6, "the second message is not as long as it was");
    write_all(ends[1], "answer", 6);
    expect(ends[0], "answer");
}

RESOURCE(unix_seqpacket_pair, "seqpacket pair with messages") {
    int ends[2];
    MUST(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends));
    write_all(ends[0], "one", 3);
    write_all(ends[0], "second", 6);
    ready_and_wait();
    char text[20];
    CHECK(read(ends[1], text, sizeof text) == 3, "the first message is not as long as it was");
    CHECK(read(ends[1], text, sizeof text) == 6, "the second message is not as long as it was");
    close(ends[0]);
    CHECK(read(ends[1], text, sizeof text) == 0, "no end of file");
}

static void send_fd(int over, int fd) {
    char control[CMSG_SPACE(sizeof fd)] = {0};
    struct iovec vector = {"f", 1};
    struct msghdr m = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    struct cmsghdr *head = CMSG_FIRSTHDR(&m);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(head), &fd, sizeof fd);
    MUST(sendmsg(over, &m, 0));
}

static int receive_fd(int over) {
    int fd = -1;
    char control[CMSG_SPACE(sizeof fd)], byte;
    struct iovec vector = {&byte, 1};
    struct msghdr m = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    MUST(recvmsg(over, &m, 0));
    struct cmsghdr *head = CMSG_FIRSTHDR(&m);
    CHECK(head && head->cmsg_type == SCM_RIGHTS, "the descriptor in flight is lost");
    memcpy(&fd, CMSG_DATA(head), sizeof fd);
    return fd;
}

RESOURCE(unix_fds_in_flight, "descriptors in flight: a pipe's end and a file, open nowhere else") {
    int ends[2], pipe_ends[2];
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    MUST(pipe(pipe_ends));
    send_fd(ends[0], pipe_ends[0]);
    close(pipe_ends[0]);
    int file = MUST(open("flown", O_RDWR | O_CREAT, 0600));
    write_all(file, "abcdef", 6);
    MUST(lseek(file, 3, SEEK_SET));
    send_fd(ends[0], file);
    close(file);
    ready_and_wait();
    int reader = receive_fd(ends[1]);
    write_all(pipe_ends[1], "flew", 4);
    expect(reader, "flew");
    expect(receive_fd(ends[1]), "def");
}

RESOURCE(unix_fds_in_flight_dgram, "descriptors in flight over datagram sockets") {
    int ends[2], pipe_ends[2];
    MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, ends));
    MUST(pipe(pipe_ends));
    send_fd(ends[0], pipe_ends[1]);
    close(pipe_ends[1]);
    ready_and_wait();
    int writer = receive_fd(ends[1]);
    write_all(writer, "flew", 4);
    expect(pipe_ends[0], "flew");
}

static void serve_and_meet(const char *path, int type) {
    struct sockaddr_un a;
    socklen_t size;
    int server = bound(type, path, &a, &size);
    MUST(listen(server, 5));
    int client = MUST(socket(AF_UNIX, type, 0));
    connect_to(client, &a, size);
    int accepted = MUST(accept(server, NULL, NULL));
    write_all(client, "before", 6);
    ready_and_wait();
    expect(accepted, "before");
    write_all(accepted, "after", 5);
    expect(client, "after");
    int second = MUST(socket(AF_UNIX, type, 0));
    connect_to(second, &a, size);
    int late = MUST(accept(server, NULL, NULL));
    write_all(second, "new", 3);
    expect(late, "new");
}

RESOURCE(unix_bound_path, "stream socket bound to a path, connected") { serve_and_meet("server.sock", SOCK_STREAM); }

RESOURCE(unix_bound_seqpacket, "seqpacket socket bound to a path, connected") {
    serve_and_meet("server.sock", SOCK_SEQPACKET);
}

RESOURCE(unix_abstract, "stream socket with an abstract name, connected") { serve_and_meet("@abstract", SOCK_STREAM); }

RESOURCE(unix_unlinked_path, "listening socket whose path is gone") {
    struct sockaddr_un a, real;
    socklen_t size, got = sizeof real;
    int server = bound(SOCK_STREAM, "gone.sock", &a, &size);
    MUST(listen(server, 5));
    int client = MUST(socket(AF_UNIX, SOCK_STREAM, 0));
    connect_to(client, &a, size);
    int accepted = MUST(accept(server, NULL, NULL));
    MUST(unlink("gone.sock"));
    ready_and_wait();
    write_all(client, "still", 5);
    expect(accepted, "still");
    MUST(getsockname(server, (struct sockaddr *)&real, &got));
    CHECK(strcmp(real.sun_path, "gone.sock") == 0, "its name is '%s'", real.sun_path);
    CHECK(access("gone.sock", F_OK) < 0, "its path came back");
}

static void pending(const char *early) {
    struct sockaddr_un a;
    socklen_t size;
    int server = bound(SOCK_STREAM, "busy.sock", &a, &size);
    MUST(listen(server, 5));
    int client = MUST(socket(AF_UNIX, SOCK_STREAM, 0));
    connect_to(client, &a, size);
    write_all(client, early, strlen(early));
    ready_and_wait();
    int accepted = MUST(accept(server, NULL, NULL));
    expect(accepted, early);
    write_all(accepted, "late", 4);
    expect(client, "late");
    write_all(client, "more", 4);
    expect(accepted, "more");
}

RESOURCE(unix_pending_connection, "listening socket with a connection that nobody accepted yet") { pending(""); }

REFUSED(unix_pending_data, "the same, with data sent already", "PENDING_CONNECTION|CRIU_FAILED") { pending("early"); }

RESOURCE(unix_dgram_many_to_one, "datagram server with two clients, one connected") {
    struct sockaddr_un a, b;
    socklen_t size, other;
    int server = bound(SOCK_DGRAM, "dgram.sock", &a, &size);
    int named = bound(SOCK_DGRAM, "named.sock", &b, &other);
    int client = MUST(socket(AF_UNIX, SOCK_DGRAM, 0));
    connect_to(client, &a, size);
    write_all(client, "first", 5);
    ready_and_wait();
    expect(server, "first");
    write_all(client, "again", 5);
    expect(server, "again");
    MUST(sendto(named, "named", 5, 0, (struct sockaddr *)&a, size));
    char text[20];
    struct sockaddr_un sender;
    socklen_t got = sizeof sender;
    CHECK(MUST(recvfrom(server, text, sizeof text, 0, (struct sockaddr *)&sender, &got)) == 5, "short message");
    CHECK(strcmp(sender.sun_path, "named.sock") == 0, "the sender is '%s'", sender.sun_path);
}

RESOURCE(unix_half_closed, "stream pair with one direction shut down") {
    int ends[2];
    MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, ends));
    write_all(ends[0], "last", 4);
    MUST(shutdown(ends[0], SHUT_WR));
    ready_and_wait();
    char byte;
    expect(ends[1], "last");
    CHECK(read(ends[1], &byte, 1) == 0, "no end of file");
    write_all(ends[1], "back", 4);
    expect(ends[0], "back");
    signal(SIGPIPE, SIG_IGN);
    CHECK(write(ends[0], "x", 1) < 0 && errno == EPIPE, "the shut direction can be written");
}

RESOURCE(unix_options, "socket options: SO_PASSCRED, buffers, time-out, O_NONBLOCK") {
    int ends[2], on = 1, size = 50000;
    MUST(socketpair(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends));
    struct timeval limit = {0, 120000}, now;
    MUST(setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on));
    MUST(setsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, sizeof size));
    MUST(setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit));
    socklen_t length = sizeof size;
    MUST(getsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &size, &length));
    ready_and_wait();
    int value = 0;
    length = sizeof value;
    MUST(getsockopt(ends[0], SOL_SOCKET, SO_SNDBUF, &value, &length));
    CHECK(value == size, "SO_SNDBUF is %d and was %d", value, size);
    length = sizeof now;
    MUST(getsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &now, &length));
    CHECK(now.tv_sec == 0 && labs(now.tv_usec - limit.tv_usec) < 20000, "SO_RCVTIMEO is %ld µs", (long)now.tv_usec);
    CHECK(fcntl(ends[0], F_GETFL) & O_NONBLOCK && fcntl(ends[0], F_GETFD) == FD_CLOEXEC, "its flags changed");
    write_all(ends[0], "c", 1);
    char control[CMSG_SPACE(sizeof(struct ucred))], byte;
    struct iovec vector = {&byte, 1};
    struct msghdr m = {.msg_iov = &vector, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof control};
    MUST(recvmsg(ends[1], &m, 0));
    struct cmsghdr *head = CMSG_FIRSTHDR(&m);
    CHECK(head && head->cmsg_type == SCM_CREDENTIALS, "the credentials do not come along");
    struct ucred who;
    memcpy(&who, CMSG_DATA(head), sizeof who);
    CHECK(who.pid == getpid(), "the sender is %d", who.pid);
}

RESOURCE(unix_unconnected, "sockets that are neither bound nor connected") {
    int stream = MUST(socket(AF_UNIX, SOCK_STREAM, 0)), dgram = MUST(socket(AF_UNIX, SOCK_DGRAM, 0));
    ready_and_wait();
    struct sockaddr_un a;
    socklen_t size = address(&a, "new.sock");
    MUST(bind(stream, (struct sockaddr *)&a, size));
    MUST(listen(stream, 1));
    size = address(&a, "new-dgram.sock");
    MUST(bind(dgram, (struct sockaddr *)&a, size));
    int type = 0;
    socklen_t length = sizeof type;
    MUST(getsockopt(dgram, SOL_SOCKET, SO_TYPE, &type, &length));
    CHECK(type == SOCK_DGRAM, "its type changed");
}
