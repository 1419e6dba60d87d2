/* shapes: lists of product sizes, from numbers or from a file. */
#ifndef BENCH_SHAPES_H
#define BENCH_SHAPES_H

#include <stdint.h>

#include "io/cli_error.h"

struct shape {
    int64_t m, n, k;
};

struct shape_list {
    struct shape *shape;
    int count, capacity;
};

int shapes_add(struct shape_list *list, int64_t m, int64_t n, int64_t k, struct cli_error *f);
/* One "m n k" per line; blank lines and lines that start with # are skipped; every bad line is one fault. */
int shapes_read(struct shape_list *list, const char *path, struct cli_error *f);
void shapes_free(struct shape_list *list);

enum { SHAPE_EXTENT_MOST = 1 << 20 };

#endif
