/* bench_shapes: the options of `halftone bench` that name products, for FP32 and FP64 alike. */
#ifndef BENCH_BENCH_SHAPES_H
#define BENCH_BENCH_SHAPES_H

#include "io/args.h"
#include "io/shapes.h"

enum { BENCH_TRANS_MOST = 4 };

/* --sizes and --shapes, NULL where one is missing; both missing: `usual`. */
int bench_shapes_choose(struct shape_list *list, const char *sizes, const char *file, const char *usual, struct cli_error *f);
/* --trans; out: "NN" and the like, of `names`. */
int bench_trans_choose(const char *text, struct name_list *names, const char *out[BENCH_TRANS_MOST], int *count, struct cli_error *f);

#endif
