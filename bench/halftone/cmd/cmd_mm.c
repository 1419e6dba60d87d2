/* cmd_mm: `halftone mm`: the product of two .npy files into a third. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/args.h"
#include "cmd/cmd.h"
#include "cmd/methods.h"
#include "measure/session.h"
#include "io/outfile.h"
#include "io/tsv.h"
#include "measure/pair.h"

struct mm {
    const char *path[2], *output, *scheme, *accuracy;
    struct pair pair;
    struct npy_matrix result;
};

enum { NOT_COUNTED = -1 };

/* The accuracy of the result: the bound of what ran, and how many elements were computed again for it. */
static void print_kept(FILE *out, const struct mm *t, const struct session *e, const struct halftone_plan *plan, int64_t again) {
    static const char *const of[] = {"|A||B|", "k max|a| max|b| of a row and a column", "|A'||B'|, each element as large as its tile's largest"};
    const int64_t elements = t->result.rows * t->result.cols;
    char share[RATIO_BYTES];
    if (session_is_exact(plan))
        fprintf(out, "%s: every element is correctly rounded", plan->scheme);
    else
        fprintf(out, "%s: error at most %.3g %s", plan->scheme, plan->error_bound, of[plan->fixed_point]);
    if (again != NOT_COUNTED)
        fprintf(out, "; %lld of %lld elements were computed again (%s)", (long long)again, (long long)elements,
                ratio_text(share, "%.3g %%", 100 * (double)again, (double)elements));
    else if (session_is_checked(e, plan)) /* MixPert's levels do not count */
        fprintf(out, "; %s", plan->range);
    else if (session_takes_all(e, plan))
        fprintf(out, "; it takes every input, so nothing is checked");
    else
        fprintf(out, "; nothing looks at the data, which must be in its range: %s", plan->range);
    fprintf(out, "\n");
}

/* What ran, why, and what was kept. */
static void print_result(const struct mm *t, const struct session *e, const struct halftone_plan *plan, int64_t again) {
    FILE *const out = outfile_remarks(t->output);
    fprintf(out, "%s: %lld x %lld, k = %lld, scheme %s, %s%s\n", t->output, (long long)t->result.rows,
            (long long)t->result.cols, (long long)pair_cols(&t->pair, 0), plan->scheme,
            plan->kernel[0] ? plan->kernel : "no product to run (an extent is 0)", e->device.simulated ? ", in the simulator" : "");
    fprintf(out, "%s\n", plan->why_scheme);
    if (plan->kernel[0] != '\0')
        print_kept(out, t, e, plan, again);
}

/* What the options name, for session_select. */
static void name_method(const struct mm *t, char method[METHOD_NAME_BYTES]) {
    snprintf(method, METHOD_NAME_BYTES, "%s%s", t->accuracy != NULL ? SESSION_ACCURACY : "",
             t->accuracy != NULL ? t->accuracy : t->scheme != NULL ? t->scheme : "auto");
}

static int make_result(struct mm *t, size_t bytes, struct cli_error *f) {
    const int64_t rows = pair_rows(&t->pair, 0), cols = pair_cols(&t->pair, 1);
    if (cols != 0 && rows > INT64_MAX / 16 / cols)
        return cli_error_set(f, "the result would be %lld x %lld, more than any memory holds; give smaller files",
                         (long long)rows, (long long)cols);
    void *const memory = calloc((size_t)(rows * cols) + 1, bytes);
    if (memory == NULL)
        return cli_error_memory(f, (double)(rows * cols) * (double)bytes, "the result");
    t->result.rows = rows;
    t->result.cols = cols;
    if (bytes == sizeof(double))
        t->result.wide = memory;
    else
        t->result.data = memory;
    return 0;
}

/* How many elements were computed again, where the data decide. */
static int multiply_and_count(struct session *e, const struct session_problem *p, const struct halftone_plan *plan, int64_t *again,
                              struct cli_error *f) {
    const int is_wide = p->type == HALFTONE_FP64, counts = session_is_checked(e, plan) && (is_wide || plan->fixed_point == 0);
    int status = counts ? session_count_again(e, f) : 0;
    AND_THEN(status, session_multiply(e, p, f));
    if (status == 0 && counts)
        status = session_counted_again(e, again, f);
    return status;
}

static int multiply(struct mm *t, struct session *e, int type, struct cli_error *f) {
    struct session_problem p;
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    char method[METHOD_NAME_BYTES];
    int64_t again = NOT_COUNTED;
    if (make_result(t, type == HALFTONE_FP64 ? sizeof(double) : sizeof(float), f) != 0 || pair_open_problem(&t->pair, &p, f) != 0)
        return -1;
    name_method(t, method);
    int status = session_select(e, type, method, NULL, f);
    AND_THEN(status, session_query(e, &p, &plan, f));
    AND_THEN(status, multiply_and_count(e, &p, &plan, &again, f));
    AND_THEN(status, session_problem_result(&p, t->result.wide != NULL ? (void *)t->result.wide : t->result.data, f));
    AND_THEN(status, npy_write(t->output, &t->result, f));
    if (status == 0)
        print_result(t, e, &plan, again);
    session_problem_close(&p);
    return status;
}

/* An accuracy by a number, of no type: whether a scheme has it is said for the type of the files. */
static int is_number(const char *accuracy) {
    return strchr(accuracy, '=') != NULL && strncmp(accuracy, "fp", 2) != 0;
}

/* *wide: what FP64 alone has is named, or both files are float64 and nothing is named that only FP32 has. */
static int choose_type(struct mm *t, struct session *e, int *wide, struct cli_error *f) {
    char method[METHOD_NAME_BYTES];
    name_method(t, method);
    const int kinds = t->accuracy != NULL && is_number(t->accuracy) ? 0 : session_kinds(e, method);
    *wide = kinds == SESSION_FP64 || (kinds != SESSION_FP32 && t->pair.x[0].is_float64 && t->pair.x[1].is_float64);
    if (t->accuracy != NULL)
        return session_accuracy_known(e, *wide ? HALFTONE_FP64 : HALFTONE_FP32, t->accuracy, f);
    return t->scheme != NULL && (kinds == 0 || !*wide) ? session_scheme_known(e, t->scheme, f) : 0;
}

static int read_and_multiply(struct mm *t, struct cli_error *f) {
    struct session e;
    if (pair_examine(&t->pair, t->path, f) != 0 || pair_check(&t->pair, NULL, 1, f) != 0 ||
        outfile_check(t->output, f) != 0 || session_open(&e, f) != 0)
        return -1;
    int wide = 0, status = choose_type(t, &e, &wide, f);
    AND_THEN(status, pair_read(&t->pair, t->path, wide, f));
    AND_THEN(status, multiply(t, &e, wide ? HALFTONE_FP64 : HALFTONE_FP32, f));
    session_close(&e);
    return status;
}

static int run(int argc, char **argv, struct cli_error *f) {
    struct mm t = {0};
    int count = 0;
    const struct option options[] = {{"-o", &t.output, NULL},
                                     {"--scheme", &t.scheme, NULL},
                                     {"--accuracy", &t.accuracy, NULL},
                                     {"--ta", NULL, &t.pair.transposed[0]},
                                     {"--tb", NULL, &t.pair.transposed[1]},
                                     {NULL, NULL, NULL}};
    if (args_parse(argc, argv, options, t.path, 2, &count, f) != 0)
        return -1;
    if (t.scheme != NULL && t.accuracy != NULL)
        return cli_error_usage(f, "--scheme and --accuracy exclude each other: give one");
    if (count != 2 || t.output == NULL)
        return cli_error_usage(f, "needs two inputs and an output: halftone mm A.npy B.npy -o C.npy");
    int status = read_and_multiply(&t, f);
    pair_free(&t.pair);
    npy_free(&t.result);
    return status;
}

const struct command cmd_mm = {"mm", "C = op(A) op(B) of two .npy files",
                               "Usage: halftone mm A.npy B.npy -o C.npy [--scheme S | --accuracy A] [--ta] [--tb]\n\n"
                               "Writes C = op(A) op(B), C order, and says which scheme ran, why, the bound that was kept, and how many\n"
                               "elements were computed again for it. Inputs: .npy of float16/32/64, "
                               "integers or bool, C or Fortran\n"
                               "order, 2-d; a 1-d array of length n counts as one row (1 x n). Two files of float64 are multiplied in\n"
                               "FP64 and give float64; other inputs, and those with a scheme or accuracy of FP32, are rounded to float32\n"
                               "and give float32.\n\n"
                               "  -o FILE      where the result goes; written whole or not at all\n"
                               "  --scheme S   auto (default) or a scheme that `halftone info` lists\n"
                               "  --accuracy A what the result must keep, not a scheme's name: half, tf32, fp32-fast, fp32 "
                               "(what auto promises),\n"
                               "               invariant, bits=N, bound=X or relative=X:rho=Y (MANUAL.md, section 7); the cheapest "
                               "scheme that has it runs.\n"
                               "               FP64: fp64 (default), fp64-fast, fp64-exact, invariant, or a number (section 9); schemes native64, i8x28, crt14 to\n"
                               "               crt20. A name that both have is for the files' type; fp32: or fp64: before it chooses\n"
                               "  --ta, --tb   transpose A, B\n",
                               run, 0};
