/* System V shared memory, semaphores and queues; a stage has an IPC namespace of its own. */
#define FAMILY "System V IPC"
#include "kernel.h"
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/shm.h>

enum { SHARED = 300000 };

static unsigned char *attached;

static void shm_child(void) {
    wait_go();
    check_filled(attached, SHARED, 7, "in the child");
    attached[0] ^= 0xff;
}

RESOURCE(sysv_shm, "System V shared memory, attached by two processes") {
    int id = MUST(shmget(0x5eed, SHARED, IPC_CREAT | 0640));
    attached = MUST((unsigned char *)shmat(id, NULL, 0));
    fill(attached, SHARED, 7);
    pid_t child = spawn(shm_child);
    ready_and_wait();
    struct shmid_ds about;
    CHECK(shmget(0x5eed, SHARED, 0) == id, "its key leads elsewhere");
    MUST(shmctl(id, IPC_STAT, &about));
    CHECK(about.shm_segsz == SHARED && (about.shm_perm.mode & 0777) == 0640, "its size or mode changed");
    unsigned char first = 0;
    unsigned seed = 7 * 1103515245u + 12345u;
    first = (unsigned char)(seed >> 16);
    join(child);
    CHECK(attached[0] == (first ^ 0xff), "what the child wrote is not seen here");
    MUST(shmdt(attached));
    MUST(shmctl(id, IPC_RMID, NULL));
}

RESOURCE(sysv_shm_detached, "System V shared memory that nobody has attached") {
    int id = MUST(shmget(0x5eef, SHARED, IPC_CREAT | 0600));
    unsigned char *memory = MUST((unsigned char *)shmat(id, NULL, 0));
    fill(memory, SHARED, 8);
    MUST(shmdt(memory));
    ready_and_wait();
    memory = MUST((unsigned char *)shmat(id, NULL, 0));
    check_filled(memory, SHARED, 8, "the segment");
    MUST(shmctl(id, IPC_RMID, NULL));
}

static int semaphores;

static void sem_child(void) {
    struct sembuf take = {2, -1, 0};
    mark("taking");
    /* See signal(7): it may be interrupted without a signal handler, by SIGSTOP and SIGCONT as well. */
    while (semop(semaphores, &take, 1) < 0) CHECK(errno == EINTR, "semop: %s", strerror(errno));
}

RESOURCE(sysv_semaphores, "System V semaphores: values, and a process that waits for one") {
    semaphores = MUST(semget(0x5eed, 3, IPC_CREAT | 0600));
    MUST(semctl(semaphores, 0, SETVAL, 5));
    MUST(semctl(semaphores, 1, SETVAL, 32000));
    pid_t child = spawn(sem_child);
    await_mark("taking");
    ready_and_wait();
    CHECK(semctl(semaphores, 0, GETVAL) == 5 && semctl(semaphores, 1, GETVAL) == 32000, "the values changed");
    struct sembuf give = {2, 1, 0};
    MUST(semop(semaphores, &give, 1));
    join(child);
    CHECK(semctl(semaphores, 2, GETVAL) == 0, "the waiting process took none");
    MUST(semctl(semaphores, 0, IPC_RMID));
}

struct message {
    long type;
    char text[200];
};

RESOURCE(sysv_queue, "System V message queue with messages of several types") {
    int queue = MUST(msgget(0x5eed, IPC_CREAT | 0600));
    struct message m = {0};
    for (long i = 1; i <= 5; i++) {
        m.type = i % 3 + 1;
        snprintf(m.text, sizeof m.text, "message %ld", i);
        MUST(msgsnd(queue, &m, 20 * (size_t)i, 0));
    }
    ready_and_wait();
    CHECK(MUST(msgrcv(queue, &m, sizeof m.text, 3, IPC_NOWAIT)) == 40 && strcmp(m.text, "message 2") == 0,
          "the first of type 3 is '%s'", m.text);
    static const int rest[] = {1, 3, 4, 5};
    for (int i = 0; i < 4; i++) {
        char due[20];
        snprintf(due, sizeof due, "message %d", rest[i]);
        CHECK(MUST(msgrcv(queue, &m, sizeof m.text, 0, IPC_NOWAIT)) == 20 * rest[i] && strcmp(m.text, due) == 0,
              "'%s' where '%s' was due", m.text, due);
    }
    MUST(msgctl(queue, IPC_RMID, NULL));
}
