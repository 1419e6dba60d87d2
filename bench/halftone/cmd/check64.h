/* check64: `halftone check` of FP64 products: what accuracy `fp64` would leave to residues, and what of the numbers decides it. */
#ifndef BENCH_CHECK64_H
#define BENCH_CHECK64_H

#include "measure/pair.h"

/* Two files that were examined and fit: words. */
/* How many elements of C the plan of a call left to native64; `units` of 2^-53 |A||B| are what the accuracy allows residues. */
int check64_left(const struct pair *p, const struct halftone_plan *plan, double units, int64_t *left, struct cli_error *f);
int check64_files(struct session *s, struct pair *p, const char *const path[2], struct cli_error *f);
/* Of families ("all", or a list), n x k times k x n: a table, also into `out` if that is not NULL. */
int check64_families(struct session *s, const char *families, int64_t n, int64_t k, const char *out, struct cli_error *f);

#endif
