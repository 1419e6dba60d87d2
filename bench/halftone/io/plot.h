/* plot: runs the command's gnuplot scripts over files that it has written. The scripts (bench/halftone/plots) are part of the
 * program: no file is looked for where the command is run. Knows nothing of what they show. */
#ifndef BENCH_PLOT_H
#define BENCH_PLOT_H

#include <stdio.h>

extern const char plot_error[], plot_histogram[]; /* bench/halftone/plots/error.gp, histogram.gp */

/* Runs `gnuplot -e settings` with `script` on its standard input inside `folder`, where it reads files by plain names;
 * the picture it prints goes to `out`. NULL when it worked, else what was missing, in one line. */
const char *plot_run(const char *script, const char *settings, const char *folder, FILE *out);

#endif
