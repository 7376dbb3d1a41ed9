/* Holds one of each kind of thing that an image can show; changes some of them when told to go on. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/timerfd.h>
#include <sys/un.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 200 };

static void need(int ok) {
    if (!ok) {
        perror("holdings");
        exit(1);
    }
}

static void *wait_forever(void *unused) {
    pthread_setname_np(pthread_self(), "second-thread");
    for (;;) {
        pause();
    }
    return unused;
}

int main(int count, char **args) {
    (void) count;
    char buffer[5000] = {1};
    int pair[2], ends[2];
    pthread_t thread;
    sigset_t signals;

    int deleted = open("deleted", O_RDWR | O_CREAT, 0600);
    need(write(deleted, buffer, sizeof buffer) == sizeof buffer && unlink("deleted") == 0);
    int appended = open("appended", O_WRONLY | O_CREAT | O_APPEND, 0600);
    need(appended >= 0 && pipe(ends) == 0 && socketpair(AF_UNIX, SOCK_SEQPACKET, 0, pair) == 0);

    struct sockaddr_un abstract = {.sun_family = AF_UNIX, .sun_path = "\0holdings\033[31m"};
    int named = socket(AF_UNIX, SOCK_STREAM, 0);
    need(bind(named, (struct sockaddr *) &abstract, offsetof(struct sockaddr_un, sun_path) + 14) == 0);
    need(listen(named, 3) == 0);
    struct sockaddr_in any = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int tcp = socket(AF_INET, SOCK_STREAM, 0);
    need(bind(tcp, (struct sockaddr *) &any, sizeof any) == 0 && listen(tcp, 3) == 0);
    struct sockaddr_in6 any6 = {.sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT};
    int udp = socket(AF_INET6, SOCK_DGRAM, 0);
    int has6 = udp >= 0 && bind(udp, (struct sockaddr *) &any6, sizeof any6) == 0;

    int event = eventfd(42, EFD_NONBLOCK);
    int poll = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event readable = {.events = EPOLLIN};
    need(epoll_ctl(poll, EPOLL_CTL_ADD, ends[0], &readable) == 0);
    need(timerfd_create(CLOCK_MONOTONIC, 0) >= 0);
    sigemptyset(&signals);
    sigaddset(&signals, SIGUSR1);
    need(signalfd(-1, &signals, 0) >= 0 && event >= 0);
    need(inotify_add_watch(inotify_init(), ".", IN_DELETE_SELF) > 0);
    int memory_file = memfd_create("held", 0);
    need(write(memory_file, buffer, sizeof buffer) == sizeof buffer);
    need(mkfifo("fifo", 0600) == 0 && open("fifo", O_RDWR) >= 0);

    char *shared = mmap(NULL, 10 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    memset(shared, 7, 10 * PAGE);
    char *own = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (int page = 0; page < PAGES; page++) {
        memset(own + page * PAGE, 1 + page, PAGE);
    }
    need(pthread_create(&thread, NULL, wait_forever, NULL) == 0);
    if (fork() == 0) {
        execl("/bin/sleep", "a\033]0;title\007", "1000", (char *) NULL);
    }
    if (fork() == 0) {
        _exit(0);
    }
    printf("ready %s %s\n", args[1], has6 ? "inet6" : "no-inet6");
    fflush(stdout);

    while (access("go", F_OK) != 0) {
        usleep(10000);
    }
    for (int page = 0; page < 50; page++) {
        own[page * PAGE] ^= 0x55;
    }
    shared[0] = 8;
    close(event);
    close(tcp);
    need(open("/dev/zero", O_RDONLY) >= 0);
    if (fork() == 0) {
        execl("/bin/sleep", "newcomer", "1000", (char *) NULL);
    }
    puts("changed");
    fflush(stdout);
    pause();
    return 0;
}
