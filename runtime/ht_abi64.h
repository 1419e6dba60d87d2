/* ht_abi64.h: what the kernels of FP64 products and the runtime know of each other; ht_abi.h has the rest.
 * Pure C, no vendor header. */
#ifndef HT_ABI64_H
#define HT_ABI64_H

#include "ht_abi.h"

/*@abi*/
#ifndef HT_ABI64
#define HT_ABI64
enum { HT_CRT_COUNTS_AT = 64 }; /* where counts of tiles begin: below */
/* What a sample tells before packing, in counts[HT_CRT_COUNTS_ROUTE]: nothing, that counts will be too few, or that the
 * other scheme would keep too little as well. Each keeps the bound. */
enum { HT_CRT_COUNTS_ROUTE = 1, HT_CRT_ROUTE_SECOND = 1, HT_CRT_ROUTE_NONE };
/* How many moduli a correctly rounded product takes, in `spans`; before it sizes of A and B. */
enum { HT_CRT_SPANS_MODULI = 2 };
/* By residues (schemes crt14 ... crt20): pack A, pack B (ht_crt_pack_args), one INT8 product for each modulus, combine
 * (ht_crt_args). By digits (scheme i8x28) panels are of digits, the first of which weighs most, and product and
 * combination one kernel, without planes or counts. Panels: of each modulus ceil(rows / 64) x k_blocks atoms of 64 rows
 * x 128 k, one byte each, as in ht_abi.h; planes: of each modulus the residues of all tiles of the product, in the order
 * in which its threads hold them, which combine's template has from it. */
struct ht_crt_packed {
    unsigned char *panels;
    int *exponents; /* of each row: s, or CRT_POISONED where it holds NaN or Inf */
    unsigned long long *measured; /* [segment of CRT_SEGMENT k][row, rounded up to 64]: used while packing */
    /* NULL, or where the product is correctly rounded, of each row: upper bound of the scaled integers' 1-norm in
     * units of 2^32, and in bit 63 whether any of them was rounded. Behind `measured` are then as many places again. */
    unsigned long long *norms;
    /* NULL, or behind the last modulus' panels are those of absolute values' digits (check/crt_abs). Of each row: k / 4
     * and the sum of the scaled absolute values, rounded up; of zeros -FLT_MAX, with NaN or Inf NaN. */
    float *sums;
    long long stride, modulus_stride; /* bytes, of panels: between batch entries, neighbouring moduli */
    long long exponent_stride, measured_stride; /* elements, between batch entries; of sums and norms, too */
};
/* A certified product counts while packing: of each row how many elements are at least 2^count_exponent in the
 * scaled integers' units. Counts of an operand's entry: [0] the least of all rows, and from HT_CRT_COUNTS_AT on those of
 * each 1,024 k, of rows rounded up to 64. A row of zeros has as many as are needed, one with NaN or Inf far below 0.
 *
 * Where the least of A and of B together are fewer than needed, another scheme computes the product, of more moduli and
 * one plane more, of absolute values, which tells element by element what residues keep. The rest is FP64 arithmetic's. */
struct ht_crt_counts {
    const int *a, *b;             /* NULL: the data are not asked */
    long long a_stride, b_stride; /* elements, between batch entries */
    int needed;                   /* of a row and a column together */
    int second;                   /* 1: of the other scheme */
};
struct ht_crt_failed {
    unsigned *bits;   /* NULL: none. Of elements of C, as ht_gemm_args has them */
    long long stride; /* words, between batch entries */
    long long *left;  /* of each entry, how many; NULL: not counted */
    long long most;   /* where more are left residues compute none */
    float factor;     /* 2^52 / (units - 1) + 1, rounded up, where 2^-53 units |A||B| is the bound */
};
/* Of operands that are packed together, of one entry each, for the scheme that counts. */
struct ht_crt_sample {
    int asked;    /* 1: packing begins with it */
    int limit[2]; /* rows scaled have sums of squares of at most 2^limit: of this scheme, of the other */
    int most;     /* of the pairs sampled, that the other scheme may not keep */
    float factor; /* as of ht_crt_failed; 0: there is no other scheme */
};
struct ht_crt_pack_args {
    struct ht_view of;
    struct ht_crt_packed to;
    int *counts;    /* NULL: nothing is counted */
    double *copy;   /* NULL, or the matrix itself: [row, rounded up to 64][k, rounded up to 2]; of one entry */
    int *spans; /* NULL: all moduli; else of `norms`: operands are packed together, and as few as they take */
    long long count_stride; /* elements, between batch entries */
    /* With `to.sums`, of rows that are measured: where counts are too few (all NULL: in any case). A's also clears bits
     * and numbers of what fails, of so many entries of C for each of its own. */
    struct ht_crt_counts asked;
    struct ht_crt_failed failed;
    struct ht_crt_sample sample; /* of both operands */
    int failed_entries;
    int count_exponent, count_needed;
    int k_first;  /* of the panels: a multiple of 1024; above 0 rows have been measured by the call for 0, of all k */
    int k_blocks; /* of 128 k from there on; what is left behind them is packed by other calls, the last counts */
    int batch;
};
/* C is rounded once. Instead of the combination each element may be correctly rounded, whatever the data: from residues
 * where that decides it, else from a and b, which no other kernel reads. */
struct ht_crt_args {
    struct ht_view a, b;
    struct ht_crt_packed a_packed, b_packed; /* strides are 0 where all entries share one */
    unsigned char *planes;
    long long plane_stride, plane_modulus_stride; /* bytes, between batch entries, neighbouring moduli */
    struct ht_crt_counts counts;
    struct ht_crt_failed failed;
    struct ht_result to;
    const int *spans; /* NULL: all moduli; fewer: nothing was rounded */
    int *undecided; /* a bit for each element of a tile: scratch of correctly rounded results */
    long long undecided_stride; /* ints between batch entries */
    int m, n;
    int k_blocks;
    int batch;
    int adds;  /* 1: to the residues that the planes hold of other k */
    int tests; /* 1: of absolute values alone; leaves a byte for each element, 1 where residues do not keep it */
};
/* By FP16 slices (scheme ozaki; Mukunoki et al. 2020, algorithms 1 to 3). Slice s of row i is worth 2^exponents[s] of
 * FP16 numbers that are multiples of 2^-bits; panels: of each slice ceil(rows / 64) x k_blocks atoms of 64 rows x
 * 64 k, as in ht_abi.h. Rows are those of A, or columns of B; their number is rounded up to 64 (padded). */
enum ht_ozaki_mode {
    HT_OZAKI_DP,    /* d by algorithm 3, `most` at most; fast mode unless A was split to its end */
    HT_OZAKI_FIXED, /* `most` slices, fast mode */
    HT_OZAKI_CR     /* until nothing is left, `most` at most; all products */
};
struct ht_ozaki_operand {
    struct ht_view of;
    unsigned char *panels;
    double *rest;   /* [padded][k_blocks * 64]: what is not split yet */
    int *exponents; /* [slice][padded]; the first HT_OZAKI_POISONED: NaN, Inf, or more slices than `most` */
    int *slices;    /* [padded]: so far, and HT_OZAKI_LEFT where something is left */
    long long slice_stride; /* bytes, of panels */
    int padded;
};
enum { HT_OZAKI_POISONED = 1 << 20, HT_OZAKI_LEFT = 1 << 16 };
/* What the data decided: products of slice p of A and q of B with p < A, q < B and p + q < LEVELS; D: algorithm 3's;
 * FIELD: largest exponent field in B. */
enum { HT_OZAKI_A, HT_OZAKI_B, HT_OZAKI_LEVELS, HT_OZAKI_D, HT_OZAKI_FIELD, HT_OZAKI_CHOSEN = 8 };
struct ht_ozaki_pack_args {
    struct ht_ozaki_operand operand[2];
    double *weights; /* [k_blocks * 64]: |B| e, over the power of two below B's largest */
    int *fields;     /* [padded of B / 64][k_blocks * 2]: largest exponent fields */
    int *chosen;     /* [HT_OZAKI_CHOSEN] */
    double limit;    /* 2 sqrt(k) 2^-53; of_floats: 2^-24 */
    int k_blocks;
    int bits; /* of a slice: 53 - rho */
    int most; /* slices */
    int mode; /* enum ht_ozaki_mode */
    int of_floats; /* A and B are, not FP64 */
};
/* Product and combination of a block of C; panels and exponents of A and B begin with its first row and column. Planes:
 * of each pair of slices p * most + q the sums of all tiles, in the order in which threads hold them. C = alpha S + beta
 * C: S is the sum in FP64, q by q, of each p by p; of HT_OZAKI_CR the exact sum rounded once, and alpha S too where beta
 * is 0 and alpha a power of two. */
struct ht_ozaki_args {
    struct ht_ozaki_operand a, b;
    float *planes;
    const int *chosen;
    long long plane_stride; /* floats, from pair to pair */
    struct ht_result to;
    int m, n;
    int k_blocks;
    int bits, most, mode; /* as above */
    int of_floats; /* scalars on the device and C are: rounded once more */
};
/* By FP64 arithmetic (scheme native64). */
struct ht_native64_args {
    struct ht_view a, b;
    struct ht_result to;
    double *partial; /* split-K partials, as of ht_gemm_args, FP64 */
    struct ht_crt_counts counts; /* where they are: a product that has too few, and of it with `failed` what residues leave */
    struct ht_crt_failed failed;
    long long *recomputed; /* as of ht_gemm_args: elements alone, and in tiles */
    int m, n;
    int splits; /* of k; 1: alpha and beta are applied here */
    int batch;
};
#endif
/*@end*/

#endif
