/* The only process of a guest: prints lines and switches the guest off. */
#include <stdio.h>
#include <sys/reboot.h>
#include <unistd.h>

int main(void) {
  for (int i = 1; i <= 30; i++) {
    printf("guest: line %d\n", i);
    fflush(stdout);
    usleep(100000);
  }
  sync();
  reboot(RB_AUTOBOOT);
  return 0;
}
