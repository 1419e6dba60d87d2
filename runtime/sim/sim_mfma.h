/* sim_mfma: AMD's MFMA instructions on gfx90a: where a wavefront's lanes hold the elements of A, B, C and D, and the
 * arithmetic. Plain C; knows nothing of kernels or threads.
 *
 * Layout (AMD Matrix Instruction Calculator, `--detail-instruction`, architecture gfx90a; the same in "AMD matrix
 * cores", AMD lab notes, 2022). All instructions here have one block and, in each lane, Q neighbouring k of an operand: four,
 * with FP32 one.
 *
 *   A[i][k]     lane i + M (k / Q), element k % Q of its registers, lowest bits first
 *   B[k][j]     lane j + N (k / Q), element k % Q
 *   C, D[i][j]  lane j + N (i / 4 % (64 / N)), register i % 4 + 4 (i / (256 / N))
 *
 * 32x32: D register r of lane l is row r % 4 + 8 (r / 4) + 4 (l / 32), column l % 32; 16x16: row r + 4 (l / 16), column
 * l % 16.
 *
 * Arithmetic (Xie et al., "MMA-Sim", arXiv:2511.10909, whose authors compared it with the hardware; ROCm documentation,
 * "MI200 MFMA behavior specifics": subnormal inputs and outputs are flushed). FP16 and BF16_1K: subnormal inputs and c
 * become +0; k is taken in groups of four, in order: c + ((p0 + p1) + (p2 + p3)), products and each sum in FP32, to
 * nearest even, subnormal results flushed to zero with their sign. INT8: exact modulo 2^32. FP32: c = fma(a[k], b[k], c), one k after the
 * other, nothing flushed: the same authors' model of CDNA 2 (github.com/microsoft/MMA-Sim), and "FP32 and FP64 MFMA matrix
 * instructions do not flush input and output denormal values to zero" (PyTorch documentation, "Numerical accuracy", on AMD
 * Instinct MI200; MIOpen's "MI200 MFMA behavior specifics" names FP16 and BF16 alone). */
#ifndef HT_SIM_MFMA_H
#define HT_SIM_MFMA_H

#include "../ht_ieee.h"

#if defined(__cplusplus) && !defined(HT_SIM_LOCAL)
extern "C" {
#endif

enum { SIM_MFMA_LANES = 64 };
enum sim_mfma_type { SIM_MFMA_F16, SIM_MFMA_BF16, SIM_MFMA_I8, SIM_MFMA_F32 };

struct sim_mfma {
    const char *name; /* of the function that kernels call */
    int m, n, k;
    enum sim_mfma_type type;
};

/* The calls: name, row of the table, type of C and D. */
#define HT_SIM_MFMA_CALLS(X)                                                                                 \
    X(f32_32x32x8f16, 0, float)                                                                              \
    X(f32_16x16x16f16, 1, float)                                                                             \
    X(f32_32x32x8bf16_1k, 2, float)                                                                          \
    X(i32_32x32x8i8, 3, int)                                                                                 \
    X(f32_16x16x16bf16_1k, 4, float)                                                                         \
    X(i32_16x16x16i8, 5, int)                                                                                \
    X(f32_16x16x4f32, 6, float)
enum { SIM_MFMA_COUNT = 7 };
extern const struct sim_mfma sim_mfma_table[SIM_MFMA_COUNT];

/* Elements that a lane has of an operand; the row (of A; column of B) and k of element e. */
int sim_mfma_k_lane(const struct sim_mfma *s);
void sim_mfma_operand(const struct sim_mfma *s, int lane, int e, int *row, int *k);
/* Row and column of register r of a lane's C and D. */
void sim_mfma_result(const struct sim_mfma *s, int lane, int r, int *row, int *col);

/* d += a * b for a wavefront: each lane's registers. */
void sim_mfma_run(const struct sim_mfma *s, void *const *d, const unsigned *const *a,
                  const unsigned *const *b);

#if defined(__cplusplus) && !defined(HT_SIM_LOCAL)
}
#endif
#endif
