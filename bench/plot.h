/* plot: runs a gnuplot script of bench/plots over files the command has written. Knows nothing of what they
 * show. */
#ifndef BENCH_PLOT_H
#define BENCH_PLOT_H

/* Runs `gnuplot -e settings SCRIPT` inside `folder`; the script reads and writes files there by plain names.
 * The script is looked for in bench/plots of the repository that the program stands in, then of the current
 * folder. NULL when it worked, else what was missing, in one line. */
const char *plot_run(const char *script, const char *settings, const char *folder);

#endif
