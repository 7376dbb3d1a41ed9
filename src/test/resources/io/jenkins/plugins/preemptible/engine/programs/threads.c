/* Threads that count under one lock, and at last, when asked to, without it. Arguments: threads, rounds, well or race. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned long sum;
static int rounds, begun;
static int race;

static void *work(void *seed) {
  unsigned value = (unsigned) (size_t) seed;
  for (int round = 1; round <= rounds; round++) {
    for (int i = 0; i < 100; i++) value = value * 1664525u + 1013904223u;
    pthread_mutex_lock(&lock);
    sum += value;
    begun++;
    if (seed == (void *) 1) {
      printf("round %d\n", round);
      fflush(stdout);
    }
    pthread_mutex_unlock(&lock);
    usleep(20000);
  }
  return NULL;
}

static void *racing(void *unused) {
  for (int i = 0; i < 1000; i++) {
    race++;
    if (i % 100 == 0) usleep(1000);
  }
  return unused;
}

int main(int count, char **words) {
  int threads = atoi(words[1]);
  rounds = atoi(words[2]);
  pthread_t *all = calloc((size_t) threads, sizeof *all);
  for (int i = 0; i < threads; i++) {
    if (pthread_create(&all[i], NULL, work, (void *) (size_t) (i + 1)) != 0) return 2;
  }
  for (int i = 0; i < threads; i++) pthread_join(all[i], NULL);
  if (count > 3 && strcmp(words[3], "race") == 0) {
    pthread_t two[2];
    for (int i = 0; i < 2; i++) pthread_create(&two[i], NULL, racing, NULL);
    for (int i = 0; i < 2; i++) pthread_join(two[i], NULL);
  }
  printf("sum %lu of %d\n", sum, begun);
  free(all);
  return 0;
}
