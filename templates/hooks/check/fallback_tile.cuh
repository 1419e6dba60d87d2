// check/fallback_tile: 64 x 64 blocks of C by DMMA, by four warps, straight from the caller's matrices: what the launch behind a product does with
// blocks that have many results which the certificate has not cleared (fallback_dmma), and warps of a product's kernel with its own, where
// a launch would count (check/fallback_inside). No shared memory and no barrier.
//
//   a warp: 32 x 32 of the block (32 x 16 where registers or blocks are few)     a step: 16 k, one MMA for 16 x 8 results
//   a lane: rows lane / 4 + 8 i, columns lane / 4 + 8 j, and of both k 4 (lane % 4) .. + 3 of a step
//
// which are one load where k is contiguous, and elsewhere sectors of eight neighbours. An MMA's lanes have k lane % 4 + 4 h (PTX ISA,
// "Matrix Fragments for mma.m16n8k16 with floating point type", .f64), so k comes in another order than it lies in memory, in both
// operands alike. Products of FP32 numbers are exact in FP64, whose MMAs run at the rate of FFMA; so a result is the exact
// one, rounded once, but for k times 2^-53 of the largest partial sum, whatever order k and native FP32 have.
constexpr int FALLBACK_ROWS = 4, FALLBACK_COLS = BM < 64 || BN / WN > 2 ? 2 : 4; // of a lane
constexpr int FALLBACK_HEIGHT = 8 * FALLBACK_ROWS, FALLBACK_WIDTH = 8 * FALLBACK_COLS; // of a warp
constexpr int FALLBACK_K = 16, FALLBACK_K_PER_LANE = 4;                        // k of a step, and a lane's of them

// A lane's rows of A, or columns of B, eight apart.
struct ht_lines {
    const float *at;             // of the first one, its k of the next step
    long long line_step, k_step; // elements from line to line and from k to k
    int last;                    // line of the matrix, from the first one on
    bool wide;                   // none lies beyond the matrix, and where k is contiguous, four k are one load
    bool k_contiguous;
};

// Lines from `first` on, at `k`. end: of the block.
HT_DEVICE ht_lines ht_open_lines(const ht_view &x, long long entry, int first, int end, int k)
{
    const float *const src = (const float *)x.src + entry * x.stride;
    ht_lines l;
    l.line_step = x.k_contiguous ? x.ld : 1;
    l.k_step = x.k_contiguous ? 1 : x.ld;
    l.at = src + first * l.line_step + k * l.k_step;
    l.last = x.rows - 1 - first;
    l.wide = end <= x.rows && (!x.k_contiguous || ((unsigned long long)src | (unsigned long long)x.ld * 4) % 16 == 0); //@mutate open-lines
    l.k_contiguous = x.k_contiguous;
    return l;
}

// Where line 8 i begins; in place of those beyond the matrix its last: nobody stores what comes of it.
HT_DEVICE const float *ht_line(const ht_lines &l, int i)
{
    return l.at + (i * 8 < l.last ? i * 8 : l.last) * l.line_step; //@mutate line
}

// Line 8 i's numbers of this step, of wide lines.
HT_DEVICE void ht_load_vec4(float *v, const ht_lines &l, int i)
{
    if (l.k_contiguous) {
        const uint4 four = ht_ld16(l.at + i * 8 * l.line_step);
        v[0] = ht_as_float(four.x);
        v[1] = ht_as_float(four.y);
        v[2] = ht_as_float(four.z);
        v[3] = ht_as_float(four.w);
    } else {
#pragma unroll
        for (int h = 0; h < FALLBACK_K_PER_LANE; h++)
            v[h] = ht_ldg4(l.at + h * l.k_step + i * 8);
    }
}

// The same of any line. left: k that there are from the lane's first one on; behind them are zeros.
HT_DEVICE void ht_load_strided(float *v, const ht_lines &l, int i, int left)
{
    const float *from = ht_line(l, i);
    const long long k_step = ht_opaque(l.k_step); // else its multiples wait in registers
#pragma unroll
    for (int h = 0; h < FALLBACK_K_PER_LANE; h++, from += k_step)
        v[h] = h < left ? ht_ldg4(from) : 0.0f; //@mutate load-any
}

// A lane's rows in FP64, as MMAs take them.
HT_DEVICE void ht_widen_rows(double (*p)[2 * FALLBACK_K_PER_LANE], float (*x)[FALLBACK_K_PER_LANE])
{
#pragma unroll
    for (int i = 0; i < FALLBACK_ROWS; i++) {
#pragma unroll
        for (int h = 0; h < FALLBACK_K_PER_LANE; h++)
            p[i / 2][h * 2 + i % 2] = (double)x[i][h]; //@mutate widen-rows
    }
}

// A step of one column.
HT_DEVICE void ht_multiply_column(double (*sum)[FALLBACK_COLS][4], double (*p)[2 * FALLBACK_K_PER_LANE], const double *q, int j)
{
#pragma unroll
    for (int i = 0; i < FALLBACK_ROWS / 2; i++)
        ht_mma_f64_16816(sum[i][j], p[i], q); //@mutate multiply-column
}

// Whole steps of wide lines. While one is multiplied the next is in flight, behind the last once more the same. UNROLL 2: by turns in two sets
// of registers, so that nothing is moved, and waited for, before it is needed.
template <int UNROLL> HT_DEVICE void ht_multiply_wide(double (*sum)[FALLBACK_COLS][4], ht_lines *a, ht_lines *b, int steps)
{
    float x[FALLBACK_ROWS][FALLBACK_K_PER_LANE], y[FALLBACK_COLS][FALLBACK_K_PER_LANE];
#pragma unroll
    for (int i = 0; i < FALLBACK_ROWS; i++)
        ht_load_vec4(x[i], *a, i);
#pragma unroll
    for (int j = 0; j < FALLBACK_COLS; j++)
        ht_load_vec4(y[j], *b, j);
#pragma unroll UNROLL
    for (int step = 1; step <= steps; step++) { //@mutate multiply-wide
        const int on = step < steps ? FALLBACK_K : 0;
        double p[FALLBACK_ROWS / 2][2 * FALLBACK_K_PER_LANE];
        a->at += on * a->k_step;
        b->at += on * b->k_step;
        ht_widen_rows(p, x);
#pragma unroll
        for (int i = 0; i < FALLBACK_ROWS; i++)
            ht_load_vec4(x[i], *a, i);
#pragma unroll
        for (int j = 0; j < FALLBACK_COLS; j++) {
            const double q[FALLBACK_K_PER_LANE] = {(double)y[j][0], (double)y[j][1], (double)y[j][2], (double)y[j][3]};
            ht_load_vec4(y[j], *b, j);
            ht_multiply_column(sum, p, q, j);
        }
    }
    a->at += FALLBACK_K * a->k_step;
    b->at += FALLBACK_K * b->k_step;
}

// All of k.
template <int UNROLL> HT_DEVICE void ht_multiply_lines(double (*sum)[FALLBACK_COLS][4], ht_lines *a, ht_lines *b, int length, int own)
{
    const int steps = a->wide && b->wide ? length / FALLBACK_K : 0;
    if (steps > 0)
        ht_multiply_wide<UNROLL>(sum, a, b, steps);
#pragma unroll 1
    for (int left = length - steps * FALLBACK_K; left > 0; left -= FALLBACK_K) {
        float x[FALLBACK_ROWS][FALLBACK_K_PER_LANE];
        double p[FALLBACK_ROWS / 2][2 * FALLBACK_K_PER_LANE];
#pragma unroll
        for (int i = 0; i < FALLBACK_ROWS; i++)
            ht_load_strided(x[i], *a, i, left - own);
        ht_widen_rows(p, x);
#pragma unroll
        for (int j = 0; j < FALLBACK_COLS; j++) {
            float y[FALLBACK_K_PER_LANE];
            ht_load_strided(y, *b, j, left - own);
            const double q[FALLBACK_K_PER_LANE] = {(double)y[0], (double)y[1], (double)y[2], (double)y[3]};
            ht_multiply_column(sum, p, q, j);
        }
        a->at += FALLBACK_K * a->k_step;
        b->at += FALLBACK_K * b->k_step;
    }
}

// FALLBACK_HEIGHT x FALLBACK_WIDTH results from (row, col) on, by a warp, over all of k: of one block of 64 x 64 those that have a bit. beta == 0
// does not read C.
template <int UNROLL> HT_DEVICE void ht_fallback_piece(const ht_gemm_args &g, long long entry, int row, int col)
{
    const int lane = (int)threadIdx.x & 31, line = lane / 4, own = lane % 4 * FALLBACK_K_PER_LANE;
    ht_lines a = ht_open_lines(g.a, entry, row + line, row + FALLBACK_HEIGHT, own);
    ht_lines b = ht_open_lines(g.b, entry, col + line, col + FALLBACK_WIDTH, own);
    double sum[FALLBACK_ROWS / 2][FALLBACK_COLS][4] = {};
    ht_multiply_lines<UNROLL>(sum, &a, &b, g.a.k, own);
    const float alpha = ht_value_of(g.to.alpha), beta = ht_value_of(g.to.beta);
    const unsigned *words = g.failed ? ht_failed_block(g, entry, row / 64, col / 64) : nullptr; // all of a warp's results are of one block
    const int first = row + line, side = col + lane % 4 * 2;
    float *c = (float *)g.to.c + entry * g.to.stride + (long long)side * g.to.ldc + first;
#pragma unroll
    for (int j = 0; j < FALLBACK_COLS * 2; j++) {
        const int to_side = j / 2 * 8 + j % 2;
#pragma unroll
        for (int i = 0; i < FALLBACK_ROWS; i++) {
            float *to = c + to_side * g.to.ldc + i * 8;
            const float s = (float)sum[i / 2][j / 2][i % 2 * 2 + j % 2];
            if (first + i * 8 < g.m && side + to_side < g.n && (words == nullptr || ht_has_failed(words, (first + i * 8) % 64, (side + to_side) % 64))) //@mutate fallback-columns
                ht_stg4(to, ht_axpby(alpha, s, beta, to));
        }
    }
}

// A block of 64 x 64, by four warps.
template <int UNROLL> HT_DEVICE void ht_fallback_block(const ht_gemm_args &g, long long entry, int row0, int col0)
{
    const int warp = (int)threadIdx.x >> 5 & 3;
#pragma unroll 1
    for (int col = col0; col < col0 + 64 && col < g.n; col += 2 * FALLBACK_WIDTH)
        ht_fallback_piece<UNROLL>(g, entry, row0 + warp % 2 * FALLBACK_HEIGHT, col + warp / 2 * FALLBACK_WIDTH);
}
