/* ozaki_kernels OUT M N K TRANSPOSES FAMILY MODE MOST ALPHA BETA: C = alpha A B + beta C by the templates of FP64 by FP16 slices in
 * the simulator (template_part.cpp: as they are, or broken). Whether sums of pairs are exact is checked here; what else test_ozaki.py
 * needs is written to OUT as 64-bit numbers: sizes, A and B by rows of k, C before and after, what was chosen, exponents and slices. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <vector>

#include "template_part.h"
#include "exact_families.h"

enum { POISON = 0x5a, PAD = 3 };

/* Element (row, k). phiX: the paper's (rand - 0.5) exp(X randn). */
static double element(const char *family, char side, int row, int k) {
    if (strncmp(family, "phi", 3) == 0)
        return 0.5 * random_uniform() * exp(atof(family + 3) * random_normal());
    if (strcmp(family, "integers") == 0)
        return (double)(int)(16 * random_uniform());
    if (strcmp(family, "ones") == 0)
        return side == 'A' ? -1 : 1;
    if (strcmp(family, "scaled") == 0)
        return ldexp(random_uniform(), (row * 97 % 600 - 300) * (side == 'A' ? 1 : -1));
    if (strcmp(family, "inner") == 0) /* A D and B / D: wide along k */
        return ldexp(1 + (random_uniform() + 1) / 2, (k * 37 % 81 - 40) * (side == 'A' ? 1 : -1));
    if (strcmp(family, "top") == 0)
        return ldexp(random_uniform(), side == 'A' ? 1024 : -900);
    if (strcmp(family, "extremes") == 0)
        return k == 0 ? ldexp(random_uniform(), side == 'A' ? 1000 : -80) : ldexp(random_uniform(), side == 'A' ? -40 + row : row);
    if (strcmp(family, "subnormal") == 0)
        return side == 'A' ? ldexp(random_uniform(), -1030 - row % 45) : ldexp(random_uniform(), row % 7);
    if (strcmp(family, "tiny") == 0) /* subnormal results */
        return ldexp(random_uniform(), side == 'A' ? -500 : -530 - row % 60);
    if (strcmp(family, "huge") == 0)
        return ldexp(random_uniform(), side == 'A' ? 500 : 515 + row % 10);
    if (strcmp(family, "sparse") == 0) /* what one has the other lacks: zeros */
        return (k + (side == 'A')) % 2 || row % 5 == 0 ? 0 : random_normal();
    if (strcmp(family, "zeros") == 0)
        return side == 'A' ? 0 : random_normal();
    if (strcmp(family, "nonfinite") == 0)
        return row % 9 == 4 && k == row % 7 ? (row % 2 ? NAN : -INFINITY) : random_normal();
    if (strcmp(family, "cancel") == 0) { /* neighbouring k cancel but for their last bits */
        static double last;
        const double fresh = random_uniform();
        last = k % 2 == 0 ? fresh : side == 'A' ? -last * (1 + 0x1p-50 * fresh) : last * (1 + 0x1p-51);
        return last;
    }
    if (strcmp(family, "uneven") == 0) /* rows of few slices beside rows of many */
        return row < 8 ? ldexp(random_uniform(), -(row * k) % 50) : row % 4 + 1;
    if (strcmp(family, "rightwide") == 0) /* A of one slice, B of all */
        return side == 'A' ? (double)((row + k) % 3 - 1) : random_normal();
    if (strcmp(family, "beside") == 0) /* products between two doubles, half of them far less beside */
        return k == 0   ? 0x1p27 - 1 - 2 * (row % 1000)
               : k == 1 ? (side == 'B' ? 0x1p-60 : row % 3 - 1)
                        : (side == 'B' ? row % 2 : row % 5 - 2) * 0x1p-100;
    if (strcmp(family, "ties") == 0)
        return k == 0 ? 0x1p27 - 1 - 2 * (row % 1000) : side == 'B' || row % 2 ? 0x1p-10 * ((row + k) % 3 - 1) : 0;
    return random_uniform();
}

template <class T> static T *memory(size_t count) {
    const size_t bytes = (count * sizeof(T) + 255) / 256 * 256;
    T *p = (T *)aligned_alloc(256, bytes);
    memset((void *)p, POISON, bytes);
    ht_sim_register(p, bytes);
    return p;
}

static FILE *out;

template <class T> static void write(const T *x, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const double value = (double)x[i];
        fwrite(&value, sizeof value, 1, out);
    }
}

static double of_half(unsigned h) {
    const int exponent = (int)(h >> 10 & 31), fraction = (int)(h & 1023);
    const double magnitude = exponent == 0 ? ldexp(fraction, -24) : ldexp(1024 + fraction, exponent - 25);
    return h >> 15 ? -magnitude : magnitude;
}

static ht_ozaki_operand to_pack(const char *family, char side, int rows, int k, int k_contiguous, int most) {
    ht_ozaki_operand o = {};
    const int k_blocks = (k + 63) / 64;
    o.padded = (rows + 63) / 64 * 64;
    const long long ld = (k_contiguous ? k : rows) + PAD;
    double *x = memory<double>((size_t)(ld * (k_contiguous ? rows : k)));
    for (long long i = 0; i < ld * (k_contiguous ? rows : k); i++)
        x[i] = NAN;
    for (int row = 0; row < rows; row++)
        for (int h = 0; h < k; h++)
            x[k_contiguous ? row * ld + h : h * ld + row] = element(family, side, row, h);
    o.of = {x, ld, 0, rows, k, k_contiguous};
    o.slice_stride = (long long)o.padded / 64 * k_blocks * 8192;
    o.panels = memory<unsigned char>((size_t)(o.slice_stride * most));
    o.rest = memory<double>((size_t)o.padded * (size_t)k_blocks * 64);
    o.exponents = memory<int>((size_t)o.padded * (size_t)most);
    o.slices = memory<int>((size_t)o.padded);
    return o;
}

/* Slices as [slice][row][k]. */
static std::vector<double> slices_of(const ht_ozaki_operand &o, int k, int count) {
    std::vector<double> s;
    const int k_blocks = (k + 63) / 64;
    for (int slice = 0; slice < count; slice++)
        for (int row = 0; row < o.of.rows; row++)
            for (int h = 0; h < k; h++) {
                const unsigned char *at = o.panels + slice * o.slice_stride + (row / 64 * (long long)k_blocks + h / 64) * 8192 +
                                          row % 64 * 128 + (h % 64 / 8 ^ row % 8) * 16 + h % 8 * 2;
                s.push_back(of_half((unsigned)at[0] | (unsigned)at[1] << 8));
            }
    return s;
}

static int failed(const char *what) {
    printf("%s: %s\n", what, ht_sim_error());
    return 1;
}

static int compare_sums(const ht_ozaki_args &g, const std::vector<double> &a, const std::vector<double> &b, const int *chosen, int k) {
    const int bm = ozaki_part_shape.bm, bn = ozaki_part_shape.bn, tiles_m = (g.m + bm - 1) / bm;
    for (int p = 0; p < chosen[HT_OZAKI_A]; p++)
        for (int q = 0; q < chosen[HT_OZAKI_B] && p + q < chosen[HT_OZAKI_LEVELS]; q++)
            for (long long i = 0; i < g.plane_stride; i++) {
                const int tile = (int)(i / (bm * bn)), at = (int)(i % (bm * bn));
                const int row = tile % tiles_m * bm + ozaki_part_shape.row(at), col = tile / tiles_m * bn + ozaki_part_shape.column(at);
                double sum = 0;
                if (row >= g.m || col >= g.n)
                    continue;
                for (int h = 0; h < k; h++) /* whole multiples of 2^-2bits, of at most 24 bits */
                    sum += a[((size_t)p * g.m + row) * k + h] * b[((size_t)q * g.n + col) * k + h];
                const double found = g.planes[(p * g.most + q) * g.plane_stride + i];
                if (found != sum) {
                    printf("product of slices %d, %d: (%d, %d): %a instead of %a\n", p, q, row, col, found, sum);
                    return 1;
                }
            }
    return 0;
}

/* argv[1] to argv[10] as numbers and operands. */
struct problem {
    int m, n, k, most, ldc;
    double *scalars; /* alpha, beta */
    ht_ozaki_pack_args pack;
};

static problem problem_of(char **argv) {
    problem p = {};
    p.m = atoi(argv[2]);
    p.n = atoi(argv[3]);
    p.k = atoi(argv[4]);
    p.most = atoi(argv[8]);
    p.ldc = p.m + PAD;
    p.scalars = memory<double>(2);
    p.scalars[0] = atof(argv[9]);
    p.scalars[1] = atof(argv[10]);
    ht_ozaki_pack_args &pack = p.pack;
    pack.operand[0] = to_pack(argv[6], 'A', p.m, p.k, argv[5][0] == 'T', p.most);
    pack.operand[1] = to_pack(argv[6], 'B', p.n, p.k, argv[5][1] == 'N', p.most);
    pack.mode = strcmp(argv[7], "cr") == 0 ? HT_OZAKI_CR : strcmp(argv[7], "fixed") == 0 ? HT_OZAKI_FIXED : HT_OZAKI_DP;
    pack.k_blocks = (p.k + 63) / 64;
    pack.weights = memory<double>((size_t)pack.k_blocks * 64);
    pack.fields = memory<int>((size_t)(pack.operand[1].padded / 64 * pack.k_blocks * 2));
    pack.chosen = memory<int>(HT_OZAKI_CHOSEN);
    pack.limit = 2 * sqrt(p.k) * 0x1p-53;
    pack.bits = 11;
    while ((int64_t)p.k << 2 * pack.bits > 1 << 24)
        pack.bits--;
    pack.most = p.most;
    return p;
}

/* With an odd number of rows alpha and beta go by way of the device. */
static ht_ozaki_args to_multiply(const problem &p, double *c) {
    const int bm = ozaki_part_shape.bm, bn = ozaki_part_shape.bn;
    ht_ozaki_args g = {};
    g.a = p.pack.operand[0];
    g.b = p.pack.operand[1];
    g.chosen = p.pack.chosen;
    g.plane_stride = (long long)((p.m + bm - 1) / bm) * ((p.n + bn - 1) / bn) * bm * bn;
    g.planes = memory<float>((size_t)g.plane_stride * (size_t)(p.most * p.most));
    g.to.c = c;
    g.to.ldc = p.ldc;
    if (p.m % 2 != 0) {
        g.to.alpha.at = p.scalars;
        g.to.beta.at = p.scalars + 1;
    } else {
        g.to.alpha.f64 = p.scalars[0];
        g.to.beta.f64 = p.scalars[1];
    }
    g.m = p.m;
    g.n = p.n;
    g.k_blocks = p.pack.k_blocks;
    g.bits = p.pack.bits;
    g.most = p.most;
    g.mode = p.pack.mode;
    return g;
}

static void write_all(const problem &p, const std::vector<double> *slices, const double *before, const double *c) {
    const int sizes[] = {p.m, p.n, p.k, p.pack.bits};
    write(sizes, 4);
    write(p.pack.chosen, 5);
    for (int side = 0; side < 2; side++) {
        const ht_ozaki_operand &o = p.pack.operand[side];
        for (int row = 0; row < o.of.rows; row++)
            for (int h = 0; h < p.k; h++)
                write((const double *)o.of.src + (o.of.k_contiguous ? row * o.of.ld + h : h * o.of.ld + row), 1);
        for (int slice = 0; slice < p.pack.chosen[side]; slice++)
            write(o.exponents + slice * o.padded, (size_t)o.of.rows);
        write(slices[side].data(), slices[side].size());
    }
    for (int j = 0; j < p.n; j++)
        write(before + j * p.ldc, (size_t)p.m);
    for (int j = 0; j < p.n; j++)
        write(c + j * p.ldc, (size_t)p.m);
}

int main(int argc, char **argv) {
    if (argc != 11)
        return 2;
    const problem p = problem_of(argv);
    if (ozaki_part_pack(&p.pack) != 0)
        return failed("pack");
    double *c = memory<double>((size_t)p.ldc * (size_t)p.n);
    const ht_ozaki_args g = to_multiply(p, c);
    if (ozaki_part_product(&g) != 0)
        return failed("product");
    for (int i = 0; i < p.ldc * p.n; i++)
        c[i] = i % p.ldc < p.m ? random_normal() : 7;
    const std::vector<double> before(c, c + p.ldc * p.n);
    if (ozaki_part_combine(&g) != 0)
        return failed("combine");
    for (int i = 0; i < p.ldc * p.n; i++)
        if (i % p.ldc >= p.m && c[i] != 7)
            return printf("C beyond its rows\n"), 1;
    const std::vector<double> slices[2] = {slices_of(p.pack.operand[0], p.k, p.pack.chosen[HT_OZAKI_A]),
                                           slices_of(p.pack.operand[1], p.k, p.pack.chosen[HT_OZAKI_B])};
    if (compare_sums(g, slices[0], slices[1], p.pack.chosen, p.k) != 0)
        return 1;
    out = fopen(argv[1], "wb");
    if (out == NULL)
        return 2;
    write_all(p, slices, before.data(), c);
    return fclose(out) != 0;
}
