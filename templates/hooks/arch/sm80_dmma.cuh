// arch/sm80_dmma: DMMA on sm_80, which has m8n8k4 alone (PTX ISA 9.0, "Matrix Fragments for mma.m8n8k4 with
// .f64"): four of them for what arch/sm90_dmma does by one.
#ifndef HT_SIMULATOR
// d += a * b^T. a: row g at k t; b: row g of it at k t; d: row g at columns 2t, 2t + 1.
HT_DEVICE void ht_mma_f64_884(double *d, const double *a, const double *b)
{
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(d[0]), "+d"(d[1])
                 : "d"(a[0]), "d"(b[0]));
}
#endif

// a: rows g, g + 8 at k t, then at k t + 4; b: row g of it at k t, t + 4; d: rows g, then g + 8, at columns
// 2t, 2t + 1.
HT_DEVICE void ht_multiply_1688(double *d, const double *a, const double *b)
{
    ht_mma_f64_884(d, a, b);
    ht_mma_f64_884(d + 2, a + 1, b);
    ht_mma_f64_884(d, a + 2, b + 1);
    ht_mma_f64_884(d + 2, a + 3, b + 1);
}
