/* residue_certificate: the certificate of FP64 products by residues (ACCURACY64.md, section 18), as arithmetic on the host: the scale
 * that packing gives a row of A or a column of B (section 14), and how many of its elements count. Which do, and how many are needed, is
 * ht_crt_certify's (runtime/ht_crt.h). Every function is the reference of what kernels compute, bit for bit. Knows nothing of matrices,
 * files or devices. */
#ifndef BENCH_RESIDUE_CERTIFICATE_H
#define BENCH_RESIDUE_CERTIFICATE_H

#include <stdint.h>

#include "../../../runtime/ht_crt.h"

/* What is known of up to HT_CRT_SEGMENT elements of a row: 0 where all are zero, else the biased exponent of the largest in the upper
 * 12 bits (all ones: NaN or Inf) and below, relative to it, an upper bound of the sum of squares. */
uint64_t residue_measure(const double *x, int64_t step, int64_t count);
/* s of a row: its elements times 2^s, rounded to nearest, are the integers; HT_CRT_POISONED where one is NaN or Inf, 0 where all are
 * zero or there is no such scheme. */
int residue_exponent(int moduli, const double *x, int64_t step, int64_t k);

enum { RESIDUE_NONE = -(1 << 30) }; /* the count of a row with NaN or Inf: nothing makes up for it */
struct residue_row {
    int exponent;
    int64_t large, zeros; /* elements that count; those that are 0 */
    int64_t count;        /* what packing stores: `large`; as many as are needed where all are zero */
};
struct residue_row residue_of_row(int moduli, const struct ht_certificate *c, const double *x, int64_t step, int64_t k);

#endif
