/* bench_shapes: which products are timed. See bench_shapes.h. */
#include "cmd/bench_shapes.h"

#include <string.h>

enum { SIZES_MOST = 32 };

int bench_shapes_choose(struct shape_list *list, const char *sizes, const char *file, const char *usual, struct cli_error *f) {
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

int bench_trans_choose(const char *text, struct name_list *names, const char *out[BENCH_TRANS_MOST], int *count, struct cli_error *f) {
    static const char *const known[BENCH_TRANS_MOST] = {"NN", "NT", "TN", "TT"};
    if (args_names("--trans", text, names, f) != 0)
        return -1;
    for (int i = 0; i < names->count; i++) {
        int found = 0;
        while (found < BENCH_TRANS_MOST && strcmp(known[found], names->name[i]) != 0)
            found++;
        if (found == BENCH_TRANS_MOST || *count == BENCH_TRANS_MOST)
            return cli_error_usage(f, "--trans: '%s' is none of NN, NT, TN, TT, or one too many", names->name[i]);
        out[(*count)++] = known[found];
    }
    return 0;
}
