/* Builds, sums up and frees lists, round by round. Arguments: rounds, and how it ends: well, leak, free or overflow. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct node {
  struct node *next;
  unsigned value;
  char payload[200];
};

static struct node *list(unsigned length, unsigned seed) {
  struct node *first = NULL;
  for (unsigned i = 0; i < length; i++) {
    struct node *node = malloc(sizeof *node);
    node->next = first;
    node->value = seed = seed * 1664525u + 1013904223u;
    memset(node->payload, (int) (seed >> 24), sizeof node->payload);
    first = node;
  }
  return first;
}

int main(int count, char **words) {
  int rounds = count > 1 ? atoi(words[1]) : 10;
  const char *end = count > 2 ? words[2] : "well";
  unsigned sum = 0;
  struct node *kept = list(500, 1);
  for (int round = 1; round <= rounds; round++) {
    struct node *all = list(300, (unsigned) round);
    while (all) {
      struct node *next = all->next;
      sum = sum * 31 + all->value + (unsigned char) all->payload[round % 200];
      free(all);
      all = next;
    }
    printf("round %d\n", round);
    fflush(stdout);
    usleep(20000);
  }
  for (struct node *node = kept; node; node = node->next) sum = sum * 31 + node->value;
  printf("sum %u\n", sum);
  fflush(stdout);
  if (strcmp(end, "leak") == 0) kept = NULL;
  if (strcmp(end, "free") == 0) {
    free(kept);
    printf("%u\n", ((volatile struct node *) kept)->value);
  }
  if (strcmp(end, "overflow") == 0) printf("%d\n", rounds + INT_MAX);
  return 0;
}
