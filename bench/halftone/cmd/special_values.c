/* special_values: special values at every place of small products. See special_values.h.
 *
 * Where NaN or Inf goes in, the result's class must be native FP32's. Where only finite numbers do, some of them the largest,
 * a library may overflow on its way (cuBLAS scales by alpha before it adds): there the exact result rounded to FP32 decides,
 * and what native makes of it is counted beside it.
 *
 * A case puts one or two special values into uniform[-1,1] data. Cases of one kind are numbered, places fastest; a kind
 * with more cases than asked for is sampled. */
#include "cmd/special_values.h"

#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "accuracy/families.h"
#include "accuracy/metrics.h"

enum { KINDS = 6, BATCH_MOST = 256, NOTE_BYTES = 160, ELEMENTS_MOST = 64 * 64 };

static const char *const kind_names[KINDS] = {"nan", "inf", "-inf", "max", "-max", "0"};
static const float kinds[KINDS] = {(float)NAN, (float)INFINITY, -(float)INFINITY, FLT_MAX, -FLT_MAX, 0};

static const struct tsv_column columns[] = {{"m", 1},           {"n", 1},     {"k", 1},    {"alpha", 1},
                                            {"beta", 1},        {"where", 1}, {"path", 1}, {"cases", 1},
                                            {"differences", 1}, {"overflows", 1}, {"native_overflows", 1},
                                            {"first", 1}};

struct size {
    int64_t m, n, k;
};
static const struct size sizes[] = {{3, 3, 3}, {17, 5, 9}, {64, 64, 64}};

/* Which operands get a special value: the second may be none. */
struct pattern {
    const char *name;
    int first, second; /* index of A, B, C; -1: none */
    int all_scalars;   /* with every pair below, not only with the first two */
};
static const struct pattern patterns[] = {{"A", 0, -1, 1},      {"B", 1, -1, 1},      {"C", 2, -1, 1},
                                          {"A and B", 0, 1, 0}, {"A twice", 0, 0, 0}, {"B twice", 1, 1, 0},
                                          {"A and C", 0, 2, 0}};
struct scalars {
    float alpha, beta;
};
static const struct scalars scalars[] = {{1, 0}, {1, 1}, {-2.5f, 0.5f}, {0, 0}, {0, 2}};

struct place {
    int operand, kind;
    int64_t element;
};

/* One batch; operands are 0: A, 1: B, 2: C. */
struct run {
    struct special_values *special;
    struct size size;
    struct scalars by;
    const struct pattern *pattern;
    int64_t elements[3], cases, first_case, made; /* cases in all, first of this batch, how many are in it */
    float *host[3], *device[3], *native, *ours;
    int64_t differences, overflows, native_overflows;
    char note[NOTE_BYTES];
};

static int64_t count_cases(const struct run *r) {
    int64_t count = KINDS * r->elements[r->pattern->first];
    if (r->pattern->second >= 0)
        count *= KINDS * r->elements[r->pattern->second];
    return count;
}

/* Digits of the case's number: element and kind of the first, then of the second. Returns how many places there are. */
static int case_places(const struct run *r, int64_t index, struct place place[2]) {
    const int64_t all = count_cases(r);
    const int operand[2] = {r->pattern->first, r->pattern->second};
    int64_t number =
        r->cases < all ? (int64_t)(family_bits(7, 1, 2, (uint64_t)index) % (uint64_t)all) : index;
    int places = 0;
    for (; places < 2 && operand[places] >= 0; places++) {
        const int64_t elements = r->elements[operand[places]];
        place[places] = (struct place){operand[places], (int)(number / elements % KINDS), number % elements};
        number /= elements * KINDS;
    }
    return places;
}

static void fill_case(const struct run *r, int64_t slot) {
    const struct family *uniform = family_find("uniform");
    const struct size *z = &r->size;
    struct place place[2];
    const uint64_t seed = (uint64_t)(r->first_case + slot);
    family_fill(uniform, seed, 'A', z->m, z->n, z->k, r->host[0] + slot * r->elements[0], z->m);
    family_fill(uniform, seed, 'B', z->m, z->n, z->k, r->host[1] + slot * r->elements[1], z->k);
    family_fill(uniform, seed + 1, 'B', z->m, z->n, z->m, r->host[2] + slot * r->elements[2], z->m);
    const int places = case_places(r, r->first_case + slot, place);
    for (int i = 0; i < places; i++)
        r->host[place[i].operand][slot * r->elements[place[i].operand] + place[i].element] =
            kinds[place[i].kind];
}

static int upload(const struct run *r, int operand, struct cli_error *f) {
    const size_t bytes = (size_t)(r->made * r->elements[operand]) * sizeof(float);
    return session_device_check(ht_dev_upload(r->device[operand], r->host[operand], bytes),
                               "copy to the device", f);
}

static int download(const struct run *r, float *to, struct cli_error *f) {
    const size_t bytes = (size_t)(r->made * r->elements[2]) * sizeof(float);
    if (session_wait(f) != 0)
        return -1;
    return session_device_check(ht_dev_download(to, r->device[2], bytes), "copy from the device", f);
}

/* ---- native FP32 */

static void cpu_product(const struct run *r, int64_t slot) {
    const struct size *z = &r->size;
    const float *a = r->host[0] + slot * r->elements[0], *b = r->host[1] + slot * r->elements[1];
    const float *c = r->host[2] + slot * r->elements[2];
    for (int64_t j = 0; j < z->n; j++)
        for (int64_t i = 0; i < z->m; i++) {
            float sum = 0;
            for (int64_t l = 0; l < z->k; l++)
                sum += a[l * z->m + i] * b[j * z->k + l];
            const int64_t at = j * z->m + i;
            const float kept = r->by.beta == 0 ? 0 : r->by.beta * c[at];
            r->native[slot * r->elements[2] + at] = r->by.alpha == 0 ? kept : r->by.alpha * sum + kept;
        }
}

/* With alpha 0 the rule is BLAS' own, not what a vendor's library does: A and B are not read. */
static int native_products(const struct run *r, struct cli_error *f) {
    const struct size *z = &r->size;
    const int on_cpu = r->special->baseline == NULL || r->by.alpha == 0;
    for (int64_t slot = 0; slot < r->made; slot++) {
        if (on_cpu) {
            cpu_product(r, slot);
        } else if (baseline_sgemm(r->special->baseline, 'N', 'N', z->m, z->n, z->k, r->by.alpha,
                                   r->device[0] + slot * r->elements[0], z->m,
                                   r->device[1] + slot * r->elements[1], z->k, r->by.beta,
                                   r->device[2] + slot * r->elements[2], z->m) != 0) {
            return cli_error_set(f, "cuBLAS SGEMM failed; check that this cuBLAS fits the driver");
        }
    }
    return on_cpu ? 0 : download(r, r->native, f);
}

/* ---- ours */

static struct session_problem problem_of(const struct run *r, int64_t slot) {
    const struct size *z = &r->size;
    struct session_problem p = {
        .trans_a = 'N', .trans_b = 'N', .m = z->m, .n = z->n, .k = z->k, .lda = z->m, .ldb = z->k};
    p.a = r->device[0] + slot * r->elements[0];
    p.b = r->device[1] + slot * r->elements[1];
    p.c = r->device[2] + slot * r->elements[2];
    p.alpha = r->by.alpha;
    p.beta = r->by.beta;
    return p;
}

/* Slots 0, every, 2 every, ... one by one; every 0: all in one batched call. */
static int our_products(const struct run *r, int64_t every, struct cli_error *f) {
    struct session *e = r->special->session;
    struct session_problem p = problem_of(r, 0);
    int status = upload(r, 2, f);
    if (status == 0 && every == 0)
        status = session_multiply_batch(e, &p, r->made, f);
    for (int64_t slot = 0; every > 0 && slot < r->made && status == 0; slot += every) {
        p = problem_of(r, slot);
        status = session_multiply(e, &p, f);
    }
    return status == 0 ? download(r, r->ours, f) : status;
}

static void write_note(struct run *r, int64_t slot, int64_t at) {
    static const char *const classes[] = {"finite", "inf", "-inf", "nan"};
    struct place place[2];
    const int places = case_places(r, r->first_case + slot, place);
    size_t used = 0;
    for (int i = 0; i < places; i++)
        used +=
            (size_t)snprintf(r->note + used, sizeof r->note - used, "%c[%lld] = %s, ",
                             "ABC"[place[i].operand], (long long)place[i].element, kind_names[place[i].kind]);
    const int64_t index = slot * r->elements[2] + at;
    snprintf(r->note + used, sizeof r->note - used, "result (%lld, %lld): native %s, here %s",
             (long long)(at % r->size.m), (long long)(at / r->size.m),
             classes[metrics_class(r->native[index])], classes[metrics_class(r->ours[index])]);
}

struct special_inputs special_inputs_of(int64_t m, int64_t k, int64_t at, float alpha, const float *a, const float *b,
                                        float beta, const float *c) {
    const float kept = beta == 0 ? 0 : c[at];
    struct special_inputs in = {metrics_class(kept) == 0, 0};
    a += at % m;
    b += at / m * k;
    for (int64_t l = 0; l < k && alpha != 0; l++) {
        in.finite &= metrics_class(a[l * m]) == 0 && metrics_class(b[l]) == 0;
        in.exact += (double)a[l * m] * (double)b[l];
    }
    in.exact = (double)alpha * in.exact + (double)beta * (double)kept;
    return in;
}

/* Whether a result of this class may stand for a finite exact value. Near where FP32 ends the rounding of sums decides. */
static int is_class_of(int class_of, double exact) {
    const double end = 0x1p128, near = 0x1p108;
    const int beyond = metrics_class(exact > 0 ? (float)INFINITY : -(float)INFINITY);
    if (fabs(fabs(exact) - end) < near)
        return class_of == 0 || class_of == beyond;
    return class_of == (fabs(exact) < end ? 0 : beyond);
}

int special_values_judge(const struct special_inputs *in, float native, float ours) {
    const int of_native = metrics_class(native), of_ours = metrics_class(ours);
    if (!in->finite)
        return of_ours != of_native ? SPECIAL_DIFFERS : 0;
    const int overflows = of_ours != of_native && !is_class_of(of_ours, in->exact);
    return (overflows ? SPECIAL_OVERFLOWS : 0) | (is_class_of(of_native, in->exact) ? 0 : SPECIAL_NATIVE_OVERFLOWS);
}

static void compare_one(struct run *r, int64_t slot, int64_t i) {
    const int64_t at = slot * r->elements[2] + i;
    const float native = r->native[at], ours = r->ours[at];
    if (metrics_class(native) == 0 && metrics_class(ours) == 0)
        return; /* whatever the exact result is */
    const struct special_inputs in =
        special_inputs_of(r->size.m, r->size.k, i, r->by.alpha, r->host[0] + slot * r->elements[0],
                          r->host[1] + slot * r->elements[1], r->by.beta, r->host[2] + slot * r->elements[2]);
    const int verdict = special_values_judge(&in, native, ours);
    if ((verdict & (SPECIAL_DIFFERS | SPECIAL_OVERFLOWS)) != 0 && r->differences + r->overflows == 0)
        write_note(r, slot, i);
    r->differences += (verdict & SPECIAL_DIFFERS) != 0;
    r->overflows += (verdict & SPECIAL_OVERFLOWS) != 0;
    r->native_overflows += (verdict & SPECIAL_NATIVE_OVERFLOWS) != 0;
}

static void compare(struct run *r, int64_t every) {
    for (int64_t slot = 0; slot < r->made; slot += every)
        for (int64_t i = 0; i < r->elements[2]; i++)
            compare_one(r, slot, i);
}

/* ---- runs */

static int run_batch(struct run *r, int64_t every, struct cli_error *f) {
    for (int64_t slot = 0; slot < r->made; slot++)
        fill_case(r, slot);
    if (upload(r, 0, f) != 0 || upload(r, 1, f) != 0 || upload(r, 2, f) != 0 || native_products(r, f) != 0 ||
        our_products(r, every, f) != 0)
        return -1;
    compare(r, every > 0 ? every : 1);
    return 0;
}

static void add_row(struct run *r, const char *path, int64_t cases) {
    struct tsv *t = &r->special->table;
    tsv_integer(t, r->size.m);
    tsv_integer(t, r->size.n);
    tsv_integer(t, r->size.k);
    tsv_real(t, (double)r->by.alpha, 3);
    tsv_real(t, (double)r->by.beta, 3);
    tsv_text(t, r->pattern->name);
    tsv_text(t, path);
    tsv_integer(t, cases);
    tsv_integer(t, r->differences);
    tsv_integer(t, r->overflows);
    tsv_integer(t, r->native_overflows);
    tsv_text(t, r->differences + r->overflows > 0 ? r->note : "-");
    tsv_end_row(t);
    r->special->cases += cases;
    r->special->differences += r->differences;
    r->special->overflows += r->overflows;
    r->special->native_overflows += r->native_overflows;
}

static int run_path(struct run *r, const char *path, int64_t every, struct cli_error *f) {
    int64_t cases = 0;
    r->differences = r->overflows = r->native_overflows = 0;
    for (r->first_case = 0; r->first_case < r->cases; r->first_case += BATCH_MOST) {
        const int64_t left = r->cases - r->first_case;
        r->made = left < BATCH_MOST ? left : BATCH_MOST;
        cases += every > 0 ? (r->made + every - 1) / every : r->made;
        if (run_batch(r, every, f) != 0)
            return -1;
    }
    add_row(r, path, cases);
    return 0;
}

/* The smallest size is run whole, so far as asked for; of the others a tenth of that. */
static int64_t most_cases(const struct run *r) {
    const int64_t most = r->special->cases_most;
    return r->size.m == sizes[0].m || most < 10 ? most : most / 10;
}

static int run_patterns(struct run *r, struct cli_error *f) {
    for (size_t p = 0; p < sizeof patterns / sizeof *patterns; p++)
        for (size_t i = 0; i < sizeof scalars / sizeof *scalars; i++) {
            r->pattern = &patterns[p];
            r->by = scalars[i];
            if (i > 1 && !r->pattern->all_scalars)
                continue;
            const int64_t all = count_cases(r), most = most_cases(r);
            r->cases = all < most ? all : most;
            if (run_path(r, "batch", 0, f) != 0 || run_path(r, "single", r->special->single_every, f) != 0)
                return -1;
        }
    return 0;
}

static int allocate(struct run *r, struct cli_error *f) {
    const size_t bytes = (size_t)BATCH_MOST * ELEMENTS_MOST * sizeof(float);
    int status = 0;
    for (int i = 0; i < 3 && status == 0; i++) {
        void *memory = NULL;
        r->host[i] = malloc(bytes);
        status = session_device_check(ht_dev_alloc(&memory, bytes), "device memory", f);
        r->device[i] = memory;
        if (status == 0 && r->host[i] == NULL)
            status = cli_error_memory(f, (double)bytes, "matrices");
    }
    r->native = malloc(bytes);
    r->ours = malloc(bytes);
    if (status == 0 && (r->native == NULL || r->ours == NULL))
        status = cli_error_memory(f, (double)bytes, "results");
    return status;
}

int special_values_run(struct special_values *s, struct cli_error *f) {
    struct run r = {.special = s};
    tsv_init(&s->table, columns, (int)(sizeof columns / sizeof columns[0]));
    int status = allocate(&r, f);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes && status == 0; i++) {
        r.size = sizes[i];
        r.elements[0] = r.size.m * r.size.k;
        r.elements[1] = r.size.k * r.size.n;
        r.elements[2] = r.size.m * r.size.n;
        status = run_patterns(&r, f);
    }
    for (int i = 0; i < 3; i++) {
        free(r.host[i]);
        (void)ht_dev_free(r.device[i]);
    }
    free(r.native);
    free(r.ours);
    return status;
}

void special_values_free(struct special_values *s) {
    tsv_free(&s->table);
}
