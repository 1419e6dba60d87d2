/* emit_wgmma: the holes of templates/skeletons/wgmma_ss.cu. Knows plans and the skeleton's names, no
 * frames or banners. */
#ifndef HT_EMIT_WGMMA_H
#define HT_EMIT_WGMMA_H

#include "plan/plan.h"
#include "base/text.h"

/* Writes hole `name` of plan p; false: the template's own text stays. */
bool emit_wgmma_hole(const struct plan *p, const char *name, struct text *out, int indent);

/* wgmma instructions of one warpgroup in one chunk, for banners and tests. */
int emit_wgmma_count(const struct plan *p);

#endif
