/*
 * What the programs of this folder share. Each holds one resource of the kernel, says that it is ready, waits while it
 * is suspended and resumed, and looks then whether the resource is as it was and still works.
 *
 * A program works in the folder that it is started in: it makes the file "ready", waits for the file "go", and writes
 * "pass", "skip: why" or "fail: why" into "result". What any of its processes finds first counts.
 */
#ifndef KERNEL_H
#define KERNEL_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

struct resource {
    const char *family, *name, *title;
    const char *refused; /* the engine's reason, or several with bars between them, or "" */
    const char *lost;    /* what it looks like afterwards when CRIU loses it, or "" */
    void (*run)(void);
    struct resource *next;
};

void add_resource(struct resource *resource);

/* The program of a resource that is carried over, whose suspension must be refused, that CRIU is known to lose. */
#define RESOURCE(name, title) PROGRAM(name, title, "", "")
#define REFUSED(name, title, reason) PROGRAM(name, title, reason, "")
#define LOST(name, title, finding) PROGRAM(name, title, "", finding)
#define PROGRAM(name, title, reason, finding)                                                                          \
    static void run_##name(void);                                                                                      \
    static struct resource resource_##name = {FAMILY, #name, title, reason, finding, run_##name, NULL};                \
    __attribute__((constructor)) static void add_##name(void) { add_resource(&resource_##name); }                      \
    static void run_##name(void)

/* Ends this process after it wrote why, unless another one was first. */
__attribute__((noreturn, format(printf, 1, 2))) void fail(const char *format, ...);
__attribute__((noreturn, format(printf, 1, 2))) void skip(const char *format, ...);

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        if (!(condition)) fail(__VA_ARGS__);                                                                           \
    } while (0)

/* For calls that must not fail; the value is the call's. */
#define MUST(call)                                                                                                     \
    ({                                                                                                                 \
        __typeof__(call) must_value = (call);                                                                          \
        if (must_value == (__typeof__(call))-1) fail("%s:%d %s: %s", FAMILY, __LINE__, #call, strerror(errno));        \
        must_value;                                                                                                    \
    })

/* The same for those of POSIX threads, which return the error. */
#define MUST0(call)                                                                                                    \
    do {                                                                                                               \
        int must_error = (call);                                                                                       \
        if (must_error != 0) fail("%s:%d %s: %s", FAMILY, __LINE__, #call, strerror(must_error));                      \
    } while (0)

bool going(void);           /* the file "go" is there */
void wait_go(void);         /* until it is */
void ready_and_wait(void);  /* by one process, when all are set up */
void mark(const char *name); /* makes a file, for the other processes of the program */
void await_mark(const char *name);
void pause_millis(long millis);
int64_t nanos(clockid_t clock);

pid_t spawn(void (*body)(void)); /* a child that runs it and exits with 0 */
void join(pid_t child);          /* its exit code must be 0 */

void fill(void *memory, size_t size, unsigned seed); /* with bytes that look random */
void check_filled(const void *memory, size_t size, unsigned seed, const char *what);
void write_all(int fd, const void *bytes, size_t size);
void read_all(int fd, void *bytes, size_t size);
void expect(int fd, const char *text); /* the next bytes to be read */

#endif
