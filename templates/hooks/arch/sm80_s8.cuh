// arch/sm80_s8: mma.sync m16n8k32 on signed 8-bit integers. Its fragments hold the bytes of m16n8k16's: a register is four
// k instead of two, so ldmatrix loads them the same way (PTX ISA, "Matrix Fragments for mma.m16n8k32").
#ifndef HT_SIMULATOR
HT_DEVICE void ht_mma_s8_16832(int *d, const unsigned *a, const unsigned *b)
{
    asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
                 "{%0, %1, %2, %3};"
                 : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
#endif

// d(16 x 8) += a(16 x 32) * b(32 x 8)
HT_DEVICE void ht_mma(int *d, const unsigned *a, const unsigned *b)
{
    ht_mma_s8_16832(d, a, b);
}
