/* Takes 4 MB more every half second until it has 256 MB, then gives all back and begins again. */
#include <stdlib.h>
#include <unistd.h>

int main(void) {
    static unsigned char *blocks[64];
    unsigned seed = 1;
    for (;;) {
        for (int i = 0; i < 64; i++) {
            blocks[i] = malloc(4 << 20);
            if (blocks[i] == NULL) return 1;
            for (int k = 0; k < 4 << 20; k++) {
                seed = seed * 1103515245u + 12345u;
                blocks[i][k] = k & 8 ? 0 : seed >> 16;
            }
            usleep(500000);
        }
        for (int i = 0; i < 64; i++) free(blocks[i]);
    }
}
