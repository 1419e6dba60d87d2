/* ht_pick.c: which set for a device; which kernel and which split-K for a shape: cheapest by ht_cost_ns. Pure
 * functions of their arguments; knows nothing of devices, workspaces or schemes beyond their names. */
#include <stdlib.h>
#include <string.h>

#include "ht_abi.h"
#include "ht_cost.h"
#include "ht_pick.h"

const struct ht_scheme_desc *ht_find_scheme(const struct ht_set_desc *set, const char *name) {
    for (int i = 0; i < set->schemes; i++)
        if (strcmp(set->scheme[i].name, name) == 0)
            return &set->scheme[i];
    return NULL;
}

const struct ht_scheme_desc *ht_scheme_of(const struct ht_set_desc *set, enum ht_role role) {
    return set != NULL ? ht_find_scheme(set, set->role[role]) : NULL;
}

struct ht_choice ht_pick_splits(const struct ht_set_desc *set, int kernel, struct ht_shape x, int64_t partial_bytes) {
    const struct ht_kernel_desc *desc = &set->kernel[kernel];
    const struct ht_machine machine = ht_machine_of(set);
    struct ht_problem problem = {x.m, x.n, x.k, ht_mul(x.batch, x.products), 1};
    struct ht_choice choice = {kernel, 0, 0};
    choice.predicted_ns = ht_best_split(&machine, &desc->tile, &desc->cost, &problem, partial_bytes);
    choice.splits = (int)problem.splits;
    return choice;
}

static struct ht_choice pick_tuned(const struct ht_set_desc *set, const char *scheme, struct ht_shape x, int64_t partial_bytes) {
    const struct ht_choice none = {-1, 0, INT64_MAX};
    for (int i = 0; i < set->tuned_count; i++) {
        const struct ht_tuned *t = &set->tuned[i];
        const struct ht_kernel_desc *desc = &set->kernel[t->kernel];
        if (t->m != x.m || t->n != x.n || t->k != x.k || strcmp(desc->scheme, scheme) != 0 ||
            ht_partial_bytes(x.m, x.n, x.products, t->splits, ht_tile_partial_size(&desc->tile)) > partial_bytes)
            continue;
        struct ht_choice choice = {t->kernel, t->splits, 0};
        const struct ht_problem problem = {x.m, x.n, x.k, x.products, t->splits};
        choice.predicted_ns = ht_kernel_ns(set, desc, &problem);
        return choice;
    }
    return none;
}

/* Whether all that the scheme's kernels that read the operands would do with so small a k are FP32 FMAs. */
static int is_fma_only(const struct ht_set_desc *set, const char *scheme, int64_t k) {
    const struct ht_scheme_desc *s = ht_find_scheme(set, scheme);
    return s != NULL && k <= s->simt_k_max;
}

bool ht_weighs_kernel(const struct ht_set_desc *set, int kernel, int64_t k) {
    const struct ht_kernel_desc *const desc = &set->kernel[kernel];
    return desc->variant[0] == '\0' && !(desc->has_slices_alone && is_fma_only(set, desc->scheme, k));
}

struct ht_choice ht_pick(const struct ht_set_desc *set, const char *scheme, struct ht_shape x, int64_t partial_bytes) {
    struct ht_choice best = {-1, 0, INT64_MAX};
    if (x.batch == 1)
        best = pick_tuned(set, scheme, x, partial_bytes);
    if (best.kernel >= 0)
        return best;
    for (int i = 0; i < set->kernels; i++) {
        if (strcmp(set->kernel[i].scheme, scheme) != 0 || !ht_weighs_kernel(set, i, x.k))
            continue;
        const struct ht_choice choice = ht_pick_splits(set, i, x, partial_bytes);
        if (best.kernel < 0 || choice.predicted_ns < best.predicted_ns)
            best = choice;
    }
    return best;
}

int ht_pick_fallback(const struct ht_set_desc *set, const char *scheme) {
    for (int i = 0; i < set->kernels; i++)
        if (strcmp(set->kernel[i].scheme, scheme) == 0 && strcmp(set->kernel[i].variant, "fallback") == 0)
            return i;
    return -1;
}

bool ht_can_check(const struct ht_set_desc *set, const struct ht_scheme_desc *s) {
    return s->pack_tiles > 0 && ht_pick_fallback(set, set->role[HT_ROLE_FALLBACK]) >= 0;
}

bool ht_checks_data(const struct ht_set_desc *set, const struct ht_scheme_desc *s, bool is_auto) {
    return (is_auto || s->scales == HT_SCALES_TILES) && ht_can_check(set, s);
}

/* Few rows that are packed whole are so few that all lies in L2, and no block waits for another. On the H200 512, 768 and 1024 take 3.4,
 * 4.2 and 4.5 to 4.9 us: launch_ns and the bytes at this speed are 3.0, 3.6 and 4.5. */
static int64_t packing_gbps(const struct ht_set_desc *set, const struct ht_scheme_desc *s, struct ht_shape x) {
    const int64_t row_blocks = ht_mul(ht_add(ht_ceil_div(x.m, HT_ATOM_ROWS), ht_ceil_div(x.n, HT_ATOM_ROWS)), x.batch);
    const int whole = s->scales == HT_SCALES_ROWS &&
                      ht_pack_mode_of(row_blocks, ht_padded_k(s, x.k) / HT_K_PAD, set->sms) == HT_PACK_ROWS;
    return whole && set->l2_gbps > set->copy_gbps ? set->l2_gbps : set->copy_gbps;
}

int64_t ht_packing_ns(const struct ht_set_desc *set, const char *scheme, struct ht_shape x) {
    const struct ht_scheme_desc *s = ht_find_scheme(set, scheme);
    if (s == NULL || s->pack == NULL)
        return 0;
    const int64_t bytes = (int64_t)s->slices * s->slice_bytes, gbps = packing_gbps(set, s, x);
    return ht_add(ht_add(ht_pack_ns(bytes, gbps, x.m, x.k, x.batch), ht_pack_ns(bytes, gbps, x.n, x.k, x.batch)),
                  set->launch_ns);
}

int64_t ht_total_ns(const struct ht_set_desc *set, const struct ht_choice *choice, struct ht_shape x) {
    return ht_add(choice->predicted_ns, ht_packing_ns(set, set->kernel[choice->kernel].scheme, x));
}

/* The matrix is read at the speed of a large copy; beside that an SM is busy with each 32 rows x HT_FEW_ROWS_K for PIECE_NS, and as long for each
 * eight rows of x: so on an H200 (1 to 64 rows; lines of k within 10 %, lines of rows up to 15 % too little), and taken for all.
 *
 * Worked example (a test holds it), copy 2000 GB/s, launch 2500 ns, 128 SMs, i8x6: 4096 x 1 x 4096: 33554 ns of reading, 8 pieces an SM twice 500,
 * two launches, 8 parts of 32768 bytes twice 262; packing 2500 and 106 (1 x 16 KiB + 64 x 12 KiB at L2's 7565 GB/s). */
struct ht_few_rows ht_weigh_few_rows(const struct ht_set_desc *set, const struct ht_scheme_desc *s, struct ht_shape x, int64_t partial_bytes) {
    enum { COLUMNS = 8, PIECE_ROWS = 32, PIECE_NS = 500 };
    struct ht_few_rows found = {0, 0, 0, 0};
    const int64_t few = x.m < x.n ? x.m : x.n, many = x.m < x.n ? x.n : x.m;
    const int64_t splits = ht_ceil_div(ht_padded_k(s, x.k), HT_FEW_ROWS_K);
    const int64_t bytes = ht_partial_bytes(x.m, x.n, 1, splits, ht_partial_size(s->exact_k));
    const int64_t rows = bytes <= partial_bytes ? many : partial_bytes / (bytes / many) / HT_ATOM_ROWS * HT_ATOM_ROWS;
    if (s->few_rows == NULL || x.batch != 1 || few > HT_FEW_ROWS || splits > HT_PICK_SPLITS_MAX || rows == 0)
        return found;
    const int64_t l2 = set->l2_gbps > set->copy_gbps ? set->l2_gbps : set->copy_gbps;
    const int64_t of_sm = ht_ceil_div(ht_mul(ht_ceil_div(many, PIECE_ROWS), splits), set->sms);
    found.splits = (int)splits;
    found.rows = rows;
    found.pack_ns = ht_add(ht_pack_ns((int64_t)s->slices * s->slice_bytes, l2, few, x.k, 1), set->launch_ns);
    found.kernel_ns = ht_add(ht_pack_ns(0, set->copy_gbps, many, x.k, 1), ht_mul(of_sm * PIECE_NS, ht_ceil_div(few, COLUMNS) + 1));
    found.kernel_ns = ht_add(found.kernel_ns, 2 * bytes / set->copy_gbps);
    found.kernel_ns = ht_add(found.kernel_ns, ht_mul(ht_ceil_div(many, rows) * (splits > 1 ? 2 : 1), set->launch_ns));
    return found;
}

/* The matrix is read at the speed of a large copy, or an SM is busy with each row and 1024 k of it for ROW_NS, of panels half as long: on an H200
 * 4096 x 1 x 4096 takes 20.9 us, 151936 x 1 x 2048 293, 50000 x 1 x 768 44.5; taken for all. */
int64_t ht_one_row_ns(const struct ht_set_desc *set, const struct ht_scheme_desc *s, struct ht_shape x, bool is_packed) {
    enum { WARP_K = 1024, ROW_NS = 120 };
    const int64_t few = x.m < x.n ? x.m : x.n, many = x.m < x.n ? x.n : x.m;
    if (s->one_row == NULL || x.batch != 1 || few != 1 || x.k > s->one_row_k)
        return INT64_MAX;
    const int64_t rows = ht_mul(ht_ceil_div(many, set->sms), ht_ceil_div(x.k, WARP_K)),
                  bytes = ht_mul(many, is_packed ? ht_padded_k(s, x.k) * s->slices : x.k * 4),
                  busy = ht_mul(rows, is_packed ? ROW_NS / 2 : ROW_NS), read = bytes / set->copy_gbps;
    return ht_add(read > busy ? read : busy, set->launch_ns);
}

/* Whether so many launches behind a product are more than the call can bear. */
static int are_too_many(int launches, const struct ht_set_desc *set, const struct ht_choice *choice, struct ht_shape x) {
    return launches * set->launch_ns > ht_total_ns(set, choice, x) / HT_FALLBACK_SHARE;
}

int ht_fallback_in_kernel(const struct ht_set_desc *set, const struct ht_choice *choice, struct ht_shape x) {
    return set->kernel[choice->kernel].fallback_in_kernel && choice->splits == 1 &&
           are_too_many(1, set, choice, x);
}

bool ht_asks_sample(const struct ht_set_desc *set, const struct ht_scheme_desc *s, const struct ht_choice *choice, struct ht_shape x) {
    const int64_t row_blocks = ht_add(ht_ceil_div(x.m, HT_ATOM_ROWS), ht_ceil_div(x.n, HT_ATOM_ROWS));
    return x.batch == 1 && s->scales == HT_SCALES_ROWS && ht_add(x.m, x.n) >= (int64_t)HT_SAMPLE_ROWS * set->sms &&
           ht_pack_mode_of(row_blocks, ht_padded_k(s, x.k) / HT_K_PAD, set->sms) == HT_PACK_STRIPS &&
           set->launch_ns <= ht_total_ns(set, choice, x) / HT_SAMPLE_SHARE;
}

int ht_sample_most(const struct ht_set_desc *set, const struct ht_choice *choice, const struct ht_choice *rest, struct ht_shape x) {
    const int64_t all = ht_total_ns(set, rest, x), tried = ht_total_ns(set, choice, x);
    return tried < all ? (int)((double)(all - tried) / (double)all * (int)HT_SAMPLES) : 0;
}

int ht_pick_blocks(const struct ht_set_desc *set, const char *scheme, const struct ht_choice *choice, struct ht_shape x, bool is_sampled) {
    if (is_fma_only(set, scheme, x.k) || (!is_sampled && are_too_many(2, set, choice, x)))
        return -1;
    for (int i = 0; i < set->kernels; i++)
        if (strcmp(set->kernel[i].scheme, scheme) == 0 && set->kernel[i].tile.unpacked && set->kernel[i].fallback_in_kernel)
            return i;
    return -1;
}

/* Whether x suits a device with that many SMs better than y; both run on it. */
static int suits_better(const struct ht_set_desc *x, const struct ht_set_desc *y, int sms) {
    if (x->arch != y->arch)
        return x->arch > y->arch;
    if (x->arch_exact != y->arch_exact)
        return x->arch_exact;
    return abs(x->sms - sms) < abs(y->sms - sms);
}

const struct ht_set_desc *ht_pick_set(const struct ht_set_desc *const *sets, int capability, int sms) {
    const struct ht_set_desc *best = NULL;
    for (; *sets != NULL; sets++) {
        const struct ht_set_desc *set = *sets;
        int runs = set->arch_exact ? capability == set->arch : capability >= set->arch;
        if (runs && (best == NULL || suits_better(set, best, sms)))
            best = set;
    }
    return best;
}

const struct ht_set_desc *ht_fit_set(const struct ht_set_desc *set, int64_t smem_bytes, void **owned) {
    int most = 0;
    *owned = NULL;
    for (int i = 0; i < set->kernels; i++)
        most = set->kernel[i].smem_bytes > most ? set->kernel[i].smem_bytes : most;
    if (smem_bytes <= 0 || most <= smem_bytes)
        return set;
    struct ht_set_desc *copy = (struct ht_set_desc *)malloc(sizeof *copy + (size_t)set->kernels * sizeof *set->kernel);
    if (copy == NULL)
        return NULL;
    struct ht_kernel_desc *kernel = (struct ht_kernel_desc *)(void *)(copy + 1); /* both begin with pointers: aligned */
    *copy = *set;
    copy->kernel = kernel;
    for (int i = 0; i < set->kernels; i++) {
        kernel[i] = set->kernel[i];
        if (kernel[i].smem_bytes > smem_bytes)
            kernel[i].scheme = "";
    }
    *owned = copy;
    return copy;
}
