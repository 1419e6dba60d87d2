/* plan.c: ranks tiles with the halftone model, keeps the winners, adds the papers' tiles and ablations. */
#include "plan/plan.h"

#include <stdio.h>
#include <string.h>

#include "base/err.h"
#include "../../runtime/ht_bound.h"
#include "../../runtime/ht_cost.h"

/* Shapes whose best tiles a kernel set holds, the important ones first: a tile that wins one of them becomes
 * a kernel, up to FAMILY_TILES_MAX; the runtime chooses among the kernels by the same cost formula, split-K
 * included. Many waves, a few waves, less than one wave, long k in few tiles, the ends of the scale, a little
 * more than a wave. */
static const struct shape plan_shapes[] = {
    {4096, 4096, 4096}, {1024, 1024, 1024}, {2048, 2048, 2048}, {8192, 8192, 8192}, {512, 512, 512},
    {4096, 64, 4096},   {128, 128, 4096},   {1536, 1536, 1536}, {640, 640, 640},    {1152, 1152, 1152},
};
/* of FP16 schemes, of the others; more where tiles may have half an atom */
enum { TILES_MAX = 6, TILES_MAX_OTHERS = 3, HALVES = 1 };
enum { VECTORS = 8 }; /* narrower tiles are for a matrix of so few columns */
enum { FALLBACK_REGISTERS = 16 }; /* where it is among tiles and entries, the check's numbers (ptxas) */

const char *variant_name(enum variant v) {
    static const char *const names[] = {"", "nopipeline", "nointerleave", "handpicked", "fallback"};
    return names[v];
}

/* k interval of promotion of accumulator 0, step by step; 0: never, or after each MMA (no bk step's
 * business). */
static int plan_promote_k(const struct target *on) {
    return on->s->promote[0] == PROMOTE_EACH_MMA ? 0 : model_promote_k(on, 0);
}

enum { FFMA_CHAIN = 32 }; /* k of a chain of FMAs: a step of unpacked_tile */

struct ht_scheme_desc plan_bound_of(const struct target *on) {
    const struct scheme *s = on->s;
    const struct isa *isa = on->isa;
    const int full = isa->align_units[s->slice];
    struct ht_scheme_desc b = {.mma_k = target_fragment_k(on), .exact_k = s->exact_k,
                               .simt_k_max = s->simt_k_max, .split_units = s->split_units};
    if (s->recipe->fixed_point)
        return b;
    if (s->scale == SCALE_TILE) { /* levels added up: 1 + 2^-6 + ... units, an addition each 32 k */
        b.promote_k = b.mma_k;
        b.align_units = 1;
        return b;
    }
    b.promote_k = plan_promote_k(on);
    if (!s->recipe->packs && !isa->mma_bf16) {
        b.align_units = b.mma_k; /* a rounding for each k */
        b.split_units = 0;
        b.promote_k = FFMA_CHAIN;
        return b;
    }
    b.split_units += full + isa->group_units;
    for (int i = 0; i < s->products; i++) {
        const struct product *p = &s->product[i];
        if (p->acc != 0)
            continue;
        /* slice i is at most 2^-(slice bits * i): products below 16 units; 2^-20 of FP32 */
        const bool tiny = (s->slice == SLICE_BF16 ? 8 : 11) * (p->a + p->b) > -s->unit_exponent - 4;
        /* lo * lo cannot lose more than itself, but the sum is cut again */
        b.align_units += tiny ? isa->tiny_units : full;
        /* all of lo * lo is at most this: (2^-11)^2, cut splits (2^-10)^2; BF16 2^-8 * 2^-16, cut 2^-7 *
         * 2^-15 */
        if (tiny)
            b.split_units += s->split == SPLIT_TRUNCATE && s->slice == SLICE_F16 ? 16 : 4;
    }
    /* a chain's first step costs one product: the corrections come before it, when the sum is still small */
    b.split_units -= b.align_units;
    /* FMAs: 32 + ceil(k / 32) - 1 units, which for k > 64 is no more than 30 + ceil(k / 16) - 1. */
    if (!s->recipe->packs && b.split_units + b.align_units < FFMA_CHAIN - 2)
        b.split_units = FFMA_CHAIN - 2 - b.align_units;
    if (s->promote[0] == PROMOTE_EACH_MMA)
        b.promote_k = b.mma_k;
    return b;
}

int64_t plan_bound_units(const struct scheme *s, const struct isa *isa, int64_t k) {
    const struct target on = target_main(NULL, isa, s);
    const struct ht_scheme_desc desc = on.isa ? plan_bound_of(&on) : (struct ht_scheme_desc){0};
    return on.isa ? ht_bound_units(&desc, k) : -1;
}

static void plan_name(struct plan *p) {
    const struct family *k = p->on.family;
    char tile[TILE_NAME_MAX];
    tile_name(tile, &p->tile, family_has_warpgroup_tiles(k));
    snprintf(p->name, sizeof p->name, "ht_%s%s_%s%s%s_%s", k->searched ? p->on.s->name : "", k->label, tile,
             p->variant == VARIANT_PIPELINE ? "" : "_", variant_name(p->variant), p->on.isa->suffix);
}

/* Blocks that the compiler must leave registers for. ptxas takes what it gets, so where shared memory allows
 * fewer blocks it still gets no more than planned. */
static int min_blocks(const struct plan *p) {
    const struct cost *c = &p->cost;
    if (p->on.family->sets_min_blocks_by_registers && (p->on.isa->mma_bf16 || !p->on.family->searched))
        return model_occupancy(p->on.g, p->on.isa, c->threads / p->on.isa->wave_size, c->regs_per_thread, 0,
                               NULL);
    return c->blocks_per_sm > 0 ? c->blocks_per_sm : 1;
}

int plan_index(const struct plan_set *set, const char *name) {
    int i = set->count - 1;
    while (i >= 0 && strcmp(set->plan[i].name, name) != 0)
        i--;
    return i;
}

/* A draft has target, tile, shape and cost. */
static void plan_add(struct plan_set *set, const struct plan *draft, enum variant variant, const char *why) {
    struct plan *p = &set->plan[set->count];
    const struct scheme *s = draft->on.s;
    if (set->count == PLANS_MAX)
        err_bug("more plans than PLANS_MAX");
    *p = *draft;
    p->variant = variant;
    p->chunk = model_promote_tiles(&p->on, &p->tile);
    p->refills = model_refills_after_barrier(&p->on, &p->tile);
    for (int i = 0; i < s->accumulators; i++)
        p->promoted[i] = model_promote_k(&p->on, i) > 0 && !s->recipe->fixed_point;
    const int set_registers = model_fragment_registers(&p->on, &p->tile);
    if (variant == VARIANT_NOINTERLEAVE) /* two whole k steps of fragments live side by side */
        p->cost.regs_per_thread += (s->slices - 1) * set_registers;
    if (variant == VARIANT_NOPIPELINE) /* no next k step */
        p->cost.regs_per_thread -= set_registers;
    p->min_blocks = min_blocks(p);
    const int promote_k = s->recipe->fixed_point ? s->carry_interval_k : plan_promote_k(&p->on);
    p->promote_steps = promote_k > p->tile.bk ? promote_k / p->tile.bk : promote_k > 0;
    plan_name(p);
    snprintf(p->why, sizeof p->why, "%s", why);
    set->count += plan_index(set, p->name) < 0; /* else the same tile won another shape */
}

/* The model's best tile over every MMA shape of the unit. A chain that is added outside the unit after each
 * fragment must be as long in every kernel of a set: its scheme's bound is one number. */
static void find_best(struct plan *best, const struct target *first) {
    struct plan p = {.on = *first, .shape = best->shape};
    int splits;
    do
        for (int at = 0; tile_next(&p.on, &at, &p.tile);) {
            model_cost(MODEL_HALFTONE, &p.on, &p.tile, &p.shape, &p.cost);
            if (!p.cost.fits)
                continue;
            const int64_t ns = model_best_ns(&p.on, &p.shape, &p.cost, INT64_MAX, &splits);
            if (splits > 1)
                p.cost.predicted_ns = ns;
            p.cost.score = -p.cost.predicted_ns;
            if (!best->on.isa || model_better(MODEL_HALFTONE, &p.cost, &p.tile, &best->cost, &best->tile))
                *best = p;
        }
    while (p.on.s->promote[0] != PROMOTE_EACH_MMA && target_next(&p.on));
}

static void plan_picks(struct plan_set *set, const struct target *on) {
    char why[PLAN_WHY_MAX];
    const struct scheme *s = on->s;
    const bool halves = on->family->persistent && (s->checked || s->recipe->fixed_point);
    const int end =
        set->count + (s->slice == SLICE_F16 ? TILES_MAX : TILES_MAX_OTHERS) + (halves ? HALVES : 0);
    for (size_t i = 0; i < sizeof plan_shapes / sizeof *plan_shapes && set->count < end; i++) {
        struct plan best = {.shape = plan_shapes[i]};
        find_best(&best, on);
        if (!best.on.isa)
            return;
        snprintf(why, sizeof why, "fastest by model halftone at %lldx%lldx%lld, bound by %s",
                 (long long)best.shape.m, (long long)best.shape.n, (long long)best.shape.k,
                 best.cost.binding);
        plan_add(set, &best, VARIANT_PIPELINE, why);
    }
}

/* A tile named by its geometry, costed by the halftone model; 0 when it does not fit. */
static int plan_fixed(struct plan *b, const struct tile *t) {
    b->shape = plan_shapes[0];
    b->shape.n = t->bn < VECTORS ? t->bn : b->shape.n;
    b->tile = *t;
    model_cost(MODEL_HALFTONE, &b->on, t, &b->shape, &b->cost);
    return b->cost.fits;
}

/* EGEMM-TC Table 4 on every GPU it fits, with and without its interleaving (section 7.4). */
static void plan_egemm(struct plan_set *set, struct plan *b) {
    const int stages = b->on.isa->async_copy ? 3 : 1;
    const struct tile t = {128, 128, 32, 64, 32, target_mma_k(&b->on), stages, 1};
    if (!plan_fixed(b, &t))
        return;
    plan_add(set, b, VARIANT_PIPELINE, "EGEMM-TC Table 4");
    plan_add(set, b, VARIANT_NOINTERLEAVE,
             "EGEMM-TC Table 4, loads not interleaved with MMAs (section 7.4 ablation)");
}

/* LE-GEMM Table 2 (A800) where it fits, and its ablations of section 5.6: a hand-picked tile, no pipeline. */
static void plan_legemm(struct plan_set *set, struct plan *b) {
    /* the paper's double buffer; without cp.async a T4 hides more with two blocks */
    const int warp = b->on.isa->wave_size;
    const int stages = b->on.isa->async_copy || warp == 64 ? 2 : 1;
    const struct tile paper = {128, 256, 32, 64, warp, target_mma_k(&b->on), stages, 1};
    const struct tile reference = {128, 128, 32, 64, warp, target_mma_k(&b->on), stages, 1};
    const struct tile manual = {64, 64, 32, 32, 32, target_mma_k(&b->on), stages, 1};
    if (plan_fixed(b, &paper))
        plan_add(set, b, VARIANT_PIPELINE, "LE-GEMM Table 2, A800");
    const bool fits = plan_fixed(b, &reference);
    if (fits)
        plan_add(set, b, VARIANT_PIPELINE,
                 "LE-GEMM Table 2, MI210 (128,128,32): base of its pipeline ablation");
    struct tile plain = fits ? reference : manual;
    plain.stages = 1;
    if (plan_fixed(b, &plain))
        plan_add(set, b, VARIANT_NOPIPELINE, "LE-GEMM section 5.6 ablation: no pipeline");
    if (plan_fixed(b, &manual))
        plan_add(set, b, VARIANT_HANDPICKED, "LE-GEMM section 5.6 ablation: hand-picked tile");
    struct plan other = *b;
    if (!target_next(&other.on))
        return;
    const struct tile fragment = {128, 128, 64, 64, 64, target_mma_k(&other.on), 1, 1};
    if (plan_fixed(&other, &fragment))
        plan_add(set, &other, VARIANT_PIPELINE,
                 "LE-GEMM Table 2's tile of C from its other fragment, (16,16,16)");
}

static bool is_in_space(const struct tile *t, const struct target *on) {
    struct tile other;
    for (int at = 0; tile_next(on, &at, &other);)
        if (tile_compare(t, &other) == 0)
            return true;
    return false;
}

/* The first target from this one on whose search space has the tile, wk filled in; isa NULL: none. A tile's
 * name does not say the family, so of two that have it only the first can be asked for. */
static struct target target_of_tile(struct tile *t, bool of_warpgroups, struct target on) {
    do
        t->wk = target_mma_k(&on);
    while ((family_has_warpgroup_tiles(on.family) != of_warpgroups || !is_in_space(t, &on)) &&
           target_next(&on));
    return on;
}

bool plan_tiles_ok(const char *list) {
    struct tile t;
    bool of_warpgroups;
    const char *at = list;
    while (tile_entry(&at, &t, &of_warpgroups))
        continue;
    return *at == 0 || err_user(NULL, 0, "--tiles '%s' is not a list like 128x128x32_w64x32_s4,"
                                         "64x128x32_wg64x64_s8_c2", list);
}

void plan_tiles(struct plan_set *set, struct target on, const char *list) {
    struct tile t;
    bool of_warpgroups;
    while (tile_entry(&list, &t, &of_warpgroups)) {
        struct plan b = {.on = target_of_tile(&t, of_warpgroups, on)};
        if (b.on.isa && plan_fixed(&b, &t))
            plan_add(set, &b, VARIANT_PIPELINE, "asked for with --tiles");
    }
}

bool plan_has_tile(const struct plan_set *set, const struct tile *t, bool of_warpgroups) {
    for (int i = 0; i < set->count; i++) {
        struct tile wanted = *t;
        wanted.wk = set->plan[i].tile.wk;
        if (set->plan[i].variant == VARIANT_PIPELINE && tile_compare(&wanted, &set->plan[i].tile) == 0 &&
            family_has_warpgroup_tiles(set->plan[i].on.family) == of_warpgroups)
            return true;
    }
    return false;
}

enum { NEAR_TILES = 3 };

struct near {
    struct tile tile[NEAR_TILES];
    int distance[NEAR_TILES], count;
};

/* Keeps the tile if it fits and is among the nearest by the sum of relative differences. */
static void keep_near(struct near *n, struct plan *b, const struct tile *t, const struct tile *w) {
    const int pairs[][2] = {{t->bm, w->bm}, {t->bn, w->bn},         {t->bk, w->bk},          {t->wm, w->wm},
                            {t->wn, w->wn}, {t->stages, w->stages}, {t->cluster, w->cluster}};
    int distance = 0, at = n->count;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        distance += (pairs[i][0] > pairs[i][1] ? pairs[i][0] - pairs[i][1] : pairs[i][1] - pairs[i][0]) *
                    256 / (pairs[i][0] + pairs[i][1]);
    while (at > 0 && n->distance[at - 1] > distance)
        at--;
    if (at == NEAR_TILES || !plan_fixed(b, t))
        return;
    n->count += n->count < NEAR_TILES;
    for (int i = n->count - 1; i > at; i--) {
        n->tile[i] = n->tile[i - 1];
        n->distance[i] = n->distance[i - 1];
    }
    n->tile[at] = *t;
    n->distance[at] = distance;
}

void plan_refuse_tile(struct target on, const struct tile *t, bool of_warpgroups) {
    struct tile wanted = *t;
    struct plan b = {.on = target_of_tile(&wanted, of_warpgroups, on)};
    char name[TILE_NAME_MAX], other[TILE_NAME_MAX], list[NEAR_TILES * TILE_NAME_MAX] = "";
    tile_name(name, t, of_warpgroups);
    if (b.on.isa && !plan_fixed(&b, &wanted)) {
        err_user(NULL, 0, "tile %s does not fit %s with scheme %s: %s", name, on.g->name, on.s->name,
                 b.cost.reason);
        return;
    }
    struct near n = {.count = 0};
    b.on = on;
    for (int at = 0; tile_next(&b.on, &at, &wanted);)
        keep_near(&n, &b, &wanted, t);
    for (int i = 0; i < n.count; i++) {
        tile_name(other, &n.tile[i], family_has_warpgroup_tiles(b.on.family));
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", i > 0 ? ", " : "", other);
    }
    err_user(NULL, 0, "tile %s is not in the search space of scheme %s on %s; near it are %s", name,
             on.s->name, on.g->name, n.count > 0 ? list : "none");
}

/* A tile for each kind of shape, from every family that reads the caller's matrices. */
static void plan_unpacked(struct plan_set *set, const struct target *on) {
    struct tile t;
    for (int i = 0; i < kernel_family_count * FAMILY_TILES_MAX; i++) {
        const struct family *const k = kernel_families[i / FAMILY_TILES_MAX];
        struct plan draft = {.on = target_of(on->g, on->isa, k, on->s)};
        if (k->unpacked && family_plans(&draft.on, i % FAMILY_TILES_MAX, &t) && plan_fixed(&draft, &t))
            plan_add(set, &draft, VARIANT_PIPELINE, k->tiles[i % FAMILY_TILES_MAX].why);
    }
}

/* From registers only, where there is such a family. */
static void fallback_by(const struct family *family, struct plan *b) {
    const struct cost dmma = b->cost;
    b->on = target_of(b->on.g, b->on.isa, family, b->on.s);
    b->tile.bk = family->rest_k;
    b->tile.stages = 1;
    footprint(&b->on, &b->tile, &b->cost);
    memcpy(b->cost.binding, dmma.binding, sizeof dmma.binding);
    b->cost.formula = dmma.formula;
    b->cost.walk = tile_walk(&b->on, &b->tile, b->cost.blocks_per_sm);
}

/* The plan of the kernel for data that fail: tiles of one 64 x 64 block, as results are told; -1: none. */
static int fallback_base(const struct plan_set *set) {
    int at = -1;
    for (const struct plan *p = set->plan; p < set->plan + set->count; p++)
        if (p->on.family->is_fallback_base && p->tile.bm == 64 && p->tile.bn == 64)
            at = (int)(p - set->plan);
    return at;
}

bool plan_lacks_fallback(const struct plan_set *set) {
    bool checks = false, has = false;
    for (const struct plan *p = set->plan; p < set->plan + set->count; p++) {
        checks = checks || p->on.s->checked;
        has = has || p->variant == VARIANT_FALLBACK;
    }
    return checks && !has;
}

void plan_fallback(struct plan_set *set) {
    const int at = fallback_base(set);
    if (!plan_lacks_fallback(set) || at < 0)
        return;
    const struct plan *p = &set->plan[at];
    struct plan b = {.on = p->on, .tile = p->tile, .cost = p->cost, .shape = p->shape};
    b.cost.regs_per_thread += FALLBACK_REGISTERS;
    b.cost.walk.no_split_k = 1;
    for (int i = 0; i < kernel_family_count; i++)
        if (kernel_families[i]->rest_k > 0 && isa_has(p->on.isa, kernel_families[i]->needs))
            fallback_by(kernel_families[i], &b);
    const int before = set->count;
    plan_add(set, &b, VARIANT_FALLBACK,
             "behind a product with the certificate: what it has not stored");
    const struct plan fallback = set->plan[before];
    memmove(&set->plan[at + 2], &set->plan[at + 1], (size_t)(before - at - 1) * sizeof *p);
    set->plan[at + 1] = fallback;
}

bool plan_scheme(struct plan_set *set, struct target on) {
    const struct scheme *const s = on.s;
    const int before = set->count;
    struct plan draft = {.on = on};
    struct tile t;
    const bool has_warps = !on.family->persistent; /* as the papers' tiles and ablations have */
    if (on.family->unpacked)
        plan_unpacked(set, &on);
    else if (!s->recipe->plan)
        plan_picks(set, &on);
    for (int at = 0; s->recipe->plan && tile_next(&on, &at, &t);)
        if (plan_fixed(&draft, &t))
            plan_add(set, &draft, VARIANT_PIPELINE, s->recipe->plan);
    if (s->tiles_of == PAPER_EGEMM && has_warps)
        plan_egemm(set, &draft);
    if (s->tiles_of == PAPER_LEGEMM && has_warps)
        plan_legemm(set, &draft);
    return set->count > before;
}

bool plan_takes_k(const struct plan *p, int64_t k) {
    return !p->on.family->has_slices_alone || k > p->on.s->simt_k_max;
}

static int pick(const struct plan_set *set, int first, int64_t m, int64_t n, int64_t k) {
    int64_t best_ns = INT64_MAX;
    int best = -1;
    for (int i = first; i < set->count; i++) {
        const struct plan *p = &set->plan[i];
        int splits;
        if (p->variant != VARIANT_PIPELINE || !plan_takes_k(p, k))
            continue;
        const int64_t ns =
            model_best_ns(&p->on, &(struct shape){m, n, k}, &p->cost, HT_PARTIAL_LIMIT_BYTES, &splits);
        if (best < 0 || ns < best_ns) {
            best = i;
            best_ns = ns;
        }
    }
    return best;
}

static void keep(struct plan_set *set, int first, bool kept[PLANS_MAX]) {
    const int base = fallback_base(set);
    if (base >= first)
        kept[base] = true; /* else `auto` could not look at data */
    int count = first;
    for (int i = first; i < set->count; i++) {
        if (kept[i])
            set->plan[count++] = set->plan[i];
    }
    set->count = count;
}

void plan_lean(struct plan_set *set, int first) {
    static const int64_t grid[] = {16,   32,   64,   96,   128,  192,  256,   384,   512,   768,  1024,
                                   1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768};
    enum { POINTS = sizeof grid / sizeof *grid };
    bool kept[PLANS_MAX] = {false};
    for (int i = 0; i < POINTS * POINTS * POINTS; i++) {
        const int at =
            pick(set, first, grid[i % POINTS], grid[i / POINTS % POINTS], grid[i / POINTS / POINTS]);
        if (at >= 0)
            kept[at] = true;
    }
    keep(set, first, kept);
}

/* Whether two kernels are one text but for numbers: of one template, the same hooks and the same loops. */
static bool are_alike(const struct plan *a, const struct plan *b) {
    return a->on.s == b->on.s && a->on.family == b->on.family && a->variant == b->variant &&
           tile_cluster_m(&a->tile) == tile_cluster_m(&b->tile) &&
           tile_cluster_n(&a->tile) == tile_cluster_n(&b->tile) &&
           (a->tile.stages == 1) == (b->tile.stages == 1) &&
           family_fallback_in_kernel(a) == family_fallback_in_kernel(b);
}

void plan_cover(struct plan_set *set, int first) {
    bool kept[PLANS_MAX] = {false};
    for (int i = first; i < set->count; i++) {
        const struct plan *p = &set->plan[i];
        kept[i] = true;
        for (int j = first; j < set->count && kept[i]; j++) {
            const struct plan *other = &set->plan[j];
            const int less = p->tile.bm * p->tile.bn - other->tile.bm * other->tile.bn;
            kept[i] = !are_alike(p, other) || less < 0 || (less == 0 && i <= j);
        }
    }
    keep(set, first, kept);
}
