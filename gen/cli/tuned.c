/* tuned.c: the table is read by its columns' names, times as whole nanoseconds. */
#include "cli/tuned.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "../../runtime/ht_cost.h"

enum { COLUMNS_MAX = 32, LINE_MAX_BYTES = 1024 };

enum column { COL_M, COL_N, COL_K, COL_KERNEL, COL_VARIANT, COL_SPLITS, COL_PICK, COL_MEASURED, COL_COUNT };
static const char *const column_names[COL_COUNT] = {"m",       "n",      "k",    "kernel",
                                                    "variant", "splits", "pick", "measured_us"};

struct reader {
    struct tuned *t;
    const struct plan_set *set;
    const char *path, *gpu;
    int line;
    int at[COL_COUNT]; /* where each column stands */
    bool has_header, is_of_set;
};

void tuned_free(struct tuned *t) {
    free(t->entry);
    memset(t, 0, sizeof *t);
}

static bool read_header(struct reader *r, char *line) {
    char *cell[COLUMNS_MAX];
    const int count = text_cells(line, cell, COLUMNS_MAX);
    if (!r->is_of_set)
        return err_user(r->path, r->line,
                        "not measured with the set of %s; the table's first line names its set", r->gpu);
    for (int c = 0; c < COL_COUNT; c++) {
        r->at[c] = (int)text_find_row(column_names[c], cell, (size_t)count, sizeof *cell);
        if (r->at[c] == count)
            return err_user(r->path, r->line, "no column '%s'; give a table that `halftone tune` wrote",
                            column_names[c]);
    }
    r->has_header = true;
    return true;
}

/* "12.345" microseconds, or "1.2e+03", as nanoseconds; 0: no such number. */
static int64_t nanoseconds(const char *text) {
    char *end;
    if (*text < '0' || *text > '9' || text[strspn(text, "0123456789.e+-")] != 0)
        return 0;
    const double us = strtod(text, &end); /* the process keeps the C locale */
    return *end || end == text || !(us > 0 && us < 1e12) ? 0 : (int64_t)(us * 1000 + 0.5);
}

static int64_t number(const char *text) {
    int64_t value = 0;
    const char *end = text_number(text, INT32_MAX, &value);
    return end && *end == 0 ? value : 0;
}

static struct tuned_entry *entry_of(struct reader *r, const struct shape *s, const struct scheme *scheme) {
    struct tuned *t = r->t;
    for (int i = 0; i < t->count; i++) {
        const struct shape *x = &t->entry[i].shape;
        if (x->m == s->m && x->n == s->n && x->k == s->k && r->set->plan[t->entry[i].plan].on.s == scheme)
            return &t->entry[i];
    }
    if (t->count == t->capacity) {
        t->capacity = t->capacity ? 2 * t->capacity : 128;
        t->entry = text_memory(t->entry, (size_t)t->capacity * sizeof *t->entry);
    }
    t->entry[t->count] = (struct tuned_entry){.shape = *s, .best_ns = INT64_MAX};
    return &t->entry[t->count++];
}

/* Whether the library may run the row's kernel for its shape by itself: no ablation, and as many parts of k
 * as the kernel's bound and buffers are made for. */
static bool may_run(const struct reader *r, const struct plan *p, const struct shape *s, int64_t splits) {
    const struct ht_tile *c = &p->cost.walk;
    const int64_t steps = ht_ceil_div(s->k, c->step_k),
                  most = c->no_split_k ? 1 : steps < HT_PICK_SPLITS_MAX ? steps : HT_PICK_SPLITS_MAX;
    if (p->variant != VARIANT_PIPELINE)
        return err_user(r->path, r->line,
                        "kernel '%s' is never dispatched for a shape: it is the variant '%s'; remove the row",
                        p->name, variant_name(p->variant));
    if (splits > most)
        return err_user(r->path, r->line, "splits " I64 ": kernel '%s' can cut k = " I64 " into " I64
                        " parts at most (steps of %d); remove the row",
                        splits, p->name, s->k, most, (int)c->step_k);
    if (c->exact_k > 0 && ht_ceil_div(steps, splits) > c->exact_k / c->step_k)
        return err_user(r->path, r->line, "splits " I64 ": the sums of kernel '%s' are exact up to %d k, so "
                        "k = " I64 " needs more parts; remove the row",
                        splits, p->name, (int)c->exact_k, s->k);
    return true;
}

static bool read_row(struct reader *r, char *line) {
    const char *value[COL_COUNT];
    char *cell[COLUMNS_MAX];
    const int count = text_cells(line, cell, COLUMNS_MAX);
    for (int c = 0; c < COL_COUNT; value[c] = cell[r->at[c]], c++) {
        if (r->at[c] >= count)
            return err_user(r->path, r->line,
                            "the row ends before column '%s'; remove it or run halftone tune again",
                            column_names[c]);
    }
    const struct shape shape = {number(value[COL_M]), number(value[COL_N]), number(value[COL_K])};
    const int64_t ns = nanoseconds(value[COL_MEASURED]), splits = number(value[COL_SPLITS]);
    if (strcmp(value[COL_VARIANT], "-") != 0)
        return true; /* ablations are never dispatched */
    const int plan = plan_index(r->set, value[COL_KERNEL]);
    if (!shape.m || !shape.n || !shape.k || !ns || !splits)
        return err_user(r->path, r->line, "m, n, k, splits and measured_us must be positive numbers");
    if (plan < 0)
        return err_user(r->path, r->line,
                        "this set has no kernel '%s'; tune the set that this generator makes",
                        value[COL_KERNEL]);
    if (!plan_takes_k(&r->set->plan[plan], shape.k))
        /* tune times it, but its bound holds from there on only: the library's choice passes it over too */
        return true;
    if (!may_run(r, &r->set->plan[plan], &shape, splits))
        return false;
    struct tuned_entry *e = entry_of(r, &shape, r->set->plan[plan].on.s);
    if (strcmp(value[COL_PICK], "1") == 0)
        e->pick_ns = ns;
    if (ns < e->best_ns)
        e->best_ns = ns, e->plan = plan, e->splits = (int)splits;
    return true;
}

/* Whether a comment of the table's head says that it is of the GPU's set. */
static bool names_set(const char *comment, const char *gpu) {
    char mark[64];
    snprintf(mark, sizeof mark, ", set %s (", gpu);
    return strstr(comment, mark) != NULL;
}

static bool read_line(struct reader *r, const char *bytes, size_t len) {
    char line[LINE_MAX_BYTES + 1] = {0};
    if (len > LINE_MAX_BYTES || memchr(bytes, '\0', len))
        return err_user(r->path, r->line, "not a line of a table; give one that `halftone tune` wrote");
    memcpy(line, bytes, len);
    if (line[0] == '#') {
        if (strstr(line, ", set ")) /* a table begins, perhaps behind another one */
            r->is_of_set = names_set(line, r->gpu), r->has_header = false;
        return true;
    }
    return r->has_header ? read_row(r, line) : read_header(r, line);
}

bool tuned_is_of(const char *path, const char *gpu) {
    struct text bytes = {0};
    bool is_of = text_read_file(&bytes, path) && bytes.len > 0 && bytes.data[0] == '#';
    if (is_of) {
        bytes.data[strcspn(bytes.data, "\n")] = 0;
        is_of = names_set(bytes.data, gpu);
    }
    text_free(&bytes);
    return is_of;
}

bool tuned_read(struct tuned *t, const char *path, const struct plan_set *set, const char *gpu) {
    struct reader r = {.t = t, .set = set, .path = path, .gpu = gpu};
    struct text bytes = {0};
    bool ok = text_read_file(&bytes, path);
    memset(t, 0, sizeof *t);
    t->file = text_base_name(path);
    if (!ok)
        err_user(path, 0, "cannot be read; give a table that `halftone tune` wrote");
    t->checksum = text_checksum(TEXT_CHECKSUM_SEED, bytes.data ? bytes.data : "", bytes.len);
    for (size_t at = 0, end; at < bytes.len && ok; at = end + 1) {
        const char *newline = memchr(bytes.data + at, '\n', bytes.len - at);
        end = newline ? (size_t)(newline - bytes.data) : bytes.len;
        r.line++;
        ok = newline ? read_line(&r, bytes.data + at, end - at) /* else tune was stopped as it wrote it */
                     : printf("%s:%d: a row cut short is left out; tune goes on there\n", path, r.line) > 0;
    }
    if (ok && t->count == 0)
        ok = err_user(path, 0, "holds no measurement");
    text_free(&bytes);
    if (!ok)
        tuned_free(t);
    return ok;
}

int tuned_dispatch(struct text *out, const struct tuned *t, const char *mark, const char *gpu, int first,
                   int end) {
    int count = 0;
    for (int i = 0; t && i < t->count; i++) {
        const struct tuned_entry *e = &t->entry[i];
        if (e->plan < first || e->plan >= end)
            continue;
        if (count++ == 0)
            text_addf(out, "/* fastest measured, from %s, checksum %016" PRIx64 ": m, n, k, kernel, splits */"
                      "\nstatic const struct ht_tuned tuned%s_%s[] = {\n", t->file, t->checksum, mark, gpu);
        text_addf(out, "    {" I64 ", " I64 ", " I64 ", %d, %d},\n", e->shape.m, e->shape.n, e->shape.k,
                  e->plan - first, e->splits);
    }
    text_add(out, count > 0 ? "};\n\n" : "");
    return count;
}

/* Worked example (test): picks of 100 and 125 us where 100 and 100 are best: speeds 100 and 80 %, 90 % in the
 * mean. */
void tuned_print_loss(const struct tuned *t) {
    int64_t sum = 0, worst = 1000;
    int cases = 0, at = 0;
    for (int i = 0; i < t->count; i++) {
        const struct tuned_entry *e = &t->entry[i];
        if (e->pick_ns == 0)
            continue;
        const int64_t speed = ht_mul(e->best_ns, 1000) / e->pick_ns;
        at = speed < worst ? i : at;
        worst = speed < worst ? speed : worst;
        sum += speed;
        cases++;
    }
    if (cases == 0) {
        printf("tuned: %d shapes; the table does not say what the analytic pick does there\n", t->count);
        return;
    }
    const struct shape *s = &t->entry[at].shape;
    printf("tuned: %d shapes and schemes; there the analytic pick reaches " I64
           ".%d %% of the fastest in the mean, " I64 ".%d %% at worst (" I64 " x " I64 " x " I64 ")\n",
           cases, sum / cases / 10, (int)(sum / cases % 10), worst / 10, (int)(worst % 10), s->m, s->n,
           s->k);
}
