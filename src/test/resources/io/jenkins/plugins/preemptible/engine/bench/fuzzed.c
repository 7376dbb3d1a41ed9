/* Something for a fuzzer to find its way in: a few nested decisions over its input file. */
#include <stdio.h>

int main(int argc, char **argv) {
    unsigned char b[64] = {0};
    FILE *in = argc > 1 ? fopen(argv[1], "rb") : stdin;
    if (in == NULL) return 1;
    size_t n = fread(b, 1, sizeof b, in);
    int found = 0;
    for (size_t i = 0; i + 4 < n; i++) {
        if (b[i] == '<') found += 1;
        if (b[i] == '<' && b[i + 1] == 'a') found += 2;
        if (b[i] > 200 && b[i + 1] < 10 && b[i + 2] == b[i + 3]) found += 4;
        if (b[i] == 0x7f && b[i + 1] == 'E' && b[i + 2] == 'L' && b[i + 3] == 'F') found += 8;
    }
    printf("%d\n", found);
    return found > 20;
}
