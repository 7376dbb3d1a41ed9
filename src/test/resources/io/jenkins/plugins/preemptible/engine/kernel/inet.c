/* TCP and UDP within the tree; the network namespace is the host's. */
#define FAMILY "TCP and UDP"
#include "kernel.h"
#include <arpa/inet.h>
#include <linux/netlink.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
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
