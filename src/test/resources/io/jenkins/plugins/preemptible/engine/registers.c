/*
 * Prints what the kernel keeps of each given thread: registers, vector state, signal mask, pending signals, where its
 * rseq area is. The thread is stopped for that moment and then left as it was found, frozen or stopped.
 */
#define _GNU_SOURCE
#include <elf.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

#ifndef PTRACE_GET_RSEQ_CONFIGURATION
#define PTRACE_GET_RSEQ_CONFIGURATION 0x420f
#endif

struct rseq_configuration {
    unsigned long long pointer;
    unsigned size, signature, flags, pad;
};

static void fail(const char *what, int tid) {
    fprintf(stderr, "%s of %d: %s\n", what, tid, strerror(errno));
    exit(1);
}

static void print(int tid, const char *name, const void *bytes, size_t size) {
    printf("%d %s ", tid, name);
    for (size_t i = 0; i < size; i++) {
        printf("%02x", ((const unsigned char *) bytes)[i]);
    }
    putchar('\n');
}

static void print_pending(int tid, const char *name, unsigned flags) {
    siginfo_t pending[64];
    struct __ptrace_peeksiginfo_args args = {.off = 0, .flags = flags, .nr = 64};
    long count = ptrace(PTRACE_PEEKSIGINFO, tid, &args, pending);
    if (count < 0) {
        fail(name, tid);
    }
    print(tid, name, pending, (size_t) count * sizeof *pending);
}

static void look_at(int tid) {
    static unsigned char buffer[65536];
    struct user_regs_struct general;
    struct iovec io = {&general, sizeof general};
    struct rseq_configuration rseq = {0};
    unsigned long long mask;
    int status;
    if (ptrace(PTRACE_SEIZE, tid, 0, 0) != 0 || ptrace(PTRACE_INTERRUPT, tid, 0, 0) != 0) {
        fail("seize", tid);
    }
    if (waitpid(tid, &status, __WALL) != tid || !WIFSTOPPED(status)) {
        fail("stop", tid);
    }
    if (ptrace(PTRACE_GETREGSET, tid, NT_PRSTATUS, &io) != 0) {
        fail("general registers", tid);
    }
    print(tid, "general", &general, io.iov_len);
    io = (struct iovec) {buffer, sizeof buffer};
    if (ptrace(PTRACE_GETREGSET, tid, NT_X86_XSTATE, &io) != 0) {
        fail("vector registers", tid);
    }
    print(tid, "vector", buffer, io.iov_len);
    if (ptrace(PTRACE_GETSIGMASK, tid, sizeof mask, &mask) != 0) {
        fail("signal mask", tid);
    }
    print(tid, "mask", &mask, sizeof mask);
    print_pending(tid, "pending", 0);
    print_pending(tid, "pending-of-process", PTRACE_PEEKSIGINFO_SHARED);
    if (ptrace(PTRACE_GET_RSEQ_CONFIGURATION, tid, sizeof rseq, &rseq) > 0) {
        printf("%d rseq %llx\n", tid, rseq.pointer);
    }
    if (ptrace(PTRACE_DETACH, tid, 0, 0) != 0) {
        fail("detach", tid);
    }
}

int main(int count, char **tids) {
    for (int i = 1; i < count; i++) {
        look_at(atoi(tids[i]));
    }
    return 0;
}
