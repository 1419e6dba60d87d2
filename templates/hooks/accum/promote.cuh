// accum/promote: how chains on the tensor cores are opened, closed and added up.

// d += a * b with the product formed on the tensor cores from zero and added in FP32, round to nearest
// (Ootomo & Yokota 2022: accumulation outside the tensor core).
HT_DEVICE void ht_mma_accumulate_outside(float *d, const unsigned *a, const unsigned *b)
{
    float t[D_REGS];
    ht_clear(t);
    ht_mma(t, a, b);
    for (int q = 0; q < D_REGS; q++)
        d[q] = __fadd_rn(d[q], t[q]);
}

// Closes a chain: the tensor core truncates as it accumulates, so a short chain is added to FP32 registers with
// round to nearest and starts again from zero.
HT_DEVICE void ht_promote(float *master, float *chain)
{
    for (int q = 0; q < D_REGS; q++)
        master[q] = __fadd_rn(master[q], chain[q]);
    ht_clear(chain);
}

// The last chain, wherever it stands when k ends.
HT_DEVICE void ht_drain(float *chain, const float *master)
{
    for (int q = 0; q < D_REGS; q++)
        chain[q] = __fadd_rn(master[q], chain[q]);
}
