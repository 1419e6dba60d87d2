// prim/crt_cuda: what FP64 by residues needs beside prim/cuda: integer operations alone. The simulator
// supplies the same names.
#define HT_TABLE static __constant__ const

// Zeros above the first one; 32 of 0.
HT_DEVICE int ht_clz(unsigned x)
{
    return __clz((int)x);
}

// The larger of both numbers stays, without any order to other accesses.
HT_DEVICE void ht_max_relaxed_i32(int *p, int v)
{
    asm volatile("red.relaxed.gpu.global.max.s32 [%0], %1;" ::"l"(__cvta_generic_to_global(p)), "r"(v) : "memory");
}

// A number that is read once for many uses: as a literal it would take an instruction for each.
HT_DEVICE unsigned ht_crt_weight(unsigned x)
{
    unsigned y;
    asm("mov.b32 %0, %1;" : "=r"(y) : "r"(x));
    return y;
}
