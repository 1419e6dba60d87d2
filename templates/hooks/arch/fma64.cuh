// arch/fma64: FP64 FMA: a warp has 32 x 32 sums, a lane every eighth row and every (WAVE / 8)th
// column.
constexpr int MMA_M = 32, MMA_N = 32, LANE_ROWS = 4, LANE_COLUMNS = 256 / WAVE, LANE_PAIRS = 1;
constexpr int D_REGS = LANE_ROWS * LANE_COLUMNS;

HT_DEVICE int ht_lane_pair(int)
{
    return 0;
}

HT_DEVICE int ht_lane_row(int lane, int i)
{
    return lane % 8 + i * 8;
}

HT_DEVICE int ht_lane_column(int lane, int j)
{
    return lane / 8 + j * (WAVE / 8);
}

HT_DEVICE int ht_sum_row(int lane, int q)
{
    return ht_lane_row(lane, q / LANE_COLUMNS);
}

HT_DEVICE int ht_sum_column(int lane, int q)
{
    return ht_lane_column(lane, q % LANE_COLUMNS);
}

// sums += x y over a pair of k.
HT_DEVICE void ht_multiply64(double *sum, const double (*x)[2], const double (*y)[2])
{
#pragma unroll
    for (int h = 0; h < 2; h++) {
#pragma unroll
        for (int q = 0; q < D_REGS; q++) {
            sum[q] = __fma_rn(x[q / LANE_COLUMNS][h], y[q % LANE_COLUMNS][h], sum[q]);
        }
    }
}
