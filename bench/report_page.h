/* report_page: the error report as one HTML page: where the guarantee of each scheme ends. Knows nothing of devices. */
#ifndef BENCH_REPORT_PAGE_H
#define BENCH_REPORT_PAGE_H

#include <stdint.h>

#include "fault.h"

struct report_row {
    const char *family, *contender;
    int64_t n, k, misplaced;
    double frob, grade, bound; /* bound 0: none of that kind */
};

/* All of a report, as it goes to its page. Names stay the caller's. */
struct report_sheet {
    const char *head; /* comment lines of the table */
    const char *native;
    const char *note; /* what is to be said of cuBLAS' own modes */
    const struct report_row *row;
    int rows;
    const char *const *contender, *const *range; /* in the order of the plots; range "": nothing documented */
    int contenders;
    const char *const *family, *const *family_text;
    int families;
};

/* One self-contained page, no scripts, nothing fetched. */
int report_page(const struct report_sheet *s, const char *path, struct fault *f);

#endif
