// accum/tile_levels: sums of integer products whose scales belong to tiles of 16 x 32 of A and 32 x 8 of B (MixPert, LCTES 2024,
// sections 3.3.1 and 3.3.2). Products of segments i and j over 32 k add up exactly in level i + j, which weighs 2^-7(i + j); then
// all levels become one FP32 number, which the two tiles' scales multiply and which is added to C in FP32, to nearest.
constexpr int LEVEL_ZERO = 0x4b400000;   // the bits of 1.5 * 2^23: as a float, LEVEL_ZERO + x is that and x, for |x| < 2^22
constexpr float LEVEL_OFFSET = 12582912.0f, LEVEL_WEIGHT = 0.0078125f; // 1.5 * 2^23; 2^-7
constexpr int B_SCALES = D_COLS > 4 ? D_COLS / 4 : 1; // tiles of B that a lane's columns of one MMA tile lie in

// MMA tiles whose levels are in registers at once. ptxas moves every MMA of a step of k before the additions that end earlier ones, until
// registers are spilled; so the levels of a tile begin from results of the tile before the last (LEVEL_SETS 2), of which no bit is left.
constexpr int LEVEL_SETS = D_REGS > 4 ? 1 : 2;

// Scales of a warp's tile of C: where those of the next 32 k lie (as panels: 64 rows, k, tile of rows), and those of the present.
struct ht_tile_scales {
    const int *a_at[(WM + 63) / 64], *b_at[(WN + 63) / 64]; // of each 64 rows or columns
    float a[WM / MMA_M], b[WN / MMA_N][B_SCALES];
    unsigned no_bits, ended[LEVEL_SETS]; // zero, which no compiler knows; what the last tiles gave whose levels were added, oldest first
};

// k_tile: the first 32 k. Rows and columns beyond the matrix read its last 64; their results are never stored.
HT_DEVICE ht_tile_scales ht_tile_scales_of(const ht_gemm_args &g, int row0, int col0, int k_tile, int lane)
{
    const int rows = (g.m + 63) / 64, cols = (g.n + 63) / 64, k_tiles = g.k_blocks / (SLICES / ATOM_SLICES) * (ATOM_K / 32);
    ht_tile_scales s;
    s.no_bits = (unsigned)g.splits >> 30;
    for (int i = 0; i < LEVEL_SETS; i++)
        s.ended[i] = 0;
    for (int i = 0; i < (WM + 63) / 64; i++) {
        const int block = row0 / 64 + i < rows ? row0 / 64 + i : rows - 1;
        s.a_at[i] = g.a_packed.row_absmax + blockIdx.z * g.a_packed.absmax_stride + ((long long)block * k_tiles + k_tile) * 4 +
                    row0 % 64 / 16 + ht_d_row(lane, 0) / 16;
    }
    for (int j = 0; j < (WN + 63) / 64; j++) {
        const int block = col0 / 64 + j < cols ? col0 / 64 + j : cols - 1;
        s.b_at[j] = g.b_packed.row_absmax + blockIdx.z * g.b_packed.absmax_stride + ((long long)block * k_tiles + k_tile) * 8 +
                    col0 % 64 / 8;
    }
    return s;
}

HT_DEVICE void ht_load_scales(ht_tile_scales *s, int lane)
{
    for (int i = 0; i < WM / MMA_M; i++)
        s->a[i] = ht_as_float((unsigned)ht_ldg_i32(s->a_at[i * MMA_M / 64] + i * MMA_M % 64 / 16));
    for (int j = 0; j < WN / MMA_N; j++)
        for (int c = 0; c < B_SCALES; c++)
            s->b[j][c] =
                ht_as_float((unsigned)ht_ldg_i32(s->b_at[j * MMA_N / 64] + (j * MMA_N % 64 + ht_d_col(lane, c * 4)) / 8));
    for (int i = 0; i < (WM + 63) / 64; i++)
        s->a_at[i] += 4;
    for (int j = 0; j < (WN + 63) / 64; j++)
        s->b_at[j] += 8;
}

template <int LEVELS> HT_DEVICE void ht_open_levels(int (&level)[LEVELS][D_REGS], const ht_tile_scales &s)
{
    for (int l = 0; l < LEVELS; l++)
        for (int q = 0; q < D_REGS; q++)
            level[l][q] = q % D_COLS > 0 ? LEVEL_ZERO : (int)((s.ended[0] & s.no_bits) | (unsigned)LEVEL_ZERO);
}

// INT32 to FP32 by bits, then ((level 3 / 128 + level 2) / 128 + ...), each step rounded to nearest; the smallest first. i, j: MMA tile.
template <int LEVELS>
HT_DEVICE void ht_close_levels(float *sum, const int (&level)[LEVELS][D_REGS], ht_tile_scales *s, int i, int j)
{
    for (int q = 0; q < D_REGS; q++) {
        float v = 0.0f;
        for (int l = LEVELS - 1; l >= 0; l--) {
            const float x = __fadd_rn(ht_as_float((unsigned)level[l][q]), -LEVEL_OFFSET); // exact
            v = l == LEVELS - 1 ? x : __fmaf_rn(v, LEVEL_WEIGHT, x);
        }
        sum[q] = __fmaf_rn(v, __fmul_rn(s->a[i], s->b[j][q % D_COLS / 4]), sum[q]);
    }
    for (int e = 0; e + 1 < LEVEL_SETS; e++)
        s->ended[e] = s->ended[e + 1];
    s->ended[LEVEL_SETS - 1] = 0;
    for (int q = 0; q < D_REGS; q++)
        s->ended[LEVEL_SETS - 1] |= ht_as_uint(sum[q]);
}
