/* sim_mma: bit-exact arithmetic of matrix units, one table row per architecture. Plain C; knows nothing of kernels,
 * lanes or fragments, only of matrices. AMD's units (64 lanes in the table) compute otherwise: sim_mfma.h.
 *
 * An NVIDIA unit computes d = c + sum(a[i] * b[i]) in groups of k, in order; c of the next group is d of the one
 * before. Within a group:
 *   1. products are exact: significands multiplied as integers, exponent ea + eb, NOT normalised
 *      (1 <= |p| < 4); a subnormal input has the smallest normal exponent and a leading zero;
 *   2. emax = largest exponent of the nonzero products (ea + eb) and of c (FP32; subnormal c: -126, zero c: none);
 *   3. every term is cut toward zero to F fraction bits below 2^emax;
 *   4. the cut terms are added exactly, and the sum is normalised and cut toward zero to FP32
 *      (subnormal results are kept; 2^128 and more is infinity; a zero sum is +0);
 *   5. NaN, infinity - infinity and infinity * 0 give 0x7fffffff.
 * Sources: Fasi, Higham, Mikaitis, Pranesh, "Numerical behavior of NVIDIA tensor cores", PeerJ CS 7:e330
 * (2021); Khattak, Mikaitis (2025); Xie et al., "MMA-Sim", arXiv:2511.10909 (2025): F = 23 Volta, 24
 * Turing/Ampere/Ada, 25 Hopper; emax over the exponents of the unnormalised products. That a zero c does not hold emax
 * at -126: bits of the H200 (set a800, scheme tf32, family subnormal). `halftone profile` compares a
 * GPU with this model and with others. */
#ifndef HT_SIM_MMA_H
#define HT_SIM_MMA_H

#include <stdbool.h>
#include <stdint.h>

#include "../ht_ieee.h"

#if defined(__cplusplus) && !defined(HT_SIM_LOCAL)
extern "C" {
#endif

struct sim_mma_model {
    const char *name;
    int fraction_bits;  /* F: bits kept below the unit of the largest exponent */
    int group_k;        /* 16-bit inputs: products added together with c; TF32: half as many */
    int least_exponent; /* of the alignment: smaller terms align as if there were one of it */
    int lanes;          /* of a warp or wavefront */
    int smem_bytes;     /* most shared memory (LDS) of a block */
};

/* An input format: sign, exponent and fraction bits. FP16 is {5, 10}, BF16 {8, 7}, TF32 {8, 10}. */
struct sim_format {
    int exponent_bits, fraction_bits;
};

/* A decoded input: value = significand * 2^(exponent - fraction_bits). */
struct sim_term {
    int32_t significand; /* signed; not 0 for infinity (sign) and NaN */
    int32_t exponent;    /* or one of the marks below */
};

enum {
    SIM_MAX_K = 16,
    SIM_ZERO_EXPONENT = -4096, /* below every real one, also as the exponent of a product */
    SIM_INFINITY_EXPONENT = 4096,
    SIM_NAN_EXPONENT = 4097
};

extern const struct sim_format sim_format_f16, sim_format_bf16, sim_format_tf32, sim_format_f32;

/* NULL for an unknown name. */
const struct sim_mma_model *sim_mma_find(const char *name);

struct sim_term sim_mma_decode(struct sim_format format, uint32_t bits);

/* c + a . b over k decoded inputs of one format, `group` products at a time; c and the result as FP32 bits.
 */
uint32_t sim_mma_dot(const struct sim_mma_model *model, struct sim_format format, int group, int k,
                     uint32_t c, const struct sim_term *a, const struct sim_term *b);

/* The same for k <= SIM_MAX_K FP16 inputs. */
float sim_dot_f16(const struct sim_mma_model *model, int k, float c, const uint16_t *a, const uint16_t *b);

/* d (16 x 8, row-major) += a (16 x k, row-major) * b (k x 8, element (kk, n) at b[n * k + kk]); 0, or -1 for
 * a k that is not 8 or 16. */
int sim_mma_f16(const struct sim_mma_model *model, int k, float *d, const uint16_t *a, const uint16_t *b);

/* The same on BF16, k 8 or 16; on TF32, k 4 or 8: FP32 bits of which the unit ignores the last 13. */
int sim_mma_bf16(const struct sim_mma_model *model, int k, float *d, const uint16_t *a, const uint16_t *b);
int sim_mma_tf32(const struct sim_mma_model *model, int k, float *d, const uint32_t *a, const uint32_t *b);

/* d (rows x 8) += a (rows x k) * b (k x 8) on signed bytes, laid out as above; exact on every model. -1 when a sum leaves 32
 * bits (hardware wraps). */
int sim_mma_s8(int rows, int k, int32_t *d, const int8_t *a, const int8_t *b);

/* ---- sim_mma_wide.c ---- */

enum { SIM_WIDE_COLUMNS = 8, SIM_WIDE_ROWS = 16 };

/* An operand as it comes: 16-bit formats, or TF32 without the 13 bits that the unit ignores. */
struct sim_operands {
    struct sim_format format;
    int k, group;      /* group: products added together */
    const uint32_t *a; /* SIM_WIDE_ROWS x k, row-major */
    const uint32_t *b; /* k x SIM_WIDE_COLUMNS, row-major */
};

/* d (16 x 8, row-major) += a * b. False, and d as it was, where a number is infinite or NaN, a result subnormal, the model's sums
 * exceed 32 bits, or the processor is another. */
bool sim_mma_wide(const struct sim_mma_model *model, const struct sim_operands *x, float *d);

/* sim_mma_s8 for k <= SIM_WIDE_S8_K; *code is what it returns. False, and d as it was, on another processor. */
enum { SIM_WIDE_S8_K = 32 };
bool sim_mma_s8_wide(int rows, int k, int32_t *d, const int8_t *a, const int8_t *b, int *code);

#if defined(__cplusplus) && !defined(HT_SIM_LOCAL)
}
#endif
#endif
