/*
 * A stage that notes as soon as one of its threads has other rights than at its start: rights COUNTER NOTED HELD.
 * COUNTER's eight bytes grow while anything of it runs; NOTED stays empty.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/fsuid.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

struct rights {
	uid_t uids[4];
	gid_t gids[4];
	struct __user_cap_data_struct capabilities[2];
	int no_new_privileges, groups;
	gid_t group[32];
};

static int counter, noted;
static struct rights first;

static void look(struct rights *now)
{
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	memset(now, 0, sizeof *now);
	syscall(SYS_getresuid, &now->uids[0], &now->uids[1], &now->uids[2]);
	syscall(SYS_getresgid, &now->gids[0], &now->gids[1], &now->gids[2]);
	now->uids[3] = syscall(SYS_setfsuid, -1);
	now->gids[3] = syscall(SYS_setfsgid, -1);
	syscall(SYS_capget, &header, now->capabilities);
	now->no_new_privileges = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0);
	now->groups = syscall(SYS_getgroups, 0, NULL);
	if (now->groups <= 32)
		syscall(SYS_getgroups, 32, now->group);
}

static void *compare(void *pause)
{
	struct rights now;
	unsigned long count = 0;
	for (;;) {
		look(&now);
		if (memcmp(&now, &first, sizeof now) != 0)
			dprintf(noted, "%ld: %u %u %u %u %u %u %u %u caps %x %x %x nnp %d groups %d\n", (long) syscall(SYS_gettid), now.uids[0],
				now.uids[1], now.uids[2], now.uids[3], now.gids[0], now.gids[1], now.gids[2], now.gids[3],
				now.capabilities[0].effective, now.capabilities[0].permitted, now.capabilities[0].inheritable,
				now.no_new_privileges, now.groups);
		count++;
		pwrite(counter, &count, sizeof count, 0);
		if (pause)
			usleep(200);
		else
			sched_yield();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread;
	char *slave;
	for (int fd = 3; fd < 256; fd++)
		close(fd);
	counter = open(argv[1], O_RDWR | O_CREAT, 0600);
	noted = open(argv[2], O_WRONLY | O_CREAT | O_APPEND, 0600);
	open(argv[3], O_RDONLY);
	int lost = open("lost", O_RDWR | O_CREAT, 0600);
	write(lost, "lost", 4);
	unlink("lost");
	int master = posix_openpt(O_RDWR | O_NOCTTY);
	if (master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0 && (slave = ptsname(master)))
		open(slave, O_RDWR | O_NOCTTY);
	int pair[2];
	socketpair(AF_UNIX, SOCK_STREAM, 0, pair);
	fcntl(pair[0], F_SETOWN, getpid());
	mkfifo("fifo", 0600);
	open("fifo", O_RDWR);
	void *shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, counter, 0);
	(void) shared;
	close(0);
	close(1);
	close(2);
	open("/dev/null", O_RDWR);
	dup(0);
	dup(0);
	look(&first);
	if (fork() == 0) {
		pthread_create(&thread, NULL, compare, "pause");
		compare("pause");
	}
	pthread_create(&thread, NULL, compare, "pause");
	pthread_create(&thread, NULL, compare, NULL);
	compare("pause");
}
