/* POSIX shared memory, semaphores and queues, and memory files. */
#define FAMILY "POSIX IPC"
#include "kernel.h"
#include <mqueue.h>
#include <semaphore.h>

static char *own_name(const char *what) {
    static char name[100];
    /* /dev/shm belongs to the host: other stages use it at the same time. */
    snprintf(name, sizeof name, "/preemptible-%s-%lld", what, (long long)nanos(CLOCK_REALTIME));
    return name;
}

enum { SIZE = 200000 };

RESOURCE(posix_shm, "POSIX shared memory with a name, mapped") {
    char *name = own_name("shm");
    int fd = MUST(shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600));
    MUST(ftruncate(fd, SIZE));
    unsigned char *memory = MUST((unsigned char *)mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    fill(memory, SIZE, 3);
    ready_and_wait();
    check_filled(memory, SIZE, 3, "the mapping");
    memory[5] = 'x';
    char byte = 0;
    MUST(pread(fd, &byte, 1, 5));
    CHECK(byte == 'x', "mapping and descriptor are not the same file any more");
    int again = MUST(shm_open(name, O_RDONLY, 0));
    MUST(pread(again, &byte, 1, 5));
    CHECK(byte == 'x', "its name leads to another file");
    MUST(shm_unlink(name));
}

static unsigned char *unlinked;

static void unlinked_child(void) {
    wait_go();
    check_filled(unlinked, SIZE, 4, "in the child");
    unlinked[0] = 'c';
}

RESOURCE(posix_shm_unlinked, "POSIX shared memory without a name any more, shared by two processes") {
    char *name = own_name("unlinked");
    int fd = MUST(shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600));
    MUST(ftruncate(fd, SIZE));
    unlinked = MUST((unsigned char *)mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
    MUST(shm_unlink(name));
    close(fd);
    fill(unlinked, SIZE, 4);
    pid_t child = spawn(unlinked_child);
    ready_and_wait();
    join(child);
    CHECK(unlinked[0] == 'c', "what the child wrote is not seen here");
}

static sem_t *semaphore;

static void semaphore_child(void) {
    mark("waiting");
    while (sem_wait(semaphore) < 0) CHECK(errno == EINTR, "sem_wait: %s", strerror(errno));
}

REFUSED(posix_semaphore, "POSIX semaphore with a name, by the process that made it", "LINKED_ELSEWHERE|UNSUPPORTED") {
    char *name = own_name("sem");
    semaphore = sem_open(name, O_CREAT | O_EXCL, 0600, 0);
    CHECK(semaphore != SEM_FAILED, "sem_open: %s", strerror(errno));
    pid_t child = spawn(semaphore_child);
    await_mark("waiting");
    ready_and_wait();
    int value = -1;
    MUST(sem_getvalue(semaphore, &value));
    CHECK(value == 0, "its value became %d", value);
    MUST(sem_post(semaphore));
    join(child);
    MUST(sem_unlink(name));
}

REFUSED(posix_mq, "POSIX message queue", "MESSAGE_QUEUE") {
    struct mq_attr attributes = {.mq_maxmsg = 4, .mq_msgsize = 64};
    char *name = own_name("mq");
    mqd_t queue = MUST(mq_open(name, O_RDWR | O_CREAT | O_EXCL, 0600, &attributes));
    MUST(mq_send(queue, "low", 4, 1));
    MUST(mq_send(queue, "high", 5, 9));
    ready_and_wait();
    char text[64];
    unsigned priority = 0;
    MUST(mq_receive(queue, text, sizeof text, &priority));
    CHECK(strcmp(text, "high") == 0 && priority == 9, "first came '%s'", text);
    MUST(mq_receive(queue, text, sizeof text, &priority));
    CHECK(strcmp(text, "low") == 0 && priority == 1, "then came '%s'", text);
    MUST(mq_unlink(name));
}

RESOURCE(memfd, "memory file: content, offset, name") {
    int fd = MUST(memfd_create("content", MFD_CLOEXEC));
    static unsigned char bytes[SIZE];
    fill(bytes, SIZE, 5);
    write_all(fd, bytes, SIZE);
    MUST(lseek(fd, 1234, SEEK_SET));
    ready_and_wait();
    CHECK(lseek(fd, 0, SEEK_CUR) == 1234, "its offset is %lld", (long long)lseek(fd, 0, SEEK_CUR));
    memset(bytes, 0, SIZE);
    CHECK(MUST(pread(fd, bytes, SIZE, 0)) == SIZE, "it is shorter");
    check_filled(bytes, SIZE, 5, "the content");
    char path[40], target[100] = {0};
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    MUST(readlink(path, target, sizeof target - 1));
    CHECK(strncmp(target, "/memfd:content", 14) == 0, "its name is %s", target);
    CHECK(fcntl(fd, F_GETFD) == FD_CLOEXEC, "it is not closed on exec any more");
}

RESOURCE(memfd_sealed, "memory file with seals") {
    int fd = MUST(memfd_create("sealed", MFD_ALLOW_SEALING));
    write_all(fd, "sealed", 6);
    MUST(fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE));
    ready_and_wait();
    CHECK(fcntl(fd, F_GET_SEALS) == (F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE), "its seals are 0x%x",
          (unsigned)fcntl(fd, F_GET_SEALS));
    CHECK(pwrite(fd, "x", 1, 0) < 0 && errno == EPERM, "it can be written");
    MUST(lseek(fd, 0, SEEK_SET));
    expect(fd, "sealed");
}

static int shared_memfd;
static unsigned char *shared_mapping;

static void memfd_child(void) {
    wait_go();
    check_filled(shared_mapping, SIZE, 6, "in the child");
    MUST(pwrite(shared_memfd, "c", 1, 0));
}

RESOURCE(memfd_mapped, "memory file mapped by two processes") {
    shared_memfd = MUST(memfd_create("mapped", 0));
    MUST(ftruncate(shared_memfd, SIZE));
    shared_mapping =
        MUST((unsigned char *)mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, shared_memfd, 0));
    fill(shared_mapping, SIZE, 6);
    pid_t child = spawn(memfd_child);
    ready_and_wait();
    join(child);
    CHECK(shared_mapping[0] == 'c', "what the child wrote into the file is not in the mapping");
}

/* Kilobytes of shared memory that the host has in use, memory files included. */
static long shared_memory(void) {
    char text[4096];
    long kilobytes;
    int fd = MUST(open("/proc/meminfo", O_RDONLY));
    text[MUST(read(fd, text, sizeof text - 1))] = 0;
    close(fd);
    char *line = strstr(text, "\nShmem:");
    CHECK(line && sscanf(line, "\nShmem: %ld", &kilobytes) == 1, "/proc/meminfo does not tell it");
    return kilobytes;
}

RESOURCE(memfd_given_back, "memory file: its 200 MB are free once it is closed") {
    int fd = MUST(memfd_create("large", 0));
    char megabyte[1 << 20];
    /* CRIU leaves out pages of zeros. */
    memset(megabyte, 'm', sizeof megabyte);
    for (int i = 0; i < 200; i++) write_all(fd, megabyte, sizeof megabyte);
    ready_and_wait();
    long before = shared_memory();
    close(fd);
    long freed = 0;
    for (int i = 0; i < 50 && freed < 150 << 10; i++) {
        usleep(20000);
        freed = before - shared_memory();
    }
    CHECK(freed >= 150 << 10, "%ld kB of 204800 were freed", freed);
}
