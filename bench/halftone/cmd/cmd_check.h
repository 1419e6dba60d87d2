/* cmd_check: what `halftone mm` takes of `halftone check`. */
#ifndef BENCH_CMD_CHECK_H
#define BENCH_CMD_CHECK_H

#include "measure/pair.h"

/* How many elements of C the plan of a call left to native64; `units` of 2^-53 |A||B| are what the accuracy allows residues. */
int check_left(const struct pair *p, const struct halftone_plan *plan, double units, int64_t *left, struct cli_error *f);

#endif
