/* explain: see explain.h. No floating point, no locale: numbers are written digit by digit from integers. */
#include "cli/explain.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- collecting and ranking ---- */

static void collect(struct listing *l) {
    struct tile t;
    for (int at = 0; tile_next(&l->on, &at, &t); l->count++) {
        if (l->count == l->capacity) {
            l->capacity = l->capacity ? 2 * l->capacity : 256;
            l->item = text_memory(l->item, (size_t)l->capacity * sizeof *l->item);
        }
        struct candidate *c = &l->item[l->count];
        c->on = l->on;
        c->tile = t;
        model_cost(l->kind, &c->on, &t, &l->shape, &c->cost);
    }
}

static bool goes_before(enum model_kind kind, const struct candidate *x, const struct candidate *y) {
    if (x->cost.fits != y->cost.fits)
        return x->cost.fits;
    if (!x->cost.fits)
        return tile_compare(&x->tile, &y->tile) < 0;
    return model_better(kind, &x->cost, &x->tile, &y->cost, &y->tile);
}

/* Insertion sort: a few hundred items, and the order depends on the model, which qsort cannot be told. */
static void rank(struct listing *l) {
    for (int i = 1; i < l->count; i++) {
        struct candidate moving = l->item[i];
        int at = i;
        for (; at > 0 && goes_before(l->kind, &moving, &l->item[at - 1]); at--)
            l->item[at] = l->item[at - 1];
        l->item[at] = moving;
    }
    while (l->fits < l->count && l->item[l->fits].cost.fits)
        l->fits++;
}

void explain_rank(struct listing *l) {
    const struct target first = model_target(l->kind, l->g, l->isa, l->s);
    l->on = first;
    while (l->on.isa) { /* NULL at once: no family computes the scheme */
        collect(l);
        target_next(&l->on);
    }
    l->on = first;
    rank(l);
}

void explain_free(struct listing *l) {
    free(l->item);
    l->item = NULL;
    l->count = l->capacity = l->fits = 0;
}

/* ---- numbers ---- */

int64_t explain_pick_gflops(const struct listing *l) {
    const int64_t ns = l->item[0].cost.predicted_ns;
    return ns > 0 ? shape_flops(&l->shape) / ns : 0;
}

/* The matrix unit's data-sheet rate over the number of products. Example (test): MI210, 3 products:
 * 104 * 512 * 2 * 1700 / 3 / 1000 = 60,347 GFLOPS. */
int64_t explain_ceiling_gflops(const struct listing *l) {
    const int64_t clocks = 2 * model_fma_per_cycle(l->g, l->s) * l->g->sms * l->g->clock_mhz;
    return clocks / (l->s->products * scheme_alike(l->s)) / 1000;
}

void explain_add_tile(struct text *out, const struct listing *l, const struct tile *t) {
    struct target other = l->on;
    char name[TILE_NAME_MAX];
    tile_name(name, t, family_has_warpgroup_tiles(l->on.family));
    text_add(out, name);
    if (!l->on.family->unpacked && target_next(&other) && t->wk == target_mma_k(&other) &&
        t->wk != target_mma_k(&l->on))
        text_addf(out, " of %dx%d MMAs", other.mma->m, other.mma->n);
}

/* ---- sentences ---- */

/* Whether FP32 FMAs do all of the scheme's work: it has no products on the matrix unit's slices. */
static bool multiplies_fp32(const struct listing *l) {
    return !l->s->recipe->packs && l->s->in == NUMBER_F32 && !l->isa->mma_bf16;
}

void explain_add_kernels(struct text *out, const struct listing *l) {
    const struct isa *isa = l->isa;
    const struct family *const k = target_main(l->g, isa, l->s).family;
    const bool by_fp64 = l->s->in == NUMBER_F64 && !l->s->recipe->packs;
    const char *const unit = by_fp64                                ? isa->fp64_mma ? "DMMA" : "FP64 FMA"
                             : multiplies_fp32(l) && !isa->mfma_f32 ? "FP32 FMAs"
                             : isa->wgmma && !k->unpacked && !k->persistent ? "mma.sync"
                                                                    : isa_instruction(isa);
    text_addf(out, "Kernels: %s, compiled for %s.", unit, isa->name);
    if (isa->absent)
        text_addf(out, " %s, the unit's faster instruction, is in no kernel, and its rate is not counted.",
                  isa->absent);
    if (isa->unverified && l->s->slice != SLICE_S8)
        text_addf(out, " Caution: %s.", isa->unverified);
}

void explain_add_ceiling(struct text *out, const struct listing *l) {
    const struct gpu *g = l->g;
    const int64_t ceiling = explain_ceiling_gflops(l);
    const bool is_estimate = !multiplies_fp32(l) && gpu_is_estimate(g, model_rate_key[l->s->slice]);
    if (l->s->in == NUMBER_F64) {
        text_addf(out, "the data-sheet rate of %s%s is " MILLI " TFLOPS.", scheme_operands(l->s),
                  l->s->moduli > 0 ? " over the moduli" : "", AS_MILLI(ceiling));
        return;
    }
    text_addf(out,
              "the matrix unit's %s rate over the products is " MILLI " TFLOPS; native FP32 is " MILLI
              " TFLOPS: at most " I64 ".%02d times native (both at " I64 " MHz).",
              is_estimate ? "estimated" : "data-sheet", AS_MILLI(ceiling),
              AS_MILLI(g->native_fp32_gflops), ceiling / g->native_fp32_gflops,
              (int)(ceiling * 100 / g->native_fp32_gflops % 100), g->clock_mhz);
    if (ceiling < g->native_fp32_gflops)
        text_addf(out, " No kernel of %s can be faster than native FP32 on this GPU.", l->s->name);
}

void explain_add_verdict(struct text *out, const struct listing *l) {
    const struct gpu *g = l->g;
    const int64_t rate = explain_pick_gflops(l), clock = model_clock_mhz(g);
    const int64_t native = g->native_fp32_gflops * clock / g->clock_mhz,
                  times = native > 0 ? ht_mul(rate, 100) / native : 0;
    text_addf(out, "Predicted at " I64 " MHz", clock);
    if (l->s->in == NUMBER_F64) { /* beside which native FP32 says nothing */
        text_add(out, ".");
        return;
    }
    text_addf(out, ", where native FP32's peak is " MILLI " TFLOPS", AS_MILLI(native));
    if (clock != g->clock_mhz)
        text_addf(out, " (" MILLI " at " I64 ")", AS_MILLI(g->native_fp32_gflops), g->clock_mhz);
    text_addf(out, ": " I64 ".%02d times that. %s %s", times / 100, (int)(times % 100), l->s->name,
              rate < native
                  ? "is predicted to be slower than native FP32's peak: for speed alone do not use "
                    "it at this shape."
              : rate < g->native_fp32_gflops ? "pays where native FP32 is held to that clock as well, as it "
                                               "is by the same power limit; it does "
                                               "not reach native's peak at the boost clock."
                                             : "is predicted to be faster than native FP32 here.");
}

void explain_add_estimates(struct text *out, const struct gpu *g) {
    int count = 0;
    text_add(out, "Estimates among the budget's values, neither published nor measured: ");
    for (enum gpu_key i = 0; i < GPU_NUMBERS; i++)
        if (gpu_is_estimate(g, i))
            text_addf(out, "%s%s", count++ > 0 ? ", " : "", gpu_number_name(i));
    text_add(out, count > 0 ? "." : "none.");
}

/* ---- table for programs ---- */

void explain_table(struct text *out, const struct listing *l) {
    text_add(out, "verdict\tbm\tbn\tbk\twm\twn\twk\tstages\tthreads\tregs_per_thread\tsmem_bytes\tblocks_per_"
                  "sm\twaves\tpredicted_us\tbinding\treason\trank\tscore\tcluster\ttile\n");
    for (int i = 0; i < l->count; i++) {
        const struct tile *t = &l->item[i].tile;
        const struct cost *c = &l->item[i].cost;
        const char *verdict = !c->fits ? "reject" : i == 0 ? "pick" : "fit";
        text_addf(out,
                  "%s\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t%d\t" MILLI "\t" MILLI "\t%s\t%s\t%d\t" I64
                  "\t%d\t",
                  verdict, t->bm, t->bn, t->bk, t->wm, t->wn, t->wk, t->stages, c->threads,
                  c->regs_per_thread, c->smem_bytes, c->blocks_per_sm, AS_MILLI(c->fits ? c->waves_milli : 0),
                  AS_MILLI(c->predicted_ns), c->fits ? c->binding : "-", c->fits ? "-" : c->reason,
                  c->fits ? i + 1 : 0, c->fits ? c->score : 0, t->cluster);
        explain_add_tile(out, l, t);
        text_add(out, "\n");
    }
}

/* ---- text for people ---- */

const char *explain_seen_note(const struct listing *l) {
    static const char note[] = "The papers' models know no warpgroup instructions: their tiles here are "
                               "those of this GPU's mma.sync, for which no kernels are generated.\n";
    return target_main(l->g, l->isa, l->s).family == l->on.family || l->on.family->unpacked ? "" : note;
}

static void print_head(struct text *out, const struct listing *l) {
    const struct gpu *g = l->g;
    text_addf(out, "%s (%s, %s), scheme %s, model %s, " I64 " x " I64 " x " I64 "\n\n", g->title, g->name,
              l->isa->name, l->s->name, model_name(l->kind), l->shape.m, l->shape.n, l->shape.k);
    text_addf(out,
              "Budget: " I64 " SMs at " I64 " MHz (" I64 " under load); per SM " I64 " registers, " I64
              " bytes of shared memory, " I64 " warps, " I64 " schedulers, " I64
              " %s FMAs per clock;\n",
              g->sms, g->clock_mhz, g->sustained_clock_mhz, g->registers_per_sm, g->smem_per_sm_bytes,
              g->warps_per_sm, g->schedulers_per_sm,
              model_fma_per_cycle(g, l->s) / (multiplies_fp32(l) ? l->s->products : 1),
              multiplies_fp32(l) ? "FP32" : scheme_operands(l->s));
    text_addf(out, "        per thread " I64 " registers; per block " I64 " bytes of shared memory, " I64
              " threads; L2 " I64 " GB/s, device memory " I64 " GB/s.\n",
              g->registers_per_thread_max, g->smem_per_block_bytes, g->threads_per_block_max, g->l2_gbps,
              g->dram_gbps);
    if (l->s->moduli > 0)
        text_addf(out, "Scheme: %d moduli, a product of each. %s.\n", l->s->moduli, l->s->paper);
    else
        text_addf(out, "Scheme: %d slices, %d products, %d accumulators. %s.\n",
                  l->s->slices, l->s->products, l->s->accumulators, l->s->paper);
    explain_add_kernels(out, l);
    text_add(out, "\nCeiling: ");
    explain_add_ceiling(out, l);
    text_add(out, "\n");
    explain_add_estimates(out, g);
    text_add(out, "\n");
    text_add(out, explain_seen_note(l));
}

static const char *const formulas[] = {
    [MODEL_HALFTONE] = "Model: registers (accumulators, fragments, other), shared memory (stages), "
                       "instruction cache, occupancy; then the least time by ht_cost_ns:\n"
                       "       the slowest of tensor, smem and issue, plus stage fill and FP32 adds, plus "
                       "what blocks cannot hide of barriers and copies; at least what L2\n"
                       "       and device memory need; whole waves. Kernel only: no packing, no split-K.\n",
    [MODEL_EGEMM] =
        "Model: EGEMM-TC eqs. 2-8. Maximise eq. 4 (P bm bn / (S (bm + bn)); the paper: 2 bm bn / (bm + bn)), "
        "subject to\n       eq. 8 registers, section 4's FRAG caching (C and operands of each warp) plus 40 "
        "context registers, per thread and for all warps\n       of a block in the SM's register file, eq. 8 "
        "shared memory (padding 4 as in Table 4; eq. 8 prints 8), T_Mem1 + T_Mem2 <= T_Comp.\n       Ties: "
        "larger wm*wn, smaller wm+wn, larger bk, fewer stages, larger wm. Eq. 8's registers as printed admit "
        "(256,128,32); FRAG caching of the\n       whole block does not. Time: eq. 5 for every block of "
        "every wave.\n",
    [MODEL_LEGEMM] =
        "Model: LE-GEMM eqs. 12-17. Maximise T_TLP (at most what the GPU holds) x eq. 15, subject to Work_DL "
        "in registers per thread and per SM (eq. 17 counts\n       one register per element of C), two "
        "buffers in shared memory, T_K a multiple of the fragment's k. Ties: larger T_K (it shrinks only to "
        "fit),\n       less work per thread. The product of the two objectives is ours: the paper names no "
        "scalar. T_K starts at one panel atom (32 for two slices).\n       Time, for orientation only: eq. "
        "14 at the matrix unit's rate or eq. 13 at L2's.\n",
};

void explain_uses(const struct listing *l, const struct candidate *c, struct explain_use use[EXPLAIN_USES]) {
    const struct gpu *g = l->g;
    const int64_t warps = c->cost.threads / c->on.isa->wave_size, blocks = c->cost.blocks_per_sm;
    const int64_t allocated = model_warp_registers(c->on.isa, c->cost.regs_per_thread) * warps;
    const struct explain_use all[EXPLAIN_USES] = {
        {"registers per thread", c->cost.regs_per_thread, g->registers_per_thread_max},
        {"registers per SM", allocated * blocks, g->registers_per_sm},
        {"shared memory per block", c->cost.smem_bytes, g->smem_per_block_bytes},
        {"threads per block", c->cost.threads, g->threads_per_block_max},
        {"warps per SM", warps * blocks, g->warps_per_sm}};
    memcpy(use, all, sizeof all);
}

/* Families with a search space have the form of tiled waves. */
static int clocks_of_launch(const struct candidate *c) {
    return c->cost.walk.persistent ? c->cost.formula.waves.tile_overhead_cycles : 0;
}

static int clocks_of_tile(const struct candidate *c) {
    const struct ht_tiled_waves *w = &c->cost.formula.waves;
    return c->cost.walk.persistent ? w->block_overhead_cycles : w->tile_overhead_cycles;
}

/* The model's own quantities for a tile. */
static void print_terms(struct text *out, const struct listing *l, const struct candidate *c) {
    const struct tile *t = &c->tile;
    struct model_step s;
    const bool has_pipes = model_step_of(&c->on, t, c->cost.blocks_per_sm, &s);
    if (l->kind == MODEL_HALFTONE && !has_pipes) {
        const struct ht_tiled_waves *w = &c->cost.formula.waves;
        text_addf(
            out,
            "  clocks of one bk step %d, of a tile's start and end %d (%d more where m is no multiple of 4), "
            "of a launch %d\n",
            w->step_busy_x256 / 256, clocks_of_tile(c), w->scalar_store_cycles, clocks_of_launch(c));
    } else if (l->kind == MODEL_HALFTONE) {
        text_addf(out,
                  "  clocks of one bk step: tensor " I64 ", smem " I64 ", issue " I64 ", fp32 " I64
                  ", fill " I64 ", chain " I64 ", exposed " I64 ", copy " I64 "; %d instructions\n",
                  s.tensor / 256, s.smem / 256, s.issue / 256, s.fp32 / 256, s.fill / 256, s.chain / 256,
                  s.exposed / 256, s.copy / 256, s.instructions);
        text_addf(out, "  device memory " I64 " ns of " I64 " ns\n",
                  model_mma_dram_ns(&c->on, t, &l->shape, c->cost.blocks_per_sm), c->cost.predicted_ns);
    } else if (l->kind == MODEL_EGEMM) {
        struct model_egemm_terms e = model_egemm_terms(&c->on, t);
        text_addf(out,
                  "  eq. 4 ratio " MILLI "; eq. 8 registers " I64 " bytes; FRAG " I64
                  " registers a thread; shared memory " I64 " bytes (padding 8: " I64 ")\n  T_Comp " MILLI
                  ", T_Mem1 " MILLI ", T_Mem2 " MILLI " clocks\n",
                  AS_MILLI(e.ratio_milli), e.register_bytes, e.frag_registers, e.smem_bytes, e.smem_bytes_eq8,
                  AS_MILLI(e.comp_milli), AS_MILLI(e.mem1_milli), AS_MILLI(e.mem2_milli));
    } else {
        struct model_legemm_terms e = model_legemm_terms(&c->on, t, &l->shape);
        text_addf(out,
                  "  T_TLP " I64 " threads, limit " I64 "; ratio " MILLI "; Work_DL " MILLI ", Work_CP " I64
                  "; registers " I64 ", with every accumulator whole " I64 "\n",
                  e.tlp, e.tlp_limit, AS_MILLI(e.ratio_milli), AS_MILLI(e.work_dl_milli), e.work_cp,
                  e.registers, e.registers_two_accumulators);
    }
}

const char *const explain_part_names[EXPLAIN_PARTS] = {"the pipes",
                                                       "stage fill",
                                                       "FP32 adds",
                                                       "barriers and late copies",
                                                       "start and end of blocks",
                                                       "waves that are not full, or wait for memory"};

void explain_take_apart(const struct listing *l, const struct candidate *c, int64_t part[EXPLAIN_PARTS]) {
    const struct tile *t = &c->tile;
    const int64_t busy = c->cost.formula.waves.step_busy_x256;
    struct model_step s;
    model_step_of(&c->on, t, c->cost.blocks_per_sm, &s);
    const int64_t steps = ht_ceil_div(l->shape.k, t->bk) * scheme_alike(l->s), p = c->cost.blocks_per_sm;
    const int64_t tiles = ht_mul(ht_ceil_div(l->shape.m, t->bm), ht_ceil_div(l->shape.n, t->bn));
    const int64_t of_sm = ht_mul(tiles, steps) / l->g->sms;
    const int64_t stall = c->cost.formula.waves.step_latency_x256 - busy;
    part[0] = ht_mul(of_sm, busy - s.fill - s.fp32) / 256;
    part[1] = ht_mul(of_sm, s.fill) / 256;
    part[2] = ht_mul(of_sm, s.fp32) / 256;
    part[3] = ht_mul(of_sm, stall) / (256 * p * p * p);
    part[4] = clocks_of_launch(c) + ht_mul(clocks_of_tile(c), ht_ceil_div(c->cost.waves_milli, 1000));
    part[5] = ht_mul(c->cost.predicted_ns, model_clock_mhz(l->g)) / 1000;
    for (int i = 0; i < EXPLAIN_PARTS - 1; i++)
        part[EXPLAIN_PARTS - 1] -= part[i];
}

/* By how much q is behind p, and where our own model sees the time go. */
static void print_difference(struct text *out, const struct listing *l, const struct candidate *p,
                             const struct candidate *q) {
    if (l->kind != MODEL_HALFTONE) {
        text_addf(out, ": its objective is " I64 " %% of the pick's\n",
                  ht_mul(q->cost.score, 100) / p->cost.score);
        return;
    }
    int64_t ours[EXPLAIN_PARTS], theirs[EXPLAIN_PARTS];
    int most = 0;
    explain_take_apart(l, p, ours);
    explain_take_apart(l, q, theirs);
    for (int i = 1; i < EXPLAIN_PARTS; i++)
        most = theirs[i] - ours[i] > theirs[most] - ours[most] ? i : most;
    const int64_t slower = ht_mul(q->cost.predicted_ns - p->cost.predicted_ns, 1000) / p->cost.predicted_ns;
    text_addf(out, ": " I64 ".%d %% slower, because %s cost it " I64 " clocks against " I64 "\n", slower / 10,
              (int)(slower % 10), explain_part_names[most], theirs[most], ours[most]);
}

int explain_runner_up(const struct listing *l) {
    int second = 1;
    while (second + 1 < l->fits && l->item[second].cost.score == l->item[0].cost.score)
        second++;
    return second < l->fits ? second : 0;
}

/* What came second, by how much and why. */
static void print_runner_up(struct text *out, const struct listing *l) {
    const int second = explain_runner_up(l);
    if (second == 0)
        return;
    const struct candidate *p = &l->item[0], *q = &l->item[second];
    if (second > 1)
        text_addf(out, "  tiles as good, behind by the tie rule: %d\n", second - 1);
    text_add(out, "  second is ");
    explain_add_tile(out, l, &q->tile);
    if (p->cost.score == q->cost.score)
        text_add(out, ": as good, behind by the tie rule\n");
    else
        print_difference(out, l, p, q);
}

/* Rejected tiles before `end` whose reasons are of the kind of tile `at`'s. */
static int count_kind(const struct listing *l, int at, int end) {
    const struct cost *c = &l->item[at].cost;
    int count = 0;
    for (int i = l->fits; i < end; i++)
        count += strncmp(l->item[i].cost.reason, c->reason, (size_t)c->kind + 1) == 0;
    return count;
}

/* Why a model accepts nothing: every constraint that rejects, how many, and an example. Models check hard
 * limits first: "eq. 8 time" are the tiles that would fit. */
static void print_no_pick(struct text *out, const struct listing *l) {
    text_addf(out, "\nPick: none. Model %s accepts no tile of scheme %s on this budget, because\n",
              model_name(l->kind), l->s->name);
    for (int i = 0; i < l->count; i++) {
        const struct cost *c = &l->item[i].cost;
        if (count_kind(l, i, i) == 0)
            text_addf(out, "  %4d of %d fail %.*s, such as%s\n", count_kind(l, i, l->count), l->count,
                      c->kind, c->reason, c->reason + c->kind + 1);
    }
}

static void print_pick(struct text *out, const struct listing *l) {
    if (l->fits == 0) {
        print_no_pick(out, l);
        return;
    }
    const struct candidate *p = &l->item[0];
    struct explain_use use[EXPLAIN_USES];
    text_add(out, "\nPick: ");
    explain_add_tile(out, l, &p->tile);
    text_addf(out, ", %d %s, %d threads\n", tile_warps(&p->tile) * tile_groups(&p->tile, &p->on),
              p->on.family->workers, p->cost.threads);
    explain_uses(l, p, use);
    for (int i = 0; i < EXPLAIN_USES; i++) {
        text_addf(out, "  %-26s %8" PRId64 " of %8" PRId64 "  %3" PRId64 " %%\n", use[i].what, use[i].used,
                  use[i].limit, use[i].limit > 0 ? use[i].used * 100 / use[i].limit : 0);
        if (i == 0)
            text_addf(out, "    accumulators %d, %s %d, other %d\n", p->cost.regs_accumulators,
                      p->on.family->holds, p->cost.regs_fragments, p->cost.regs_other);
    }
    text_addf(out, "  blocks per SM %d, waves " MILLI "\n", p->cost.blocks_per_sm,
              AS_MILLI(p->cost.waves_milli));
    print_terms(out, l, p);
    const int64_t rate = explain_pick_gflops(l);
    text_addf(out, "  predicted " MILLI " us, " MILLI " TFLOPS, " I64 " %% of the ceiling; bound by %s\n  ",
              AS_MILLI(p->cost.predicted_ns), AS_MILLI(rate), rate * 100 / explain_ceiling_gflops(l),
              p->cost.binding);
    explain_add_verdict(out, l);
    text_add(out, "\n");
    print_runner_up(out, l);
}

/* ---- the papers' own tiles ---- */

static const struct paper_tile {
    enum model_kind kind;
    const char *gpu, *source;
    int bm, bn, bk, wm, wn; /* wm 0: the paper does not say */
    int stages;             /* 0: any */
    const char *note;
} paper_tiles[] = {
    {MODEL_EGEMM, "t4", "EGEMM-TC Table 4", 128, 128, 32, 64, 32, 0,
     "eq. 8 alone also admits (256,128,32); FRAG caching of all warps in the SM's registers does not. Table "
     "4's 36 KB is padding 4."},
    {MODEL_LEGEMM, "a800", "LE-GEMM Table 2", 128, 256, 32, 0, 0, 0,
     "Eq. 17 counts one accumulator; algorithm 1 keeps two. Two of 128 x 256 are 65,536 registers, the SM's "
     "whole file (256 a thread\n  at 256 threads, 128 at 512 with no room for fragments): the equations "
     "accept what the hardware cannot hold unspilled."},
    {MODEL_LEGEMM, "mi210", "LE-GEMM Table 2, two buffers", 128, 128, 32, 0, 0, 2,
     "Two buffers fill the 64 KB of LDS exactly; every larger tile overflows at T_K = 32."},
    {MODEL_EGEMM, "mi210", "LE-GEMM Table 2, two buffers", 128, 128, 32, 0, 0, 2,
     "The equations of EGEMM-TC were written for Turing's registers and L2; LE-GEMM does not use them."},
    {MODEL_HALFTONE, "mi210", "LE-GEMM Table 2, two buffers", 128, 128, 32, 0, 0, 2,
     "Its two buffers take all of LDS, so one workgroup has the CU to itself. A buffer less leaves room for "
     "a second\n  workgroup, which multiplies while the first one waits at its barriers; this model counts "
     "that as more."},
};

/* The first candidate of the row's geometry; the count: none. */
static int find_paper_tile(const struct listing *l, const struct paper_tile *row) {
    int i = 0;
    for (; i < l->count; i++) {
        const struct tile *t = &l->item[i].tile;
        if (t->bm == row->bm && t->bn == row->bn && t->bk == row->bk &&
            (row->wm == 0 || (t->wm == row->wm && t->wn == row->wn)) &&
            (row->stages == 0 || t->stages == row->stages))
            break;
    }
    return i;
}

static void print_paper_tiles(struct text *out, const struct listing *l) {
    for (size_t p = 0; p < sizeof paper_tiles / sizeof paper_tiles[0]; p++) {
        const struct paper_tile *const row = &paper_tiles[p];
        if (row->kind != l->kind || strcmp(row->gpu, l->g->name) != 0)
            continue;
        const int at = find_paper_tile(l, row);
        const struct candidate *const c = &l->item[at];
        text_addf(out, "\n%s: (%d,%d,%d) ", row->source, row->bm, row->bn, row->bk);
        if (at < l->fits)
            text_addf(out, "is accepted, rank %d of %d.\n  %s\n", at + 1, l->fits, row->note);
        else
            text_addf(out, "is not accepted for this scheme%s%s.\n  %s\n", at < l->count ? ": " : "",
                      at < l->count ? c->cost.reason : "", row->note);
        if (at < l->fits && c->cost.score != l->item[0].cost.score) {
            text_add(out, "  As ");
            explain_add_tile(out, l, &c->tile);
            print_difference(out, l, &l->item[0], c);
        }
    }
}

/* ---- all candidates ---- */

static bool is_in(const struct plan_set *set, const struct candidate *c) {
    for (int i = 0; i < set->count; i++)
        if (set->plan[i].on.family == c->on.family && tile_compare(&set->plan[i].tile, &c->tile) == 0)
            return true;
    return false;
}

static void print_fits(struct text *out, const struct listing *l) {
    static struct plan_set set; /* what `emit` makes of this scheme */
    set.count = 0;
    plan_scheme(&set, target_main(l->g, l->isa, l->s));
    text_addf(out, "\nAccepted: %d of %d\n", l->fits, l->count);
    for (int i = 0; i < l->fits; i++) {
        const struct cost *c = &l->item[i].cost;
        text_addf(out, "  %3d ", i + 1);
        explain_add_tile(out, l, &l->item[i].tile);
        text_addf(out, "  %d threads of %s, %d regs, %d smem, %d/SM, waves " MILLI ", " MILLI " us, %s%s\n",
                  c->threads, l->item[i].on.family->workers, c->regs_per_thread, c->smem_bytes,
                  c->blocks_per_sm, AS_MILLI(c->waves_milli), AS_MILLI(c->predicted_ns), c->binding,
                  is_in(&set, &l->item[i]) ? ", in the set" : "");
    }
}

/* Tiles rejected for the same kind of reason as tile `at`. */
static void print_group(struct text *out, const struct listing *l, int at) {
    const struct cost *first = &l->item[at].cost;
    text_addf(out, "\nRejected by %.*s: %d\n", first->kind, first->reason, count_kind(l, at, l->count));
    for (int i = at; i < l->count; i++) {
        const struct cost *c = &l->item[i].cost;
        if (strncmp(c->reason, first->reason, (size_t)first->kind + 1) != 0)
            continue;
        text_add(out, "  ");
        explain_add_tile(out, l, &l->item[i].tile);
        text_addf(out, "  %d threads: %s\n", c->threads, c->reason + c->kind + 2);
    }
}

void explain_print(struct text *out, const struct listing *l) {
    print_head(out, l);
    text_add(out, formulas[l->kind]);
    print_pick(out, l);
    explain_add_fp64(out, l);
    print_paper_tiles(out, l);
    print_fits(out, l);
    for (int i = l->fits; i < l->count; i++) /* each kind at the first tile that has it */
        if (count_kind(l, i, i) == 0)
            print_group(out, l, i);
}
