/* TCP and UDP within the tree; the network namespace is the host's. */
#define FAMILY "TCP and UDP"
#include "kernel.h"
#include <arpa/inet.h>
#include <linux/sockios.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

struct at {
    union {
        struct sockaddr any;
        struct sockaddr_in v4;
        struct sockaddr_in6 v6;
    } address;
    socklen_t size;
};

static struct at loopback(int family) {
    struct at at;
    memset(&at, 0, sizeof at);
    if (family == AF_INET) {
        at.address.v4.sin_family = AF_INET;
        at.address.v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        at.size = sizeof at.address.v4;
    } else {
        at.address.v6.sin6_family = AF_INET6;
        at.address.v6.sin6_addr = in6addr_loopback;
        at.size = sizeof at.address.v6;
    }
    return at;
}

/* A port that the kernel chose; at becomes what others connect to. */
static int bound(int family, int type, struct at *at) {
    int fd = socket(family, type, 0);
    *at = loopback(family);
    if (fd < 0 || bind(fd, &at->address.any, at->size) < 0) {
        if (family == AF_INET6 && (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL)) skip("this host has no IPv6");
        fail("bind: %s", strerror(errno));
    }
    MUST(getsockname(fd, &at->address.any, &at->size));
    return fd;
}

static int connected(int family, const struct at *at) {
    int fd = MUST(socket(family, SOCK_STREAM, 0));
    MUST(connect(fd, &at->address.any, at->size));
    return fd;
}

static void listens(int family) {
    struct at at;
    int server = bound(family, SOCK_STREAM, &at);
    MUST(listen(server, 7));
    ready_and_wait();
    int client = connected(family, &at);
    int accepted = MUST(accept(server, NULL, NULL));
    write_all(client, "hello", 5);
    expect(accepted, "hello");
}

RESOURCE(tcp_listen, "TCP listening, IPv4") { listens(AF_INET); }
RESOURCE(tcp_listen_v6, "TCP listening, IPv6") { listens(AF_INET6); }

static void meet(int family) {
    struct at at;
    int server = bound(family, SOCK_STREAM, &at);
    MUST(listen(server, 7));
    int client = connected(family, &at);
    int accepted = MUST(accept(server, NULL, NULL));
    static unsigned char bytes[50000];
    fill(bytes, sizeof bytes, 1);
    write_all(client, bytes, sizeof bytes);
    write_all(accepted, "back", 4);
    ready_and_wait();
    memset(bytes, 0, sizeof bytes);
    read_all(accepted, bytes, sizeof bytes);
    check_filled(bytes, sizeof bytes, 1, "the queue");
    expect(client, "back");
    write_all(client, "more", 4);
    expect(accepted, "more");
    close(client);
    char byte;
    CHECK(read(accepted, &byte, 1) == 0, "no end of file");
    int second = connected(family, &at);
    close(MUST(accept(server, NULL, NULL)));
    close(second);
}

RESOURCE(tcp_connected, "TCP connection within the stage with data both ways, IPv4") { meet(AF_INET); }
RESOURCE(tcp_connected_v6, "TCP connection within the stage with data both ways, IPv6") { meet(AF_INET6); }

static int peer;

static void tcp_child(void) {
    char text[6] = {0};
    mark("reading");
    read_all(peer, text, 5);
    write_all(peer, "answer", 6);
}

RESOURCE(tcp_reader_waits, "process that waits for a TCP peer in the stage") {
    struct at at;
    int server = bound(AF_INET, SOCK_STREAM, &at);
    MUST(listen(server, 7));
    int client = connected(AF_INET, &at);
    peer = MUST(accept(server, NULL, NULL));
    pid_t child = spawn(tcp_child);
    close(peer);
    await_mark("reading");
    ready_and_wait();
    write_all(client, "hello", 5);
    expect(client, "answer");
    join(child);
    char byte;
    CHECK(read(client, &byte, 1) == 0, "no end of file after the peer ended");
}

RESOURCE(tcp_half_closed, "TCP connection with one direction shut down") {
    struct at at;
    int server = bound(AF_INET, SOCK_STREAM, &at);
    MUST(listen(server, 7));
    int client = connected(AF_INET, &at);
    int accepted = MUST(accept(server, NULL, NULL));
    write_all(client, "last", 4);
    MUST(shutdown(client, SHUT_WR));
    ready_and_wait();
    char byte;
    expect(accepted, "last");
    CHECK(read(accepted, &byte, 1) == 0, "no end of file");
    write_all(accepted, "back", 4);
    expect(client, "back");
    close(accepted);
    CHECK(read(client, &byte, 1) == 0, "no end of file the other way");
}

/* Both ends of a connection in the tree. */
static void pair(int family, int *client, int *accepted) {
    struct at at;
    int server = bound(family, SOCK_STREAM, &at);
    MUST(listen(server, 7));
    *client = connected(family, &at);
    *accepted = MUST(accept(server, NULL, NULL));
    close(server);
}

static void await_state(int fd, int state) {
    struct tcp_info info;
    socklen_t size = sizeof info;
    for (int i = 0;; i++) {
        MUST(getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &size));
        if (info.tcpi_state == state) return;
        CHECK(i < 5000, "its state is %d, not %d", info.tcpi_state, state);
        pause_millis(1);
    }
}

static void over(int fd) {
    char byte = 0;
    CHECK(read(fd, &byte, 1) == 0, "no end of file");
    CHECK(send(fd, &byte, 1, MSG_NOSIGNAL) < 0 && errno == EPIPE, "something can be written: %s", strerror(errno));
}

static void reset(int family) {
    int client, accepted;
    pair(family, &client, &accepted);
    struct linger at_once = {1, 0};
    MUST(setsockopt(accepted, SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once));
    close(accepted);
    await_state(client, TCP_CLOSE);
    char byte;
    CHECK(read(client, &byte, 1) < 0 && errno == ECONNRESET, "no reset");
    ready_and_wait();
    over(client);
}

RESOURCE(tcp_reset, "TCP connection that its peer reset, still open, IPv4") { reset(AF_INET); }
RESOURCE(tcp_reset_v6, "TCP connection that its peer reset, still open, IPv6") { reset(AF_INET6); }

RESOURCE(tcp_closed_on_both_sides, "TCP connection that both sides shut down, both still open") {
    int client, accepted;
    pair(AF_INET, &client, &accepted);
    MUST(shutdown(client, SHUT_WR));
    await_state(accepted, TCP_CLOSE_WAIT);
    MUST(shutdown(accepted, SHUT_WR));
    await_state(client, TCP_CLOSE);
    await_state(accepted, TCP_CLOSE);
    ready_and_wait();
    over(client);
    over(accepted);
}

/* Writes until nothing more fits; returns how much. */
static size_t stuff(int fd, unsigned seed) {
    static unsigned char bytes[4000000];
    fill(bytes, sizeof bytes, seed);
    size_t sent = 0;
    MUST(fcntl(fd, F_SETFL, O_NONBLOCK));
    while (sent < sizeof bytes) {
        ssize_t written = write(fd, bytes + sent, sizeof bytes - sent);
        if (written < 0 && errno == EAGAIN) break;
        CHECK(written > 0, "write: %s", strerror(errno));
        sent += (size_t)written;
    }
    MUST(fcntl(fd, F_SETFL, 0));
    int unsent = 0;
    MUST(ioctl(fd, SIOCOUTQNSD, &unsent));
    CHECK(unsent > 0, "all of %zu bytes were sent", sent);
    return sent;
}

static void drain(int fd, size_t size, unsigned seed) {
    static unsigned char bytes[4000000];
    memset(bytes, 0, sizeof bytes);
    read_all(fd, bytes, size);
    check_filled(bytes, size, seed, "the queue");
}

static void send_queue(int family) {
    int client, accepted;
    pair(family, &client, &accepted);
    size_t down = stuff(client, 3), up = stuff(accepted, 4);
    ready_and_wait();
    drain(accepted, down, 3);
    drain(client, up, 4);
    write_all(client, "more", 4);
    expect(accepted, "more");
}

RESOURCE(tcp_send_queue, "TCP connection with full send queues both ways, IPv4") { send_queue(AF_INET); }
RESOURCE(tcp_send_queue_v6, "TCP connection with full send queues both ways, IPv6") { send_queue(AF_INET6); }

RESOURCE(tcp_shut_down_with_data, "TCP connection shut down behind a full send queue (FIN-WAIT-1)") {
    int client, accepted;
    char byte;
    pair(AF_INET, &client, &accepted);
    size_t size = stuff(client, 5);
    MUST(shutdown(client, SHUT_WR));
    await_state(client, TCP_FIN_WAIT1);
    ready_and_wait();
    drain(accepted, size, 5);
    CHECK(read(accepted, &byte, 1) == 0, "no end of file");
    write_all(accepted, "back", 4);
    expect(client, "back");
}

RESOURCE(tcp_both_shut_down_with_data, "TCP connection that both sides shut down behind full send queues") {
    int client, accepted;
    char byte;
    pair(AF_INET, &client, &accepted);
    size_t down = stuff(client, 6), up = stuff(accepted, 7);
    MUST(shutdown(client, SHUT_WR));
    MUST(shutdown(accepted, SHUT_WR));
    ready_and_wait();
    drain(accepted, down, 6);
    CHECK(read(accepted, &byte, 1) == 0, "no end of file");
    drain(client, up, 7);
    CHECK(read(client, &byte, 1) == 0, "no end of file the other way");
}

static int talker, echoer;

/* The byte at a place of the stream that is sent. */
static unsigned char due(uint64_t at) { return (unsigned char)((at * 2654435761u) >> 13 ^ at >> 16); }

static void talk(void) {
    static unsigned char bytes[100000];
    uint64_t sent = 0;
    close(echoer);
    for (unsigned turn = 1; !going(); turn++) {
        size_t size = turn * 7919u % (turn % 8 == 0 ? sizeof bytes : 3000) + 1;
        int cork = turn % 5 == 0;
        for (size_t i = 0; i < size; i++) bytes[i] = due(sent + i);
        MUST(setsockopt(talker, IPPROTO_TCP, TCP_CORK, &cork, sizeof cork));
        write_all(talker, bytes, size);
        sent += size;
        if (turn % 16 == 0) pause_millis(1);
    }
    int file = MUST(open("sent", O_WRONLY | O_CREAT, 0666));
    write_all(file, &sent, sizeof sent);
    MUST(shutdown(talker, SHUT_WR));
}

static void echo(void) {
    static unsigned char bytes[70000];
    ssize_t got;
    close(talker);
    while ((got = read(echoer, bytes, sizeof bytes)) > 0) write_all(echoer, bytes, (size_t)got);
    CHECK(got == 0, "the echo's read: %s", strerror(errno));
    MUST(shutdown(echoer, SHUT_WR));
}

RESOURCE(tcp_under_way, "TCP connection on which three processes send, echo and check all the time") {
    static unsigned char bytes[50000];
    uint64_t checked = 0, sent = 0;
    ssize_t got;
    pair(AF_INET, &talker, &echoer);
    pid_t first = spawn(talk), second = spawn(echo);
    close(echoer);
    mark("ready");
    while ((got = read(talker, bytes, sizeof bytes)) > 0) {
        for (ssize_t i = 0; i < got; i++, checked++) {
            CHECK(bytes[i] == due(checked), "byte %llu of the stream differs", (unsigned long long)checked);
        }
    }
    CHECK(got == 0, "the checker's read: %s", strerror(errno));
    join(first);
    join(second);
    read_all(MUST(open("sent", O_RDONLY)), &sent, sizeof sent);
    CHECK(checked == sent, "%llu of %llu bytes came back", (unsigned long long)checked, (unsigned long long)sent);
}

REFUSED(tcp_pending_connection, "TCP connection that nobody accepted yet", "PENDING_CONNECTION") {
    struct at at;
    int server = bound(AF_INET, SOCK_STREAM, &at);
    MUST(listen(server, 7));
    int client = connected(AF_INET, &at);
    write_all(client, "early", 5);
    ready_and_wait();
    expect(MUST(accept(server, NULL, NULL)), "early");
}

RESOURCE(tcp_options, "TCP options: TCP_NODELAY, keepalive, linger, buffers") {
    struct at at;
    int server = bound(AF_INET, SOCK_STREAM, &at);
    MUST(listen(server, 7));
    int client = connected(AF_INET, &at);
    int accepted = MUST(accept(server, NULL, NULL));
    int on = 1, idle = 77, value = 0, size = 70000;
    struct linger linger = {1, 3}, lingers;
    socklen_t length = sizeof size;
    MUST(setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on));
    MUST(setsockopt(client, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on));
    MUST(setsockopt(client, IPPROTO_TCP, TCP_KEEPIDLE, &idle, sizeof idle));
    MUST(setsockopt(client, SOL_SOCKET, SO_LINGER, &linger, sizeof linger));
    MUST(setsockopt(client, SOL_SOCKET, SO_RCVBUF, &size, sizeof size));
    MUST(getsockopt(client, SOL_SOCKET, SO_RCVBUF, &size, &length));
    ready_and_wait();
    MUST(getsockopt(client, IPPROTO_TCP, TCP_NODELAY, &value, &length));
    CHECK(value == 1, "TCP_NODELAY is off");
    MUST(getsockopt(client, SOL_SOCKET, SO_KEEPALIVE, &value, &length));
    CHECK(value == 1, "SO_KEEPALIVE is off");
    MUST(getsockopt(client, IPPROTO_TCP, TCP_KEEPIDLE, &value, &length));
    CHECK(value == idle, "TCP_KEEPIDLE is %d", value);
    MUST(getsockopt(client, SOL_SOCKET, SO_RCVBUF, &value, &length));
    CHECK(value == size, "SO_RCVBUF is %d and was %d", value, size);
    length = sizeof lingers;
    MUST(getsockopt(client, SOL_SOCKET, SO_LINGER, &lingers, &length));
    CHECK(lingers.l_onoff == 1 && lingers.l_linger == 3, "SO_LINGER changed");
    write_all(client, "x", 1);
    expect(accepted, "x");
}

RESOURCE(tcp_unconnected, "TCP sockets that are not connected, one of them bound") {
    struct at at, later;
    int free_one = MUST(socket(AF_INET, SOCK_STREAM, 0));
    int taken = bound(AF_INET, SOCK_STREAM, &at);
    ready_and_wait();
    MUST(listen(taken, 1));
    later = at;
    MUST(getsockname(taken, &later.address.any, &later.size));
    CHECK(later.address.v4.sin_port == at.address.v4.sin_port, "its port changed");
    MUST(connect(free_one, &at.address.any, at.size));
}

static void exchange(int family) {
    struct at a, b;
    int server = bound(family, SOCK_DGRAM, &a), client = bound(family, SOCK_DGRAM, &b);
    MUST(connect(client, &a.address.any, a.size));
    write_all(client, "before", 6);
    expect(server, "before");
    ready_and_wait();
    write_all(client, "connected", 9);
    expect(server, "connected");
    MUST(sendto(server, "back", 4, 0, &b.address.any, b.size));
    expect(client, "back");
}

RESOURCE(udp, "UDP, bound and connected, IPv4") { exchange(AF_INET); }
RESOURCE(udp_v6, "UDP, bound and connected, IPv6") { exchange(AF_INET6); }

RESOURCE(udp_options, "UDP options: broadcast, reuse, time to live, bound device") {
    struct at at;
    int fd = bound(AF_INET, SOCK_DGRAM, &at), on = 1, ttl = 33, value = 0;
    MUST(setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &on, sizeof on));
    MUST(setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on));
    MUST(setsockopt(fd, IPPROTO_IP, IP_TTL, &ttl, sizeof ttl));
    MUST(setsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, "lo", 3));
    ready_and_wait();
    socklen_t length = sizeof value;
    MUST(getsockopt(fd, SOL_SOCKET, SO_BROADCAST, &value, &length));
    CHECK(value == 1, "SO_BROADCAST is off");
    MUST(getsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &value, &length));
    CHECK(value == 1, "SO_REUSEADDR is off");
    MUST(getsockopt(fd, IPPROTO_IP, IP_TTL, &value, &length));
    CHECK(value == ttl, "IP_TTL is %d", value);
    char device[16] = {0};
    length = sizeof device;
    MUST(getsockopt(fd, SOL_SOCKET, SO_BINDTODEVICE, device, &length));
    CHECK(strcmp(device, "lo") == 0, "it is bound to '%s'", device);
}

RESOURCE(netlink_socket, "netlink socket, as getaddrinfo(3) and ip(8) use it") {
    int fd = MUST(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE));
    struct sockaddr_nl a = {.nl_family = AF_NETLINK}, now;
    MUST(bind(fd, (struct sockaddr *)&a, sizeof a));
    socklen_t size = sizeof a;
    MUST(getsockname(fd, (struct sockaddr *)&a, &size));
    ready_and_wait();
    size = sizeof now;
    MUST(getsockname(fd, (struct sockaddr *)&now, &size));
    CHECK(now.nl_pid == a.nl_pid, "its port was %u and is %u", a.nl_pid, now.nl_pid);
}
