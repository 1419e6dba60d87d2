/* pair: two .npy files as operands. See pair.h. */
#include "measure/pair.h"

#include <string.h>

static int read_both(struct pair *p, const char *const path[2], int (*read)(const char *, struct npy_matrix *, struct cli_error *),
                     struct cli_error *f) {
    for (int i = 0; i < 2; i++)
        if (read(path[i], &p->x[i], f) != 0)
            return -1;
    return 0;
}

int pair_read(struct pair *p, const char *const path[2], int wide, struct cli_error *f) {
    return read_both(p, path, wide ? npy_read_wide : npy_read, f);
}

int pair_examine(struct pair *p, const char *const path[2], struct cli_error *f) {
    return read_both(p, path, npy_examine, f);
}

void pair_free(struct pair *p) {
    for (int i = 0; i < 2; i++)
        npy_free(&p->x[i]);
    memset(p, 0, sizeof *p);
}

static int64_t stored_rows(const struct pair *p, int which) {
    return p->batch > 1 ? p->x[which].rows / p->batch : p->x[which].rows;
}

int64_t pair_rows(const struct pair *p, int which) {
    return p->transposed[which] ? p->x[which].cols : stored_rows(p, which);
}

int64_t pair_cols(const struct pair *p, int which) {
    return p->transposed[which] ? stored_rows(p, which) : p->x[which].cols;
}

void pair_steps(const struct pair *p, int which, int64_t *row_step, int64_t *k_step) {
    const struct npy_matrix *const x = &p->x[which];
    const int64_t down = x->column_major ? 1 : x->cols, right = x->column_major ? x->rows : 1;
    const int rows_go_down = (which == 0) != p->transposed[which];
    *row_step = rows_go_down ? down : right;
    *k_step = rows_go_down ? right : down;
}

static const char *cure_of(const struct pair *p, int is_option) {
    if (pair_rows(p, 0) == pair_rows(p, 1))
        return is_option ? "--ta (given or left out) would make them fit"
                         : "the other trans_a would make them fit";
    if (pair_cols(p, 0) == pair_cols(p, 1))
        return is_option ? "--tb (given or left out) would make them fit"
                         : "the other trans_b would make them fit";
    return "no transpose makes them fit: give other files";
}

int pair_check(const struct pair *p, const char *subject, int is_option, struct cli_error *f) {
    const char *before = subject != NULL ? subject : "";
    for (int i = 0; i < 2 && p->batch > 1; i++)
        if (p->x[i].column_major || p->x[i].rows % p->batch != 0)
            return cli_error_set(
                f,
                "%s%s holds %lld rows in %s order, not a batch of %lld; store the matrices below each other "
                "in C order",
                before, i == 0 ? "A" : "B", (long long)p->x[i].rows, p->x[i].column_major ? "Fortran" : "C",
                (long long)p->batch);
    if (pair_cols(p, 0) == pair_rows(p, 1))
        return 0;
    return cli_error_set(
        f, "%sop(A) is %lld x %lld and op(B) is %lld x %lld: the inner sizes %lld and %lld differ; %s",
        before, (long long)pair_rows(p, 0), (long long)pair_cols(p, 0), (long long)pair_rows(p, 1),
        (long long)pair_cols(p, 1), (long long)pair_cols(p, 0), (long long)pair_rows(p, 1),
        cure_of(p, is_option));
}

char pair_trans(const struct pair *p, int which) {
    return p->transposed[which] != p->x[which].column_major ? 'T' : 'N';
}

int64_t pair_ld(const struct pair *p, int which) {
    return p->x[which].column_major ? p->x[which].rows : p->x[which].cols;
}

int pair_open_problem(const struct pair *p, struct session_problem *out, struct cli_error *f) {
    const int is_wide = p->x[1].wide != NULL;
    *out = (struct session_problem){.type = is_wide ? HALFTONE_FP64 : HALFTONE_FP32, .trans_a = pair_trans(p, 1), .trans_b = pair_trans(p, 0),
                                    .m = pair_cols(p, 1), .n = pair_rows(p, 0), .k = pair_cols(p, 0), .lda = pair_ld(p, 1), .ldb = pair_ld(p, 0),
                                    .batch = p->batch};
    return is_wide ? session_problem_open(out, p->x[1].wide, p->x[0].wide, f) : session_problem_open(out, p->x[1].data, p->x[0].data, f);
}
