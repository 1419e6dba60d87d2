/* cost_stream: time of gemv and tall_skinny (templates/skeletons): form streaming, FMAs that wait
 * for the M-side operand's way in. Fitted constants: model/fit.c. */
#include "model/family.h"
#include "model/fit.h"

#include <string.h>

/* Worked examples, steps: 8x1x256, 64 bytes and 36 FMAs a cycle: 8192 / 64 + 2048 / 36 = 184
 * cycles; 128x1, a line of 32 k, 61 and 18: 16384 / 61 + 4096 / 18 = 496. Of FP64
 * (predicted) FMAs load twice as much, and are no faster than its units: adds: what they add up besides in a
 * step, for each result. */
static void streaming(const struct target *on, const struct tile *t, const struct fit_streaming *f,
                      int adds, struct cost *cost) {
    const bool fp64 = on->s->in == NUMBER_F64;
    const int64_t bytes = cost->walk.element_bytes, loads = f->fma_per_cycle * 4 / bytes,
                  port = f->port_bytes, unit = model_lane_fmas(on), fma = fp64 && unit < loads ? unit : loads;
    const int64_t all = fp64 && unit < loads ? adds : 0;
    const int64_t busy = (int64_t)t->bm * 256 * (bytes * fma * cost->walk.step_k +
                                                 t->bn * port * (cost->walk.step_k + all)) / (port * fma);
    const int stream = f->stream_percent - f->stream_column_percent * (t->bn - 1);
    cost->formula.stream = (struct ht_streaming){
        .step_busy_x256 = at_boost(on, busy),
        .step_latency_x256 = at_boost(on, busy + f->alone_cycles * 256),
        .tile_overhead_cycles = at_boost(on, f->tile_cycles + f->tile_column_cycles * t->bn),
        .launch_cycles = at_boost(on, f->launch_cycles),
        .misaligned_cycles = at_boost(on, f->misaligned_cycles),
        .pdl_overlap_cycles =
            strcmp(on->isa->launch, "launch/pdl") == 0 ? at_boost(on, f->pdl_overlap_cycles) : 0,
        .dram_stream_gbps = (int)on->g->dram_gbps * stream / 100,
        .dram_step_cycles = at_boost(on, f->dram_step_cycles),
    };
    cost->unit = fp64 ? "fp64" : "fp32";
}

void time_gemv(const struct target *on, const struct tile *t, struct cost *cost) {
    streaming(on, t, &fitted.gemv, 0, cost);
}
void time_tall_skinny(const struct target *on, const struct tile *t, struct cost *cost) {
    streaming(on, t, &fitted.tall_skinny, GEMV_LANES, cost);
    if (on->s->in == NUMBER_F64 && cost->formula.stream.dram_stream_gbps > on->g->dram_gbps)
        cost->formula.stream.dram_stream_gbps = (int32_t)on->g->dram_gbps; /* FP32's fit is for its cards */
}
