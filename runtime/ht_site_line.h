/* ht_site_line.h: the lines of a site table, for whoever has sites: the library (ht_site.c), the faces of dropin/ and programs with
 * names of their own. Needs the C library alone. A line is conditions and, last, what is done where all of them hold; of the lines
 * that hold the first counts:
 *
 *     site=libtorch_cuda.so+* m=4096 n=1-64 accuracy=fp32-fast
 *     api=cublasSgemm_v2* op=NT k=65536- original
 *     ordinal=3 scheme=i8x6
 *
 * site and api are patterns of the shell; m, n, k, batch and ordinal are N, N-M, N- or -M, each condition at most once; '#' begins a
 * comment. */
#ifndef HT_SITE_LINE_H
#define HT_SITE_LINE_H

#include <stdbool.h>
#include <stdint.h>

#include "ht_abi.h"

/* Products that a text is for, one bit for each type: 1 << is_fp64. */
enum { HT_OF_FP32 = 1, HT_OF_FP64 = 2, HT_OF_BOTH = 3 };

enum { HT_ACCURACY_TEXT_BYTES = 48, HT_SITE_TEXT = 64, HT_SITE_LINE = 1024 };
/* The classes of accuracy, rows of struct ht_accuracy; of FP32 with their limits in units of 2^-24 |A||B|.
 *   half, tf32: two inputs rounded to 11 bits lose 2^14 + 4 units; one chain on a matrix unit loses less than 1.3 for each
 *   k, and up to 22 for the first MMA whatever k is: 2^14 + 64 + 2 k.
 *   fp32-fast: SGEMM's own worst case is about k units; emulations lose up to 200 in their first 64 k. That alone would
 *   let 16-bit inputs pass for large k, so the split may lose no more than SGEMM's inputs and single products do by
 *   much: 32 units (22 bits: 9; 16 bits: 769).
 *   reproducible, invariant: two names of one promise, exact integers. */
#define HT_ACCURACY_CLASSES(X) \
    X("half", HT_OF_FP32, 0, 16448, 2, INT_MAX, RANGE(ALL) | RANGE(FP32) | RANGE(ROW) | RANGE(FP16), 0, 0, 0) \
    X("tf32", HT_OF_FP32, 0, 16448, 2, INT_MAX, RANGE(ALL) | RANGE(FP32), 0, 0, 0) \
    X("fp32-fast", HT_OF_FP32, 0, 256, 1, 32, RANGE(ALL) | RANGE(FP32) | RANGE(ROW), 0, 0, 0) \
    X("fp32", HT_OF_FP32, 1, 0, 0, 0, 0, 0, 0, 0) \
    X("fp64", HT_OF_FP64, 1, 0, 0, 0, 0, 0, 0, 0) \
    X("fp64-fast", HT_OF_FP64, 0, 0, 0, 0, 0, 0, 0, HT_ROLE_FAST) \
    X("fp64-exact", HT_OF_FP64, 0, 0, 0, 0, 0, 0, 0, HT_ROLE_EXACT) \
    X("invariant", HT_OF_BOTH, 0, ANY, 0, INT_MAX, RANGE(FIXED), 6, 0, HT_ROLE_REPRODUCIBLE) \
    X("invariant:3", HT_OF_FP32, 0, ANY, 0, INT_MAX, RANGE(FIXED), 3, 0, 0) \
    X("invariant:6", HT_OF_FP32, 0, ANY, 0, INT_MAX, RANGE(FIXED), 6, 0, 0) \
    X("invariant:10", HT_OF_FP32, 0, ANY, 0, INT_MAX, RANGE(FIXED), 10, 0, 0) \
    X("reproducible", HT_OF_BOTH, 0, ANY, 0, INT_MAX, RANGE(FIXED), 6, 0, HT_ROLE_REPRODUCIBLE) \
    X("reproducible:3", HT_OF_FP32, 0, ANY, 0, INT_MAX, RANGE(FIXED), 3, 0, 0) \
    X("reproducible:6", HT_OF_FP32, 0, ANY, 0, INT_MAX, RANGE(FIXED), 6, 0, 0) \
    X("reproducible:10", HT_OF_FP32, 0, ANY, 0, INT_MAX, RANGE(FIXED), 10, 0, 0)

/* Whose schemes are not FP32's: beginnings of names, the first that fits counts. */
#define HT_SCHEME_TYPES(X) \
    X("ozaki-sp", HT_OF_FP32) X("ozaki", HT_OF_FP64) X("crt", HT_OF_FP64) X("i8x28", HT_OF_FP64) X("native64", HT_OF_FP64)

enum ht_site_range { HT_SITE_M, HT_SITE_N, HT_SITE_K, HT_SITE_BATCH, HT_SITE_ORDINAL, HT_SITE_RANGES };

/* What a line holds for, and what it says. */
struct ht_site_line {
    int number;                                  /* of the line in its file, from 1 */
    char site[HT_SITE_TEXT], api[HT_SITE_TEXT];  /* patterns of fnmatch; "": any */
    char op[3];                                  /* "NT"; "": any */
    int64_t least[HT_SITE_RANGES], most[HT_SITE_RANGES];
    char verb; /* o: original, a: accuracy, s: scheme */
    unsigned of; /* HT_OF_FP32, HT_OF_FP64: what its prefix leaves */
    char text[HT_SITE_TEXT]; /* without the prefix */
};

/* A call but for its site, whose name may be costly to find. */
struct ht_site_call {
    const char *api;
    char op_a, op_b; /* N or T */
    int64_t is[HT_SITE_RANGES];
};

/* What is said of a line that is wrong, after its place and the word in quotes. */
#define HT_SITE_LINE_CURE                                                                                    \
    "is wrong, given twice or out of place: conditions site= api= op= m= n= k= batch= ordinal=, then one of "             \
    "original, accuracy=, scheme="

/* 1: a line, 0: nothing on it, -1: wrong, `wrong` is the word. Writes into `text`. */
HT_LOCAL int ht_site_line_read(char *text, struct ht_site_line *line, char wrong[HT_SITE_TEXT]);
/* Takes one line of a file, with its text; 0 to go on. */
typedef int ht_site_taker(void *context, const struct ht_site_line *line, const char *text);
/* Gives each line of a file to `take` until that returns other than 0, which is then the result. -1 for a file that cannot be read
 * and a line that is wrong: `fault` (HT_SITE_LINE bytes) says which and the cure. */
HT_LOCAL int ht_site_file_read(const char *path, ht_site_taker *take, void *context, char *fault);
/* Whether the conditions hold, but for site=. */
HT_LOCAL bool ht_site_line_holds(const struct ht_site_line *line, const struct ht_site_call *call);
/* Whether `name` is one that the line's site= is for. */
HT_LOCAL bool ht_site_line_names(const struct ht_site_line *line, const char *name);
/* Whether one of these is a condition, which not everybody can tell. */
HT_LOCAL bool ht_site_line_asks_range(const struct ht_site_line *line, enum ht_site_range range);
/* Takes a prefix "fp32:" or "fp64:" off a scheme's or an accuracy's name: the types that it leaves. */
HT_LOCAL unsigned ht_site_types(const char **text);
/* A whole number from 1 to 999, digits and nothing else; 0: the text is none. */
HT_LOCAL int ht_read_count(const char *text);
/* The largest |C-R| / |A||B| that "bits=N", "bound=X" or "relative=X:rho=Y" asks for; 0: it is none of these, or its number cannot be. */
HT_LOCAL double ht_site_bound(const char *text);
/* Whether halftone_set_accuracy could take it for FP32, for FP64; "auto" halftone_set_scheme. */
HT_LOCAL bool ht_site_is_accuracy(const char *text);
HT_LOCAL bool ht_site_is_accuracy64(const char *text);
/* Whether its results' bits depend on nothing but their row, column, alpha, beta and C: what no other BLAS promises. */
HT_LOCAL bool ht_site_is_invariant(const char *text);
/* Whether what the line says can be done to products of FP64, or of FP32: a line does not hold for the others. */
HT_LOCAL bool ht_site_line_is_of(const struct ht_site_line *line, bool fp64);

#endif
