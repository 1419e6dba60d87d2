/* check64: what accuracy fp64 would do with FP64 operands, and what of their numbers decides it. See check64.h. */
#include "cmd/check64.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accuracy/families64.h"
#include "accuracy/residue_check.h"
#include "io/args.h"
#include "io/tsv.h"
#include "measure/sample_problem.h"

static const struct tsv_column columns[] = {{"data", 1},      {"n", 1},        {"k", 1},     {"scheme", 1}, {"counted", 1},
                                            {"large", 1},     {"native64", 1}, {"tiles", 1}, {"unasked", 1}};
static const int moduli[] = {15, 16};
enum { SCHEMES = sizeof moduli / sizeof *moduli };

static double share(int64_t part, int64_t of) {
    return of > 0 ? (double)part / (double)of : 0;
}

static int add_row(struct tsv *t, const char *name, const struct residue_operand *a, const struct residue_operand *b, int64_t k,
                   struct cli_error *f) {
    for (int i = 0; i < SCHEMES; i++) {
        struct residue_report r;
        char scheme[16];
        if (residue_check(a, b, k, moduli[i], (double)k, &r) != 0)
            return cli_error_memory(f, 64.0 * (double)(a->rows + b->rows), "rows of the check");
        snprintf(scheme, sizeof scheme, "crt%d", moduli[i]);
        tsv_text(t, name);
        tsv_integer(t, a->rows);
        tsv_integer(t, k);
        tsv_text(t, scheme);
        tsv_real(t, share(r.counted, r.elements), 4);
        tsv_real(t, share(r.large, r.elements), 4);
        tsv_real(t, share(r.elements - r.counted - r.large, r.elements), 4);
        tsv_real(t, share(r.tiles_left, r.tiles), 3);
        tsv_real(t, share(r.large_unasked, r.elements), 4);
        tsv_end_row(t);
    }
    return 0;
}

static int add_family(struct tsv *t, const struct family *family, int64_t n, int64_t k, struct cli_error *f) {
    double *const a = malloc((size_t)(n * k) * sizeof *a), *const b = malloc((size_t)(n * k) * sizeof *b);
    int status = -1;
    if (a == NULL || b == NULL || family64_fill_op(family, 1, 'A', 'T', n, n, k, a, k) != 0 ||
        family64_fill_op(family, 1, 'B', 'N', n, n, k, b, k) != 0) {
        (void)cli_error_memory(f, 16.0 * (double)n * (double)k, "matrices");
    } else {
        const struct residue_operand rows = {a, n, k, 1}, cols = {b, n, k, 1};
        status = add_row(t, family->name, &rows, &cols, k, f);
    }
    free(a);
    free(b);
    return status;
}

static int print(struct tsv *t, struct cli_error *f) {
    puts("# halftone check of FP64, accuracy fp64; shares of elements of C: counted, large: residues' by counts, by their size; native64:\n"
         "# the rest; tiles: of 64 x 64 with any of the rest; unasked: of it, large enough, but of rows with signs or few large elements");
    return tsv_print(t, stdout, f);
}

int check64_families(const char *families, int64_t n, int64_t k, struct cli_error *f) {
    struct name_list names = {NULL, NULL, 0};
    const struct family *family[SAMPLE_FAMILIES_MOST];
    struct tsv t;
    int count = 0;
    int status = k < 2 ? cli_error_usage(f, "--k: one product is native64's; give 2 or more")
                       : sample_problem_families(strcmp(families, "all") == 0 ? NULL : families, &names, family, &count, f);
    tsv_init(&t, columns, (int)(sizeof columns / sizeof *columns));
    for (int i = 0; i < count && status == 0; i++)
        status = add_family(&t, family[i], n, k, f);
    if (status == 0)
        status = print(&t, f);
    tsv_free(&t);
    args_names_free(&names);
    return status;
}
