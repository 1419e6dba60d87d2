#include "../samples/planes_sums.h" //@drop
// ---- geometry: sums of pairs of slices into C
// A thread has one element, the e-th sum of a thread of the product (crt_order_mma): neighbouring threads read
// neighbouring floats of each plane.
constexpr int PIECES = BM * BN / CRT_THREADS; // blocks of a tile

HT_DEVICE double read_scalar(const ht_scalar &x, int of_floats)
{
    return x.at ? ht_oz_element(x.at, 0, of_floats) : x.f64;
}

// Of one element: where its planes begin, and the exponents of its row and column.
struct element {
    const float *from;
    const int *row, *column;
    int slices_a, slices_b, levels;
};

HT_DEVICE float sum_of(const ht_ozaki_args &g, const element &x, int p, int q)
{
    return ht_ldg4(x.from + (p * g.most + q) * g.plane_stride);
}

// The products in algorithm 2's order.
HT_DEVICE double sum_fp64(const ht_ozaki_args &g, const element &x)
{
    double sum = 0.0;
    for (int q = 0; q < x.slices_b; q++) {
        const int column = ht_ldg_i32(x.column + q * g.b.padded), left = x.levels - q;
        const int end = x.slices_a < left ? x.slices_a : left;
        for (int p = 0; p < end; p++)
            sum = ht_oz_add(sum, sum_of(g, x, p, q), ht_ldg_i32(x.row + p * g.a.padded) + column);
    }
    return sum;
}

// All products, rounded once; times 2^shift and a sign, too.
HT_DEVICE unsigned long long sum_exactly(const ht_ozaki_args &g, const element &x, int shift,
                                         unsigned long long sign)
{
    long long limb[OZ_LIMBS];
    if (x.slices_a == 0 || x.slices_b == 0)
        return 0;
    const int most = ht_ldg_i32(x.row) + ht_ldg_i32(x.column),
              least = ht_ldg_i32(x.row + (x.slices_a - 1) * g.a.padded) +
                      ht_ldg_i32(x.column + (x.slices_b - 1) * g.b.padded);
    const int count = (most - least + 24 + 14) / 32 + 2;
    const float to_integer = (float)(1 << 2 * g.bits);
    for (int i = 0; i < count; i++)
        limb[i] = 0;
    for (int q = 0; q < x.slices_b; q++) {
        const int column = ht_ldg_i32(x.column + q * g.b.padded) - least;
        for (int p = 0; p < x.slices_a; p++)
            ht_oz_add_exactly(limb, (int)(sum_of(g, x, p, q) * to_integer),
                              ht_ldg_i32(x.row + p * g.a.padded) + column);
    }
    return ht_oz_round_limbs(limb, count, least - 2 * g.bits + shift, sign);
}

HT_DEVICE bool is_power_of_two(unsigned long long alpha)
{
    const unsigned long long field = alpha >> 52 & 0x7ff;
    return (alpha & 0xfffffffffffffull) == 0 && field != 0 && field != 0x7ff;
}

static __global__ void __launch_bounds__(CRT_THREADS) combine(const ht_ozaki_args g)
{
    const int tile = (int)blockIdx.x / PIECES, at = (int)blockIdx.x % PIECES * CRT_THREADS + (int)threadIdx.x;
    const int tiles_m = (g.m + BM - 1) / BM;
    const int thread = at / 4 % CRT_THREADS, e = at / (4 * CRT_THREADS) * 4 + at % 4;
    const int row = tile % tiles_m * BM + ht_crt_row(thread, e),
              col = tile / tiles_m * BN + ht_crt_column(thread, e);
    if (row >= g.m || col >= g.n)
        return;
    const element x = {g.planes + (long long)tile * (BM * BN) + at,
                       g.a.exponents + row,
                       g.b.exponents + col,
                       ht_ldg_i32(g.chosen + HT_OZAKI_A),
                       ht_ldg_i32(g.chosen + HT_OZAKI_B),
                       ht_ldg_i32(g.chosen + HT_OZAKI_LEVELS)};
    const double alpha = read_scalar(g.to.alpha, g.of_floats), beta = read_scalar(g.to.beta, g.of_floats);
    const long long at_c = col * g.to.ldc + row;
    const double old = beta == 0.0 ? 0.0 : beta * ht_oz_element(g.to.c, at_c, g.of_floats);
    unsigned long long result;
    const bool is_power = beta == 0.0 && is_power_of_two(ht_oz_bits(alpha));
    if (alpha == 0.0) { // ignores A and B, NaN included
        result = ht_oz_bits(old);
    } else if (ht_ldg_i32(x.row) == HT_OZAKI_POISONED || ht_ldg_i32(x.column) == HT_OZAKI_POISONED) {
        result = 0x7ff8000000000000ull;
    } else if (g.mode == HT_OZAKI_CR && is_power) {
        result = sum_exactly(g, x, (int)(ht_oz_bits(alpha) >> 52 & 0x7ff) - 1023, ht_oz_bits(alpha) >> 63);
    } else {
        const double sum = g.mode == HT_OZAKI_CR ? ht_oz_double(sum_exactly(g, x, 0, 0)) : sum_fp64(g, x);
        result = ht_oz_bits(beta == 0.0 ? alpha * sum : __fma_rn(alpha, sum, old));
    }
    if (g.of_floats)
        ht_stg4((float *)g.to.c + at_c, (float)ht_oz_double(result));
    else
        ht_stg_i64((long long *)g.to.c + at_c, (long long)result);
}

static int launch(const ht_ozaki_args &g, void *stream)
{
    const unsigned tiles = (unsigned)((g.m + BM - 1) / BM) * (unsigned)((g.n + BN - 1) / BN);
    return ht_launch(combine, tiles * PIECES, 1, 1, CRT_THREADS, 0, stream, g);
}
