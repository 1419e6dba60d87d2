// arch/sm75_f16: mma.sync m16n8k8, two for each 16-wide fragment.
#ifndef HT_SIMULATOR
HT_DEVICE void ht_mma_f16_1688(float *d, const unsigned *a, const unsigned *b)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(b[0]));
}
#endif

// d(16 x 8) += a(16 x 16) * b(16 x 8), k 0-7 first
HT_DEVICE void ht_mma(float *d, const unsigned *a, const unsigned *b)
{
    ht_mma_f16_1688(d, a, b);
    ht_mma_f16_1688(d, a + 2, b + 1);
}
