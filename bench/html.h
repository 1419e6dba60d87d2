/* html: what the pages of the command share: style, escaping, colours. Pages are single files without scripts that print well. */
#ifndef BENCH_HTML_H
#define BENCH_HTML_H

#include <stdio.h>

void html_begin(FILE *out, const char *title); /* up to and with <body>; html_end closes it */
void html_end(FILE *out);
void html_escaped(FILE *out, const char *text);
const char *html_colour(int index); /* of the series with this index; after 18 they repeat */

#endif
