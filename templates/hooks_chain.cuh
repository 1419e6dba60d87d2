// hooks_chain: how chains on the matrix unit are opened, closed and added up.

HT_DEVICE void ht_clear(float *d)
{
    d[0] = d[1] = d[2] = d[3] = 0.0f;
}

// d += a * b with the product formed on the matrix unit from zero and added in FP32, round to nearest
// (Ootomo & Yokota 2022: accumulation outside the tensor core).
HT_DEVICE void ht_mma_outside(float *d, const unsigned *a, const unsigned *b)
{
    float t[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    ht_mma(t, a, b);
    d[0] = __fadd_rn(d[0], t[0]);
    d[1] = __fadd_rn(d[1], t[1]);
    d[2] = __fadd_rn(d[2], t[2]);
    d[3] = __fadd_rn(d[3], t[3]);
}

// Closes a chain: the matrix unit truncates as it accumulates, so a short chain is added to FP32 registers with
// round to nearest and starts again from zero.
HT_DEVICE void ht_promote(float *master, float *chain)
{
    master[0] = __fadd_rn(master[0], chain[0]);
    master[1] = __fadd_rn(master[1], chain[1]);
    master[2] = __fadd_rn(master[2], chain[2]);
    master[3] = __fadd_rn(master[3], chain[3]);
    ht_clear(chain);
}

// The last chain, wherever it stands when k ends.
HT_DEVICE void ht_drain(float *chain, const float *master)
{
    chain[0] = __fadd_rn(master[0], chain[0]);
    chain[1] = __fadd_rn(master[1], chain[1]);
    chain[2] = __fadd_rn(master[2], chain[2]);
    chain[3] = __fadd_rn(master[3], chain[3]);
}
