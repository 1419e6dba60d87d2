/* holes: what stands in the holes of templates/skeletons/wgmma_ss.cu and mma_warp.cu. Knows plans, schedules
 * and the skeletons' names, no frames or banners. */
#ifndef HT_HOLES_H
#define HT_HOLES_H

#include "base/text.h"
#include "plan/sched.h"

struct hole {
    const struct plan *plan;
    const struct sched *sched;
    const struct text *inlay;
};
/* Writes hole `name` of a struct hole's plan; false: the template's own text stays. */
bool emit_wgmma_hole(void *context, const char *name, struct text *out, int indent);
bool emit_mma_warp_hole(void *context, const char *name, struct text *out, int indent);

/* What MMAs form: "A.lo * B.hi", and "A.lo * B.hi, k 16..31"; three slices and more are numbered, one has no
 * name. */
void emit_slices_text(struct text *out, const struct scheme *s, int product);
void emit_product_text(struct text *out, const struct scheme *s, int product, int k, int depth);

/* wgmma instructions of one warpgroup in one chunk, for banners and tests. */
int emit_wgmma_count(const struct plan *p);

#endif
