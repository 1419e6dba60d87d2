/* crt_kernels M N K TRANSPOSES FAMILY ALPHA BETA [BATCH [EXPONENT]]: C = alpha A B + beta C by the templates of FP64
 * by residues in the simulator (template_part.cpp: as they are, or broken), against fp64_reference.c, bit for
 * bit. What no kernel may touch is checked, too. EXPONENT: elements of rows that are at least 2^EXPONENT scaled are counted,
 * and of C only what the counts of a row and a column let pass is stored. */
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

static int needed_of(int k) {
    return k + (k + 3) / 4;
}

static void ask_for_counts(ht_crt_pack_args *g, int exponent) {
    g->count_stride = (g->of.rows + 63) / 64 * 64 * (1 + (g->of.k + 1023) / 1024) + HT_CRT_COUNTS_AT;
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

static int compare_counts(const ht_crt_pack_args &g) {
    for (int entry = 0; g.counts && entry < g.batch; entry++) {
        const int *found = g.counts + entry * g.count_stride;
        int least = INT_MAX, most = INT_MIN;
        for (int row = 0; row < g.of.rows; row++) {
            const int expected = count_of(g, entry, row);
            least = expected < least ? expected : least;
            most = expected > most ? expected : most;
            if (found[HT_CRT_COUNTS_AT + row] != expected) {
                printf("row %d: count %d instead of %d\n", row, found[HT_CRT_COUNTS_AT + row], expected);
                return 1;
            }
        }
        if (found[0] != least || found[1] != most) {
            printf("row 0: counts from %d to %d instead of %d to %d\n", found[0], found[1], least, most);
            return 1;
        }
    }
    return 0;
}

static ht_crt_counts counts_of(const ht_crt_pack_args *both) {
    return {both[0].counts, both[1].counts, both[0].count_stride, both[1].count_stride, both[0].count_needed};
}

/* C as it was where the counts let nothing pass. */
static void keep_uncounted(const ht_crt_pack_args *both, const double *old, double *expected, long long ldc) {
    for (int entry = 0; both[0].counts && entry < both[0].batch; entry++)
        for (int col = 0; col < both[1].of.rows; col++)
            for (int row = 0; row < both[0].of.rows; row++)
                if (count_of(both[0], entry, row) + count_of(both[1], entry, col) < both[0].count_needed)
                    expected[(entry * both[1].of.rows + col) * ldc + row] = old[(entry * both[1].of.rows + col) * ldc + row];
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
    g.counts = counts_of(both);
    if (crt_part_product(&g) != 0)
        return failed("product");
#ifndef DIGITS
    if (crt_part_combine(&g) != 0)
        return failed("combine");
#endif
    if (reference(alpha, beta, expected) != 0) {
        printf("the reference refuses\n");
        return 1;
    }
    keep_uncounted(both, old, expected, ldc);
    return differing(c, expected, c_stride * batch) >= 0;
}
