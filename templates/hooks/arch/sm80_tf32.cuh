// arch/sm80_tf32: mma.sync m16n8k8 on TF32. Its fragments hold the bytes of m16n8k16's: a register is one k instead of two,
// so ldmatrix loads them the same way (PTX ISA, "Matrix Fragments for mma.m16n8k8"). The unit ignores the last 13 bits.
#ifndef HT_SIMULATOR
HT_DEVICE void ht_mma_tf32_1688(float *d, const unsigned *a, const unsigned *b)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif

// d(16 x 8) += a(16 x 8) * b(8 x 8)
HT_DEVICE void ht_mma(float *d, const unsigned *a, const unsigned *b)
{
    ht_mma_tf32_1688(d, a, b);
}
