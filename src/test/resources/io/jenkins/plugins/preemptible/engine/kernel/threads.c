/* Threads and what they wait at; registers. */
#define FAMILY "threads"
#include "kernel.h"
#include <sys/syscall.h>
#if defined(__x86_64__)
#include <cpuid.h>
#include <fenv.h>
#include <immintrin.h>
#endif

enum { THREADS = 20 };
static pthread_t threads[THREADS];
static pthread_barrier_t all;
static __thread long own;

static void *counts_own(void *number) {
    own = 1000 + (long)(intptr_t)number;
    pid_t id = (pid_t)syscall(SYS_gettid);
    pthread_barrier_wait(&all);
    wait_go();
    CHECK(own == 1000 + (long)(intptr_t)number, "thread-local value %ld", own);
    CHECK(syscall(SYS_gettid) == id, "its id changed");
    return (void *)(intptr_t)own;
}

static void start(void *(*body)(void *)) {
    MUST0(pthread_barrier_init(&all, NULL, THREADS + 1));
    for (intptr_t i = 0; i < THREADS; i++) MUST0(pthread_create(&threads[i], NULL, body, (void *)i));
    pthread_barrier_wait(&all);
}

static void end(void) {
    for (int i = 0; i < THREADS; i++) MUST0(pthread_join(threads[i], NULL));
}

RESOURCE(thread_local, "20 threads with thread-local values") {
    start(counts_own);
    ready_and_wait();
    for (intptr_t i = 0; i < THREADS; i++) {
        void *value;
        MUST0(pthread_join(threads[i], &value));
        CHECK((intptr_t)value == 1000 + i, "thread %ld returned %ld", (long)i, (long)(intptr_t)value);
    }
}

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
static int turns, released;

static void *waits_condition(void *unused) {
    (void)unused;
    pthread_barrier_wait(&all);
    MUST0(pthread_mutex_lock(&mutex));
    while (!released) MUST0(pthread_cond_wait(&condition, &mutex));
    turns++;
    MUST0(pthread_mutex_unlock(&mutex));
    return NULL;
}

RESOURCE(condition_variable, "20 threads at a condition variable") {
    start(waits_condition);
    ready_and_wait();
    MUST0(pthread_mutex_lock(&mutex));
    CHECK(turns == 0, "%d woke too early", turns);
    released = 1;
    MUST0(pthread_cond_broadcast(&condition));
    MUST0(pthread_mutex_unlock(&mutex));
    end();
    CHECK(turns == THREADS, "%d of %d woke", turns, THREADS);
}

static void *contends(void *unused) {
    (void)unused;
    pthread_barrier_wait(&all);
    while (!going()) {
        MUST0(pthread_mutex_lock(&mutex));
        int before = turns;
        sched_yield();
        CHECK(turns == before, "two threads hold the mutex");
        turns = before + 1;
        MUST0(pthread_mutex_unlock(&mutex));
        pause_millis(2);
    }
    return NULL;
}

RESOURCE(mutex_contention, "20 threads that contend for a mutex") {
    start(contends);
    ready_and_wait();
    end();
    CHECK(turns > 0, "nobody ever got it");
}

struct shared {
    pthread_barrier_t barrier;
    pthread_mutex_t robust;
};
static struct shared *shared;

static struct shared *map_shared(void) {
    size_t size = sizeof(struct shared);
    return MUST((struct shared *)mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
}

static void barrier_child(void) {
    mark("at the barrier");
    pthread_barrier_wait(&shared->barrier);
    CHECK(going(), "it passed too early");
}

RESOURCE(barrier_between_processes, "barrier in shared memory, a process waits at it") {
    shared = map_shared();
    pthread_barrierattr_t attributes;
    MUST0(pthread_barrierattr_init(&attributes));
    MUST0(pthread_barrierattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED));
    MUST0(pthread_barrier_init(&shared->barrier, &attributes, 2));
    pid_t child = spawn(barrier_child);
    await_mark("at the barrier");
    ready_and_wait();
    pthread_barrier_wait(&shared->barrier);
    join(child);
}

static void robust_child(void) {
    MUST0(pthread_mutex_lock(&shared->robust));
    mark("locked");
    wait_go();
    /* Dies with the mutex held: the kernel finds it by the list that was restored. */
    _exit(0);
}

RESOURCE(robust_futex, "robust mutex whose holder dies after the resume") {
    shared = map_shared();
    pthread_mutexattr_t attributes;
    MUST0(pthread_mutexattr_init(&attributes));
    MUST0(pthread_mutexattr_setpshared(&attributes, PTHREAD_PROCESS_SHARED));
    MUST0(pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST));
    MUST0(pthread_mutex_init(&shared->robust, &attributes));
    pid_t child = spawn(robust_child);
    await_mark("locked");
    ready_and_wait();
    join(child);
    struct timespec limit = {nanos(CLOCK_REALTIME) / 1000000000 + 20, 0};
    int answer = pthread_mutex_timedlock(&shared->robust, &limit);
    CHECK(answer == EOWNERDEAD, "the lock answers: %s", strerror(answer));
}

static void *waits_limited(void *unused) {
    (void)unused;
    pthread_barrier_wait(&all);
    while (!going()) {
        int64_t due = nanos(CLOCK_MONOTONIC) + 200000000;
        struct timespec until = {due / 1000000000, due % 1000000000};
        MUST0(pthread_mutex_lock(&mutex));
        int answer = pthread_cond_clockwait(&condition, &mutex, CLOCK_MONOTONIC, &until);
        MUST0(pthread_mutex_unlock(&mutex));
        CHECK(answer == 0 || nanos(CLOCK_MONOTONIC) >= due, "its time was up too early");
    }
    return NULL;
}

RESOURCE(futex_limit, "20 threads in a futex with a time limit") {
    start(waits_limited);
    ready_and_wait();
    end();
}

RESOURCE(restartable_sequences, "rseq: the kernel goes on telling a thread its processor") {
#ifdef SYS_rseq
    extern const ptrdiff_t __rseq_offset __attribute__((weak));
    extern const unsigned __rseq_size __attribute__((weak));
    if (!&__rseq_size || __rseq_size == 0) skip("this C library does not use rseq");
    volatile uint32_t *area = (uint32_t *)((char *)__builtin_thread_pointer() + __rseq_offset);
    ready_and_wait();
    /* Stamped with something that is no processor: only the kernel overwrites it. */
    area[0] = 4000;
    for (int i = 0; area[0] == 4000; i++) {
        CHECK(i < 5000, "the kernel does not write into it any more");
        pause_millis(1);
    }
#else
    skip("this C library does not know rseq");
#endif
}

#if defined(__x86_64__)
static volatile int stop;
static void on_stop(int signal) { (void)signal, stop = 1; }

/* Values stay in the registers all the time: nothing is called between setting and comparing. */
__attribute__((target("avx"))) static int avx_kept(void) {
    long seed[4] = {0x1122334455667788, 0x0102030405060708, -1, 0x7fedcba987654321}, got[4];
    __asm__ volatile("vmovdqu (%1), %%ymm7\n"
                     "vmovdqu (%1), %%ymm15\n"
                     "1: cmpl $0, (%2)\n"
                     "je 1b\n"
                     "vpxor %%xmm0, %%xmm0, %%xmm0\n"
                     "vmovdqu %%ymm7, (%0)\n"
                     :
                     : "r"(got), "r"(seed), "r"(&stop)
                     : "memory", "xmm0", "xmm7", "xmm15");
    return memcmp(seed, got, sizeof got) == 0;
}

static void signal_parent_when_going(void) {
    wait_go();
    MUST(kill(getppid(), SIGUSR1));
}

RESOURCE(avx_registers, "AVX registers of a thread that runs all the time") {
    unsigned a, b, c = 0, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & bit_AVX)) skip("this processor has no AVX");
    signal(SIGUSR1, on_stop);
    pid_t child = spawn(signal_parent_when_going);
    mark("ready");
    CHECK(avx_kept(), "a register changed");
    join(child);
}

RESOURCE(general_registers, "general registers of a thread that runs all the time") {
    signal(SIGUSR1, on_stop);
    pid_t child = spawn(signal_parent_when_going);
    mark("ready");
    long got[6];
    __asm__ volatile("mov $0x1111111111111111, %%rax\n mov $0x2222222222222222, %%r10\n"
                     "mov $0x3333333333333333, %%r11\n mov $0x4444444444444444, %%rcx\n"
                     "mov $0x5555555555555555, %%r15\n mov $0x6666666666666666, %%rdx\n"
                     "1: cmpl $0, (%1)\n je 1b\n"
                     "mov %%rax, (%0)\n mov %%r10, 8(%0)\n mov %%r11, 16(%0)\n mov %%rcx, 24(%0)\n"
                     "mov %%r15, 32(%0)\n mov %%rdx, 40(%0)\n"
                     :
                     : "r"(got), "r"(&stop)
                     : "memory", "rax", "r10", "r11", "rcx", "r15", "rdx");
    for (int i = 0; i < 6; i++) {
        CHECK((unsigned long)got[i] == 0x1111111111111111ul * (unsigned)(i + 1), "register %d is %lx", i, got[i]);
    }
    join(child);
}

RESOURCE(floating_point, "floating-point control: rounding mode, MXCSR, x87 control word") {
    unsigned short control, now;
    fesetround(FE_UPWARD);
    unsigned mxcsr = _mm_getcsr();
    __asm__ volatile("fnstcw %0" : "=m"(control));
    ready_and_wait();
    __asm__ volatile("fnstcw %0" : "=m"(now));
    CHECK(now == control, "the x87 control word is 0x%x and was 0x%x", now, control);
    CHECK((_mm_getcsr() & 0xffc0) == (mxcsr & 0xffc0), "MXCSR is 0x%x and was 0x%x", _mm_getcsr(), mxcsr);
    CHECK(fegetround() == FE_UPWARD, "the rounding mode changed");
}
#endif
