/* lines: see lines.h. */
#include "io/lines.h"

enum line_kind line_read(FILE *in, char *line, size_t bytes) {
    size_t used = 0;
    enum line_kind kind = LINE_WHOLE;
    int c;
    while ((c = getc(in)) != EOF && c != '\n')
        if (used + 1 < bytes)
            line[used++] = (char)c;
        else
            kind = LINE_LONG;
    line[used] = '\0';
    return c == EOF && used == 0 ? LINE_END : kind;
}
