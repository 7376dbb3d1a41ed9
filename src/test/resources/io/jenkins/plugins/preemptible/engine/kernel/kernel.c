/* The list of programs, and what kernel.h promises. Arguments: --list, or the name of one. */
#define FAMILY "kernel"
#include "kernel.h"
#include <stdarg.h>

static struct resource *resources;

void add_resource(struct resource *resource) {
    struct resource **end = &resources;
    while (*end) end = &(*end)->next;
    *end = resource;
}

static void conclude(const char *word, const char *format, va_list arguments) {
    char text[1000];
    int used = snprintf(text, sizeof text, "%s", word);
    vsnprintf(text + used, sizeof text - (size_t)used, format, arguments);
    int file = open("result", O_WRONLY | O_CREAT | O_EXCL, 0666);
    if (file < 0 || write(file, text, strlen(text)) < 0) fprintf(stderr, "%s\n", text);
    if (file >= 0) close(file);
}

void fail(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    conclude("fail: ", format, arguments);
    _exit(1);
}

void skip(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    conclude("skip: ", format, arguments);
    _exit(77);
}

static void pass(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    conclude("pass", format, arguments);
}

void pause_millis(long millis) {
    struct timespec rest = {millis / 1000, millis % 1000 * 1000000};
    while (nanosleep(&rest, &rest) < 0 && errno == EINTR) {}
}

int64_t nanos(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return now.tv_sec * 1000000000LL + now.tv_nsec;
}

bool going(void) { return access("go", F_OK) == 0; }

void wait_go(void) {
    while (!going()) pause_millis(10);
}

void mark(const char *name) { close(MUST(open(name, O_WRONLY | O_CREAT, 0666))); }

void await_mark(const char *name) {
    for (int i = 0; access(name, F_OK) < 0; i++) {
        CHECK(i < 12000, "no file %s within 60 s", name);
        pause_millis(5);
    }
}

void ready_and_wait(void) {
    mark("ready");
    wait_go();
}

pid_t spawn(void (*body)(void)) {
    pid_t child = MUST(fork());
    if (child == 0) {
        body();
        _exit(0);
    }
    return child;
}

void join(pid_t child) {
    int status = 0;
    pid_t waited;
    while ((waited = waitpid(child, &status, 0)) < 0 && errno == EINTR) {}
    CHECK(waited == child, "waitpid(%d): %s", child, strerror(errno));
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child ended with status 0x%x", status);
}

void fill(void *memory, size_t size, unsigned seed) {
    unsigned char *bytes = memory;
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1103515245u + 12345u;
        bytes[i] = (unsigned char)(seed >> 16);
    }
}

void check_filled(const void *memory, size_t size, unsigned seed, const char *what) {
    const unsigned char *bytes = memory;
    for (size_t i = 0; i < size; i++) {
        seed = seed * 1103515245u + 12345u;
        CHECK(bytes[i] == (unsigned char)(seed >> 16), "%s: byte %zu of %zu differs", what, i, size);
    }
}

void write_all(int fd, const void *bytes, size_t size) {
    const char *next = bytes;
    while (size > 0) {
        ssize_t written = write(fd, next, size);
        if (written < 0 && errno == EINTR) continue;
        CHECK(written > 0, "write: %s", strerror(errno));
        next += written;
        size -= (size_t)written;
    }
}

void read_all(int fd, void *bytes, size_t size) {
    char *next = bytes;
    while (size > 0) {
        ssize_t got = read(fd, next, size);
        if (got < 0 && errno == EINTR) continue;
        CHECK(got > 0, "read: %s", got == 0 ? "end of file" : strerror(errno));
        next += got;
        size -= (size_t)got;
    }
}

void expect(int fd, const char *text) {
    char got[256] = {0};
    read_all(fd, got, strlen(text));
    CHECK(strcmp(got, text) == 0, "read '%s' where '%s' was due", got, text);
}

int main(int count, char **words) {
    bool list = count == 2 && strcmp(words[1], "--list") == 0;
    for (struct resource *r = resources; r; r = r->next) {
        if (list) {
            printf("%s\t%s\t%s\t%s\t%s\n", r->family, r->name, r->title, r->refused, r->lost);
        } else if (count == 2 && strcmp(words[1], r->name) == 0) {
            r->run();
            pass("%s", "");
            return 0;
        }
    }
    return list ? 0 : 2;
}
