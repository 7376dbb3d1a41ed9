/* Finds the letters of a word one after the other; slow on purpose, never crashes, and counts its executions. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int main(void) {
  char input[64] = {0};
  int length = (int) read(0, input, sizeof input - 1), found = 0;
  for (int i = 0; i < length; i++) {
    if (input[i] == "preempt"[found % 7]) found++;
    if (input[i] > 'x') found += 2;
  }
  const char *count = getenv("EXECUTIONS");
  int file = count ? open(count, O_WRONLY | O_APPEND | O_CREAT, 0600) : -1;
  if (file >= 0) {
    if (write(file, ".", 1) != 1) return 1;
    close(file);
  }
  usleep(10000);
  printf("%d", found);
  return 0;
}
