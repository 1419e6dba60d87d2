/* site_table: sites and what each has, as a file: lines of a drop-in's site table (runtime/ht_site_line.h) whose only condition
 * is site=, a pattern of the shell; of the lines that match the first counts. What no line names has the default.
 *
 *     # comment
 *     site=update scheme=mixpert1
 *     site=*      accuracy=fp32
 */
#ifndef BENCH_SITE_TABLE_H
#define BENCH_SITE_TABLE_H

#include "apps/products.h"

#define SITE_DEFAULT "fp32"
enum { SITE_NAME_BYTES = 320 };

/* level[i] of site name[i]. A line that matches none of the sites, or says more than site=, is a fault: the table is of another
 * program. */
int site_table_read(const char *path, const char *const *name, int sites, char level[][LEVEL_BYTES], struct cli_error *f);
/* Whole or not at all. comments: lines "# ...", with their ends. A name that holds '=' is the conditions of its line. */
int site_table_write(const char *path, const char *comments, const char *const *name, int sites, const char *const *level,
                     struct cli_error *f);

#endif
