// Tries what a process of a container should not be able to do, and tells of each attempt how it ended.
// Two processes with the same rights print the same lines. Each attempt is a process of its own.
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/acct.h>
#include <sys/klog.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/swap.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#define SCRATCH "/tmp/attempts"

static int opens(const char *path, int flags) { return open(path, flags | O_NONBLOCK | O_CLOEXEC) < 0 ? -1 : 0; }

static int reads(const char *path) {
  char byte;
  int file = open(path, O_RDONLY | O_NONBLOCK);
  return file < 0 ? -1 : (int) read(file, &byte, 1) < 0 ? -1 : 0;
}

static int device(mode_t kind, int major, int minor) {
  unlink(SCRATCH "/device");
  return mknod(SCRATCH "/device", kind | 0600, makedev(major, minor)) ? -1 : reads(SCRATCH "/device");
}

static int enters(const char *kind) {
  char path[64];
  snprintf(path, sizeof path, "/proc/1/ns/%s", kind);
  int file = open(path, O_RDONLY);
  return file < 0 ? -1 : setns(file, 0);
}

static int attaches(void) {
  int result = (int) ptrace(PTRACE_ATTACH, 1, 0, 0);
  int why = errno;
  if (result == 0) {
    waitpid(1, NULL, __WALL);
    ptrace(PTRACE_DETACH, 1, 0, 0);
  }
  errno = why;
  return result;
}

static int memory_of_first(void) {
  char byte;
  struct iovec here = {&byte, 1}, there = {(void *) 0x1000, 1};
  long result = process_vm_readv(1, &here, 1, &there, 1, 0);
  return result < 0 && errno == EFAULT ? 0 : (int) result;
}

static int descriptor_of_first(void) {
  int first = (int) syscall(434, 1, 0);
  return first < 0 ? -1 : (int) syscall(438, first, 0, 0) < 0 ? -1 : 0;
}

static int opens_by_handle(void) {
  struct { struct file_handle handle; unsigned char bytes[8]; } root = {{8, 1}, {2}};
  return open_by_handle_at(AT_FDCWD, &root.handle, O_RDONLY) < 0 ? -1 : 0;
}

static int sends(int family, int type, int protocol) { return socket(family, type, protocol) < 0 ? -1 : 0; }

static int all_rights(void) {
  struct { unsigned version; int pid; } header = {0x20080522, 0};
  unsigned sets[6];
  memset(sets, 0xff, sizeof sets);
  return (int) syscall(SYS_capset, &header, sets);
}

static int more_files(void) {
  struct rlimit limit;
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_max++;
  return setrlimit(RLIMIT_NOFILE, &limit);
}

static int real_time(void) {
  struct sched_param first = {1};
  return sched_setscheduler(0, SCHED_FIFO, &first);
}

static int clock_set(void) {
  struct timeval now;
  gettimeofday(&now, NULL);
  return settimeofday(&now, NULL);
}

static int clock_adjusted(void) {
  struct timex none = {.modes = ADJ_TICK, .tick = 10000};
  return adjtimex(&none) < 0 ? -1 : 0;
}

static int keys(void) {
  char list[4096];
  long bytes = syscall(SYS_keyctl, 11, -3, list, sizeof list);
  return bytes < 0 ? -1 : bytes > 0 ? (errno = EEXIST, -1) : 0;
}

static int makes_group(void) {
  const char *folders[] = {"/sys/fs/cgroup/freezer/attempt", "/sys/fs/cgroup/attempt", NULL};
  for (int i = 0; folders[i]; i++) {
    if (mkdir(folders[i], 0700) == 0) { return rmdir(folders[i]); }
  }
  return -1;
}

static int leaves_group(void) {
  int file = open("/sys/fs/cgroup/freezer/cgroup.procs", O_WRONLY);
  return file < 0 ? -1 : write(file, "0", 1) < 0 ? -1 : 0;
}

static int other_bound_file(void) { return mount("/", SCRATCH, "", MS_BIND, "") ? -1 : umount(SCRATCH); }

#define TRY(what) \
  do { \
    fflush(stdout); \
    if (fork() == 0) { \
      errno = 0; \
      alarm(10); \
      printf("%s: %s\n", #what, (long) (what) == -1 ? strerrorname_np(errno) : "done"); \
      fflush(stdout); \
      _exit(0); \
    } \
    int status; \
    wait(&status); \
    if (WIFSIGNALED(status)) { printf("%s: signal %d\n", #what, WTERMSIG(status)); } \
  } while (0)

static void show(const char *path) {
  char line[4096];
  FILE *file = fopen(path, "r");
  printf("== %s\n", path);
  while (file && fgets(line, sizeof line, file)) { fputs(line, stdout); }
  if (file) { fclose(file); }
}

int main(void) {
  mkdir(SCRATCH, 0777);
  chmod(SCRATCH, 0777);
  TRY(mount("x", SCRATCH, "tmpfs", 0, ""));
  TRY(mount("x", SCRATCH, "proc", 0, ""));
  TRY(mount("x", SCRATCH, "sysfs", 0, ""));
  TRY(mount("x", SCRATCH, "cgroup", 0, "freezer"));
  TRY(mount("x", SCRATCH, "devpts", 0, "newinstance"));
  TRY(other_bound_file());
  TRY(mount("", "/proc/sys", "", MS_REMOUNT | MS_BIND, ""));
  TRY(mount("", "/sys", "", MS_REMOUNT, ""));
  TRY(umount2("/proc/kcore", MNT_DETACH));
  TRY(umount2("/proc/sys", MNT_DETACH));
  TRY(umount2("/sys", MNT_DETACH));
  TRY(syscall(SYS_pivot_root, "/tmp", SCRATCH));
  TRY(chroot(SCRATCH));
  TRY(syscall(430, "tmpfs", 0));
  TRY(syscall(428, AT_FDCWD, "/", 1));
  TRY(device(S_IFBLK, 254, 0));
  TRY(device(S_IFBLK, 8, 0));
  TRY(device(S_IFBLK, 7, 0));
  TRY(device(S_IFCHR, 1, 1));
  TRY(device(S_IFCHR, 1, 11));
  TRY(device(S_IFCHR, 10, 229));
  TRY(device(S_IFCHR, 10, 200));
  TRY(device(S_IFCHR, 1, 3));
  TRY(device(S_IFCHR, 1, 5));
  TRY(reads("/proc/kcore"));
  TRY(reads("/proc/keys"));
  TRY(reads("/proc/timer_list"));
  TRY(reads("/proc/1/environ"));
  TRY(reads("/proc/kmsg"));
  TRY(opens("/proc/1/mem", O_RDWR));
  TRY(opens("/proc/1/root/etc", O_RDONLY));
  TRY(opens("/proc/sysrq-trigger", O_WRONLY));
  TRY(opens("/proc/sys/kernel/core_pattern", O_WRONLY));
  TRY(opens("/proc/sys/kernel/hostname", O_WRONLY));
  TRY(opens("/proc/sys/vm/overcommit_memory", O_WRONLY));
  TRY(opens("/proc/sys/net/ipv4/ip_forward", O_WRONLY));
  TRY(opens("/sys/power/state", O_WRONLY));
  TRY(opens("/sys/kernel/uevent_helper", O_WRONLY));
  TRY(opens("/dev/vda", O_RDONLY));
  TRY(opens("/dev/mem", O_RDONLY));
  TRY(opens("/dev/kmsg", O_RDONLY));
  TRY(opens("/dev/fuse", O_RDWR));
  TRY(opens("/dev/net/tun", O_RDWR));
  TRY(opens("/dev/ptmx", O_RDWR));
  TRY(makes_group());
  TRY(leaves_group());
  TRY(attaches());
  TRY(memory_of_first());
  TRY(descriptor_of_first());
  TRY(syscall(SYS_kcmp, 1, 1, 0, 0, 0));
  TRY(keys());
  TRY(syscall(SYS_add_key, "user", "preemptible-attempt", "x", 1, -2));
  TRY(syscall(SYS_request_key, "user", "preemptible-attempt-none", 0, 0));
  TRY(unshare(CLONE_NEWUSER));
  TRY(unshare(CLONE_NEWNS));
  TRY(unshare(CLONE_NEWNET));
  TRY(unshare(CLONE_NEWPID));
  TRY(unshare(CLONE_NEWUTS));
  TRY(unshare(CLONE_NEWIPC));
  TRY(unshare(CLONE_NEWCGROUP));
  TRY(enters("mnt"));
  TRY(enters("net"));
  TRY(enters("user"));
  TRY(opens_by_handle());
  TRY(syscall(SYS_bpf, 0, 0, 0));
  TRY(syscall(SYS_perf_event_open, 0, 0, 0, 0, 0));
  TRY(syscall(SYS_userfaultfd, 0));
  TRY(syscall(425, 0, 0));
  TRY(syscall(SYS_fanotify_init, 0, 0));
  TRY(syscall(SYS_kexec_load, 0, 0, 0, 0));
  TRY(syscall(SYS_init_module, 0, 0, ""));
  TRY(syscall(SYS_finit_module, -1, "", 0));
  TRY(syscall(SYS_delete_module, "preemptible_none", 0));
  TRY(syscall(SYS_quotactl, 0, 0, 0, 0));
  TRY(syscall(SYS_personality, 8));
  TRY(syscall(SYS_vhangup));
  TRY(syscall(SYS_reboot, 0, 0, 0, 0));
  TRY(acct("/proc/none"));
  TRY(swapon("/proc/none", 0));
  TRY(klogctl(3, NULL, 0));
  TRY(clock_set());
  TRY(clock_adjusted());
  TRY(sethostname("a", 1) ? -1 : 0);
  TRY(setdomainname("a", 1));
  TRY(setuid(0));
  TRY(setgid(0));
  TRY(setgroups(0, NULL));
  TRY(setuid(4321));
  TRY(chown(SCRATCH, 4321, 4321));
  TRY(all_rights());
  TRY(prctl(PR_CAPBSET_DROP, 0, 0, 0, 0));
  TRY(prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, 5, 0, 0));
  TRY(setpriority(PRIO_PROCESS, 0, -5));
  TRY(real_time());
  TRY(more_files());
  TRY(sends(AF_INET, SOCK_RAW, 1));
  TRY(sends(AF_PACKET, SOCK_RAW, 0));
  TRY(sends(AF_NETLINK, SOCK_RAW, 9));
  TRY(sends(AF_VSOCK, SOCK_STREAM, 0));
  TRY(syscall(SYS_seccomp, 0, 0, 0));
  for (int file = 3; file < 64; file++) {
    if (fcntl(file, F_GETFD) >= 0) { printf("descriptor %d is open\n", file); }
  }
  show("/proc/self/status");
  show("/proc/self/limits");
  show("/proc/self/mountinfo");
  show("/proc/self/cgroup");
  show("/proc/self/oom_score_adj");
  printf("== environ\n");
  for (char **each = environ; *each; each++) { puts(*each); }
  return 0;
}
