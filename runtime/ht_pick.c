/* ht_pick.c: which kernel and which split-K for a shape: cheapest by ht_cost_ns. Pure functions of their
 * arguments; knows nothing of devices, workspaces or schemes beyond their names. */
#include <string.h>

#include "ht_desc.h"

static int64_t cost_of(const struct ht_set_desc *set, const struct ht_kernel_desc *kernel, int64_t m,
                       int64_t n, int64_t k, int64_t batch, int64_t splits) {
    return ht_cost_ns(&kernel->cost, kernel->bm, kernel->bn, set->sms, set->clock_mhz, set->l2_gbps,
                      set->dram_gbps, set->launch_ns, m, n, k, batch, splits);
}

/* 1, 2, 3, 4, 6, 8, 12, 16, 24, ...: powers of two and the points halfway between them. */
static int next_splits(int splits) {
    int is_power = (splits & (splits - 1)) == 0;
    if (splits == 1)
        return 2;
    return is_power ? splits / 2 * 3 : splits / 3 * 4;
}

struct ht_choice ht_pick_splits(const struct ht_set_desc *set, int kernel, int64_t m, int64_t n, int64_t k,
                                int64_t batch, int64_t partial_bytes) {
    const struct ht_kernel_desc *desc = &set->kernel[kernel];
    struct ht_choice best = {kernel, 1, cost_of(set, desc, m, n, k, batch, 1)};
    int64_t steps = ht_ceil_div(k, desc->cost.step_k);
    for (int splits = 2; splits <= HT_PICK_SPLITS_MAX && steps / splits >= HT_PICK_STEPS;
         splits = next_splits(splits)) {
        if (ht_partial_bytes(m, n, batch, splits) > partial_bytes)
            break;
        int64_t ns = cost_of(set, desc, m, n, k, batch, splits);
        if (ns < best.predicted_ns) {
            best.splits = splits;
            best.predicted_ns = ns;
        }
    }
    return best;
}

struct ht_choice ht_pick(const struct ht_set_desc *set, const char *scheme, int64_t m, int64_t n, int64_t k,
                         int64_t batch, int64_t partial_bytes) {
    struct ht_choice best = {-1, 0, INT64_MAX};
    for (int i = 0; i < set->kernels; i++) {
        const struct ht_kernel_desc *desc = &set->kernel[i];
        if (strcmp(desc->scheme, scheme) != 0 || desc->variant[0] != '\0')
            continue;
        struct ht_choice choice = ht_pick_splits(set, i, m, n, k, batch, partial_bytes);
        if (best.kernel < 0 || choice.predicted_ns < best.predicted_ns)
            best = choice;
    }
    return best;
}
