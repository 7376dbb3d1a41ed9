/* Mappings of every kind, and what is said of them. */
#define FAMILY "memory"
#include "kernel.h"
#include <setjmp.h>

enum { PAGE = 4096 };

static unsigned char *map(size_t size, int protection, int flags) {
    return MUST((unsigned char *)mmap(NULL, size, protection, flags | MAP_ANONYMOUS, -1, 0));
}

/* The value of one line of /proc/self/smaps of the mapping that begins there. */
static void smaps(const void *start, const char *key, char *value, size_t size) {
    char line[1000], begin[40];
    bool inside = false;
    snprintf(begin, sizeof begin, "%lx-", (unsigned long)start);
    FILE *file = fopen("/proc/self/smaps", "r");
    CHECK(file, "smaps: %s", strerror(errno));
    value[0] = 0;
    while (fgets(line, sizeof line, file)) {
        if (strncmp(line, begin, strlen(begin)) == 0) inside = true;
        if (inside && strncmp(line, key, strlen(key)) == 0) {
            snprintf(value, size, "%s", line + strlen(key));
            break;
        }
    }
    fclose(file);
}

static sigjmp_buf back;
static void on_fault(int signal) { siglongjmp(back, signal); }

static int fault(volatile unsigned char *at, bool writing) {
    signal(SIGSEGV, on_fault);
    signal(SIGBUS, on_fault);
    int got = sigsetjmp(back, 1);
    if (got == 0) {
        if (writing) *at = 1;
        else (void)*at;
    }
    return got;
}

RESOURCE(sparse_mapping, "1 TB of address space with few pages in it (MAP_NORESERVE)") {
    size_t size = 1UL << 40;
    unsigned char *memory = map(size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_NORESERVE);
    fill(memory + (size >> 1), 5 * PAGE, 4);
    memory[size - 1] = 9;
    ready_and_wait();
    check_filled(memory + (size >> 1), 5 * PAGE, 4, "the middle");
    CHECK(memory[size - 1] == 9 && memory[0] == 0 && memory[size >> 2] == 0, "its ends changed");
    char flags[300];
    smaps(memory, "VmFlags:", flags, sizeof flags);
    CHECK(strstr(flags, " nr"), "MAP_NORESERVE is lost:%s", flags);
}

RESOURCE(huge_pages, "huge pages (MAP_HUGETLB)") {
    unsigned char *memory =
        mmap(NULL, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0);
    if (memory == MAP_FAILED) skip("this host has no huge page free (%s)", strerror(errno));
    fill(memory, 2 << 20, 5);
    ready_and_wait();
    check_filled(memory, 2 << 20, 5, "the huge page");
}

RESOURCE(transparent_huge_pages, "transparent huge pages") {
    unsigned char *memory = map(8 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    if (madvise(memory, 8 << 20, MADV_HUGEPAGE) < 0) skip("this kernel has no transparent huge pages");
    fill(memory, 8 << 20, 5);
    ready_and_wait();
    check_filled(memory, 8 << 20, 5, "the memory");
    char flags[300];
    smaps(memory, "VmFlags:", flags, sizeof flags);
    CHECK(strstr(flags, " hg"), "the advice is lost:%s", flags);
}

RESOURCE(locked_memory, "mlock(2)") {
    unsigned char *memory = map(16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    if (mlock(memory, 16 * PAGE) < 0) skip("memory cannot be locked here (%s)", strerror(errno));
    fill(memory, 16 * PAGE, 6);
    ready_and_wait();
    check_filled(memory, 16 * PAGE, 6, "the memory");
    char flags[300];
    smaps(memory, "VmFlags:", flags, sizeof flags);
    CHECK(strstr(flags, " lo"), "it is not locked any more:%s", flags);
}

RESOURCE(memory_advice, "madvise(2): DONTFORK, DONTDUMP, NOHUGEPAGE, WIPEONFORK") {
    static const struct {
        int advice;
        const char *flag;
    } advices[] = {{MADV_DONTFORK, " dc"}, {MADV_DONTDUMP, " dd"}, {MADV_NOHUGEPAGE, " nh"}, {MADV_WIPEONFORK, " wf"}};
    unsigned char *memory[4];
    for (int i = 0; i < 4; i++) {
        /* With a page between them, so that none is merged with the next. */
        memory[i] = map(6 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
        MUST(munmap(memory[i] + 5 * PAGE, PAGE));
        fill(memory[i], 5 * PAGE, (unsigned)i);
        if (madvise(memory[i], 5 * PAGE, advices[i].advice) < 0) advices[i].advice == MADV_NOHUGEPAGE
            ? skip("this kernel has no transparent huge pages")
            : fail("madvise %d: %s", advices[i].advice, strerror(errno));
    }
    ready_and_wait();
    for (int i = 0; i < 4; i++) {
        char flags[300];
        check_filled(memory[i], 5 * PAGE, (unsigned)i, "the memory");
        smaps(memory[i], "VmFlags:", flags, sizeof flags);
        CHECK(strstr(flags, advices[i].flag), "%s is lost:%s", advices[i].flag, flags);
    }
}

RESOURCE(guard_regions, "guard pages made by madvise(2), MADV_GUARD_INSTALL") {
    unsigned char *memory = map(4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    fill(memory, 4 * PAGE, 1);
    if (madvise(memory + PAGE, PAGE, 102) < 0) skip("this kernel is older than 6.13");
    ready_and_wait();
    check_filled(memory, PAGE, 1, "the page before");
    CHECK(fault(memory + PAGE, false) == SIGSEGV, "the guard page can be read");
    CHECK(fault(memory + 2 * PAGE, true) == 0, "the page behind it cannot be written");
}

RESOURCE(protection, "mprotect(2): read-only, PROT_NONE guards with content, executable") {
    unsigned char *memory = map(4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    fill(memory, 4 * PAGE, 7);
    /* mov eax, 42; ret */
    static const unsigned char code[] = {0xb8, 42, 0, 0, 0, 0xc3};
    memcpy(memory + 3 * PAGE, code, sizeof code);
    MUST(mprotect(memory, PAGE, PROT_READ));
    MUST(mprotect(memory + PAGE, PAGE, PROT_NONE));
    MUST(mprotect(memory + 3 * PAGE, PAGE, PROT_READ | PROT_EXEC));
    ready_and_wait();
    CHECK(fault(memory, true) == SIGSEGV, "the read-only page can be written");
    CHECK(fault(memory + PAGE, false) == SIGSEGV, "the guard page can be read");
    CHECK(fault(memory + 2 * PAGE, true) == 0, "an ordinary page cannot be written");
    check_filled(memory, PAGE, 7, "the read-only page");
    MUST(mprotect(memory, 2 * PAGE, PROT_READ));
    check_filled(memory, 2 * PAGE, 7, "the guard page's content");
#ifdef __x86_64__
    CHECK(((int (*)(void))(uintptr_t)(memory + 3 * PAGE))() == 42, "the code does not run");
#endif
}

static unsigned char *copied, *shared;
enum { COPIED = 200 * PAGE };

static void cow_child(void) {
    copied[PAGE] = 'c';
    mark("written");
    wait_go();
    CHECK(copied[PAGE] == 'c' && copied[2 * PAGE] == 'b', "the child's page is not its own");
    copied[3 * PAGE] = 'd';
    mark("written again");
}

RESOURCE(copy_on_write, "pages that parent and child share until one writes") {
    copied = map(COPIED, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    memset(copied, 'b', COPIED);
    pid_t child = spawn(cow_child);
    await_mark("written");
    ready_and_wait();
    await_mark("written again");
    CHECK(copied[PAGE] == 'b' && copied[3 * PAGE] == 'b', "the child's writing is seen here");
    join(child);
}

static void cow_holder(void) { wait_go(); mark("child saw go"); await_mark("measured"); }

RESOURCE(copy_on_write_saves, "pages shared by fork(2) stay shared: no memory is taken twice") {
    copied = map(COPIED, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    fill(copied, COPIED, 8);
    pid_t child = spawn(cow_holder);
    ready_and_wait();
    await_mark("child saw go");
    char value[100];
    smaps(copied, "Private_Dirty:", value, sizeof value);
    CHECK(atol(value) < COPIED / 1024 / 2, "%ld of %d KB are private now", atol(value), COPIED / 1024);
    mark("measured");
    join(child);
}

static void anonymous_child(void) {
    wait_go();
    check_filled(shared, 100 * PAGE, 9, "in the child");
    shared[0] = 'c';
}

RESOURCE(shared_anonymous, "shared anonymous memory between processes") {
    shared = map(100 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED);
    fill(shared, 100 * PAGE, 9);
    pid_t child = spawn(anonymous_child);
    ready_and_wait();
    join(child);
    CHECK(shared[0] == 'c', "what the child wrote is not seen here");
}

static int descend(int depth, volatile char *above) {
    volatile char block[PAGE];
    block[0] = (char)depth;
    if (depth == 0) return above[0];
    int below = descend(depth - 1, block);
    return below + (block[0] == (char)depth ? 1 : 1000);
}

RESOURCE(growing_stack, "stack that grows: deep before, deeper after") {
    volatile char top[8] = {0};
    CHECK(descend(100, top) == 100 + 1, "the stack is odd from the start");
    ready_and_wait();
    CHECK(descend(1500, top) == 1500 + 1, "a page of the stack changed");
}

RESOURCE(heap_break, "heap: brk(2) goes on where it was") {
    char *before = sbrk(50 * PAGE);
    fill(before, 50 * PAGE, 2);
    char *end = sbrk(0);
    ready_and_wait();
    CHECK(sbrk(0) == end, "the break moved");
    char *more = sbrk(50 * PAGE);
    CHECK(more == end, "it does not grow from its end");
    memset(more, 1, 50 * PAGE);
    check_filled(before, 50 * PAGE, 2, "the heap");
}

RESOURCE(many_mappings, "3000 mappings of alternating protection") {
    unsigned char *memory = map(3000 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE);
    for (int i = 0; i < 3000; i++) {
        memory[i * PAGE] = (unsigned char)i;
        if (i % 2) MUST(mprotect(memory + i * PAGE, PAGE, PROT_READ));
    }
    ready_and_wait();
    for (int i = 0; i < 3000; i++) CHECK(memory[i * PAGE] == (unsigned char)i, "page %d changed", i);
    CHECK(fault(memory + PAGE, true) == SIGSEGV && fault(memory + 2 * PAGE, true) == 0, "the protection changed");
}

RESOURCE(past_the_end, "file mapping that reaches beyond the end of its file") {
    int fd = MUST(open("short", O_RDWR | O_CREAT, 0600));
    MUST(ftruncate(fd, 100));
    unsigned char *memory = MUST((unsigned char *)mmap(NULL, 3 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    memory[50] = 5;
    ready_and_wait();
    CHECK(memory[50] == 5, "its page changed");
    CHECK(fault(memory + 2 * PAGE, false) == SIGBUS, "there is a page beyond the end");
    MUST(ftruncate(fd, 3 * PAGE));
    CHECK(fault(memory + 2 * PAGE, true) == 0, "the file does not grow into it");
}
