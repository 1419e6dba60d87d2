/* sim_warp: what the lanes of a warp do together once all of them have come to the same call: ldmatrix, mma,
 * shfl; MFMA (64 lanes) with the layouts of sim_mfma. Runs in the scheduler; knows fragment layouts, nothing of the order in which lanes came.
 *
 * Fragments of mma.m16n8k16 (PTX ISA, "Matrix Fragments for mma.m16n8k16"); lane = 4 g + t, g = 0..7,
 * t = 0..3. A cell shows register and the lanes' t; low half first:
 *
 *   A (16 x 16)   k: 0 1 | 2 3 | 4 5 | 6 7 | 8 9 | .. | 14 15      B (16 x 8)    n = g
 *   row g            a0:0  a0:1  a0:2  a0:3  a2:0       a2:3       k 2t, 2t+1     b0
 *   row g + 8        a1:0  a1:1  a1:2  a1:3  a3:0       a3:3       k 2t+8, 2t+9   b1
 *
 *   C, D (16 x 8)   n: 0 1 | 2 3 | 4 5 | 6 7
 *   row g              c0 c1 of t = 0, 1, 2, 3
 *   row g + 8          c2 c3 of t = 0, 1, 2, 3
 *
 * m16n8k8 is the left half: a0, a1, b0. Of FP64 a register is one number and lane t has k t + 4 i, rows and results as above (PTX ISA,
 * "Matrix Fragments for mma.m16n8k16 with floating point type", .f64). ldmatrix.x4: lane 8 i + r supplies the address of row r (16 bytes, 8
 * halves) of matrix i; afterwards register i of lane 4 g + t holds halves 2t, 2t+1 of row g of matrix i, transposed half g of rows 2t, 2t+1. */
#include "sim_internal.h"

#include <cmath>

namespace ht_sim {

static call &lane_call(engine &e, unsigned warp, unsigned lane) {
    return e.threads[warp * warp_size(e) + lane]->at;
}

/* Transposed: half c of row r goes to lane 4 c + r / 2, half r % 2 of its register. */
static bool perform_ldmatrix(engine &e, unsigned warp, bool transposed) {
    for (unsigned source = 0; source < WARP_SIZE; source++) {
        const call &c = lane_call(e, warp, source);
        access who = {warp * WARP_SIZE + source, c.line, call_name(c.kind), true};
        const unsigned char *row = shared_read(e, who, c.s, 16);
        if (row == nullptr)
            return false;
        unsigned matrix = source / 8, g = source % 8;
        for (unsigned t = 0; t < 4 && !transposed; t++)
            memcpy(&lane_call(e, warp, 4 * g + t).r[matrix], row + 4 * t, 4);
        for (unsigned half = 0; half < 8 && transposed; half++) {
            unsigned *r = &lane_call(e, warp, 4 * half + g / 2).r[matrix];
            memcpy(reinterpret_cast<unsigned char *>(r) + g % 2 * 2, row + 2 * half, 2);
        }
    }
    return true;
}

static int multiply_f16(const sim_mma_model *model, const mma_shape &shape, void *d, const void *a,
                        const void *b) {
    return sim_mma_f16(model, static_cast<int>(shape.row_bytes / 2), static_cast<float *>(d),
                       static_cast<const uint16_t *>(a), static_cast<const uint16_t *>(b));
}
static int multiply_bf16(const sim_mma_model *model, const mma_shape &shape, void *d, const void *a,
                         const void *b) {
    return sim_mma_bf16(model, static_cast<int>(shape.row_bytes / 2), static_cast<float *>(d),
                        static_cast<const uint16_t *>(a), static_cast<const uint16_t *>(b));
}
static int multiply_tf32(const sim_mma_model *model, const mma_shape &shape, void *d, const void *a,
                         const void *b) {
    return sim_mma_tf32(model, static_cast<int>(shape.row_bytes / 4), static_cast<float *>(d),
                        static_cast<const uint32_t *>(a), static_cast<const uint32_t *>(b));
}
static int multiply_s8(const sim_mma_model *, const mma_shape &shape, void *d, const void *a, const void *b) {
    return sim_mma_s8(static_cast<int>(shape.rows), static_cast<int>(shape.row_bytes),
                      static_cast<int32_t *>(d), static_cast<const int8_t *>(a),
                      static_cast<const int8_t *>(b));
}

const mma_shape mma_f16 = {16, 32, multiply_f16}, mma_bf16 = {16, 32, multiply_bf16},
                mma_tf32 = {16, 32, multiply_tf32}, mma_s8 = {16, 32, multiply_s8};

/* The picture above in bytes: a register is four of them, whatever the type. m8n8k16 is rows 0-7 of m16n8k32's left half:
 * a0, b0, c0, c1. An INT8 sum that leaves 32 bits would wrap on hardware, and is a violation here. */
static bool perform_mma(engine &e, unsigned warp, const mma_shape &shape) {
    enum { ROWS_MAX = 16, ROW_BYTES_MAX = 32, COLUMNS = 8 };
    alignas(4) unsigned char a[ROWS_MAX * ROW_BYTES_MAX], b[COLUMNS * ROW_BYTES_MAX];
    uint32_t d[ROWS_MAX * COLUMNS];
    const unsigned tall = shape.rows / 8, wide = shape.row_bytes / 16;
    for (unsigned lane = 0; lane < WARP_SIZE; lane++) {
        const call &c = lane_call(e, warp, lane);
        unsigned g = lane / 4, t = lane % 4;
        for (unsigned i = 0; i < tall * wide; i++)
            memcpy(&a[(g + 8 * (i % tall)) * shape.row_bytes + 4 * t + 16 * (i / tall)], &c.a[i], 4);
        for (unsigned i = 0; i < wide; i++)
            memcpy(&b[g * shape.row_bytes + 4 * t + 16 * i], &c.b[i], 4);
        for (unsigned i = 0; i < 2 * tall; i++)
            memcpy(&d[(g + 8 * (i >> 1)) * 8 + 2 * t + (i & 1)], static_cast<const char *>(c.d) + 4 * i, 4);
    }
    if (shape.multiply(e.launch->model, shape, d, a, b) != 0) {
        const call &c = lane_call(e, warp, 0);
        engine_fail(e, warp * WARP_SIZE, c.line, "carry or split k before 32 bits are full",
                    "%s: a sum of this warp leaves 32 bits", call_name(c.kind));
        return false;
    }
    for (unsigned lane = 0; lane < WARP_SIZE; lane++) {
        const call &c = lane_call(e, warp, lane);
        unsigned g = lane / 4, t = lane % 4;
        for (unsigned i = 0; i < 2 * tall; i++)
            memcpy(static_cast<char *>(c.d) + 4 * i, &d[(g + 8 * (i >> 1)) * 8 + 2 * t + (i & 1)], 4);
    }
    return true;
}

/* FP64: FMAs rounded to nearest, k by k. The order is assumed, no source tells it. */
template <unsigned ROWS, unsigned K> static void perform_mma_f64(engine &e, unsigned warp) {
    enum { COLUMNS = 8, T = 4 };
    double a[ROWS][K], b[COLUMNS][K];
    for (unsigned lane = 0; lane < WARP_SIZE; lane++) {
        const call &c = lane_call(e, warp, lane);
        const unsigned g = lane / T, t = lane % T;
        for (unsigned h = 0; h < K / T; h++) {
            for (unsigned r = 0; r < ROWS / 8; r++)
                memcpy(&a[g + 8 * r][t + T * h], c.a + ROWS / 4 * h + 2 * r, sizeof(double));
            memcpy(&b[g][t + T * h], c.b + 2 * h, sizeof(double));
        }
    }
    for (unsigned lane = 0; lane < WARP_SIZE; lane++) {
        double *const d = static_cast<double *>(lane_call(e, warp, lane).d);
        for (unsigned i = 0; i < ROWS / 4; i++)
            for (unsigned k = 0; k < K; k++)
                d[i] = std::fma(a[lane / T + i / 2 * 8][k], b[lane % T * 2 + i % 2][k], d[i]);
    }
}

static bool perform_shfl(engine &e, unsigned warp) {
    const unsigned lanes = warp_size(e);
    int values[LANES_MAX];
    for (unsigned lane = 0; lane < lanes; lane++)
        values[lane] = lane_call(e, warp, lane).value;
    for (unsigned lane = 0; lane < lanes; lane++) {
        call &c = lane_call(e, warp, lane);
        c.value = values[(lane ^ static_cast<unsigned>(c.lane_mask)) % lanes];
    }
    return true;
}

/* What a kernel calls the same for all lanes must be. */
static bool perform_uniform(engine &e, unsigned warp) {
    const call &first = lane_call(e, warp, 0);
    for (unsigned lane = 1; lane < warp_size(e); lane++) {
        if (lane_call(e, warp, lane).value != first.value) {
            engine_fail(e, warp * warp_size(e) + lane, first.line, "broadcast only what the whole warp agrees on",
                        "ht_uniform of %d, where lane 0 has %d", lane_call(e, warp, lane).value, first.value);
            return false;
        }
    }
    return true;
}

static bool perform_mfma(engine &e, unsigned warp, const sim_mfma &shape) {
    const unsigned *a[SIM_MFMA_LANES], *b[SIM_MFMA_LANES];
    void *d[SIM_MFMA_LANES];
    for (unsigned lane = 0; lane < SIM_MFMA_LANES; lane++) {
        const call &c = lane_call(e, warp, lane);
        a[lane] = c.a;
        b[lane] = c.b;
        d[lane] = c.d;
    }
    sim_mfma_run(&shape, d, a, b);
    return true;
}

bool warp_perform(engine &e, unsigned warp) {
    const call_kind kind = lane_call(e, warp, 0).kind;
    if (kind >= CALL_MFMA)
        return perform_mfma(e, warp, sim_mfma_table[kind - CALL_MFMA]);
    switch (kind) {
    case CALL_LDMATRIX:
        return perform_ldmatrix(e, warp, false);
    case CALL_LDMATRIX_TRANS:
        return perform_ldmatrix(e, warp, true);
    case CALL_MMA_16816:
        return perform_mma(e, warp, mma_f16);
    case CALL_MMA_1688:
        return perform_mma(e, warp, {16, 16, multiply_f16});
    case CALL_MMA_BF16_16816:
        return perform_mma(e, warp, mma_bf16);
    case CALL_MMA_TF32_1688:
        return perform_mma(e, warp, mma_tf32);
    case CALL_MMA_S8_16832:
        return perform_mma(e, warp, mma_s8);
    case CALL_MMA_S8_8816:
        return perform_mma(e, warp, {8, 16, multiply_s8});
    case CALL_MMA_F64_16816:
        perform_mma_f64<16, 16>(e, warp);
        return true;
    case CALL_MMA_F64_1688:
        perform_mma_f64<16, 8>(e, warp);
        return true;
    case CALL_MMA_F64_884:
        perform_mma_f64<8, 4>(e, warp);
        return true;
    case CALL_SHFL:
        return perform_shfl(e, warp);
    case CALL_UNIFORM:
        return perform_uniform(e, warp);
    default: /* sim_wgmma's, or no collective */
        return true;
    }
}

} // namespace ht_sim
