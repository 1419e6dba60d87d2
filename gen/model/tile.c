/* tile: the geometry of one kernel; see tile.h. */
#include "model/tile.h"

#include <stdio.h>
#include <string.h>

#include "../../runtime/ht_abi.h"
#include "base/text.h"
#include "model/family.h"

int tile_groups(const struct tile *t, const struct target *on) {
    return t->bm < on->family->group_rows ? on->family->group_rows / t->bm : 1;
}

int tile_threads(const struct tile *t, const struct target *on) {
    return on->family->persistent ? (tile_warpgroups(t) + 1) * WARPGROUP_THREADS
                                    : tile_warps(t) * tile_groups(t, on) * on->isa->wave_size;
}

int tile_stage_bytes(const struct tile *t, const struct scheme *s) {
    return (t->bm + t->bn) * t->bk * s->slices * scheme_slice_bytes(s);
}

/* Worked example: f16x3, 64 x 128 x 32 in twos: 8192 of A and half of B's 16384. */
int tile_fetched_bytes(const struct tile *t, const struct scheme *s) {
    const int edge = t->bm / tile_cluster_n(t) + t->bn / tile_cluster_m(t);
    return edge * t->bk * s->slices * scheme_slice_bytes(s);
}

struct ht_tile tile_walk(const struct target *on, const struct tile *t, int blocks_per_sm) {
    const struct family *k = on->family;
    const int step_k = k->line_k > 0 ? k->line_k : t->bk;
    const int bytes =
        k->unpacked ? (t->bm + t->bn) * step_k * number_bytes(on->s->in) : tile_fetched_bytes(t, on->s);
    return (struct ht_tile){
        .bm = t->bm, .bn = t->bn, .step_k = step_k, .step_bytes = bytes, .blocks_per_sm = blocks_per_sm,
        .cluster_m = tile_cluster_m(t), .cluster_n = tile_cluster_n(t), .unpacked = k->unpacked,
        .swap_ab_min_gain = k->swap_ab_min_gain, .persistent = k->persistent, .exact_k = on->s->exact_k,
        .no_split_k = k->no_split_k, .in_block_k_splits = k->in_block_k_splits,
        .element_bytes = number_bytes(on->s->in)};
}

int tile_compare(const struct tile *x, const struct tile *y) {
    const int differences[] = {x->bm - y->bm, x->bn - y->bn, x->bk - y->bk,         x->wm - y->wm,
                               x->wn - y->wn, x->wk - y->wk, x->stages - y->stages, x->cluster - y->cluster};
    for (unsigned i = 0; i < sizeof differences / sizeof differences[0]; i++) {
        if (differences[i] != 0)
            return differences[i] < 0 ? -1 : 1;
    }
    return 0;
}

void tile_name(char name[TILE_NAME_MAX], const struct tile *t, bool of_warpgroups) {
    const int end = snprintf(name, TILE_NAME_MAX, "%dx%dx%d_%s%dx%d_s%d", t->bm, t->bn, t->bk,
                             of_warpgroups ? "wg" : "w", t->wm, t->wn, t->stages);
    if (t->cluster > 1)
        snprintf(name + end, (size_t)(TILE_NAME_MAX - end), "_c%d", t->cluster);
}

bool tile_entry(const char **list, struct tile *t, bool *of_warpgroups) {
    char entry[TILE_NAME_MAX], name[TILE_NAME_MAX], mark[3] = "";
    const char *at = *list;
    t->cluster = 1;
    if (!text_entry(&at, entry, sizeof entry) ||
        sscanf(entry, "%5dx%5dx%5d_%2[wg]%5dx%5d_s%5d_c%5d", &t->bm, &t->bn, &t->bk, mark, &t->wm, &t->wn,
               &t->stages, &t->cluster) < 7)
        return false;
    *of_warpgroups = strcmp(mark, "wg") == 0;
    tile_name(name, t, *of_warpgroups);
    if (strcmp(name, entry) != 0) /* no sign, no zero in front, nothing behind it */
        return false;
    *list = at;
    return true;
}

int target_mma_k(const struct target *on) {
    return on->family->unpacked ? on->mma->k : on->isa->mma_k[on->s->slice];
}

int target_fragment_k(const struct target *on) {
    return on->mma->fragment_k * slice_bytes(SLICE_F16) / scheme_slice_bytes(on->s);
}
