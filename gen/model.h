/* model: (Gpu, Isa, Scheme, Tile, Shape) -> Cost or reason of rejection. Level 2. Pure functions, integer
 * arithmetic only; every formula names its source and carries a worked line that is also a unit test. */
#ifndef HT_MODEL_H
#define HT_MODEL_H

#include <stdbool.h>
#include <stdint.h>

#include "../runtime/ht_desc.h"
#include "gpu.h"
#include "tile.h"

enum model_kind { MODEL_HALFTONE, MODEL_EGEMM, MODEL_LEGEMM };
enum { MODEL_REASON_MAX = 160 };

struct shape {
    int64_t m, n, k;
};

struct cost {
    bool fits;
    char reason[MODEL_REASON_MAX];  /* why rejected, with the numbers; empty when it fits */
    char binding[32];               /* resource that limits the accepted tile: tensor, smem, l2, dram, latency, ... */
    int threads, regs_per_thread, smem_bytes, blocks_per_sm;
    int regs_accumulators, regs_fragments, regs_other; /* parts of regs_per_thread */
    int64_t waves_milli;            /* waves of the shape, thousandths */
    int64_t predicted_ns;           /* kernel only, for the shape */
    int64_t score;                  /* the model's own objective: larger is better; ties by tile_compare, smaller first */
    struct ht_cost_coefficients coefficients; /* what the runtime's ht_cost_ns needs (MODEL_HALFTONE) */
};

const char *model_name(enum model_kind kind);
bool model_from_name(const char *name, enum model_kind *kind);

/* Fills *cost for one tile. All three models accept every tile that tile_enumerate yields. */
void model_cost(enum model_kind kind, const struct gpu *g, const struct isa *isa, const struct scheme *s,
                const struct tile *t, const struct shape *shape, struct cost *cost);

/* Whether cost x beats cost y (both fit) under the model's objective; total with tile_compare. */
bool model_better(enum model_kind kind, const struct cost *x, const struct tile *tx, const struct cost *y,
                  const struct tile *ty);
#endif
