// arch_sm80: hooks for sm_80 and up: cp.async from device to shared memory, mma.sync m16n8k16.
#ifndef HT_SIMULATOR
HT_DEVICE void ht_cp_async16(unsigned s, const void *g)
{
    asm volatile("cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(s), "l"(__cvta_generic_to_global(g)) : "memory");
}

HT_DEVICE void ht_cp_async_commit(void)
{
    asm volatile("cp.async.commit_group;" ::: "memory");
}

template <int PENDING> HT_DEVICE void ht_cp_async_wait(void)
{
    asm volatile("cp.async.wait_group %0;" ::"n"(PENDING) : "memory");
}

HT_DEVICE void ht_mma_f16_16816(float *d, const unsigned *a, const unsigned *b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif

// A stage travels by cp.async: issue starts the copy, commit closes the group, wait leaves PENDING groups in flight.
// Nothing passes through registers, so landing and freeing are empty.
HT_DEVICE void ht_stage_issue(uint4 *staged, unsigned to, const unsigned char *from)
{
    (void)staged;
    ht_cp_async16(to, from);
}

HT_DEVICE void ht_stage_free(void)
{
}

HT_DEVICE void ht_stage_land(const uint4 *staged, unsigned to)
{
    (void)staged;
    (void)to;
}

HT_DEVICE void ht_stage_commit(void)
{
    ht_cp_async_commit();
}

template <int PENDING> HT_DEVICE void ht_stage_wait(void)
{
    ht_cp_async_wait<PENDING>();
}

// d(16 x 8) += a(16 x 16) * b(16 x 8)
HT_DEVICE void ht_mma(float *d, const unsigned *a, const unsigned *b)
{
    ht_mma_f16_16816(d, a, b);
}
