/* crt_kernels M N K TRANSPOSES FAMILY ALPHA BETA [BATCH [EXPONENT [UNITS]]]: C = alpha A B + beta C by the templates of FP64
 * by residues in the simulator (template_part.cpp: as they are, or broken), against fp64_reference.c, bit for
 * bit. What no kernel may touch is checked, too. EXPONENT: elements of rows that are at least 2^EXPONENT scaled are counted,
 * and C is computed where all rows and columns have enough. UNITS: and where they have not by the same moduli once more, but for
 * elements whose the product of absolute values does not show that their bound is met. */
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/ht_abi64.h"
extern "C" {
#include "../unit/fp64_reference.h"
}

#include "crt_operand.h"
#include "exact_families.h"

/* Element (row, k). */
static double element(const char *family, char side, int row, int k) {
    if (strcmp(family, "ones") == 0)
        return 1;
    if (strcmp(family, "wide") == 0)
        return random_uniform() * exp(4 * random_normal());
    if (strcmp(family, "scaled") == 0)
        return ldexp(random_uniform(), (row * 97 % 600 - 300) * (side == 'A' ? 1 : -1));
    if (strcmp(family, "subnormal") == 0)
        return side == 'A' ? ldexp(random_uniform(), row % 2 ? -1030 - row % 45 : -950 - row % 45)
                           : ldexp(random_uniform(), row % 7);
    if (strcmp(family, "tiny") == 0) /* subnormal results */
        return ldexp(random_uniform(), side == 'A' ? -500 : -530 - row % 60);
    if (strcmp(family, "huge") == 0)
        return ldexp(random_uniform(), side == 'A' ? 500 : 515 + row % 10);
    if (strcmp(family, "sparse") == 0)
        return (k + (side == 'A')) % 2 || row % 5 == 0 ? 0 : random_normal();
    if (strcmp(family, "late") == 0) /* rows of the second warp alone have zeros */
        return row >= 40 && k % 2 ? 0 : random_uniform();
    if (strcmp(family, "nonfinite") == 0)
        return row % 9 == 4 && k == row % 7 ? (row % 2 ? NAN : -INFINITY) : random_normal();
    if (strcmp(family, "ties") ==
        0) /* products of two odd numbers of 27 bits lie between two doubles, and half of them a bit beside */
        return k == 0                   ? 0x1p27 - 1 - 2 * (row % 1000)
               : side == 'B' || row % 2 ? 0x1p-10 * ((row + k) % 3 - 1)
                                        : 0;
    if (strcmp(family, "carries") == 0) /* 2^54 - 1 of both signs, which rounds up to a power of two, and what is beside it */
        return k == 0 ? (side == 'A' ? ldexp(0x1p27 - 1, -row) * (row % 2 ? -1 : 1) : 0x1p27 + 1 + row % 3 - row % 2 * 2) : 0;
    if (strcmp(family, "cancelling") == 0) /* differences of neighbouring numbers, and zeros */
        return side == 'A' ? (k == 0 ? 1 : -1) * ldexp(1 + row, -row) : 1 + row * 0x1p-20 + k * (row % 3 * 0x1p-50);
    if (strcmp(family, "limit") == 0) { /* sums of squares with which crt15's limit is just passed, or not by 100 */
        static const int parts[2][3] = {{30010, 27853, 13076}, {30000, 25301, 17528}};
        return ldexp(parts[row % 2][k] - 0.5, -14) * (1 - 2 * (row / 2 % 2));
    }
    if (strcmp(family, "edges") == 0) { /* significands about 1.fdfdf, first of a row or last; the largest and subnormal numbers */
        static const double most[] = {0x1.fdfdeffffffffp0, 0x1.fdfdfp0, 0x1.fefefefefefefp0, 0x1.fffffffffffffp0, 1};
        const int exponents[2][3] = {{0, 1023, -1040}, {0, -500, 3}};
        return ldexp(k % 70 == row % 3 ? most[row % 5] : most[(row + 1) % 5] * 0.5 * (1 - 2 * (k % 2)),
                     exponents[side == 'B'][row / 5 % 3]);
    }
    if (strcmp(family, "segments") == 0) /* segments far apart */
        return ldexp((1 + row % 29 / 29.0) * random_normal(), -(k / 512 * 2 + row) % 40);
    return random_uniform();
}

/* Of all entries but the first every other k is 0, in different places of A and B. */
static void thin_out(const ht_view &x, int batch, int from) {
    for (int entry = 1; entry < batch; entry++)
        for (int row = 0; row < x.rows; row++)
            for (int h = from; h < x.k; h += 2)
                const_cast<double *>(row_of(x, entry, row))[h * step_of(x)] = 0;
}

static int needed_of(int k) {
    return k + (k + 3) / 4;
}

static void ask_for_counts(ht_crt_pack_args *g, int exponent) {
    g->count_stride = (g->of.rows + 63) / 64 * 64 * ((g->of.k + 1023) / 1024) + HT_CRT_COUNTS_AT;
    g->counts = (int *)memory((size_t)(g->count_stride * g->batch) * sizeof(int));
    g->count_exponent = exponent;
    g->count_needed = needed_of(g->of.k);
}

/* What a row counts, by the rule's words (bench/ACCURACY64.md, section 18). */
static int count_of(const ht_crt_pack_args &g, int entry, int row) {
    const double *x = row_of(g.of, entry, row);
    const int s = g.to.exponents[entry * g.to.exponent_stride + row];
    int count = 0, zeros = 0;
    for (int h = 0; h < g.of.k; h++) {
        const double size = fabs(x[h * step_of(g.of)]);
        if (!(size < INFINITY))
            return -(1 << 30);
        count += size >= 0x1p-1022 && size >= ldexp(1, g.count_exponent - s);
        zeros += size == 0;
    }
    return zeros == g.of.k ? needed_of(g.of.k) : count;
}

static int least_count_of(const ht_crt_pack_args &g, int entry) {
    int least = INT_MAX;
    for (int row = 0; row < g.of.rows; row++) {
        const int count = count_of(g, entry, row);
        least = count < least ? count : least;
    }
    return least;
}

static int compare_counts(const ht_crt_pack_args &g) {
    for (int entry = 0; g.counts && entry < g.batch; entry++) {
        const int found = g.counts[entry * g.count_stride], least = least_count_of(g, entry);
        if (found != least) {
            printf("row 0: least count %d instead of %d\n", found, least);
            return 1;
        }
    }
    return 0;
}

static ht_crt_counts counts_of(const ht_crt_pack_args *both) {
    return {both[0].counts, both[1].counts, both[0].count_stride, both[1].count_stride, both[0].count_needed, 0};
}

static bool has_enough(const ht_crt_pack_args *both, int entry) {
    return !both[0].counts || least_count_of(both[0], entry) + least_count_of(both[1], entry) >= both[0].count_needed;
}

/* ---- the scheme that computes what has too few: of so many moduli as well */

/* cut: by its upper word alone. */
static double size_of(const ht_crt_pack_args &g, int entry, int row, int h, bool cut) {
    double size = fabs(row_of(g.of, entry, row)[h * step_of(g.of)]);
    long long bits;
    memcpy(&bits, &size, sizeof bits);
    bits &= cut ? -(1ll << 32) : -1;
    memcpy(&size, &bits, sizeof size);
    return ldexp(size, g.to.exponents[entry * g.to.exponent_stride + row]);
}

/* What packing leaves of a row: at least k / 4 and its sum of absolute values, and not much more. */
static int compare_sums(const ht_crt_pack_args &g, int entry) {
    for (int row = 0; row < g.of.rows; row++) {
        double sum = 0, most = 0;
        for (int h = 0; h < g.of.k; h++) {
            const double size = size_of(g, entry, row, h, false);
            sum += size;
            most = size > most ? size : most;
        }
        const float found = g.to.sums[entry * g.to.exponent_stride + row];
        const double slack = ((g.of.k + 511) / 512) * most + sum * 0x1p-9; /* each segment is rounded up by half its largest, at most twice */
        const double least = sum + g.of.k / 4.0;
        const bool right = sum == 0 ? found == -3.402823466e38f : !(sum < INFINITY) ? found != found : found >= least && found <= least + 2 * slack;
        if (!right) {
            printf("row %d: sum %a of %a\n", row, found, least);
            return 1;
        }
    }
    return 0;
}

static double digit_of(const ht_crt_pack_args &g, int entry, int row, int h, int *exponent) {
    int log_k = 0, halvings = 0;
    while (1ll << log_k < g.of.k)
        log_k++;
    while (log_k > 17 + 2 * halvings)
        halvings++;
    const float sum = g.to.sums[entry * g.to.exponent_stride + row];
    *exponent = sum > 0 && sum < INFINITY ? ilogbf(sum) - log_k - 4 + halvings : 0;
    const double size = floor(ldexp(size_of(g, entry, row, h, true), -*exponent)), most = (128 >> halvings) - 1;
    const double bits = ldexp(size_of(g, entry, row, h, true), 1042 - g.to.exponents[entry * g.to.exponent_stride + row]);
    return bits < 0x1p20 && bits < size ? bits : size < most ? size : most; /* of a subnormal number: no more than its bits */
}

static double factor_of(double units) {
    return 0x1p52 / (units - 1) * (1 + 0x1p-18) + 1;
}

/* An element as an integer. */
static __int128 integer_of(const ht_crt_pack_args &g, int entry, int row, int h) {
    return llround(ldexp(row_of(g.of, entry, row)[h * step_of(g.of)], g.to.exponents[entry * g.to.exponent_stride + row]));
}

/* By the product of absolute values, or with by_size by the element itself. */
static bool is_kept(const ht_crt_pack_args *both, int entry, int row, int col, double units, bool by_size) {
    __int128 result = 0;
    const double sums[2] = {both[0].to.sums[entry * both[0].to.exponent_stride + row], both[1].to.sums[entry * both[1].to.exponent_stride + col]};
    double product = 0;
    int exponents[2] = {0, 0};
    if (sums[0] < 0 || sums[1] < 0) /* a row of zeros, unless the other has NaN */
        return sums[0] == sums[0] && sums[1] == sums[1];
    for (int h = 0; h < both[0].of.k; h++) {
        product += digit_of(both[0], entry, row, h, &exponents[0]) * digit_of(both[1], entry, col, h, &exponents[1]);
        result += by_size ? integer_of(both[0], entry, row, h) * integer_of(both[1], entry, col, h) : 0;
    }
    return fmax(ldexp(product, exponents[0] + exponents[1]), fabs((double)result)) > (sums[0] + sums[1]) * factor_of(units);
}

static long long words_of(const ht_crt_args &g) {
    return (long long)((g.m + 63) / 64) * ((g.n + 63) / 64) * 128;
}

#ifndef DIGITS
/* All of it behind `both`, which has counted. */
static int compute_second(ht_crt_pack_args *second, const ht_crt_pack_args *both, double units, ht_crt_args *g) {
    const int moduli = crt_part_shape.moduli;
    const ht_result to = g->to;
    for (int i = 0; i < 2; i++) {
        second[i] = to_pack(both[i].of, both[i].batch, moduli + 1);
        second[i].to.measured = both[i].to.measured;
        second[i].to.sums = (float *)memory((size_t)(second[i].to.exponent_stride * second[i].batch) * sizeof(float));
        second[i].asked = counts_of(both);
        second[i].asked.second = 1;
    }
    ht_crt_failed *const by = &second[0].failed;
    by->stride = words_of(*g);
    by->bits = (unsigned *)memory((size_t)(by->stride * g->batch) * sizeof(unsigned));
    by->left = (long long *)memory((size_t)g->batch * sizeof(long long));
    by->most = (long long)g->m * g->n;
    by->factor = (float)factor_of(units);
    second[0].failed_entries = 1;
    *g = to_multiply(second, moduli + 1, NULL, 0, 0, 0);
    g->to = to;
    g->counts = second[0].asked;
    g->failed = *by;
    int code = crt_part_pack(second, 2);
    g->tests = 1;
    code = code != 0 ? code : crt_part_product(g);
    g->tests = 0;
    code = code != 0 ? code : crt_part_product(g);
    return code != 0 ? code : crt_part_combine(g);
}
#endif

/* C as it was where nobody of these computes it; how many of the second scheme's bits and counts are wrong. */
static int keep_others(const ht_crt_pack_args *both, const ht_crt_pack_args *second, const ht_crt_args &g, double units, const double *old,
                       double *expected, long long ldc) {
    for (int entry = 0; entry < g.batch; entry++) {
        long long left = 0, own = 0;
        if (has_enough(both, entry))
            continue;
        if (units > 0 && (compare_sums(second[0], entry) != 0 || compare_sums(second[1], entry) != 0))
            return 1;
        for (int col = 0; col < g.n; col++) {
            for (int row = 0; row < g.m; row++) {
                const bool kept = units > 0 && is_kept(second, entry, row, col, units, true);
                const long long at = (entry * (long long)g.n + col) * ldc + row;
                expected[at] = kept ? expected[at] : old[at];
                left += units > 0 && !is_kept(second, entry, row, col, units, false);
                own += !kept;
                const unsigned *words = g.failed.bits + entry * g.failed.stride + ((long long)(col / 64) * ((g.m + 63) / 64) + row / 64) * 128;
                if (units > 0 && (words[col % 64 * 2 + row % 64 / 32] >> row % 32 & 1) != !kept) {
                    printf("element %d %d: bit %d\n", row, col, kept);
                    return 1;
                }
            }
        }
        if (units > 0 && g.failed.left[entry] != left) {
            printf("element 0: %lld left instead of %lld\n", g.failed.left[entry], left);
            return 1;
        }
        printf("%lld left, %lld of them cleared by size, ", left, left - own);
    }
    return 0;
}

static int failed(const char *what) {
    printf("%s: %s\n", what, ht_sim_error());
    return 1;
}

/* Of all rows of the panels: those behind the matrix are of zeros. */
static int compare_exponents(const ht_crt_pack_args &g, int moduli) {
    for (int entry = 0; entry < g.batch; entry++) {
        for (int row = 0; row < (g.of.rows + 63) / 64 * 64; row++) {
            const double *x = row_of(g.of, entry, row), zero = 0;
            const int found = g.to.exponents[entry * g.to.exponent_stride + row];
            const int expected = row < g.of.rows ? fp64_row_exponent(moduli, x, step_of(g.of), g.of.k)
                                              : fp64_row_exponent(moduli, &zero, 1, 1);
            if (found != expected) {
                printf("row %d: exponent %d instead of %d\n", row, found, expected);
                return 1;
            }
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    if (argc < 8)
        return 2;
    const int m = atoi(argv[1]), n = atoi(argv[2]), k = atoi(argv[3]), batch = argc > 8 ? atoi(argv[8]) : 1,
              moduli = crt_part_shape.moduli;
    const int a_k = argv[4][0] == 'T', b_k = argv[4][1] == 'N'; /* k contiguous */
    const double alpha = strtod(argv[6], NULL), beta = strtod(argv[7], NULL);
    const ht_view a = operand(m, k, a_k, batch, [&](int row, int h) { return element(argv[5], 'A', row, h); }),
                 b = operand(n, k, b_k, batch, [&](int row, int h) { return element(argv[5], 'B', row, h); });
    if (strcmp(argv[5], "mixed") == 0) {
        thin_out(a, batch, 0);
        thin_out(b, batch, 1);
    }
    const long long ldc = m + PAD, c_stride = ldc * n;
    double *c = (double *)memory((size_t)(c_stride * batch) * 8),
           *expected = (double *)malloc((size_t)(c_stride * batch) * 8), *old = (double *)malloc((size_t)(c_stride * batch) * 8);
    const auto reference = [&](double by, double with, double *to) {
        int code = 0;
        for (int entry = 0; entry < batch; entry++) {
            const fp64_operand left = {row_of(a, entry, 0), a_k ? a.ld : 1, step_of(a)}, right = {row_of(b, entry, 0), b_k ? b.ld : 1, step_of(b)};
            code |= fp64_reference(moduli, m, n, k, by, &left, &right, with, to + entry * c_stride, ldc);
        }
        return code;
    };
    if (beta != 0) { /* a third cancels but for its last bits */
        reference(-alpha / beta, 0, c);
        for (long long i = 0; i < c_stride * batch; i++)
            c[i] = i % ldc >= m                                       ? c[i]
                   : strcmp(argv[5], "nonfinite") == 0 && i % 13 == 0 ? INFINITY
                   : i % 3 == 0                                       ? c[i]
                   : i % 3 == 1                                       ? random_normal()
                                                                      : c[i] * random_normal();
    }
    memcpy(expected, c, (size_t)(c_stride * batch) * 8);
    memcpy(old, c, (size_t)(c_stride * batch) * 8);
    ht_crt_pack_args both[2] = {to_pack(a, batch, moduli), to_pack(b, batch, moduli)};
    for (int i = 0; argc > 9 && i < 2; i++)
        ask_for_counts(&both[i], atoi(argv[9]));
    if (crt_part_pack(both, 2) != 0)
        return failed("pack");
    if (compare_exponents(both[0], moduli) != 0 || compare_exponents(both[1], moduli) != 0 || compare_counts(both[0]) != 0 ||
        compare_counts(both[1]) != 0)
        return 1;
    ht_crt_args g = to_multiply(both, moduli, c, ldc, alpha, beta);
    const double units = argc > 10 ? strtod(argv[10], NULL) : 0;
    ht_crt_pack_args second[2] = {};
    g.counts = counts_of(both);
    if (crt_part_product(&g) != 0)
        return failed("product");
#ifndef DIGITS
    if (crt_part_combine(&g) != 0 || (units > 0 && compute_second(second, both, units, &g) != 0))
        return failed("combine");
#endif
    if (reference(alpha, beta, expected) != 0) {
        printf("the reference refuses\n");
        return 1;
    }
    if (keep_others(both, second, g, units, old, expected, ldc) != 0)
        return 1;
    return differing(c, expected, c_stride * batch) >= 0;
}
