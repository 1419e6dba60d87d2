// prim/crt_hip: the counterpart of prim/crt_cuda.
#define HT_TABLE static __constant__ const

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
