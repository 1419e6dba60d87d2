// stage/cp_async: hooks for units that copy from device to shared memory by cp.async (sm_80 and up): issue starts the copy,
// commit closes the group, wait leaves PENDING groups in flight. Nothing passes through registers, so complete
// and release are empty.
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
#endif

HT_DEVICE void ht_stage_copy_issue(uint4 *staged, unsigned to, const unsigned char *from)
{
    (void)staged;
    ht_cp_async16(to, from);
}

HT_DEVICE void ht_stage_release(void)
{
}

HT_DEVICE void ht_stage_copy_complete(const uint4 *staged, unsigned to)
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
