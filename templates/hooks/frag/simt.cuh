// frag/simt: where a lane's results lie in a 16 x 8 tile of C, as mma.sync m16n8k16 has it (PTX ISA, "Matrix Fragments for
// mma.m16n8k16"): lane (g = lane / 4, t = lane % 4) has columns 2t, 2t + 1 of the tile and its rows g, g + WAVE / 4, ...; or
// neighbours (A_FROM_REGISTERS), where the fragments of P are loaded in that order.
constexpr int D_REGS = 128 / WAVE; // results of a lane in one tile

HT_DEVICE int ht_d_row(int lane, int i)
{
    return A_FROM_REGISTERS ? (lane >> 2) * 2 + i : (lane >> 2) + i * (WAVE / 4); //@mutate d-row
}

HT_DEVICE int ht_d_col(int lane, int j)
{
    return (lane & 3) * 2 + j;
}

// FMAs in FP32 take one k, for two of which a lane loads the rows and columns of its results.
constexpr int FP32_K = 1, FP32_STEPS = 2;
constexpr bool FP32_APART = false;
constexpr int A_PER_LANE = D_REGS / 2, B_PER_LANE = 2;

HT_DEVICE int ht_lane_k(int)
{
    return 0;
}

HT_DEVICE int ht_lane_row(int lane, int i)
{
    return ht_d_row(lane, i);
}

HT_DEVICE int ht_lane_col(int lane, int j)
{
    return ht_d_col(lane, j);
}

// d += x * y^T
HT_DEVICE void ht_multiply(float *d, const float *x, const float *y)
{
    for (int i = 0; i < A_PER_LANE; i++)
        for (int j = 0; j < B_PER_LANE; j++)
            d[i * B_PER_LANE + j] = __fmaf_rn(x[i], y[j], d[i * B_PER_LANE + j]);
}

template <int WARPS> HT_DEVICE bool ht_any_of_block(bool yes, unsigned, int)
{
    return ht_barrier_any(yes);
}
