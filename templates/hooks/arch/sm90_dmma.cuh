// arch/sm90_dmma: DMMA on sm_90 (PTX ISA 9.0, "Matrix Fragments for mma.m16n8k16 with floating point type", .f64).
#ifndef HT_SIMULATOR
// d += a * b^T. a: rows g, g + 8 at k t, then at k t + 4, ...; b: row g of it at k t, t + 4, ...; d: rows g, then g + 8, at columns 2t, 2t + 1.
HT_DEVICE void ht_mma_f64_16816(double *d, const double *a, const double *b)
{
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7, %8, %9, %10, %11}, "
                 "{%12, %13, %14, %15}, {%0, %1, %2, %3};"
                 : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]),
                   "d"(b[2]), "d"(b[3]));
}

// The same of 8 k.
HT_DEVICE void ht_mma_f64_1688(double *d, const double *a, const double *b)
{
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                 : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])
                 : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
}
#endif
