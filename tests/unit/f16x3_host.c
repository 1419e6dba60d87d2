/* f16x3_host: one element of a product by scheme f16x3 as NVIDIA's kernels compute it, on the host, bit for
 * bit: splits, MMAs of 16 k in the simulator's arithmetic, promotion. Not split-K. For searches that need
 * millions of single elements; test_certificate.c includes it, test_certificate.py holds it to the kernels. */
#include "../../bench/halftone/accuracy/certificate.h"
#include "../../runtime/sim/sim_f16.h"
#include "../../runtime/sim/sim_mma.h"

struct f16x3_host {
    const char *model;     /* as sim_mma_find has them: "sm80", "sm90" */
    int promote_k;         /* k of a chain, at most 128: 32 in sets for sm_80, 64 in those for sm_90 */
    int corrections_first; /* of a whole chain before its main products, as warpgroups have them */
};

enum { MMA_K = 16, CHAIN_STEPS_MOST = 8 };

struct step { /* slices of 16 k */
    uint16_t a_hi[MMA_K], a_lo[MMA_K], b_hi[MMA_K], b_lo[MMA_K];
};

static void split(const float *x, int count, uint16_t hi[MMA_K], uint16_t lo[MMA_K]) {
    for (int i = 0; i < MMA_K; i++) {
        float slice[2];
        certificate_split(i < count ? x[i] : 0.0f, slice);
        hi[i] = sim_f16_rn(slice[0]);
        lo[i] = sim_f16_rn(slice[1]);
    }
}

static float add_chain(const struct f16x3_host *unit, const struct sim_mma_model *model, const struct step *s,
                       int steps) {
    float chain = 0.0f;
    for (int i = 0; i < steps; i++) {
        chain = sim_dot_f16(model, MMA_K, chain, s[i].a_lo, s[i].b_hi);
        chain = sim_dot_f16(model, MMA_K, chain, s[i].a_hi, s[i].b_lo);
        if (!unit->corrections_first)
            chain = sim_dot_f16(model, MMA_K, chain, s[i].a_hi, s[i].b_hi);
    }
    for (int i = 0; i < steps && unit->corrections_first; i++)
        chain = sim_dot_f16(model, MMA_K, chain, s[i].a_hi, s[i].b_hi);
    return chain;
}

/* The sum of a[i] b[i], both scaled as packing does; k is padded with zeros. Before the scales are undone. */
float f16x3_host_dot(const struct f16x3_host *unit, const float *a, const float *b, int k) {
    const struct sim_mma_model *model = sim_mma_find(unit->model);
    struct step s[CHAIN_STEPS_MOST];
    float sum = 0.0f;
    for (int at = 0; at < k; at += unit->promote_k) {
        const int here = k - at < unit->promote_k ? k - at : unit->promote_k,
                  steps = (here + MMA_K - 1) / MMA_K;
        for (int i = 0; i < steps; i++) {
            const int count = here - MMA_K * i < MMA_K ? here - MMA_K * i : MMA_K;
            split(a + at + MMA_K * i, count, s[i].a_hi, s[i].a_lo);
            split(b + at + MMA_K * i, count, s[i].b_hi, s[i].b_lo);
        }
        sum += add_chain(unit, model, s, steps);
    }
    return sum;
}
