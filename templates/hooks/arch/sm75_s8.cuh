// arch/sm75_s8: mma.sync m8n8k16 on signed 8-bit integers, four for each m16n8k32 of later architectures, whose fragments
// are made of these: a[0], a[2] rows 0-7 with k 0-15, 16-31, a[1], a[3] rows 8-15; b[0], b[1] the two halves of k.
#ifndef HT_SIMULATOR
HT_DEVICE void ht_mma_s8_8816(int *d, const unsigned *a, const unsigned *b)
{
    asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+r"(d[0]), "+r"(d[1])
                 : "r"(a[0]), "r"(b[0]));
}
#endif

// d(16 x 8) += a(16 x 32) * b(32 x 8)
HT_DEVICE void ht_mma(int *d, const unsigned *a, const unsigned *b)
{
    ht_mma_s8_8816(d, a, b);
    ht_mma_s8_8816(d + 2, a + 1, b);
    ht_mma_s8_8816(d, a + 2, b + 1);
    ht_mma_s8_8816(d + 2, a + 3, b + 1);
}
