/* Work for Valgrind's tools: a leak, a read of what was freed, a race, and a heap that grows and shrinks. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROUNDS = 90 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long counted;
static unsigned long raced;

static void *count(void *unused) {
    raced++;
    for (int i = 0; i < ROUNDS; i++) {
        pthread_mutex_lock(&lock);
        counted++;
        pthread_mutex_unlock(&lock);
        usleep(10000);
    }
    return unused;
}

int main(void) {
    pthread_t threads[2];
    unsigned long sum = 0;
    for (int t = 0; t < 2; t++) {
        pthread_create(&threads[t], NULL, count, NULL);
    }
    for (int i = 1; i <= ROUNDS; i++) {
        size_t size = 1000 + (size_t) (i * 7919 % 20000);
        unsigned char *memory = malloc(size);
        memset(memory, i, size);
        for (size_t k = 0; k < size; k++) {
            sum = sum * 31 + memory[k];
        }
        if (i % 30 != 0) {
            free(memory);
        }
        printf("round %d sum %lu\n", i, sum);
        fflush(stdout);
        usleep(10000);
    }
    for (int t = 0; t < 2; t++) {
        pthread_join(threads[t], NULL);
    }
    unsigned char *freed = malloc(16);
    memset(freed, 1, 16);
    free(freed);
    printf("counted %lu\n", counted);
    return *(volatile unsigned char *) freed == 255;
}
