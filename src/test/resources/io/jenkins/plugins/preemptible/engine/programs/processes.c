/* Many children, each counting for itself; their sums come back through shared memory. Arguments: children, rounds. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int count, char **words) {
  if (count < 3) return 2;
  int children = atoi(words[1]), rounds = atoi(words[2]);
  struct { unsigned sum; int round; } volatile *shared = mmap(NULL, sizeof *shared * (size_t) children,
      PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED) return 3;
  for (int i = 0; i < children; i++) {
    int child = fork();
    if (child < 0) return 4;
    if (child > 0) continue;
    unsigned value = (unsigned) i;
    for (int round = 1; round <= rounds; round++) {
      for (int j = 0; j < 100; j++) value = value * 1664525u + 1013904223u;
      shared[i].round = round;
      usleep(100000);
    }
    shared[i].sum = value;
    _exit(0);
  }
  for (int left = children, round = 0; left > 0;) {
    int status;
    while (left > 0 && waitpid(-1, &status, WNOHANG) > 0) {
      if (status != 0) return 5;
      left--;
    }
    int lowest = rounds;
    for (int i = 0; i < children; i++) if (shared[i].round < lowest) lowest = shared[i].round;
    if (lowest > round) {
      round = lowest;
      printf("round %d\n", round);
      fflush(stdout);
    }
    usleep(20000);
  }
  unsigned sum = 0;
  for (int i = 0; i < children; i++) sum = sum * 31 + shared[i].sum;
  printf("sum %u\n", sum);
  return 0;
}
