/* One process for each thing that can tie a stage to the outside. Usage: ties KIND [ARGUMENT...]
   Sets the thing up, writes "ready" and ticks; "cannot: ..." and 77 where this kernel does not let it. */
#define _GNU_SOURCE
#include <sys/inotify.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <linux/filter.h>
#include <linux/netlink.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <linux/vm_sockets.h>
#include <mqueue.h>
#include <netinet/in.h>
#include <arpa/inet.h>
#include <net/if.h>
#include <net/ethernet.h>
#include <linux/if_packet.h>
#include <linux/if_tun.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fanotify.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

static void cannot(const char *what) { printf("cannot: %s: %s\n", what, strerror(errno)); fflush(stdout); _exit(77); }
static long must(long result, const char *what) { if (result < 0) cannot(what); return result; }
static void tick(void) { for (;;) { struct timespec t = {0, 20000000}; printf("tick\n"); fflush(stdout); nanosleep(&t, 0); } }
static void rest(void) { for (;;) pause(); }
static void in_child(int flags) { must(unshare(flags), "unshare"); if (fork() == 0) { prctl(PR_SET_PDEATHSIG, SIGKILL); rest(); } }

static int unix_to(const char *path, int type) {
    struct sockaddr_un a = {AF_UNIX, ""};
    int s = must(socket(AF_UNIX, type, 0), "socket");
    strncpy(a.sun_path, path, sizeof a.sun_path - 1);
    must(connect(s, (void *)&a, sizeof a), "connect");
    return s;
}
static int tcp_to(int port) {
    struct sockaddr_in a = {AF_INET, htons(port), {htonl(INADDR_LOOPBACK)}, ""};
    int s = must(socket(AF_INET, SOCK_STREAM, 0), "socket");
    must(connect(s, (void *)&a, sizeof a), "connect");
    return s;
}
static int take_fd(const char *path) {
    char byte, control[64]; struct iovec v = {&byte, 1};
    struct msghdr m = {0, 0, &v, 1, control, sizeof control, 0};
    int s = unix_to(path, SOCK_STREAM), fd;
    must(recvmsg(s, &m, 0), "recvmsg");
    memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fd);
    close(s);
    return fd;
}
static int listen_at(const char *path, int type) {
    struct sockaddr_un a = {AF_UNIX, ""};
    int s = must(socket(AF_UNIX, type, 0), "socket");
    strncpy(a.sun_path, path, sizeof a.sun_path - 1);
    must(bind(s, (void *)&a, sizeof a), "bind");
    if (type != SOCK_DGRAM) must(listen(s, 5), "listen");
    return s;
}
/* The outside: accepts and keeps what comes, or gives a descriptor of its own to whoever connects. */
static void serve(const char *path, int type) {
    int s = listen_at(path, type);
    printf("ready\n"); fflush(stdout);
    for (;;) if (type == SOCK_DGRAM) rest(); else accept(s, 0, 0);
}
static void give(const char *path, int fd) {
    int s = listen_at(path, SOCK_STREAM);
    printf("ready\n"); fflush(stdout);
    for (;;) {
        char byte = 'x', control[CMSG_SPACE(sizeof fd)]; struct iovec v = {&byte, 1};
        struct msghdr m = {0, 0, &v, 1, control, sizeof control, 0};
        int c = accept(s, 0, 0);
        struct cmsghdr *h = CMSG_FIRSTHDR(&m);
        h->cmsg_level = SOL_SOCKET; h->cmsg_type = SCM_RIGHTS; h->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(h), &fd, sizeof fd);
        must(sendmsg(c, &m, 0), "sendmsg");
        close(c);
    }
}
static void *idle(void *x) { rest(); return x; }

int main(int argc, char **argv) {
    const char *kind = argc > 1 ? argv[1] : "none", *arg = argc > 2 ? argv[2] : "";
#define IS(name) (strcmp(kind, name) == 0)
    int two[2];
    if (IS("none")) {
    } else if (IS("serve-stream")) { serve(arg, SOCK_STREAM);
    } else if (IS("serve-seqpacket")) { serve(arg, SOCK_SEQPACKET);
    } else if (IS("serve-dgram")) { serve(arg, SOCK_DGRAM);
    } else if (IS("give-pipe")) { must(pipe(two), "pipe"); give(arg, two[1]);
    } else if (IS("give-socket")) { must(socketpair(AF_UNIX, SOCK_STREAM, 0, two), "socketpair"); give(arg, two[1]);
    } else if (IS("give-memfd")) { int fd = must(memfd_create("outside", 0), "memfd"); ftruncate(fd, 4096); give(arg, fd);
    } else if (IS("give-pidfd")) { give(arg, must(syscall(SYS_pidfd_open, getpid(), 0), "pidfd_open"));
    } else if (IS("give-pty")) {
        int m = must(posix_openpt(O_RDWR | O_NOCTTY), "ptmx"); grantpt(m); unlockpt(m);
        give(arg, must(open(ptsname(m), O_RDWR | O_NOCTTY), "pts"));
    } else if (IS("give-file")) { give(arg, must(open("/var/tmp", O_RDONLY | O_DIRECTORY), "file"));
    } else if (IS("hold-fifo")) { must(mkfifo(arg, 0600), "mkfifo"); must(open(arg, O_RDWR), "fifo");
    } else if (IS("serve-pty")) {
        int m = must(posix_openpt(O_RDWR | O_NOCTTY), "ptmx"); grantpt(m); unlockpt(m);
        must(symlink(ptsname(m), arg), "symlink");
    } else if (IS("traced")) {
        pid_t child = fork();
        if (child == 0) rest();
        must(ptrace(PTRACE_SEIZE, child, 0, 0), "ptrace");
    } else if (IS("io_uring")) {
        char params[120] = {0};
        must(syscall(SYS_io_uring_setup, 4, params), "io_uring_setup");
    } else if (IS("userfaultfd")) {
        struct uffdio_api api = {UFFD_API, 0, 0};
        int fd = must(syscall(SYS_userfaultfd, O_CLOEXEC), "userfaultfd");
        must(ioctl(fd, UFFDIO_API, &api), "UFFDIO_API");
    } else if (IS("perf")) {
        struct perf_event_attr a = {.type = PERF_TYPE_SOFTWARE, .size = sizeof a, .config = PERF_COUNT_SW_TASK_CLOCK};
        must(syscall(SYS_perf_event_open, &a, 0, -1, -1, 0), "perf_event_open");
    } else if (IS("bpf-map")) {
        union bpf_attr a = {.map_type = BPF_MAP_TYPE_HASH, .key_size = 4, .value_size = 8, .max_entries = 16};
        must(syscall(SYS_bpf, BPF_MAP_CREATE, &a, sizeof a), "bpf map");
    } else if (IS("bpf-prog")) {
        struct bpf_insn code[] = {{0xb7, 0, 0, 0, 0}, {0x95, 0, 0, 0, 0}};
        union bpf_attr a = {.prog_type = BPF_PROG_TYPE_SOCKET_FILTER, .insn_cnt = 2, .insns = (long)code, .license = (long)"GPL"};
        must(syscall(SYS_bpf, BPF_PROG_LOAD, &a, sizeof a), "bpf prog");
    } else if (IS("open")) { must(open(arg, O_RDWR | O_NOCTTY), arg);
    } else if (IS("open-r")) { must(open(arg, O_RDONLY), arg);
    } else if (IS("open-w")) { must(open(arg, O_WRONLY), arg);
    } else if (IS("tun")) {
        struct ifreq r = {0}; int fd = must(open("/dev/net/tun", O_RDWR), "tun");
        strcpy(r.ifr_name, "pftun0"); r.ifr_flags = IFF_TUN | IFF_NO_PI; must(ioctl(fd, TUNSETIFF, &r), "TUNSETIFF");
    } else if (IS("tcp")) { tcp_to(atoi(arg));
    } else if (IS("tcp-inside") || IS("tcp-pending") || IS("tcp-listen") || IS("mptcp")) {
        struct sockaddr_in a = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}, ""}; socklen_t n = sizeof a;
        int s = must(socket(AF_INET, SOCK_STREAM, IS("mptcp") ? 262 : 0), "socket");
        must(bind(s, (void *)&a, n), "bind"); must(listen(s, 5), "listen"); getsockname(s, (void *)&a, &n);
        if (!IS("tcp-listen") && !IS("mptcp")) tcp_to(ntohs(a.sin_port));
        if (IS("tcp-inside")) must(accept(s, 0, 0), "accept");
    } else if (IS("stream")) { unix_to(arg, SOCK_STREAM);
    } else if (IS("seqpacket")) { unix_to(arg, SOCK_SEQPACKET);
    } else if (IS("dgram")) { unix_to(arg, SOCK_DGRAM);
    } else if (IS("unix-inside")) { int p[2]; must(socketpair(AF_UNIX, SOCK_STREAM, 0, p), "socketpair"); must(socketpair(AF_UNIX, SOCK_DGRAM, 0, p), "socketpair");
    } else if (IS("fifo")) { must(open(arg, O_RDWR), "fifo");
    } else if (IS("fifo-inside")) { must(mkfifo(arg, 0600), "mkfifo"); must(open(arg, O_RDWR), "fifo");
    } else if (IS("take")) { take_fd(arg);
    } else if (IS("take-map")) { int fd = take_fd(arg); if (mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED) cannot("mmap"); close(fd);
    } else if (IS("memfd")) { int fd = must(memfd_create("shared", 0), "memfd"); ftruncate(fd, 8192); if (mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED) cannot("mmap");
    } else if (IS("packet-pipe")) { must(pipe2(two, O_DIRECT), "pipe2");
    } else if (IS("semaphore")) { if (sem_open("/preemptible-ties", O_CREAT | O_EXCL, 0600, 1) == SEM_FAILED) cannot("sem_open");
    } else if (IS("pending-data")) {
        int s = listen_at(arg, SOCK_STREAM), c = unix_to(arg, SOCK_STREAM);
        (void)s; must(write(c, "early", 5), "write");
    } else if (IS("given-up")) { listen_at(arg, SOCK_STREAM); close(unix_to(arg, SOCK_STREAM));
    } else if (IS("pending")) { listen_at(arg, SOCK_STREAM); unix_to(arg, SOCK_STREAM);
    } else if (IS("half-pipe")) { int p[2]; must(pipe(p), "pipe"); close(p[1]);
    } else if (IS("pid-ns")) { in_child(CLONE_NEWPID);
    } else if (IS("mount-ns")) { in_child(CLONE_NEWNS);
    } else if (IS("net-ns")) { in_child(CLONE_NEWNET);
    } else if (IS("user-ns")) { in_child(CLONE_NEWUSER);
    } else if (IS("uts-ns")) { in_child(CLONE_NEWUTS);
    } else if (IS("ipc-ns")) { in_child(CLONE_NEWIPC);
    } else if (IS("cgroup-ns")) { in_child(CLONE_NEWCGROUP);
    } else if (IS("time-ns")) { in_child(0x80);
    } else if (IS("fanotify")) {
        int fd = must(fanotify_init(FAN_CLASS_NOTIF, O_RDONLY), "fanotify_init");
        must(fanotify_mark(fd, FAN_MARK_ADD, FAN_OPEN, AT_FDCWD, arg), "fanotify_mark");
    } else if (IS("vsock")) { must(socket(AF_VSOCK, SOCK_STREAM, 0), "vsock");
    } else if (IS("packet")) { must(socket(AF_PACKET, SOCK_RAW, htons(ETH_P_ALL)), "packet");
    } else if (IS("raw")) { must(socket(AF_INET, SOCK_RAW, IPPROTO_ICMP), "raw");
    } else if (IS("ping")) { must(socket(AF_INET, SOCK_DGRAM, IPPROTO_ICMP), "ping");
    } else if (IS("alg")) { must(socket(AF_ALG, SOCK_SEQPACKET, 0), "alg");
    } else if (IS("sctp")) { must(socket(AF_INET, SOCK_STREAM, IPPROTO_SCTP), "sctp");
    } else if (IS("xdp")) { must(socket(44, SOCK_RAW, 0), "xdp");
    } else if (IS("key")) { must(socket(AF_KEY, SOCK_RAW, 2), "key");
    } else if (IS("can")) { must(socket(29, SOCK_RAW, 1), "can");
    } else if (IS("udp")) { struct sockaddr_in a = {AF_INET, htons(9), {htonl(INADDR_LOOPBACK)}, ""}; int s = must(socket(AF_INET, SOCK_DGRAM, 0), "udp"); must(connect(s, (void *)&a, sizeof a), "connect");
    } else if (IS("netlink")) { struct sockaddr_nl a = {AF_NETLINK, 0, 0, 0}; int s = must(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), "netlink"); must(bind(s, (void *)&a, sizeof a), "bind");
    } else if (IS("netlink-groups")) { struct sockaddr_nl a = {AF_NETLINK, 0, 0, 1}; int s = must(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), "netlink"); must(bind(s, (void *)&a, sizeof a), "bind");
    } else if (IS("netlink-data")) { struct sockaddr_nl a = {AF_NETLINK, 0, 0, 0}; int s = must(socket(AF_NETLINK, SOCK_RAW, NETLINK_ROUTE), "netlink"); must(bind(s, (void *)&a, sizeof a), "bind");
        struct { struct nlmsghdr h; char g[16]; } q = {{sizeof q, 18, 0x301, 1, 0}, ""}; must(send(s, &q, sizeof q, 0), "send");
    } else if (IS("uevent")) { struct sockaddr_nl a = {AF_NETLINK, 0, 0, 1}; int s = must(socket(AF_NETLINK, SOCK_DGRAM, NETLINK_KOBJECT_UEVENT), "netlink"); must(bind(s, (void *)&a, sizeof a), "bind");
    } else if (IS("pidfd-self")) { must(syscall(SYS_pidfd_open, getpid(), 0), "pidfd_open");
    } else if (IS("pidfd-dead")) { pid_t c = fork(); if (!c) _exit(0); must(syscall(SYS_pidfd_open, c, 0), "pidfd_open"); waitpid(c, 0, 0);
    } else if (IS("secretmem")) { int fd = must(syscall(447, 0), "memfd_secret"); ftruncate(fd, 4096); if (mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED) cannot("mmap"); close(fd);
    } else if (IS("seccomp-notify")) {
        struct sock_filter f[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}; struct sock_fprog p = {1, f};
        must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_NEW_LISTENER, &p), "seccomp");
    } else if (IS("seccomp")) {
        struct sock_filter f[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}; struct sock_fprog p = {1, f};
        must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &p), "seccomp");
    } else if (IS("landlock")) { unsigned long attr[1] = {1}; must(syscall(444, attr, 8, 0), "landlock");
    } else if (IS("landlock-self")) { unsigned long attr[1] = {1}; int fd = must(syscall(444, attr, 8, 0), "landlock"); prctl(PR_SET_NO_NEW_PRIVS,1,0,0,0); must(syscall(446, fd, 0), "restrict"); close(fd);
    } else if (IS("lease")) { int fd = must(open(arg, O_RDONLY | O_CREAT, 0600), "file"); must(fcntl(fd, F_SETLEASE, F_RDLCK), "lease");
    } else if (IS("lease-write")) { int fd = must(open(arg, O_RDWR | O_CREAT, 0600), "file"); must(fcntl(fd, F_SETLEASE, F_WRLCK), "lease");
    } else if (IS("mq")) { struct mq_attr a = {0, 4, 16, 0}; must(mq_open("/pfq", O_RDWR | O_CREAT, 0600, &a), "mq_open");
    } else if (IS("mq-notify")) { struct mq_attr a = {0, 4, 16, 0}; struct sigevent e = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1}; mqd_t q = must(mq_open("/pfq", O_RDWR | O_CREAT, 0600, &a), "mq_open"); must(mq_notify(q, &e), "mq_notify");
    } else if (IS("zombie-leader")) { pthread_t t; static void *(*const f)(void *) = idle; 
        pid_t c = fork(); if (c == 0) { pthread_create(&t, 0, f, 0); pthread_exit(0); } usleep(100000);
    } else if (IS("ns-file")) { must(open(arg, O_RDONLY), "ns");
    } else if (IS("fsopen")) { must(syscall(SYS_fsopen, "tmpfs", 0), "fsopen");
    } else if (IS("open-tree")) { must(syscall(SYS_open_tree, AT_FDCWD, "/", 1 /* clone */), "open_tree");
    } else if (IS("mount")) { mkdir(arg, 0700); must(mount("pf", arg, "tmpfs", 0, 0), "mount"); char p[300]; snprintf(p, 300, "%s/x", arg); must(open(p, O_RDWR | O_CREAT, 0600), "file");
    } else if (IS("formats")) { mkdir(arg, 0700); must(mount("none", arg, "binfmt_misc", 0, 0), "mount");
    } else if (IS("bind")) { mkdir(arg, 0700); must(mount(argv[3], arg, 0, MS_BIND, 0), "mount");
    } else if (IS("chroot")) { if (fork() == 0) { must(chroot(arg), "chroot"); must(chdir("/"), "chdir"); rest(); }
    } else if (IS("unlinked-cwd")) { must(mkdir(arg, 0700), "mkdir"); must(chdir(arg), "chdir"); must(rmdir(arg), "rmdir");
    } else if (IS("deleted")) { int fd = must(open(arg, O_RDWR | O_CREAT, 0600), "file"); ftruncate(fd, atol(argv[3])); write(fd, "x", 1); unlink(arg);
    } else if (IS("deleted-linked")) { int fd = must(open(arg, O_RDWR | O_CREAT, 0600), "file"); write(fd, "x", 1); char p[300]; snprintf(p, 300, "%s.link", arg); unlink(p); must(link(arg, p), "link"); unlink(arg);
    } else if (IS("tmpfile")) { int fd = must(open(arg, O_RDWR | O_TMPFILE, 0600), "tmpfile"); write(fd, "x", 1);
    } else if (IS("pty")) { int m = must(posix_openpt(O_RDWR | O_NOCTTY), "ptmx"); grantpt(m); unlockpt(m); must(open(ptsname(m), O_RDWR | O_NOCTTY), "pts");
    } else if (IS("half-pty")) { int m = must(posix_openpt(O_RDWR | O_NOCTTY), "ptmx"); grantpt(m); unlockpt(m); must(open(ptsname(m), O_RDWR | O_NOCTTY), "pts"); close(m);
    } else if (IS("hugetlb")) { if (mmap(0, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0) == MAP_FAILED) cannot("hugetlb");
    } else if (IS("map-device")) { int fd = must(open(arg, O_RDWR), arg); if (mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED) cannot("mmap"); close(fd);
    } else if (IS("cgroup-escape")) { char p[300]; if (fork() == 0) { FILE *f; snprintf(p, 300, "%s/cgroup.procs", arg); f = fopen(p, "w"); if (!f) cannot(p); fprintf(f, "0"); if (fclose(f)) cannot(p); rest(); } usleep(100000);
    } else if (IS("memory")) { size_t n = atol(arg) << 20; char *m = mmap(0, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0); if (m == MAP_FAILED) cannot("mmap"); memset(m, 1, n);
    } else if (IS("sigtrap")) {
        sigset_t traps; sigemptyset(&traps); sigaddset(&traps, SIGTRAP);
        must(sigprocmask(SIG_BLOCK, &traps, 0), "sigprocmask"); must(kill(getpid(), SIGTRAP), "kill");
    } else if (IS("corked")) {
        struct sockaddr_in a = {AF_INET, htons(9), {htonl(INADDR_LOOPBACK)}, ""};
        int s = must(socket(AF_INET, SOCK_DGRAM, 0), "socket"), on = 1;
        must(connect(s, (void *)&a, sizeof a), "connect");
        must(setsockopt(s, IPPROTO_UDP, 1 /* UDP_CORK */, &on, sizeof on), "cork"); must(write(s, "x", 1), "write");
    } else if (IS("unread-datagram")) {
        struct sockaddr_in a = {AF_INET, 0, {htonl(INADDR_LOOPBACK)}, ""}; socklen_t n = sizeof a;
        int s = must(socket(AF_INET, SOCK_DGRAM, 0), "socket");
        must(bind(s, (void *)&a, sizeof a), "bind"); must(getsockname(s, (void *)&a, &n), "name");
        must(sendto(s, "x", 1, 0, (void *)&a, sizeof a), "send");
    } else if (IS("unread-inotify")) {
        char f[300]; snprintf(f, sizeof f, "%s/new", arg); must(mkdir(arg, 0700), "mkdir");
        int i = must(inotify_init(), "inotify"); must(inotify_add_watch(i, arg, IN_CREATE), "watch");
        must(close(open(f, O_CREAT | O_RDWR, 0600)), f);
    } else if (IS("watching")) {
        int i = must(inotify_init(), "inotify"); must(inotify_add_watch(i, arg, IN_CREATE), "watch");
    } else if (IS("covered")) {
        must(mkdir(arg, 0700), "mkdir"); must(mount("first", arg, "tmpfs", 0, 0), "mount");
        char f[300]; snprintf(f, sizeof f, "%s/file", arg); must(open(f, O_CREAT | O_RDWR, 0600), f);
        must(mount("second", arg, "tmpfs", 0, 0), "mount");
    } else if (IS("mount-ns-file")) {
        char f[300]; snprintf(f, sizeof f, "%s/inside", arg); must(mkdir(arg, 0700), "mkdir"); must(unshare(CLONE_NEWNS), "unshare");
        must(mount("own", arg, "tmpfs", 0, 0), "mount"); must(open(f, O_CREAT | O_RDWR, 0600), f);
    } else if (IS("covered-mount")) {
        char f[300]; snprintf(f, sizeof f, "%s/file", arg); must(mkdir(arg, 0700), "mkdir");
        must(mount("first", arg, "tmpfs", 0, 0), "mount"); must(mount(arg, arg, 0, MS_BIND, 0), "bind");
        must(open(f, O_CREAT | O_RDWR, 0600), f); must(mount(arg, arg, 0, MS_BIND, 0), "bind");
    } else if (IS("covered-folder")) {
        char f[300]; snprintf(f, sizeof f, "%s/first", arg); must(mkdir(arg, 0700), "mkdir"); must(mkdir(f, 0700), f);
        must(open(f, O_RDONLY), f); must(mount("second", arg, "tmpfs", 0, 0), "mount");
    } else if (IS("uncovered")) {
        char f[300], t[300]; snprintf(f, sizeof f, "%s/file", arg); snprintf(t, sizeof t, "%s/two words é", arg);
        must(mkdir(arg, 0700), "mkdir"); must(mount("first", arg, "tmpfs", 0, 0), "mount");
        must(open(f, O_CREAT | O_RDWR, 0600), f); must(rename(f, t), "rename"); must(open(arg, O_RDONLY), arg);
        must(open("/proc/self/status", O_RDONLY), "status"); must(open("/dev/null", O_RDWR), "null");
    } else if (IS("shared-anonymous-file")) {
        char f[100]; void *m = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        snprintf(f, sizeof f, "/proc/self/map_files/%lx-%lx", (long)m, (long)m + 4096);
        must(write(must(open(f, O_RDWR), f), "x", 1), "write"); munmap(m, 4096);
    } else if (IS("aio")) { unsigned long ctx = 0; must(syscall(SYS_io_setup, 8, &ctx), "io_setup");
    } else if (IS("inotify")) { must(syscall(SYS_inotify_init1, 0), "inotify");
    } else if (IS("sysv")) { int i = must(shmget(IPC_PRIVATE, 4096, 0600), "shmget"); shmat(i, 0, 0);
    } else if (IS("anon-shared")) { mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    } else if (IS("threads-files")) { pthread_t t; pthread_create(&t, 0, idle, 0);
    } else if (IS("with-key")) { must(syscall(SYS_keyctl, 1 /* join */, 0), "keyctl"); must(syscall(SYS_add_key, "user", "preemptible-mark", "x", 1, -3), "add_key"); execv(argv[2], argv + 2); cannot("exec");
    } else if (IS("no-key")) { struct timespec t = {0, 20000000}; printf("ready\n"); while (syscall(SYS_keyctl, 10 /* search */, -3, "user", "preemptible-mark", 0) < 0) { printf("tick\n"); fflush(stdout); nanosleep(&t, 0); } printf("has the caller's key\n"); return 1;
    } else { printf("cannot: no such kind %s\n", kind); return 77; }
    printf("ready\n"); fflush(stdout);
    tick();
}
