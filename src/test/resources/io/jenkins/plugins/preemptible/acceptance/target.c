/* Finds the letters of a word one after the other; slow on purpose, and never crashes. */
#include <stdio.h>
#include <unistd.h>

int main(void) {
  char input[64] = {0};
  int length = (int) read(0, input, sizeof input - 1), found = 0;
  for (int i = 0; i < length; i++) {
    if (input[i] == "preempt"[found % 7]) found++;
    if (input[i] > 'x') found += 2;
  }
  usleep(10000);
  printf("%d", found);
  return 0;
}
