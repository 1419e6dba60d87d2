/* native64_kernel M N K TRANSPOSES FAMILY ALPHA BETA [BATCH [FAILED [SPLITS]]]: C = alpha A B + beta C by the template
 * TEMPLATE (fp64_tile, or a broken copy) in the simulator, against sums in twice the precision: within (k +
 * 3) u (|alpha| |A||B| + |beta C|), for integers exactly, NaN and Inf in their places. What no kernel may
 * touch is checked, too. FAILED: behind residues, which have left what `leave` says; -1: alone.
 * SPLITS: of k, whose parts the template REDUCE adds up. */
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

/* What residues leave of C, by FAILED: 0 all has been kept; 1 all is left; 2 a few elements of each tile, but for tiles of rows 64 to 127,
 * of which two thirds are; 3 as 2, of which too many have failed; 4 as 0, but for the first entry. */
static bool is_left(int how, int entry, int row, int col) {
    const bool few = (row * 7 + col * 13 + entry) % 311 == 5, many = row / 64 == 1 && (row + col) % 3 != 0;
    return how == 1 || how == 3 || (how == 4 && entry > 0) || (how == 2 && (few || many));
}

static void leave(ht_native64_args *g, int how) {
    const long long stride = (long long)((g->m + 63) / 64) * ((g->n + 63) / 64) * 128;
    int *const counts = (int *)malloc((size_t)g->batch * 2 * sizeof(int));
    unsigned *const failed = (unsigned *)calloc((size_t)(stride * g->batch), sizeof(unsigned));
    long long *const left = (long long *)malloc((size_t)g->batch * sizeof(long long));
    ht_sim_register(counts, (size_t)g->batch * 2 * sizeof(int));
    ht_sim_register(failed, (size_t)(stride * g->batch) * sizeof(unsigned));
    ht_sim_register(left, (size_t)g->batch * sizeof(long long));
    for (int entry = 0; entry < g->batch; entry++) {
        counts[entry * 2] = 5;
        counts[entry * 2 + 1] = how == 0 || (how == 4 && entry == 0) ? 5 : 4;
        left[entry] = how == 3 ? 1000 : 999;
        for (int col = 0; col < g->n; col++)
            for (int row = 0; row < g->m; row++)
                if (is_left(how == 3 ? 2 : how, entry, row, col))
                    failed[entry * stride + (col / 64 * ((g->m + 63) / 64) + row / 64) * 128 + col % 64 * 2 + row % 64 / 32] |= 1u << row % 32;
    }
    g->counts = {counts, counts + 1, 2, 2, 10, 1};
    if (how > 1) {
        g->failed = {failed, stride, left, 999, 0};
    }
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
    g.a = {a.at, a.ld, a.stride, m, k, a.k_contiguous};
    g.b = {b.at, b.ld, b.stride, n, k, b.k_contiguous};
    g.to.c = c;
    g.to.ldc = ldc;
    g.to.stride = c_stride;
    g.m = m;
    g.n = n;
    g.batch = batch;
    const int how = argc > 9 ? atoi(argv[9]) : -1;
    long long recomputed[2] = {0, 0}, left = 0;
    if (how >= 0) {
        leave(&g, how);
        g.recomputed = recomputed;
        ht_sim_register(recomputed, sizeof recomputed);
    }
    g.to.alpha.f64 = alpha;
    g.to.beta.f64 = beta;
    g.splits = argc > 10 ? atoi(argv[10]) : 1;
    g.partial = g.splits > 1 ? memory((long long)m * n * g.splits * batch) : NULL;
    if (native::init() != 0 || native::launch(g, NULL) != 0 || (g.splits > 1 && reduction::launch(g, NULL) != 0)) {
        printf("launch: %s\n", ht_sim_error());
        return 1;
    }
    for (long long i = 0; i < c_stride * batch; i++) {
        const int entry = (int)(i / c_stride), col = (int)(i % c_stride / ldc), row = (int)(i % ldc);
        left += how >= 0 && row < m && is_left(how, entry, row, col);
        if (how >= 0 && row < m && !is_left(how, entry, row, col)) {
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
    if (left > 0 && recomputed[0] + recomputed[1] != left) {
        printf("element 0: %lld and %lld counted of %lld\n", recomputed[0], recomputed[1], left);
        return 1;
    }
    printf("%lld elements, %lld and %lld again\n", c_stride * batch, recomputed[0], recomputed[1]);
    return 0;
}
