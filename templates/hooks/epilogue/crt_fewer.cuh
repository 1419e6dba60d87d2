// epilogue/crt_fewer: constants of any number of moduli that a scheme knows, in shared memory, instead of all moduli's
// (epilogue/crt_value). Weights and product are those of so many moduli times 2^shift, so that what is computed has the
// places and bounds of all: X comes out times 2^shift, and moduli that are left out weigh nothing.
constexpr int CRT_FEWER_GROUPS = (CRT_MODULI + 3) / 4, CRT_FEWER_WEIGHTS = CRT_MODULI * CRT_FEWER_GROUPS,
              CRT_FEWER_WORDS = CRT_FEWER_WEIGHTS + 2 * CRT_VALUE_WORDS + 2, CRT_FEWER_BYTES = CRT_FEWER_WORDS * 4;

struct ht_crt_fewer {
    unsigned smem;
};

HT_DEVICE unsigned ht_crt_fewer_word(const ht_crt_fewer &of, int at)
{
    return ht_as_uint(ht_lds4(of.smem + (unsigned)at * 4));
}

HT_DEVICE void ht_crt_weights(const ht_crt_fewer &of, int digit, unsigned *weight)
{
#pragma unroll
    for (int g = 0; g < CRT_FEWER_GROUPS; g++) {
        weight[g] = ht_crt_fewer_word(of, digit * CRT_FEWER_GROUPS + g);
    }
}

HT_DEVICE int ht_crt_product_pair(const ht_crt_fewer &of, int pair)
{
    return (int)ht_crt_fewer_word(of, CRT_FEWER_WEIGHTS + pair);
}

HT_DEVICE int ht_crt_quotient(const ht_crt_fewer &of)
{
    return (int)ht_crt_fewer_word(of, CRT_FEWER_WEIGHTS + 2 * CRT_VALUE_WORDS);
}

HT_DEVICE int ht_crt_shift_of(const ht_crt_fewer &of)
{
    return (int)ht_crt_fewer_word(of, CRT_FEWER_WORDS - 1);
}

// By a whole block; a barrier is to follow.
template <int THREADS> HT_DEVICE void ht_crt_copy_fewer(const ht_crt_fewer &to, int moduli)
{
    for (int i = (int)threadIdx.x; i < CRT_FEWER_WORDS; i += THREADS)
        ht_sts4(to.smem + (unsigned)i * 4, ht_as_float(CRT_FEWER[moduli - CRT_FEWEST][i]));
}
