/* shapes: lists of product sizes. See shapes.h. */
#include "io/shapes.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int shapes_add(struct shape_list *list, int64_t m, int64_t n, int64_t k, struct cli_error *f) {
    if (list->count == list->capacity) {
        int capacity = list->capacity > 0 ? 2 * list->capacity : 64;
        struct shape *grown = realloc(list->shape, (size_t)capacity * sizeof *grown);
        if (grown == NULL)
            return cli_error_memory(f, (double)capacity * 24, "a list of shapes");
        list->shape = grown;
        list->capacity = capacity;
    }
    struct shape added = {m, n, k};
    list->shape[list->count++] = added;
    return 0;
}

/* Three whole numbers and nothing else. */
static int parse_line(const char *line, int64_t out[3]) {
    const char *at = line;
    for (int i = 0; i < 3; i++) {
        char *end = NULL;
        errno = 0;
        long long value = strtoll(at, &end, 10);
        if (end == at || errno != 0 || value < 1 || value > SHAPE_EXTENT_MOST)
            return -1;
        out[i] = (int64_t)value;
        at = end;
    }
    return at[strspn(at, " \t\r")] == '\0' ? 0 : -1;
}

int shapes_read(struct shape_list *list, const char *path, struct cli_error *f) {
    char line[256];
    int status = 0, number = 0;
    FILE *in = fopen(path, "r");
    if (in == NULL)
        return cli_error_set(f, "%s: cannot be opened: %s; check the name", path, strerror(errno));
    for (enum line_kind kind; status == 0 && (kind = line_read(in, line, sizeof line)) != LINE_END;) {
        int64_t extent[3];
        const char *start = line + strspn(line, " \t\r");
        number++;
        if (*start == '#' || (*start == '\0' && kind == LINE_WHOLE))
            continue;
        if (kind == LINE_LONG || parse_line(start, extent) != 0)
            status = cli_error_set(f, "%s:%d: not a shape; write three numbers 1..%d, `m n k`", path, number,
                               (int)SHAPE_EXTENT_MOST);
        else
            status = shapes_add(list, extent[0], extent[1], extent[2], f);
    }
    if (status == 0 && ferror(in))
        status = cli_error_set(f, "%s: cannot be read: %s; name a file of lines `m n k`", path, strerror(errno));
    fclose(in);
    if (status == 0 && list->count == 0)
        status = cli_error_set(f, "%s: holds no shape; write lines `m n k`", path);
    return status;
}

void shapes_free(struct shape_list *list) {
    free(list->shape);
    memset(list, 0, sizeof *list);
}

enum { SIZES_MOST = 32 };

int shapes_choose(struct shape_list *list, const char *sizes, const char *file, const char *usual, struct cli_error *f) {
    int64_t size[SIZES_MOST];
    int count = 0;
    if (file != NULL && shapes_read(list, file, f) != 0)
        return -1;
    if (sizes == NULL && file != NULL)
        return 0;
    if (args_numbers("--sizes", sizes != NULL ? sizes : usual, 1, 65536, size, SIZES_MOST, &count, f) != 0)
        return -1;
    for (int i = 0; i < count; i++)
        if (shapes_add(list, size[i], size[i], size[i], f) != 0)
            return -1;
    return 0;
}

int shapes_trans(const char *text, struct name_list *names, const char *out[SHAPES_TRANS_MOST], int *count, struct cli_error *f) {
    static const char *const known[SHAPES_TRANS_MOST] = {"NN", "NT", "TN", "TT"};
    if (args_names("--trans", text, names, f) != 0)
        return -1;
    for (int i = 0; i < names->count; i++) {
        int found = 0;
        while (found < SHAPES_TRANS_MOST && strcmp(known[found], names->name[i]) != 0)
            found++;
        if (found == SHAPES_TRANS_MOST || *count == SHAPES_TRANS_MOST)
            return cli_error_usage(f, "--trans: '%s' is none of NN, NT, TN, TT, or one too many", names->name[i]);
        out[(*count)++] = known[found];
    }
    return 0;
}
