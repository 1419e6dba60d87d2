/* ratio: quotients for people. */
#ifndef BENCH_RATIO_H
#define BENCH_RATIO_H

enum { RATIO_BYTES = 48 };

#if defined(__GNUC__)
#define RATIO_FORMAT __attribute__((format(printf, 2, 0)))
#else
#define RATIO_FORMAT
#endif

/* part / whole in `format`, which has one number and may have its unit; "n/a" where there is no such number. Returns `out`. */
const char *ratio_text(char out[RATIO_BYTES], const char *format, double part, double whole) RATIO_FORMAT;

#endif
