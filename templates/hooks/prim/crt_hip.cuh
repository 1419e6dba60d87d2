// prim/crt_hip: the counterpart of prim/crt_cuda.
#define HT_TABLE static __constant__ const

// c + a.0 b.0 + a.1 b.1 + a.2 b.2 + a.3 b.3 of signed bytes.
HT_DEVICE int ht_dp4a(unsigned a, unsigned b, int c)
{
    return __builtin_amdgcn_sdot4((int)a, (int)b, c, false);
}

// Zeros above the first one; 32 of 0.
HT_DEVICE int ht_clz(unsigned x)
{
    return x == 0 ? 32 : __builtin_clz(x);
}

// The larger of both numbers stays, without any order to other accesses.
HT_DEVICE void ht_max_relaxed_i32(int *p, int v)
{
    (void)__hip_atomic_fetch_max(p, v, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT);
}

HT_DEVICE unsigned ht_crt_weight(unsigned x)
{
    return x;
}
