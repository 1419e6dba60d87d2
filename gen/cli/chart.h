/* chart: drawings of a ranking as inline SVG. Whole numbers only, so that a page is the same everywhere. */
#ifndef HT_CHART_H
#define HT_CHART_H

#include "cli/explain.h"

/* Appends text as HTML: & < > " become entities. */
void chart_escape(struct text *out, const char *text, size_t len);

/* All candidates at once: blocks bm x bn, in each a cell for every warp tile (rows), bk and stages (columns); shade is
 * predicted speed against the pick's, a letter the kind of rejection (chart_letter). */
void chart_tile_map(struct text *out, const struct listing *l);

/* Letter of a kind of rejection: 'A' for the first kind in the listing, 'B' for the next, ... */
char chart_letter(const struct listing *l, const char *reason);

/* What the pick takes of the budget; where its time and the rival's go (rank from 0; 0: only the pick). Need a pick. */
void chart_budget(struct text *out, const struct listing *l);
void chart_time(struct text *out, const struct listing *l, int rival);

/* Every scheme's pick under the memory roof and the schemes' ceilings. points: ranked listings that fit. */
enum { CHART_POINTS_MAX = 64 };
void chart_roofline(struct text *out, const struct listing *points, int count);
#endif
