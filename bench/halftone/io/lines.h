/* lines: text files line by line. Knows nothing of what lines say. */
#ifndef BENCH_LINES_H
#define BENCH_LINES_H

#include <stdio.h>

enum line_kind { LINE_END, LINE_WHOLE, LINE_LONG };

/* The next line without its newline, which the last one may lack. LINE_LONG: it is longer than `line`, which has its
 * beginning; the rest is passed over, so that it is not taken for a line of its own. */
enum line_kind line_read(FILE *in, char *line, size_t bytes);

#endif
