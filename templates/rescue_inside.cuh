// rescue_inside: 64 x 64 blocks of C in FP64 multiply-adds, by a warpgroup, straight from the caller's matrices: what a product kernel
// does with blocks that fail the data check, where a launch of tile_direct for them would take longer than asking. No shared
// memory and no barrier: panels are on their way into the one, and warps come here apart.
//
//   a warp: 32 x 32 of the block     a lane: rows lane % 8 + 8 i, columns lane / 8 + 4 j      (32 x 16, twice, of three warpgroups)
//
// so that neighbouring lanes load and store neighbouring rows, sectors of 32 bytes where columns are contiguous. Products of FP32 numbers
// are exact in FP64, whose multiply-adds run at half of FP32's rate here, and loads are what this waits for; so a result is
// the exact one, rounded once, but for k times 2^-53 of the largest partial sum, whatever order native FP32 has.
constexpr int RESCUE_ROWS = 4, RESCUE_COLS = BN / WN > 2 ? 4 : 8; // of a lane: three warpgroups have fewer registers
constexpr int RESCUE_HEIGHT = 8 * RESCUE_ROWS, RESCUE_WIDTH = 4 * RESCUE_COLS; // of a warp
constexpr int RESCUE_K = 4;                                       // k whose loads come together

// A lane's rows of A, or columns of B, at the next k.
template <int COUNT> struct ht_lines {
    const float *at[COUNT];
    long long step; // elements from k to k
    bool k_contiguous;
    bool some; // whether ht_load_some can
};

// COUNT lines from `first` on, APART apart; in place of those beyond the matrix its last: nobody stores what comes of it. end: of
// the block.
template <int COUNT, int APART>
HT_DEVICE ht_lines<COUNT> ht_open_lines(const float *src, long long ld, int k_contiguous, int first, int end, int rows)
{
    ht_lines<COUNT> l;
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        const int row = first + i * APART < rows ? first + i * APART : rows - 1;
        l.at[i] = src + (k_contiguous ? row * ld : row);
    }
    l.step = k_contiguous ? 1 : ld;
    l.k_contiguous = k_contiguous;
    l.some = k_contiguous ? ((unsigned long long)src | (unsigned long long)ld * 4) % 16 == 0 : end <= rows;
    return l;
}

// The next k of each line.
template <int COUNT> HT_DEVICE void ht_load_one(float *v, ht_lines<COUNT> *l)
{
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        v[i] = ht_ldg4(l->at[i]);
        l->at[i] += l->step;
    }
}

// The next RESCUE_K of them: by 16 bytes, or where rows are contiguous and none lies beyond the matrix, by addresses that
// differ in constants.
template <int COUNT, int APART> HT_DEVICE void ht_load_some(float (*v)[COUNT], ht_lines<COUNT> *l)
{
    if (l->k_contiguous) {
#pragma unroll
        for (int i = 0; i < COUNT; i++) {
            const uint4 four = ht_ld16(l->at[i]);
            v[0][i] = ht_as_float(four.x);
            v[1][i] = ht_as_float(four.y);
            v[2][i] = ht_as_float(four.z);
            v[3][i] = ht_as_float(four.w);
        }
    } else {
#pragma unroll
        for (int h = 0; h < RESCUE_K; h++) {
#pragma unroll
            for (int i = 0; i < COUNT; i++)
                v[h][i] = ht_ldg4(l->at[0] + h * l->step + i * APART);
        }
    }
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        l->at[i] += RESCUE_K * l->step;
}

HT_DEVICE void ht_multiply_one(double (*sum)[RESCUE_COLS], const float *x, const float *y)
{
#pragma unroll
    for (int i = 0; i < RESCUE_ROWS; i++) {
#pragma unroll
        for (int j = 0; j < RESCUE_COLS; j++)
            sum[i][j] = __fma_rn((double)x[i], (double)y[j], sum[i][j]);
    }
}

// `length` k, one after the other.
HT_DEVICE void ht_multiply_lines(double (*sum)[RESCUE_COLS], ht_lines<RESCUE_ROWS> *a, ht_lines<RESCUE_COLS> *b, int length)
{
    int k = 0;
#pragma unroll 1
    for (; a->some && b->some && k + RESCUE_K <= length; k += RESCUE_K) {
        float x[RESCUE_K][RESCUE_ROWS], y[RESCUE_K][RESCUE_COLS];
        ht_load_some<RESCUE_ROWS, 8>(x, a);
        ht_load_some<RESCUE_COLS, 4>(y, b);
#pragma unroll
        for (int h = 0; h < RESCUE_K; h++)
            ht_multiply_one(sum, x[h], y[h]);
    }
#pragma unroll 1
    for (; k < length; k++) {
        float x[RESCUE_ROWS], y[RESCUE_COLS];
        ht_load_one(x, a);
        ht_load_one(y, b);
        ht_multiply_one(sum, x, y);
    }
}

// Rows row0 .. row0 + 63 and as many columns from col0 on as two warps have, over all of k. beta == 0 does not read C.
HT_DEVICE void ht_rescue_columns(const ht_gemm_args &g, float alpha, float beta, long long entry, int row0, int col0)
{
    const int lane = (int)threadIdx.x & 31, warp = (int)threadIdx.x >> 5 & 3;
    const int row = row0 + warp % 2 * RESCUE_HEIGHT + lane % 8, col = col0 + warp / 2 * RESCUE_WIDTH + lane / 8;
    ht_lines<RESCUE_ROWS> a = ht_open_lines<RESCUE_ROWS, 8>(g.a_src + entry * g.a_src_stride, g.a_ld, g.a_k_contiguous, row, row0 + 64, g.m);
    ht_lines<RESCUE_COLS> b = ht_open_lines<RESCUE_COLS, 4>(g.b_src + entry * g.b_src_stride, g.b_ld, g.b_k_contiguous, col, col0 + 2 * RESCUE_WIDTH, g.n);
    double sum[RESCUE_ROWS][RESCUE_COLS] = {};
    ht_multiply_lines(sum, &a, &b, g.k);
    float *c = g.c + entry * g.c_stride + (long long)col * g.ldc + row;
#pragma unroll
    for (int j = 0; j < RESCUE_COLS; j++) {
#pragma unroll
        for (int i = 0; i < RESCUE_ROWS; i++) {
            float *to = c + j * 4 * g.ldc + i * 8;
            const float v = alpha != 0.0f ? __fmul_rn(alpha, (float)sum[i][j]) : 0.0f; // alpha == 0 ignores A and B, NaN included
            if (row + i * 8 < g.m && col + j * 4 < g.n)
                ht_stg4(to, beta != 0.0f ? __fmaf_rn(beta, ht_ldg4(to), v) : v);
        }
    }
}

HT_DEVICE void ht_rescue_block(const ht_gemm_args &g, float alpha, float beta, long long entry, int row0, int col0)
{
#pragma unroll 1
    for (int col = col0; col < col0 + 64 && col < g.n; col += 2 * RESCUE_WIDTH)
        ht_rescue_columns(g, alpha, beta, entry, row0, col);
}
