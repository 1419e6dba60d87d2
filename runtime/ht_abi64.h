/* ht_abi64.h: what the kernels of FP64 products and the runtime know of each other; ht_abi.h has the rest.
 * Pure C, no vendor header. */
#ifndef HT_ABI64_H
#define HT_ABI64_H

/*@abi*/
#ifndef HT_ABI64_VERSION
#define HT_ABI64_VERSION 1
/* By residues (schemes crt14 ... crt20): pack A, pack B (ht_crt_pack_args), one INT8 product for each
 * modulus (ht_crt_gemm_args), combine (ht_crt_combine_args). Panels: of each modulus ceil(rows / 64) x
 * k_blocks atoms of 64 rows x 128 k, one byte each, as in ht_abi.h; planes: of each modulus the residues of
 * all tiles of the product, in the order in which its threads hold them, which combine's template has from
 * it.
 *
 * One operand: element (row, k) is src[row * ld + k] when k_contiguous, else src[k * ld + row]; rows are
 * those of A, or columns of B. */
struct ht_crt_pack_args {
    const double *src;
    unsigned char *panels;
    int *exponents; /* of each row: s, or CRT_POISONED where it holds NaN or Inf */
    unsigned long long *measured; /* [segment of CRT_SEGMENT k][row, rounded up to 64]: used while packing */
    long long ld, src_stride; /* elements; strides between batch entries */
    long long modulus_stride, panel_stride; /* bytes between the panels of moduli, between batch entries */
    long long exponent_stride, measured_stride; /* elements */
    int rows, k;
    int k_blocks; /* ceil(k / 128) */
    int k_contiguous;
    int batch;
};
struct ht_crt_gemm_args {
    const unsigned char *a_panels, *b_panels;
    unsigned char *planes;
    long long a_modulus_stride, b_modulus_stride,
        plane_modulus_stride;                   /* bytes, between neighbouring moduli */
    long long a_stride, b_stride, plane_stride; /* bytes, between batch entries */
    int m, n;
    int k_blocks;
    int batch;
};
/* C(m x n, column-major, ldc) = alpha * A * B + beta * C, rounded once. beta == 0 does not read C, alpha ==
 * 0 ignores A and B. */
struct ht_crt_combine_args {
    const unsigned char *planes;
    const int *a_row_exponents, *b_col_exponents;
    double *c;
    const double *alpha_ptr,
        *beta_ptr; /* device pointers that win over the values below; NULL: use the values */
    long long plane_modulus_stride, plane_stride;                  /* bytes */
    long long ldc, c_stride, a_exponent_stride, b_exponent_stride; /* elements */
    int m, n;
    int batch;
    double alpha, beta;
};
/* By FP64 arithmetic (scheme native64): element (row, k) of A is a[row * a_ld + k] when a_k_contiguous,
 * else a[k * a_ld + row]; of B likewise, its rows being columns of B. C as above. */
struct ht_native64_args {
    const double *a, *b;
    double *c;
    const double *alpha_ptr, *beta_ptr;
    long long a_ld, b_ld, ldc, a_stride, b_stride, c_stride; /* elements; strides between batch entries */
    int m, n, k;
    int a_k_contiguous, b_k_contiguous;
    int batch;
    double alpha, beta;
};
#endif
/*@end*/

#endif
