/*
 * A tree whose memory and registers are full of values that nobody could make up again: three processes with three
 * threads each, random pages of every kind, all vector and x87 registers, blocked and pending signals.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { PAGE = 4096, PAGES = 300, CHILDREN = 2 };

static pthread_barrier_t ready;
static unsigned char values[64 + 16 * 32] __attribute__((aligned(64)));

static void randomize(void *memory, size_t size) {
    for (size_t done = 0; done < size;) {
        ssize_t got = getrandom((char *) memory + done, size - done, 0);
        if (got <= 0) {
            abort();
        }
        done += (size_t) got;
    }
}

/* Loads every register that it can and never changes one again. */
static void *spin(void *unused) {
    (void) unused;
    pthread_barrier_wait(&ready);
#ifdef __AVX__
    __asm__ volatile("vmovdqu 64(%0), %%ymm0\n vmovdqu 96(%0), %%ymm1\n vmovdqu 128(%0), %%ymm2\n"
                     "vmovdqu 160(%0), %%ymm3\n vmovdqu 192(%0), %%ymm4\n vmovdqu 224(%0), %%ymm5\n"
                     "vmovdqu 256(%0), %%ymm6\n vmovdqu 288(%0), %%ymm7\n vmovdqu 320(%0), %%ymm8\n"
                     "vmovdqu 352(%0), %%ymm9\n vmovdqu 384(%0), %%ymm10\n vmovdqu 416(%0), %%ymm11\n"
                     "vmovdqu 448(%0), %%ymm12\n vmovdqu 480(%0), %%ymm13\n vmovdqu 512(%0), %%ymm14\n"
                     "vmovdqu 544(%0), %%ymm15\n" ::"r"(values));
#endif
    __asm__ volatile("fldpi\n fldl2e\n fldln2\n fld1\n"
                     "mov 0(%0), %%rax\n mov 8(%0), %%rbx\n mov 16(%0), %%rcx\n mov 24(%0), %%rdx\n"
                     "mov 32(%0), %%rsi\n mov 40(%0), %%r8\n mov 48(%0), %%r9\n mov 56(%0), %%r10\n"
                     "mov 4(%0), %%r11\n mov 12(%0), %%r12\n mov 20(%0), %%r13\n mov 28(%0), %%r14\n mov 36(%0), %%r15\n"
                     "std\n stc\n"
                     "1: pause\n jmp 1b\n" ::"D"(values)
                     : "rax", "rbx", "rcx", "rdx", "rsi", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15");
    return NULL;
}

static void *wait_in_the_kernel(void *unused) {
    (void) unused;
    int ends[2];
    char byte;
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR2);
    sigaddset(&blocked, SIGRTMIN + 1);
    pthread_sigmask(SIG_BLOCK, &blocked, NULL);
    pthread_kill(pthread_self(), SIGUSR2);
    if (pipe(ends) != 0) {
        abort();
    }
    pthread_barrier_wait(&ready);
    while (read(ends[0], &byte, 1) != 1) {
    }
    return NULL;
}

static void fill(void) {
    unsigned char *memory = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    randomize(memory, PAGES * PAGE);
    /* Holes, pages that were given back, and every protection. */
    munmap(memory + 10 * PAGE, 3 * PAGE);
    madvise(memory + 20 * PAGE, 5 * PAGE, MADV_DONTNEED);
    mprotect(memory + 30 * PAGE, PAGE, PROT_NONE);
    mprotect(memory + 40 * PAGE, PAGE, PROT_READ);
    mprotect(memory + 50 * PAGE, PAGE, PROT_READ | PROT_EXEC);
    unsigned char *sparse = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE,
                                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    randomize(sparse + (1 << 20), 100);
    randomize(malloc(200000), 200000);
    randomize(sbrk(3 * PAGE), 3 * PAGE);
    int self = open("/proc/self/exe", O_RDONLY);
    unsigned char *own = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, self, 0);
    randomize(own + 1000, 2000);
    close(self);
}

static void signals(void) {
    static char stack[16384];
    stack_t alternative = {.ss_sp = stack, .ss_size = sizeof stack};
    sigset_t blocked;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigaddset(&blocked, SIGRTMIN);
    sigaddset(&blocked, SIGRTMIN + 2);
    sigprocmask(SIG_BLOCK, &blocked, NULL);
    sigaltstack(&alternative, NULL);
    raise(SIGUSR1);
    for (int i = 0; i < 3; i++) {
        sigqueue(getpid(), SIGRTMIN, (union sigval) {.sival_int = 4711 + i});
    }
}

int main(void) {
    unsigned char *shared = mmap(NULL, 50 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int file = open("mapped", O_RDWR | O_CREAT, 0600);
    if (ftruncate(file, 20 * PAGE) != 0) {
        abort();
    }
    unsigned char *mapped = mmap(NULL, 20 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    randomize(shared, 40 * PAGE);
    randomize(mapped + PAGE, 10 * PAGE);
    int started[2];
    if (pipe(started) != 0) {
        abort();
    }
    int first = 1;
    for (int child = 0; child < CHILDREN; child++) {
        if (fork() == 0) {
            first = 0;
            break;
        }
    }
    randomize(values, sizeof values);
    fill();
    signals();
    pthread_barrier_init(&ready, NULL, 3);
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 128 * 1024);
    pthread_t threads[2];
    pthread_create(&threads[0], &small, spin, NULL);
    pthread_create(&threads[1], &small, wait_in_the_kernel, NULL);
    pthread_barrier_wait(&ready);
    if (!first) {
        if (write(started[1], "x", 1) != 1) {
            abort();
        }
        for (;;) {
            sleep(1000);
        }
    }
    for (int child = 0; child < CHILDREN; child++) {
        char byte;
        if (read(started[0], &byte, 1) != 1) {
            abort();
        }
    }
    puts("ready");
    fflush(stdout);
    for (;;) {
        pause();
    }
}
