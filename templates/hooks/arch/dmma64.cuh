// arch/dmma64: FP64 tensor cores, 16 x 8 sums over 8 k. An MMA may take k in any order that A and B share:
// lane (g = lane / 4, t = lane % 4) has pair t of four, its first k in the MMA's place t and its second in
// t + 4. ht_multiply_1688: arch/sm80_dmma, arch/sm90_dmma64.
constexpr int MMA_M = 16, MMA_N = 8, LANE_ROWS = 2, LANE_COLUMNS = 1, LANE_PAIRS = 4, D_REGS = 4;

HT_DEVICE int ht_lane_pair(int lane)
{
    return lane % 4;
}

HT_DEVICE int ht_lane_row(int lane, int i)
{
    return lane / 4 + i * 8;
}

HT_DEVICE int ht_lane_column(int lane, int)
{
    return lane / 4;
}

HT_DEVICE int ht_sum_row(int lane, int q)
{
    return lane / 4 + q / 2 * 8;
}

HT_DEVICE int ht_sum_column(int lane, int q)
{
    return lane % 4 * 2 + q % 2;
}

// sums += x y over four lanes' pairs of k.
HT_DEVICE void ht_multiply64(double *sum, const double (*x)[2], const double (*y)[2])
{
    const double a[4] = {x[0][0], x[1][0], x[0][1], x[1][1]};
    ht_multiply_1688(sum, a, y[0]);
}
