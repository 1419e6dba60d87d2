/* cmd_invariance: `halftone invariance`: whether the bits of an element of C stay when only what it does not depend on changes: the rows and
 * columns around it, the order of k, how operands are stored, packed and cut. Next to native products where there is cuBLAS. */
#include <stdlib.h>
#include <string.h>

#include "io/args.h"
#include "io/outfile.h"
#include "io/tsv.h"
#include "cmd/cmd.h"
#include "cmd/methods.h"
#include "cmd/stamp.h"
#include "accuracy/families.h"
#include "measure/session.h"

enum { OURS, NATIVE, SIDES };
enum { A, B };
enum { RANKS_MOST = 7 };

/* A product made of the first one's rows, columns and k, by their numbers; -1: a row or column of other data. */
struct layout {
    int64_t m, n, *row, *column, *k;
    char trans[2];
    int64_t pad;   /* of both leading dimensions */
    int64_t batch; /* the last entry is this product, those before it have other data */
    int packed, eighths; /* eighths: of the workspace that it would take; 0: no limit */
    int ranks;           /* that have k from cut[i] to cut[i + 1] each; 0: nobody shares */
    int64_t cut[RANKS_MOST + 1];
};

/* Of one kind of change. */
struct counted {
    int64_t products, elements, differing[SIDES];
    int has_native;
};

struct trial {
    struct session session;
    struct baseline *native;
    struct session_problem whole;    /* type, extents */
    size_t bytes;                    /* of an element */
    uint64_t seed;
    char *operand[2], *other[2];     /* dense m x k and k x n, and as much other data */
    char *first[SIDES];              /* results of the first product */
    struct layout now;
    struct counted *into;
};

static int64_t below(const struct trial *t, uint64_t stream, int64_t i, int64_t limit) {
    return (int64_t)(family_uniform(family_bits(t->seed, stream, (uint64_t)i, 0)) * (double)limit);
}

static void shuffle(const struct trial *t, int64_t *list, int64_t count, int64_t step) {
    for (int64_t i = count - 1; i > 0; i--) {
        const int64_t j = below(t, 1 + (uint64_t)step, i, i + 1), kept = list[i];
        list[i] = list[j];
        list[j] = kept;
    }
}

/* ---- changes; steps count from 0 */

/* From 1 to all, evenly. */
static int64_t share(int64_t all, int step, int steps) {
    return steps > 1 ? 1 + (all - 1) * step / (steps - 1) : all;
}

static void first_rows(struct trial *t, int step, int steps) {
    t->now.m = share(t->whole.m, step, steps);
}

static void one_row(struct trial *t, int step, int steps) {
    t->now.row[0] = share(t->whole.m, step, steps) - 1;
    t->now.m = 1;
}

static void order_of_rows(struct trial *t, int step, int steps) {
    (void)steps;
    shuffle(t, t->now.row, t->now.m, step);
}

static void replace(const struct trial *t, int64_t *list, int64_t count, int step) {
    for (int64_t i = 0; i < count; i++)
        if (below(t, 1000 + (uint64_t)step, i, 2) != 0)
            list[i] = -1;
}

static void other_rows(struct trial *t, int step, int steps) {
    (void)steps;
    replace(t, t->now.row, t->now.m, step);
}

static void first_columns(struct trial *t, int step, int steps) {
    t->now.n = share(t->whole.n, step, steps);
}

static void other_columns(struct trial *t, int step, int steps) {
    (void)steps;
    shuffle(t, t->now.column, t->now.n, step);
    replace(t, t->now.column, t->now.n, step);
}

static void order_of_k(struct trial *t, int step, int steps) {
    (void)steps;
    shuffle(t, t->now.k, t->whole.k, step);
}

static void storage(struct trial *t, int step, int steps) {
    (void)steps;
    t->now.trans[A] = step % 2 ? 'N' : 'T';
    t->now.trans[B] = step / 2 % 2 ? 'N' : 'T';
    t->now.pad = step;
}

static void batched(struct trial *t, int step, int steps) {
    (void)steps;
    t->now.batch = 2 + step % 3;
}

static void packed(struct trial *t, int step, int steps) {
    first_rows(t, step, steps);
    t->now.packed = 1;
}

static void less_workspace(struct trial *t, int step, int steps) {
    (void)steps;
    t->now.eighths = 7 - step % 7;
}

/* Some may have no k at all. */
static void ranks(struct trial *t, int step, int steps) {
    (void)steps;
    t->now.ranks = 1 + step % RANKS_MOST;
    for (int i = 1; i < t->now.ranks; i++) {
        int64_t at = below(t, 2000 + (uint64_t)step, i, t->whole.k + 1);
        int j = i;
        for (; j > 1 && t->now.cut[j - 1] > at; j--)
            t->now.cut[j] = t->now.cut[j - 1];
        t->now.cut[j] = at;
    }
    t->now.cut[t->now.ranks] = t->whole.k;
}

static const struct {
    const char *name;
    void (*make)(struct trial *t, int step, int steps);
    int fp32_only; /* the command has no such FP64 products */
} changes[] = {
    {"first rows of A", first_rows, 0},     {"one row of A", one_row, 0},        {"order of rows", order_of_rows, 0},
    {"other rows replaced", other_rows, 0}, {"first columns of B", first_columns, 0}, {"other columns replaced", other_columns, 0},
    {"order of k", order_of_k, 0},          {"transposes, leading dimensions", storage, 0}, {"batched", batched, 1},
    {"packed operands", packed, 1},         {"less workspace", less_workspace, 0},
    {"k over ranks", ranks, 1},
};
enum { CHANGES = sizeof changes / sizeof changes[0] };

/* ---- products */

static const char *element(const struct trial *t, int side, int64_t line, int64_t k, int64_t step) {
    const struct session_problem *w = &t->whole;
    const char *const from = line >= 0 ? t->operand[side] : t->other[side];
    line = line >= 0 ? line : step % (side == A ? w->m : w->n);
    return from + (size_t)(side == A ? k * w->m + line : line * w->k + k) * t->bytes;
}

/* Whether k runs within a column of the operand as it is stored. */
static int is_k_first(const struct layout *x, int side) {
    return (x->trans[side] == 'N') == (side == B);
}

/* An operand of one batch entry as it is stored; `strange`: of other data alone. */
static void store(const struct trial *t, int side, int strange, int64_t ld, char *to) {
    const struct layout *x = &t->now;
    const int64_t lines = side == A ? x->m : x->n, *const list = side == A ? x->row : x->column;
    const int k_first = is_k_first(x, side);
    for (int64_t i = 0; i < lines; i++)
        for (int64_t l = 0; l < t->whole.k; l++)
            memcpy(to + (size_t)(k_first ? i * ld + l : l * ld + i) * t->bytes, element(t, side, strange ? -1 : list[i], x->k[l], i), t->bytes);
}

static char *operand(const struct trial *t, int side, int64_t *ld, struct cli_error *f) {
    const struct layout *x = &t->now;
    const int64_t lines = side == A ? x->m : x->n;
    const int k_first = is_k_first(x, side);
    *ld = (k_first ? t->whole.k : lines) + x->pad;
    const size_t bytes = (size_t)(*ld * (k_first ? lines : t->whole.k)) * t->bytes;
    char *const memory = malloc((size_t)x->batch * bytes);
    if (memory == NULL) {
        cli_error_memory(f, (double)x->batch * (double)bytes, "an operand");
        return NULL;
    }
    memset(memory, 0xff, (size_t)x->batch * bytes); /* NaN between columns */
    for (int64_t e = 0; e < x->batch; e++)
        store(t, side, e + 1 < x->batch, *ld, memory + (size_t)e * bytes);
    return memory;
}

/* What no smaller workspace serves, and operands that the accuracy does not pack, are left out: *done is 0. */
static int multiply(struct trial *t, struct session_problem *p, int *done, struct cli_error *f) {
    struct session *e = &t->session;
    size_t bytes = 0, limit = 0;
    *done = !t->now.packed || session_pack_prepare(e, p, f) == 0;
    if (t->now.packed)
        return !*done || (session_pack(e, p, f) == 0 && session_multiply_packed(e, p, f) == 0) ? 0 : -1;
    if (t->now.ranks > 0)
        return session_multiply_ranks(e, p, t->now.cut, t->now.ranks, done, f);
    if (t->now.eighths == 0)
        return session_multiply(e, p, f);
    if (session_workspace(e, p, &bytes, f) != 0 || session_check(e, halftone_get_workspace_limit(e->handle, &limit), "limit", f) != 0 ||
        session_check(e, halftone_set_workspace_limit(e->handle, bytes / 8 * (size_t)t->now.eighths), "limit", f) != 0)
        return -1;
    *done = bytes > 0 && session_multiply(e, p, f) == 0;
    return session_check(e, halftone_set_workspace_limit(e->handle, limit), "limit", f);
}

static int has_native(const struct trial *t) {
    return t->native != NULL && !t->now.packed && t->now.eighths == 0 && t->now.ranks == 0;
}

static int multiply_native(struct trial *t, const struct session_problem *p, struct cli_error *f) {
    const int code = baseline_multiply(t->native, BASELINE_SGEMM, p, NULL);
    return code == 0 ? 0 : cli_error_set(f, "cuBLAS reported status %d", code);
}

/* The first product is kept, of later ones the elements are compared that it has. */
static int64_t compare(const struct trial *t, const char *c, const char *first, int64_t *elements) {
    const struct layout *x = &t->now;
    int64_t differing = 0;
    *elements = 0;
    for (int64_t j = 0; j < x->n; j++)
        for (int64_t i = 0; i < x->m; i++) {
            if (x->row[i] < 0 || x->column[j] < 0)
                continue;
            differing += memcmp(c + (size_t)(j * x->m + i) * t->bytes, first + (size_t)(x->column[j] * t->whole.m + x->row[i]) * t->bytes, t->bytes) != 0;
            ++*elements;
        }
    return differing;
}

static int take_result(struct trial *t, const struct session_problem *p, int side, char *host, struct cli_error *f) {
    const size_t entry = (size_t)(p->m * p->n) * t->bytes;
    int64_t elements;
    if (session_problem_result(p, host, f) != 0)
        return -1;
    const char *const last = host + (size_t)(t->now.batch - 1) * entry;
    if (t->first[side] == NULL) {
        if ((t->first[side] = malloc(entry)) == NULL)
            return cli_error_memory(f, (double)entry, "results");
        memcpy(t->first[side], last, entry);
        return 0;
    }
    t->into->differing[side] += compare(t, last, t->first[side], &elements);
    t->into->elements += side == OURS ? elements : 0;
    t->into->products += side == OURS;
    return 0;
}

static int run_layout(struct trial *t, struct cli_error *f) {
    const struct layout *x = &t->now;
    struct session_problem p = {.type = t->whole.type, .trans_a = x->trans[A], .trans_b = x->trans[B], .m = x->m, .n = x->n, .k = t->whole.k, .batch = x->batch};
    char *const a = operand(t, A, &p.lda, f), *const b = a != NULL ? operand(t, B, &p.ldb, f) : NULL;
    char *const host = b != NULL ? malloc((size_t)(x->batch * x->m * x->n) * t->bytes) : NULL;
    int done = 0, status = host != NULL ? session_problem_open(&p, a, b, f) : b != NULL ? cli_error_memory(f, 0, "results") : -1;
    if (status == 0) {
        status = multiply(t, &p, &done, f);
        if (status == 0 && done)
            status = take_result(t, &p, OURS, host, f);
        if (status == 0 && has_native(t) && (status = multiply_native(t, &p, f)) == 0)
            status = take_result(t, &p, NATIVE, host, f);
        session_problem_close(&p);
    }
    free(host);
    free(b);
    free(a);
    return status;
}

/* ---- the table */

static void lay_as_first(struct trial *t) {
    int64_t *const list[3] = {t->now.row, t->now.column, t->now.k}, most[3] = {t->whole.m, t->whole.n, t->whole.k};
    t->now = (struct layout){.m = most[0], .n = most[1], .row = list[0], .column = list[1], .k = list[2], .trans = {'N', 'N'}, .batch = 1};
    for (int i = 0; i < 3; i++)
        for (int64_t j = 0; j < most[i]; j++)
            list[i][j] = j;
}

static const struct tsv_column columns[] = {{"changed", 1}, {"products", 1}, {"elements", 1}, {"differing", 1}, {"native_differing", 1}};

static int run_changes(struct trial *t, int steps, struct counted *counts, struct cli_error *f) {
    lay_as_first(t);
    int status = run_layout(t, f);
    for (int i = 0; i < CHANGES && status == 0; i++) {
        if (changes[i].fp32_only && t->whole.type == HALFTONE_FP64)
            continue;
        t->into = &counts[i];
        for (int step = 0; step < steps && status == 0; step++) {
            lay_as_first(t);
            changes[i].make(t, step, steps);
            status = run_layout(t, f);
        }
        counts[i].has_native = has_native(t);
    }
    return status;
}

static int64_t show(struct tsv *table, const struct trial *t, const struct counted *counts) {
    int64_t differing = 0;
    for (int i = 0; i < CHANGES; i++) {
        if (changes[i].fp32_only && t->whole.type == HALFTONE_FP64)
            continue;
        tsv_text(table, changes[i].name);
        tsv_integer(table, counts[i].products);
        tsv_integer(table, counts[i].elements);
        tsv_integer(table, counts[i].differing[OURS]);
        tsv_measured(table, counts[i].has_native ? (double)counts[i].differing[NATIVE] : -1, 12);
        tsv_end_row(table);
        differing += counts[i].differing[OURS];
    }
    return differing;
}

/* Other data are 4,096 times as large, so that their scales are others too. */
static int fill(struct trial *t, const struct family *family, struct cli_error *f) {
    const struct session_problem *w = &t->whole;
    for (int side = 0; side < 2; side++) {
        const int64_t ld = side == A ? w->m : w->k, count = ld * (side == A ? w->k : w->n);
        for (int other = 0; other < 2; other++) {
            char *const x = malloc((size_t)count * t->bytes);
            (other ? t->other : t->operand)[side] = x;
            if (x == NULL)
                return cli_error_memory(f, (double)count * (double)t->bytes, "an operand");
            if (w->type != HALFTONE_FP64)
                family_fill(family, t->seed + (uint64_t)other, "AB"[side], w->m, w->n, w->k, (float *)(void *)x, ld);
            else if (family_fill_wide(family, t->seed + (uint64_t)other, "AB"[side], 'N', w->m, w->n, w->k, (double *)(void *)x, ld) != 0)
                return cli_error_memory(f, (double)count * 8, "an operand");
            for (int64_t i = 0; i < count && other; i++) {
                if (w->type == HALFTONE_FP64)
                    ((double *)(void *)x)[i] *= 4096;
                else
                    ((float *)(void *)x)[i] *= 4096;
            }
        }
    }
    int64_t **const list[3] = {&t->now.row, &t->now.column, &t->now.k}, most[3] = {w->m, w->n, w->k};
    for (int i = 0; i < 3; i++)
        if ((*list[i] = malloc((size_t)most[i] * sizeof **list[i])) == NULL)
            return cli_error_memory(f, (double)most[i] * 8, "a list");
    return 0;
}

static void forget(struct trial *t) {
    char **const memory[] = {&t->operand[A], &t->operand[B], &t->other[A], &t->other[B], &t->first[OURS], &t->first[NATIVE]};
    int64_t **const list[] = {&t->now.row, &t->now.column, &t->now.k};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++) {
        free(*memory[i]);
        *memory[i] = NULL;
    }
    for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
        free(*list[i]);
        *list[i] = NULL;
    }
}

/* As many products as are asked for, or one round; each round of a family and a shape of its own, up to `most`. */
static int run_rounds(struct trial *t, const struct family *family, int steps, int64_t count, struct counted *counts, struct cli_error *f) {
    const struct session_problem most = t->whole;
    int64_t products = 0;
    int status = 0;
    for (int64_t round = 0; status == 0 && (round == 0 || products < count); round++, t->seed++) {
        if (count > 0) {
            t->whole.m = 1 + below(t, 3000, 0, most.m);
            t->whole.n = 1 + below(t, 3000, 1, most.n);
            t->whole.k = 1 + below(t, 3000, 2, most.k);
        }
        status = fill(t, family != NULL ? family : &family_table[round % family_count], f);
        AND_THEN(status, run_changes(t, steps, counts, f));
        forget(t);
        products = 0;
        for (int i = 0; i < CHANGES; i++)
            products += counts[i].products;
    }
    t->whole = most;
    return status;
}

static void close_trial(struct trial *t) {
    forget(t);
    baseline_close(t->native);
    session_close(&t->session);
}

static int run_trial(struct trial *t, const char *scheme, const char *accuracy, const struct family *family, int steps, int64_t count, const char *out,
                     struct cli_error *f) {
    struct counted counts[CHANGES] = {{0}};
    char method[METHOD_NAME_BYTES], stamp[STAMP_BYTES], head[STAMP_BYTES + 256];
    struct stamp built = stamp_built();
    struct halftone_plan plan;
    struct tsv table;
    int64_t differing = 0;
    snprintf(method, sizeof method, "%s%.40s", scheme != NULL ? "" : SESSION_ACCURACY, scheme != NULL ? scheme : accuracy);
    if (session_select(&t->session, t->whole.type, method, NULL, f) != 0 || session_query(&t->session, &t->whole, &plan, f) != 0)
        return -1;
    stamp_write(stamp, &built, &t->session, t->native, NULL);
    snprintf(head, sizeof head, "%s# halftone invariance: FP%d, %s, computed by %.40s; family %s, %s%lld x %lld x %lld\n", stamp, t->whole.type == HALFTONE_FP64 ? 64 : 32,
             method, plan.scheme, family != NULL ? family->name : "all", count > 0 ? "up to " : "", (long long)t->whole.m, (long long)t->whole.n, (long long)t->whole.k);
    fputs(head, stdout);
    tsv_init(&table, columns, (int)(sizeof columns / sizeof columns[0]));
    int status = run_rounds(t, family, steps, count, counts, f);
    differing = show(&table, t, counts);
    status = tsv_show(&table, status, f);
    AND_THEN(status, tsv_save(&table, out, head, f));
    tsv_free(&table);
    if (status == 0 && differing > 0 && session_is_invariant(&t->session, &plan))
        return cli_error_set(f, "%lld elements have other bits than in the first product", (long long)differing);
    if (status == 0)
        puts(differing == 0 ? "\nNo element changed its bits."
                            : "\nIts sums are rounded on the way, in an order that the shape decides: nothing else was promised.");
    return status;
}

static int run(int argc, char **argv, struct cli_error *f) {
    struct trial t = {.bytes = sizeof(float)};
    const char *m = NULL, *n = NULL, *k = NULL, *cases = NULL, *seed = "1", *accuracy = NULL, *scheme = NULL, *name = NULL, *all = NULL, *out = NULL, *why, *none[1];
    int64_t steps = 0, chosen = 0, total = 0;
    int count = 0, fp64 = 0;
    const struct option options[] = {{"--accuracy", &accuracy, NULL}, {"--scheme", &scheme, NULL}, {"--fp64", NULL, &fp64}, {"--m", &m, NULL}, {"--n", &n, NULL}, {"--k", &k, NULL},
                                     {"--cases", &cases, NULL}, {"--count", &all, NULL}, {"--family", &name, NULL}, {"--seed", &seed, NULL}, {"--out", &out, NULL}, {NULL, NULL, NULL}};
    if (args_parse(argc, argv, options, none, 0, &count, f) != 0 || args_number("--seed", seed, 0, INT32_MAX, &chosen, f) != 0 || outfile_check(out, f) != 0)
        return -1;
    if (args_number("--count", all != NULL ? all : "0", all != NULL, INT32_MAX, &total, f) != 0)
        return -1;
    const struct family *family = name != NULL || total == 0 ? family_find(name != NULL ? name : "normal") : NULL;
    if (family == NULL && (name != NULL || total == 0))
        return cli_error_usage(f, "no family '%s'; `halftone report --list` prints them", name);
    if (scheme != NULL && args_refuse(options, "--accuracy", "a scheme is asked for", f) != 0)
        return -1;
    accuracy = scheme == NULL && accuracy == NULL ? "invariant" : accuracy;
    if (session_open(&t.session, f) != 0)
        return -1;
    const int simulated = t.session.device.simulated;
    t.seed = (uint64_t)chosen;
    t.native = simulated ? NULL : baseline_open(&why);
    int status = methods_type(&t.session, fp64, scheme, accuracy, &fp64, f);
    t.whole = (struct session_problem){.type = fp64 ? HALFTONE_FP64 : HALFTONE_FP32, .trans_a = 'N', .trans_b = 'N'};
    t.bytes = fp64 ? sizeof(double) : sizeof(float);
    AND_THEN(status, args_number("--m", m != NULL ? m : simulated ? "70" : "257", 1, 16384, &t.whole.m, f));
    AND_THEN(status, args_number("--n", n != NULL ? n : simulated ? "30" : "192", 1, 16384, &t.whole.n, f));
    AND_THEN(status, args_number("--k", k != NULL ? k : simulated ? "600" : "4096", 1, 1 << 20, &t.whole.k, f));
    AND_THEN(status, args_number("--cases", cases != NULL ? cases : simulated ? "4" : "32", 1, 100000, &steps, f));
    AND_THEN(status, run_trial(&t, scheme, accuracy, family, (int)steps, total, out, f));
    close_trial(&t);
    return status;
}

const struct command cmd_invariance = {
    "invariance", "whether an element's bits depend on anything but its row and column",
    "Usage: halftone invariance [--accuracy A | --scheme S] [--fp64] [--m M] [--n N] [--k K] [--cases N] [--count N] [--family F] [--seed S] [--out FILE.tsv]\n\n"
    "Multiplies once, then again with other rows or columns around, in another order, stored, packed or cut otherwise, and counts\n"
    "elements whose bits changed; cuBLAS' own too where it is there. Fails if any of ours did and sums are of whole numbers.\n\n"
    "  --accuracy A   what halftone_set_accuracy takes (default invariant)\n"
    "  --scheme S     a scheme, or auto\n"
    "  --fp64         FP64 products, where the accuracy has both\n"
    "  --m, --n, --k  of the first product; default 257, 192, 4096, in the simulator 70, 30, 600\n"
    "  --cases N      of each kind of change (default 32, in the simulator 4)\n"
    "  --count N      so many products of random shapes up to M, N, K and of all families\n"
    "  --family F     of inputs (default normal)\n"
    "  --seed S       of data and changes (default 1)\n"
    "  --out FILE.tsv the table\n",
    run, 1};
