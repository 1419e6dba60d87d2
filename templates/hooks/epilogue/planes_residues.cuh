// epilogue/planes_residues: passes of FP64 by residues, one INT8 product for each modulus; moduli are the slowest index of blocks, so
// that panels of one stay in L2. Sums become residues, a byte each:
//
//   plane of a modulus: [ tile 0: 16 bytes of each thread | the next 16 of each | ... ][ tile 1 ] ...
typedef ht_crt_args ht_pass_args;
typedef int ht_pass_sum;
constexpr int SUMS_AT_ONCE = 16;              // in 16 bytes of a plane
constexpr int EXACT_STEPS = CRT_EXACT_K / BK; // after which INT32 could overflow

struct ht_pass {
    int modulus, entry; // modulus CRT_MODULI: absolute values
};

static inline unsigned ht_pass_count(const ht_pass_args &g)
{
    return (unsigned)((g.tests ? 1 : CRT_MODULI) * g.batch);
}

HT_DEVICE ht_pass ht_pass_of(const ht_pass_args &g)
{
    return g.tests ? ht_pass{CRT_MODULI, (int)blockIdx.z} : ht_pass{(int)blockIdx.z % CRT_MODULI, (int)blockIdx.z / CRT_MODULI};
}

// What a pass may lack, and is not multiplied then: a product that is this scheme's, or the need of the modulus. Each is a
// function, for a condition of them all in one gives other machine code.
HT_DEVICE bool ht_lacks_first(const ht_pass_args &g, const ht_pass &x)
{
    return ht_crt_is_idle(g.counts, x.entry) || ht_crt_gives_up(g.failed, x.entry, g.tests != 0);
}

HT_DEVICE bool ht_lacks_second(const ht_pass_args &g, const ht_pass &x)
{
    return CRT_HAS_FEWER && !g.tests && x.modulus >= ht_crt_moduli(g.spans);
}

HT_DEVICE bool ht_lacks_third(const ht_pass_args &, const ht_pass &)
{
    return false;
}

HT_DEVICE const unsigned char *ht_panels_of_a(const ht_pass_args &g, const ht_pass &x)
{
    return g.a_packed.panels + x.entry * g.a_packed.stride + x.modulus * g.a_packed.modulus_stride;
}

HT_DEVICE const unsigned char *ht_panels_of_b(const ht_pass_args &g, const ht_pass &x)
{
    return g.b_packed.panels + x.entry * g.b_packed.stride + x.modulus * g.b_packed.modulus_stride;
}

// A sum that stays exact; of absolute values it does.
HT_DEVICE int ht_shortened(int sum, const ht_pass &x)
{
    return x.modulus == CRT_MODULI ? sum : ht_crt_residue(sum, CRT_MODULUS[x.modulus], CRT_BARRETT[x.modulus]);
}

// Where a thread's sums of a tile begin.
HT_DEVICE unsigned char *ht_plane_of(const ht_pass_args &g, const ht_pass &x, long long tile, int tid)
{
    return g.planes + x.entry * g.plane_stride + x.modulus * g.plane_modulus_stride + tile * (BM * BN) + tid * SUMS_AT_ONCE;
}

HT_DEVICE void ht_store_sums(const ht_pass_args &g, const ht_pass &x, int m0, int n0, int tid, int first, unsigned char *to, int *sum)
{
    if (x.modulus == CRT_MODULI)
        ht_crt_store_failed(g, x.entry, m0, n0, tid, first, to, sum);
    else
        ht_crt_store_residues(to, sum, g.adds != 0, CRT_MODULUS[x.modulus], CRT_BARRETT[x.modulus]);
}
