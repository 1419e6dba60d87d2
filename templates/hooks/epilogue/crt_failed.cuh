// epilogue/crt_failed: INT32 sums of digits of absolute values, as bytes: 1 where residues do not keep an element (check/crt_abs).

// 16 of a thread's sums, from the `first` on, of the tile at (m0, n0). With g.adds an element fails where it has failed with each part of k.
HT_DEVICE void ht_crt_store_failed(const ht_crt_args &g, long long entry, int m0, int n0, int thread, int first, unsigned char *to,
                                   const int *sum)
{
    const float *const rows = g.a_packed.sums + entry * g.a_packed.exponent_stride, *const cols = g.b_packed.sums + entry * g.b_packed.exponent_stride;
    unsigned failed[4] = {0, 0, 0, 0};
    int count = 0;
#pragma unroll
    for (int e = 0; e < 16; e++) {
        const int row = m0 + ht_crt_row(thread, first + e), col = n0 + ht_crt_column(thread, first + e);
        const int fails = row < g.m && col < g.n && !((float)sum[e] > ht_crt_abs_needed(ht_ldg4(rows + row), ht_ldg4(cols + col), g.failed.factor, g.a.k)); // NaN does
        failed[e / 4] |= (unsigned)fails << e % 4 * 8;
        count += fails;
    }
    if (g.adds) {
        const uint4 old = ht_ld16(to);
        ht_stg16(to, make_uint4(failed[0] & old.x, failed[1] & old.y, failed[2] & old.z, failed[3] & old.w));
        return;
    }
    ht_stg16(to, make_uint4(failed[0], failed[1], failed[2], failed[3]));
    if (g.failed.left && count > 0)
        ht_add_relaxed_i64(g.failed.left + entry, count);
}
