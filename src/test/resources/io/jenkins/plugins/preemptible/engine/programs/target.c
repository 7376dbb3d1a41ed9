/* What AFL++ has to break: it aborts for inputs that begin with two certain letters. */
#include <stdlib.h>
#include <unistd.h>

int main(void) {
  char input[8] = {0};
  if (read(0, input, sizeof input) < 0) return 1;
  if (input[0] == 'B') {
    if (input[1] == 'U') abort();
  }
  return input[0] > 'x';
}
