/* page: one self-contained HTML page about a ranking: no scripts, nothing fetched, prints on paper. */
#ifndef HT_PAGE_H
#define HT_PAGE_H

#include "cli/explain.h"

struct page {
    const struct listing *main;
    const struct listing *other; /* NULL: none; the changed budget, or another GPU */
    const char *main_name, *other_name;
};

/* Draws the page with python3 and bench/pages.py below root, and writes it whole or not at all. False after
 * err_user. */
bool page_write(const struct page *p, const char *root, const char *path);
#endif
