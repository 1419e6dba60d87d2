/* common_site_line.h: the lines of a site table, for whoever has sites: faces, and programs with names of their own.
 * A line is conditions and, last, what is done where all of them hold; of the lines that hold the first counts:
 *
 *     site=libtorch_cuda.so+* m=4096 n=1-64 accuracy=fp32-fast
 *     api=cublasSgemm_v2* op=NT k=65536- original
 *     ordinal=3 scheme=i8x6
 *
 * site and api are patterns of the shell; m, n, k, batch and ordinal are N, N-M, N- or -M; '#' begins a comment. */
#ifndef DROPIN_COMMON_SITE_LINE_H
#define DROPIN_COMMON_SITE_LINE_H

#include <stdbool.h>
#include <stdint.h>

enum { DROPIN_TEXT = 64, DROPIN_LINE = 1024, DROPIN_RANGES = 5 };

/* What a line holds for, and what it says. */
struct dropin_site_line {
    char site[DROPIN_TEXT], api[DROPIN_TEXT];          /* patterns of fnmatch; "": any */
    char op[3];                                        /* "NT"; "": any */
    int64_t least[DROPIN_RANGES], most[DROPIN_RANGES]; /* m, n, k, batch, ordinal */
    char verb;                                         /* o: original, a: accuracy, s: scheme */
    char text[DROPIN_TEXT];
};

/* A call but for its site, whose name may be costly to find. */
struct dropin_site_call {
    const char *api;
    char op_a, op_b; /* N or T */
    int64_t is[DROPIN_RANGES];
};

/* What is said of a line that is wrong, after its place and the word in quotes. */
#define DROPIN_SITE_LINE_CURE                                                                                \
    "is wrong or out of place: conditions site= api= op= m= n= k= batch= ordinal=, then one of "             \
    "original, accuracy=, scheme="

/* 1: a line, 0: nothing on it, -1: wrong, `wrong` is the word. Writes into `text`. */
int dropin_read_site_line(char *text, struct dropin_site_line *line, char wrong[DROPIN_TEXT]);
/* Whether the conditions hold, but for site=. */
bool dropin_site_line_holds(const struct dropin_site_line *line, const struct dropin_site_call *call);
/* Whether halftone_set_accuracy could take it; halftone_dset_accuracy. */
bool dropin_is_accuracy(const char *text);
bool dropin_is_accuracy64(const char *text);
/* Whether what the line says can be done to products of FP64, or of FP32: a line does not hold for the others. */
bool dropin_site_line_is_of(const struct dropin_site_line *line, bool fp64);

#endif
