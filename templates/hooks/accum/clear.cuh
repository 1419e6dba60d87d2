// accum/clear: accumulators of a lane in one MMA tile that are zero.
template <class SUM> HT_DEVICE void ht_clear(SUM *d)
{
    for (int q = 0; q < D_REGS; q++)
        d[q] = 0;
}
