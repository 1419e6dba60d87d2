// epilogue/planes_sums: passes of FP64 by FP16 slices, one product for each pair of a slice of A and one of B. Sums of a pair are exact
// in FP32, whatever their order, since slices have so few bits (bench/ACCURACY64.md, section 17). Pairs are the slowest index of blocks.
//
//   plane of a pair: [ tile 0: 4 sums of each thread | the next 4 of each | ... ][ tile 1 ] ...
typedef ht_ozaki_args ht_pass_args;
typedef float ht_pass_sum;
constexpr int SUMS_AT_ONCE = 4; // in 16 bytes of a plane
constexpr int EXACT_STEPS = 0;  // sums stay exact for any k

struct ht_pass {
    int slice_a, slice_b;
};

static inline unsigned ht_pass_count(const ht_pass_args &g)
{
    return (unsigned)(g.most * g.most);
}

HT_DEVICE ht_pass ht_pass_of(const ht_pass_args &g)
{
    return {(int)blockIdx.z / g.most, (int)blockIdx.z % g.most};
}

// What a pass may lack, and is not multiplied then: so many slices of A, or of B, or levels.
HT_DEVICE bool ht_lacks_first(const ht_pass_args &g, const ht_pass &x)
{
    return x.slice_a >= ht_ldg_i32(g.chosen + HT_OZAKI_A);
}

HT_DEVICE bool ht_lacks_second(const ht_pass_args &g, const ht_pass &x)
{
    return x.slice_b >= ht_ldg_i32(g.chosen + HT_OZAKI_B);
}

HT_DEVICE bool ht_lacks_third(const ht_pass_args &g, const ht_pass &x)
{
    return x.slice_a + x.slice_b >= ht_ldg_i32(g.chosen + HT_OZAKI_LEVELS);
}

HT_DEVICE const unsigned char *ht_panels_of_a(const ht_pass_args &g, const ht_pass &x)
{
    return g.a.panels + x.slice_a * g.a.slice_stride;
}

HT_DEVICE const unsigned char *ht_panels_of_b(const ht_pass_args &g, const ht_pass &x)
{
    return g.b.panels + x.slice_b * g.b.slice_stride;
}

HT_DEVICE float ht_shortened(float sum, const ht_pass &)
{
    return sum;
}

// Where a thread's sums of a tile begin.
HT_DEVICE float *ht_plane_of(const ht_pass_args &g, const ht_pass &, long long tile, int tid)
{
    return g.planes + (int)blockIdx.z * g.plane_stride + tile * (BM * BN) + tid * SUMS_AT_ONCE;
}

HT_DEVICE void ht_store_sums(const ht_pass_args &, const ht_pass &, int, int, int, int, float *to, const float *sum)
{
    ht_stg16(to, make_uint4(ht_as_uint(sum[0]), ht_as_uint(sum[1]), ht_as_uint(sum[2]), ht_as_uint(sum[3])));
}
