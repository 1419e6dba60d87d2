#include "../samples/crt_mma_warp.h" //@drop
// ---- geometry: residues of all moduli into C
// A thread takes 16 elements as a thread of the product holds them (crt_order_*): 16 bytes from the plane
// of each modulus, then element by element the residues of four moduli to a word, the integer that has
// them, and its one rounding.
constexpr int PIECES = BM * BN / CRT_THREADS / 16; // of 16 elements of a thread, in a tile
constexpr int GROUPS = (CRT_MODULI + 3) / 4;

// Bytes of four elements, four moduli to a word: the other way round.
HT_DEVICE void transpose(const unsigned *x, unsigned *y) {
    const unsigned low[2] = {__byte_perm(x[0], x[1], 0x5140), __byte_perm(x[2], x[3], 0x5140)};
    const unsigned high[2] = {__byte_perm(x[0], x[1], 0x7362), __byte_perm(x[2], x[3], 0x7362)};
    y[0] = __byte_perm(low[0], low[1], 0x5410);
    y[1] = __byte_perm(low[0], low[1], 0x7632);
    y[2] = __byte_perm(high[0], high[1], 0x5410);
    y[3] = __byte_perm(high[0], high[1], 0x7632);
}

// Of host and device.
static __host__ __device__ __forceinline__ bool is_power_of_two(unsigned long long alpha,
                                                                unsigned long long beta) {
    const unsigned long long field = alpha >> 52 & 0x7ff;
    return (beta << 1) == 0 && (alpha & 0xfffffffffffffull) == 0 && field != 0 && field != 0x7ff;
}

HT_DEVICE unsigned long long read_scalar(const double *pointer, double value) {
    unsigned long long bits;
    if (pointer)
        return (unsigned long long)ht_ldg_i64((const long long *)(const void *)pointer);
    __builtin_memcpy(&bits, &value, sizeof bits);
    return bits;
}

struct scalars {
    unsigned long long alpha, beta;
    bool is_power; // beta is 0 and alpha a power of two, 2^shift, with a sign
    int shift;
    unsigned sign;
};

HT_DEVICE scalars load_alpha_beta(const ht_crt_combine_args &g) {
    scalars by = {read_scalar(g.alpha_ptr, g.alpha), read_scalar(g.beta_ptr, g.beta), false, 0, 0};
    by.is_power = is_power_of_two(by.alpha, by.beta);
    by.shift = (int)(by.alpha >> 52 & 0x7ff) - 1023;
    by.sign = ht_crt_sign(by.alpha);
    return by;
}

HT_DEVICE long long *element_of(const ht_crt_combine_args &g, long long entry, int row, int col) {
    return (long long *)(void *)(g.c + entry * g.c_stride + col * g.ldc + row);
}

// alpha times the integer with these residues, plus beta times C.
template <bool POWER>
HT_DEVICE unsigned long long result_of(const ht_crt_combine_args &g, const scalars &by, long long entry,
                                       const unsigned *residues, int row, int col) {
    unsigned value[CRT_VALUE_WORDS];
    const int scale = ht_ldg_i32(g.a_row_exponents + entry * g.a_exponent_stride + row) +
                      ht_ldg_i32(g.b_col_exponents + entry * g.b_exponent_stride + col);
    ht_crt_value(residues, value);
    if (POWER || (by.is_power && scale < CRT_POISONED / 2))
        return scale < CRT_POISONED / 2 ? ht_crt_to_fp64(value, scale - by.shift, by.sign) : CRT_NAN;
    return ht_crt_axpby(value, scale, by.alpha, by.beta,
                        ht_crt_is_zero(by.beta) ? 0 : (unsigned long long)ht_ldg_i64(element_of(g, entry, row, col)));
}

// Elements `at` and at + 1 of a thread; 16 bytes at once where they are neighbours in C and C's columns begin at
// multiples of that.
template <bool POWER>
HT_DEVICE void store_pair(const ht_crt_combine_args &g, const scalars &by, long long entry,
                          const unsigned (*residues)[GROUPS], int row0, int col0, int at) {
    const int thread = (int)threadIdx.x;
    const bool wide = CRT_ROW_PAIRS && (g.ldc & 1) == 0 && ((unsigned long long)(g.c + entry * g.c_stride) & 15) == 0;
    unsigned long long result[2] = {0, 0};
    bool has[2];
#pragma unroll
    for (int e = 0; e < 2; e++) {
        const int row = row0 + ht_crt_row(thread, at + e), col = col0 + ht_crt_column(thread, at + e);
        has[e] = row < g.m && col < g.n;
        if (has[e])
            result[e] = result_of<POWER>(g, by, entry, residues[e], row, col);
    }
    if (wide && has[1]) {
        ht_stg16(element_of(g, entry, row0 + ht_crt_row(thread, at), col0 + ht_crt_column(thread, at)),
                 make_uint4((unsigned)result[0], (unsigned)(result[0] >> 32), (unsigned)result[1],
                            (unsigned)(result[1] >> 32)));
        return;
    }
#pragma unroll
    for (int e = 0; e < 2; e++) {
        if (has[e])
            ht_stg_i64(element_of(g, entry, row0 + ht_crt_row(thread, at + e), col0 + ht_crt_column(thread, at + e)),
                       (long long)result[e]);
    }
}

// POWER: alpha and beta are known to be such that no product but X's is needed; a kernel of its own, since
// the other one is three times as long.
template <bool POWER>
static __global__ void __launch_bounds__(CRT_THREADS) combine(const ht_crt_combine_args g) {
    const int thread = (int)threadIdx.x, tile = (int)blockIdx.x / PIECES, piece = (int)blockIdx.x % PIECES,
              tiles_m = (g.m + BM - 1) / BM;
    const long long entry = blockIdx.z;
    const int row0 = tile % tiles_m * BM, col0 = tile / tiles_m * BN;
    const unsigned char *from =
        g.planes + entry * g.plane_stride + (long long)tile * (BM * BN) + (piece * CRT_THREADS + thread) * 16;
    const scalars by = load_alpha_beta(g);
    unsigned x[4][GROUPS * 4]; // four elements to a word, by moduli
#pragma unroll
    for (int l = 0; l < GROUPS * 4; l++) {
        const uint4 v = l < CRT_MODULI ? ht_ldg16(from + l * g.plane_modulus_stride) : make_uint4(0, 0, 0, 0);
        x[0][l] = v.x;
        x[1][l] = v.y;
        x[2][l] = v.z;
        x[3][l] = v.w;
    }
#pragma unroll
    for (int w = 0; w < 4; w++) {
        unsigned residues[4][GROUPS];
#pragma unroll
        for (int i = 0; i < GROUPS; i++) {
            unsigned y[4];
            transpose(x[w] + i * 4, y);
            for (int e = 0; e < 4; e++)
                residues[e][i] = y[e];
        }
#pragma unroll
        for (int e = 0; e < 4; e += 2) {
            store_pair<POWER>(g, by, entry, residues + e, row0, col0, piece * 16 + w * 4 + e);
        }
    }
}

static int launch(const ht_crt_combine_args &g, void *stream) {
    const unsigned tiles = (unsigned)((g.m + BM - 1) / BM) * (unsigned)((g.n + BN - 1) / BN);
    unsigned long long alpha, beta;
    __builtin_memcpy(&alpha, &g.alpha, sizeof alpha);
    __builtin_memcpy(&beta, &g.beta, sizeof beta);
    const bool power = !g.alpha_ptr && !g.beta_ptr && is_power_of_two(alpha, beta);
    return ht_launch(power ? combine<true> : combine<false>, tiles * PIECES, 1, (unsigned)g.batch,
                     CRT_THREADS, 0, stream, g);
}
