/* sim_warp: what the 32 lanes of a warp do together once all of them have come to the same call: ldmatrix,
 * mma, shfl. Runs in the scheduler; knows fragment layouts, nothing of the order in which lanes came.
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
 * m16n8k8 is the left half: a0, a1, b0. ldmatrix.x4: lane 8 i + r supplies the address of row r (16 bytes, 8
 * halves) of matrix i; afterwards register i of lane 4 g + t holds halves 2t, 2t+1 of row g of matrix i. */
#include "sim_internal.h"

namespace ht_sim {

static call &lane_call(engine &e, unsigned warp, unsigned lane) {
    return e.threads[warp * WARP_SIZE + lane]->at;
}

static bool perform_ldmatrix(engine &e, unsigned warp) {
    for (unsigned source = 0; source < WARP_SIZE; source++) {
        const call &c = lane_call(e, warp, source);
        access who = {warp * WARP_SIZE + source, c.line, call_name(c.kind), true};
        const unsigned char *row = shared_read(e, who, c.s, 16);
        if (row == nullptr)
            return false;
        unsigned matrix = source / 8, g = source % 8;
        for (unsigned t = 0; t < 4; t++)
            memcpy(&lane_call(e, warp, 4 * g + t).r[matrix], row + 4 * t, 4);
    }
    return true;
}

static bool perform_mma(engine &e, unsigned warp, unsigned k) {
    uint16_t a[16 * SIM_MAX_K], b[8 * SIM_MAX_K];
    float d[16 * 8];
    for (unsigned lane = 0; lane < WARP_SIZE; lane++) {
        const call &c = lane_call(e, warp, lane);
        unsigned g = lane / 4, t = lane % 4;
        for (unsigned i = 0; i < k / 4; i++)
            memcpy(&a[(g + 8 * (i & 1)) * k + 2 * t + 8 * (i >> 1)], &c.a[i], 4);
        for (unsigned i = 0; i < k / 8; i++)
            memcpy(&b[g * k + 2 * t + 8 * i], &c.b[i], 4);
        for (unsigned i = 0; i < 4; i++)
            memcpy(&d[(g + 8 * (i >> 1)) * 8 + 2 * t + (i & 1)], static_cast<const float *>(c.d) + i, 4);
    }
    (void)sim_mma_f16(e.launch->model, static_cast<int>(k), d, a, b);
    for (unsigned lane = 0; lane < WARP_SIZE; lane++) {
        const call &c = lane_call(e, warp, lane);
        unsigned g = lane / 4, t = lane % 4;
        for (unsigned i = 0; i < 4; i++)
            memcpy(static_cast<float *>(c.d) + i, &d[(g + 8 * (i >> 1)) * 8 + 2 * t + (i & 1)], 4);
    }
    return true;
}

/* INT8: the same fragments, four bytes of k to a register instead of two halves. m16n8k32, or m8n8k16, which is its rows
 * 0-7 with a0, b0, c0, c1. Exact; a sum that leaves 32 bits would wrap on hardware, and is a violation here. */
static bool perform_mma_s8(engine &e, unsigned warp, unsigned rows, unsigned k) {
    int8_t a[16 * 2 * SIM_MAX_K], b[8 * 2 * SIM_MAX_K];
    int32_t d[16 * 8];
    const unsigned tall = rows / 8, wide = k / 16;
    for (unsigned lane = 0; lane < WARP_SIZE; lane++) {
        const call &c = lane_call(e, warp, lane);
        unsigned g = lane / 4, t = lane % 4;
        for (unsigned i = 0; i < tall * wide; i++)
            memcpy(&a[(g + 8 * (i % tall)) * k + 4 * t + 16 * (i / tall)], &c.a[i], 4);
        for (unsigned i = 0; i < wide; i++)
            memcpy(&b[g * k + 4 * t + 16 * i], &c.b[i], 4);
        for (unsigned i = 0; i < 2 * tall; i++)
            d[(g + 8 * (i >> 1)) * 8 + 2 * t + (i & 1)] = static_cast<const int *>(c.d)[i];
    }
    if (sim_mma_s8(static_cast<int>(rows), static_cast<int>(k), d, a, b) != 0) {
        const call &c = lane_call(e, warp, 0);
        engine_fail(e, warp * WARP_SIZE, c.line, "carry or split k before 32 bits are full",
                    "%s: a sum of this warp leaves 32 bits", call_name(c.kind));
        return false;
    }
    for (unsigned lane = 0; lane < WARP_SIZE; lane++) {
        const call &c = lane_call(e, warp, lane);
        unsigned g = lane / 4, t = lane % 4;
        for (unsigned i = 0; i < 2 * tall; i++)
            static_cast<int *>(c.d)[i] = d[(g + 8 * (i >> 1)) * 8 + 2 * t + (i & 1)];
    }
    return true;
}

static bool perform_shfl(engine &e, unsigned warp) {
    int values[WARP_SIZE];
    for (unsigned lane = 0; lane < WARP_SIZE; lane++)
        values[lane] = lane_call(e, warp, lane).value;
    for (unsigned lane = 0; lane < WARP_SIZE; lane++) {
        call &c = lane_call(e, warp, lane);
        c.value = values[(lane ^ static_cast<unsigned>(c.lane_mask)) % WARP_SIZE];
    }
    return true;
}

bool warp_perform(engine &e, unsigned warp) {
    switch (lane_call(e, warp, 0).kind) {
    case CALL_LDMATRIX:
        return perform_ldmatrix(e, warp);
    case CALL_MMA_16816:
        return perform_mma(e, warp, 16);
    case CALL_MMA_1688:
        return perform_mma(e, warp, 8);
    case CALL_MMA_S8_16832:
        return perform_mma_s8(e, warp, 16, 32);
    case CALL_MMA_S8_8816:
        return perform_mma_s8(e, warp, 8, 16);
    case CALL_SHFL:
        return perform_shfl(e, warp);
    case CALL_WGMMA:
    case CALL_WGMMA_FENCE:
    case CALL_WGMMA_COMMIT:
    case CALL_WGMMA_WAIT:
    case CALL_REGISTERS:
        return wgmma_perform(e, warp);
    case CALL_NONE:
    case CALL_EXIT:
    case CALL_MBAR_WAIT:
    case CALL_BARRIER:
        break;
    }
    return true;
}

} // namespace ht_sim
