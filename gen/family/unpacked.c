/* unpacked: what kernels share that read the caller's matrices and multiply tiles of both: form tiled waves,
 * or device memory's stream, whichever takes longer; and their holes. */
#include <string.h>

#include "family/rows.h"

enum { PORT_BYTES = 64, NARROW_COLUMNS = 16, TALL_ROWS = 64 }; /* from L2 to an SM in a clock */

static int64_t busy(const struct target *on, const struct tile *t, const struct fit_unpacked *f,
                    pipes_of *pipes, int blocks) {
    const int64_t warps = (int64_t)tile_warps(t) * blocks, most = on->g->schedulers_per_sm;
    const int64_t port = (int64_t)(t->bm + t->bn) * t->bk * number_bytes(on->s->in) * 256 / PORT_BYTES;
    const int percent =
        t->bn <= NARROW_COLUMNS && f->narrow_pipe_percent > 0 ? f->narrow_pipe_percent : f->pipe_percent;
    return model_largest(pipes(on, t, warps < most ? warps : most) * percent / 100 + f->step_cycles * 256,
                         port);
}

void time_unpacked(const struct target *on, const struct tile *t, struct cost *cost,
                   const struct fit_unpacked *f, pipes_of *pipes, int64_t chain, int sets, const char *unit) {
    cost->unit = unit;
    const int64_t sums = (int64_t)t->wm * t->wn / on->isa->wave_size,
                  bytes = (int64_t)(t->bm + t->bn) * t->bk * number_bytes(on->s->in);
    const int64_t latency = on->g->l2_latency_cycles + on->g->dram_latency_cycles;
    const int64_t arrival = latency * f->arrival_percent * 256 / 100 / sets;
    const int64_t alone = f->alone_cycles * 256 + f->alone_cycles_per_kb * bytes * 256 / 1024 + arrival;
    cost->formula.waves = (struct ht_tiled_waves){
        .step_busy_x256 = at_boost(on, busy(on, t, f, pipes, cost->blocks_per_sm)),
        .step_latency_x256 = at_boost(on, model_largest(busy(on, t, f, pipes, 1), chain) + alone),
        .tile_overhead_cycles = at_boost(on, f->block_start_cycles + f->sum_cycles * sums),
        .block_overhead_cycles =
            at_boost(on, f->serial_cycles + f->serial_cycles_per_1024 * t->bm * t->bn / 1024),
        .scalar_store_cycles = at_boost(on, f->scalar_store_row_cycles * t->bm),
        .misaligned_cycles = at_boost(on, f->misaligned_cycles),
        .swap_ab_percent = t->bm > TALL_ROWS ? f->tall_swap_percent : 0,
        .dram_stream_gbps = (int)on->g->dram_gbps * f->stream_percent / 100,
    };
}

/* How unpacked_tile multiplies slices: as its template has it, by warpgroups, or not at all. */
static bool hole_slices(struct text *out, const struct family_hole *h) {
    if (h->inlay->len > 0) {
        text_add_bytes(out, h->inlay->data, h->inlay->len);
        return true;
    }
    if (h->plan->on.isa->mma_bf16)
        return false;
    text_add(out, "template <bool P_K_MAJOR, bool Q_K_MAJOR>\nHT_DEVICE void "
                  "multiply_sliced(ht_acc (*)[NI][D_REGS], ht_acc (*)[NI][D_REGS], ht_value_range *, "
                  "const ht_task &, unsigned)\n{\n}\n"); /* FAST is 0: FFMA only */
    return true;
}

bool holes_unpacked(void *context, const char *name, struct text *out, int indent) {
    const struct family_hole *h = context;
    (void)indent;
    if (strcmp(name, "slices") == 0)
        return hole_slices(out, h);
    return (strcmp(name, "fallback") == 0 && h->plan->variant != VARIANT_FALLBACK) || /* it stays empty */
           (strcmp(name, "blocks") == 0 && !family_fallback_in_kernel(h->plan));
}
