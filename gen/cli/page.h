/* page: one self-contained HTML page about a ranking: no scripts, nothing fetched, prints on paper. */
#ifndef HT_PAGE_H
#define HT_PAGE_H

#include "cli/chart.h"
#include "cli/contrast.h"

struct page {
    const struct listing *main;
    const struct listing *other; /* NULL: none; the changed budget, or another GPU */
    const char *main_name, *other_name;
};

void page_write(struct text *out, const struct page *p);
#endif
