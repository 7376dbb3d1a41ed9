/*
 * Holds memory in several processes; every page is half random, half zero.
 * Arguments: number of processes, KiB in each, file to make when all is filled.
 * SIGUSR1 to a process: rewrites 5 % of its pages. It counts on while it waits, so that it is not idle.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

static const size_t page = 4096;
static uint64_t seed;
static unsigned char *memory;
static size_t pages;
static volatile sig_atomic_t wanted;

static uint64_t next(void) {
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static void fill(size_t at) {
    uint64_t *words = (uint64_t *)(memory + at * page);
    for (size_t i = 0; i < page / 16; i++) words[i] = next();
}

static void change(int signal) {
    (void)signal;
    wanted = 1;
}

static int hold(size_t kib, int readyfd, const char *file) {
    pages = kib * 1024 / page;
    seed = 88172645463325252ULL ^ ((uint64_t)getpid() << 32);
    memory = mmap(NULL, pages * page + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 1;
    for (size_t i = 0; i < pages; i++) fill(i);
    signal(SIGUSR1, change);
    if (file != NULL) readyfd = open(file, O_CREAT | O_WRONLY, 0600);
    else if (write(readyfd, "r", 1) != 1) return 1;
    close(readyfd);
    for (volatile uint64_t count = 0;; count++) {
        usleep(20000);
        if (wanted) {
            for (size_t i = 0; i < pages / 20; i++) fill(i * 20 + next() % 20);
            wanted = 0;
        }
    }
}

int main(int argc, char **argv) {
    if (argc != 4) return 2;
    int count = atoi(argv[1]);
    size_t kib = strtoul(argv[2], NULL, 10);
    int ready[2];
    char byte;
    if (pipe(ready) != 0) return 1;
    for (int i = 1; i < count; i++) {
        pid_t pid = fork();
        if (pid < 0) return 1;
        if (pid == 0) {
            close(ready[0]);
            return hold(kib, ready[1], NULL);
        }
    }
    /* The first process holds as well, once the others are ready. */
    for (int i = 1; i < count; i++)
        if (read(ready[0], &byte, 1) != 1) return 1;
    close(ready[0]);
    close(ready[1]);
    return hold(kib, -1, argv[3]);
}
