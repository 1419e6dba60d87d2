// accum/promote_wgmma: what becomes of a warpgroup's chains.

// Closes a chain: the tensor core truncates as it accumulates, so a short chain is added to FP32 registers with round to
// nearest; the next one starts from zero.
template <int COUNT> HT_DEVICE void ht_promote_chain(float *sum, const float *chain)
{
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        sum[i] = __fadd_rn(sum[i], chain[i]);
    }
}

// Exact sums: moves what exceeds a digit from one level to the level above (accum/carry_i32 has the same for mma.sync).
template <int COUNT> HT_DEVICE void ht_carry_chain(int *above, int *level)
{
#pragma unroll
    for (int i = 0; i < COUNT; i++) {
        above[i] += level[i] >> 8;
        level[i] &= 255;
    }
}
