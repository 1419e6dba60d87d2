/* check64: `halftone check` of FP64 products: what accuracy fp64 leaves to residues. */
#ifndef BENCH_CHECK64_H
#define BENCH_CHECK64_H

#include <stdint.h>

#include "io/cli_error.h"

/* Of families ("all", or a list), n x k times k x n, a table. */
int check64_families(const char *families, int64_t n, int64_t k, struct cli_error *f);

#endif
