/* shapes: text files line by line; lists of product sizes, from numbers or from a file. */
#ifndef BENCH_SHAPES_H
#define BENCH_SHAPES_H

#include <stdint.h>
#include <stdio.h>

#include "io/args.h"

enum line_kind { LINE_END, LINE_WHOLE, LINE_LONG };

/* The next line without its newline, which the last one may lack. LINE_LONG: it is longer than `line`, which has its
 * beginning; the rest is passed over, so that it is not taken for a line of its own. */
enum line_kind line_read(FILE *in, char *line, size_t bytes);

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

enum { SHAPES_TRANS_MOST = 4 };

/* --sizes and --shapes, NULL where one is missing; both missing: `usual`. */
int shapes_choose(struct shape_list *list, const char *sizes, const char *file, const char *usual, struct cli_error *f);
/* --trans; out: "NN" and the like, of `names`. */
int shapes_trans(const char *text, struct name_list *names, const char *out[SHAPES_TRANS_MOST], int *count, struct cli_error *f);

enum { SHAPE_EXTENT_MOST = 1 << 20 };

#endif
