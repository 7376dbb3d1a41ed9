/* Holds memory, writes to so much of it a second, and counts the work that it gets done: load MEGABYTES RATE FILE WRITTEN,
   with all of them in megabytes but the file; what is written to is the beginning of the memory */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec + t.tv_nsec / 1e9;
}

int main(int argc, char **argv) {
    if (argc != 5) return 1;
    size_t size = (size_t)atol(argv[1]) << 20, hot = (size_t)atol(argv[4]) << 20, at = 0, page = 4096;
    double rate = atof(argv[2]) * (1 << 20), begun, written = 0;
    int file = open(argv[3], O_RDWR | O_CREAT | O_TRUNC, 0600);
    volatile uint64_t x = 88172645463325252ull;
    uint64_t done = 0;
    char *memory = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (file < 0 || memory == MAP_FAILED) return 1;
    for (size_t i = 0; i < size; i += 8) {
        x ^= x << 13; x ^= x >> 7; x ^= x << 17;
        /* Half of each page is random, half zero. */
        if (i % page < page / 2) memcpy(memory + i, (const void *)&x, 8);
    }
    begun = now();
    for (;;) {
        for (int i = 0; i < 200000; i++) { x ^= x << 13; x ^= x >> 7; x ^= x << 17; }
        done++;
        pwrite(file, &done, sizeof done, 0);
        for (; written < (now() - begun) * rate; written += page) {
            memcpy(memory + at, (const void *)&x, 8);
            at = (at + page) % hot;
        }
    }
}
