/* native64_kernel M N K TRANSPOSES FAMILY ALPHA BETA [BATCH [SPAN [SPLITS]]]: C = alpha A B + beta C by the template
 * TEMPLATE (fp64_tile, or a broken copy) in the simulator, against sums in twice the precision: within (k +
 * 3) u (|alpha| |A||B| + |beta C|), for integers exactly, NaN and Inf in their places. What no kernel may
 * touch is checked, too. SPAN: rows and columns have counts that differ by so many elements, and of C only what they do not let
 * pass is stored. SPLITS: of k, whose parts the template REDUCE adds up. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/ht_abi.h"
#include "../../runtime/ht_abi64.h"
#include "exact_families.h"

namespace native {
#include TEMPLATE
}
namespace reduction {
#include REDUCE
}

enum { PAD = 3 };

static double element(const char *family, int row, int k) {
    if (strcmp(family, "integers") == 0)
        return floor(random_uniform() * 1000);
    if (strcmp(family, "wide") == 0)
        return ldexp(random_uniform(), (int)(random_uniform() * 60));
    if (strcmp(family, "nonfinite") == 0 && row % 7 == 2 && k == row % 3)
        return row % 2 ? NAN : INFINITY;
    return random_uniform();
}

/* x + y as a pair that loses nothing. */
static void add(double *high, double *low, double x) {
    const double sum = *high + x, part = sum - *high;
    *low += (*high - (sum - part)) + (x - part);
    *high = sum;
}

static double *memory(long long count) {
    double *p = (double *)malloc((size_t)count * sizeof(double));
    for (long long i = 0; i < count; i++)
        p[i] = NAN;
    ht_sim_register(p, (size_t)count * sizeof(double));
    return p;
}

struct side {
    double *at;
    long long ld, stride;
    int k_contiguous;
};

static side operand(const char *family, int rows, int k, int k_contiguous, int batch) {
    side s = {NULL, (k_contiguous ? k : rows) + PAD, 0, k_contiguous};
    s.stride = s.ld * (k_contiguous ? rows : k);
    const long long needed = s.stride * batch - PAD; /* the last line ends with its last element */
    s.at = memory(needed > 0 ? needed : 1);
    for (int entry = 0; entry < batch; entry++)
        for (int row = 0; row < rows; row++)
            for (int h = 0; h < k; h++)
                s.at[entry * s.stride + (k_contiguous ? row * s.ld + h : h * s.ld + row)] =
                    element(family, row, h);
    return s;
}

static double at(const side &s, int entry, int row, int k) {
    return s.at[entry * s.stride + (s.k_contiguous ? row * s.ld + k : k * s.ld + row)];
}

/* Whether c is what it should be. */
static bool is_right(const side &a, const side &b, int entry, int row, int col, int k, double alpha,
                     double beta, double old, double c, bool exactly) {
    double high = 0, low = 0, size = 0, plain = 0;
    for (int h = 0; h < k && alpha != 0; h++) {
        const double x = at(a, entry, row, h), y = at(b, entry, col, h), product = x * y;
        add(&high, &low, product);
        low += fma(x, y, -product);
        size += fabs(product);
        plain += product;
    }
    const double expected = alpha * plain + (beta != 0 ? beta * old : 0);
    if (!isfinite(expected))
        return isnan(expected) ? isnan(c) : c == expected;
    const double exact = alpha * (high + low) + (beta != 0 ? beta * old : 0);
    const double bound =
        exactly ? 0 : (k + 3) * 0x1p-53 * (fabs(alpha) * size + (beta != 0 ? fabs(beta * old) : 0));
    return fabs(c - exact) <= bound;
}

/* Row or column i of so many: its elements that count, and among SPAN the 64 and more that no tile of others has. */
static int count_of(int i, int span) {
    return i / 64 % 2 == 0 ? span : i % 5 == 0 ? 0 : span + i % 3;
}

static int *counts_of(int rows, int span, int batch, long long *stride) {
    *stride = HT_CRT_COUNTS_AT + rows;
    int *x = (int *)malloc((size_t)(*stride * batch) * sizeof(int));
    for (int entry = 0; entry < batch; entry++) {
        int *const own = x + entry * *stride;
        own[0] = span;
        own[1] = 0;
        for (int i = 0; i < rows; i++) {
            const int count = count_of(i + entry, span);
            own[HT_CRT_COUNTS_AT + i] = count;
            own[0] = count < own[0] ? count : own[0];
            own[1] = count > own[1] ? count : own[1];
        }
    }
    ht_sim_register(x, (size_t)(*stride * batch) * sizeof(int));
    return x;
}

int main(int argc, char **argv) {
    if (argc < 8)
        return 2;
    const int m = atoi(argv[1]), n = atoi(argv[2]), k = atoi(argv[3]), batch = argc > 8 ? atoi(argv[8]) : 1;
    const double alpha = strtod(argv[6], NULL), beta = strtod(argv[7], NULL);
    const bool exactly = strcmp(argv[5], "integers") == 0;
    const side a = operand(argv[5], m, k, argv[4][0] == 'T', batch),
               b = operand(argv[5], n, k, argv[4][1] == 'N', batch);
    const long long ldc = m + PAD, c_stride = ldc * n;
    double *c = memory(c_stride * batch),
           *old = (double *)malloc((size_t)(c_stride * batch) * sizeof(double));
    for (long long i = 0; i < c_stride * batch; i++)
        c[i] = i % ldc < m && beta != 0 ? floor(100 * random_uniform()) : NAN;
    memcpy(old, c, (size_t)(c_stride * batch) * sizeof(double));
    ht_native64_args g = {};
    g.a_src = a.at;
    g.b_src = b.at;
    g.c = c;
    g.a_ld = a.ld;
    g.b_ld = b.ld;
    g.ldc = ldc;
    g.a_src_stride = a.stride;
    g.b_src_stride = b.stride;
    g.c_stride = c_stride;
    g.m = m;
    g.n = n;
    g.k = k;
    g.a_k_contiguous = a.k_contiguous;
    g.b_k_contiguous = b.k_contiguous;
    g.batch = batch;
    const int span = argc > 9 ? atoi(argv[9]) : 0;
    if (span > 0) {
        g.counts.a = counts_of(m, span, batch, &g.counts.a_stride);
        g.counts.b = counts_of(n, span, batch, &g.counts.b_stride);
        g.counts.needed = 2 * span;
    }
    g.alpha = alpha;
    g.beta = beta;
    g.splits = argc > 10 ? atoi(argv[10]) : 1;
    g.partial = g.splits > 1 ? memory((long long)m * n * g.splits * batch) : NULL;
    if (native::init() != 0 || native::launch(g, NULL) != 0 || (g.splits > 1 && reduction::launch(g, NULL) != 0)) {
        printf("launch: %s\n", ht_sim_error());
        return 1;
    }
    for (long long i = 0; i < c_stride * batch; i++) {
        const int entry = (int)(i / c_stride), col = (int)(i % c_stride / ldc), row = (int)(i % ldc);
        if (span > 0 && row < m && count_of(row + entry, span) + count_of(col + entry, span) >= 2 * span) {
            if (memcmp(&c[i], &old[i], sizeof *c) != 0) {
                printf("element %lld: %a, which is not its\n", i, c[i]);
                return 1;
            }
        } else if (row < m ? !is_right(a, b, entry, row, col, k, alpha, beta, old[i], c[i], exactly)
                    : c[i] == c[i]) {
            printf("element %lld: %a\n", i, c[i]);
            return 1;
        }
    }
    printf("%lld elements\n", c_stride * batch);
    return 0;
}
