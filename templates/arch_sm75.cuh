// arch_sm75: hooks for Turing. No cp.async: a stage is loaded into registers early (LDG), and stored to shared memory
// late (STS), after the block has read the stage it replaces (EGEMM-TC fig. 6). mma.sync m16n8k8, two for each 16-wide
// fragment.
#ifndef HT_SIMULATOR
HT_DEVICE void ht_mma_f16_1688(float *d, const unsigned *a, const unsigned *b)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}
#endif

HT_DEVICE void ht_stage_issue(uint4 *staged, unsigned to, const unsigned char *from)
{
    (void)to;
    *staged = ht_ldg16(from);
}

// With one buffer, everyone must have read the old stage before it is overwritten.
HT_DEVICE void ht_stage_free(void)
{
    if (STAGES == 1)
        ht_barrier();
}

HT_DEVICE void ht_stage_land(const uint4 *staged, unsigned to)
{
    ht_sts16(to, *staged);
}

HT_DEVICE void ht_stage_commit(void)
{
}

template <int PENDING> HT_DEVICE void ht_stage_wait(void)
{
}

// d(16 x 8) += a(16 x 16) * b(16 x 8), k 0-7 first
HT_DEVICE void ht_mma(float *d, const unsigned *a, const unsigned *b)
{
    ht_mma_f16_1688(d, a, b);
    ht_mma_f16_1688(d, a + 2, b + 1);
}
