// stage/via_registers: hooks for units without asynchronous copies (Turing, CDNA 2). A stage is loaded into registers early,
// and stored to shared memory late, after the block has read the stage it replaces (EGEMM-TC fig. 6).

HT_DEVICE void ht_stage_copy_issue(uint4 *staged, unsigned to, const unsigned char *from)
{
    (void)to;
    *staged = ht_ldg16(from);
}

// With one buffer, everyone must have read the old stage before it is overwritten.
HT_DEVICE void ht_stage_release(void)
{
    if (STAGES == 1)
        ht_barrier();
}

HT_DEVICE void ht_stage_copy_complete(const uint4 *staged, unsigned to)
{
    ht_sts16(to, *staged);
}

HT_DEVICE void ht_stage_commit(void)
{
}

template <int PENDING> HT_DEVICE void ht_stage_wait(void)
{
}
