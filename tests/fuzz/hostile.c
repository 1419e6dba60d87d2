/* hostile: see calls.h. */
#include "calls.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>


/* ---- arguments */

struct arguments {
    char ta, tb, which;
    int64_t m, n, k, lda, ldb, ldc, stride_a, stride_b, stride_c, batch;
    const float *alpha, *a, *b, *beta;
    float *c;
    char *blob_a, *blob_b;
};

enum { MEMORY_FLOATS = 4096 };
static float *memory; /* on the device: A, B and C of calls that must not come so far */
static const float one = 1, zero = 0;

static int64_t hostile_size(struct fuzz_rng *r) {
    static const int64_t sizes[] = {0,         1,         2,          63,  64,       65,        1000,     4097,     1 << 20, INT32_MAX - 1, INT32_MAX, INT64_C(1) << 31,
                                    -1,        INT64_MIN, -(1 << 20), 100, INT64_MAX, INT64_MAX / 2, INT64_MAX / 4, INT64_C(1) << 40,
                                    HALFTONE_SIZE_MAX, HALFTONE_SIZE_MAX + 1};
    return fuzz_one_in(r, 3) ? FUZZ_PICK(r, sizes) : fuzz_from(r, 0, 300);
}

static void *hostile_pointer(struct fuzz_rng *r, void *good) {
    const int64_t kind = fuzz_below(r, 12);
    return kind == 0 ? NULL : kind == 1 ? (char *)good + fuzz_from(r, 1, 3) : good;
}

/* As one who knows would call it, with a few arguments replaced. */
static struct arguments hostile_arguments(struct fuzz_rng *r) {
    static const char ops[] = "NTCntcNTNTNTx \377\0", which[] = "ABabABx";
    struct arguments x = {ops[fuzz_below(r, 16)], ops[fuzz_below(r, 16)], which[fuzz_below(r, 7)], fuzz_from(r, 0, 20), fuzz_from(r, 0, 20),
                          fuzz_from(r, 0, 20), 20, 20, 20, 400, 400, 400, fuzz_from(r, 0, 3), &one, memory, memory, &zero, memory,
                          (char *)memory, (char *)memory};
    int64_t *const sizes[] = {&x.m, &x.n, &x.k, &x.lda, &x.ldb, &x.ldc, &x.stride_a, &x.stride_b, &x.stride_c, &x.batch};
    for (int64_t n = fuzz_from(r, 0, 3); n > 0; n--)
        *sizes[fuzz_below(r, 10)] = hostile_size(r);
    x.a = hostile_pointer(r, memory);
    x.b = hostile_pointer(r, memory);
    x.c = hostile_pointer(r, memory);
    x.blob_a = hostile_pointer(r, memory);
    x.blob_b = hostile_pointer(r, memory);
    x.alpha = fuzz_one_in(r, 20) ? NULL : fuzz_one_in(r, 6) ? &zero : &one;
    x.beta = fuzz_one_in(r, 20) ? NULL : &zero;
    return x;
}

static void note(const char *what, const struct arguments *x) {
    fuzz_note("%s %d %d %d, m %lld n %lld k %lld, ld %lld %lld %lld, strides %lld %lld %lld, batch %lld, alpha %p A %p B %p beta %p C %p blobs %p %p",
              what, x->ta, x->tb, x->which, (long long)x->m, (long long)x->n, (long long)x->k, (long long)x->lda, (long long)x->ldb,
              (long long)x->ldc, (long long)x->stride_a, (long long)x->stride_b, (long long)x->stride_c, (long long)x->batch,
              (const void *)x->alpha, (const void *)x->a, (const void *)x->b, (const void *)x->beta, (void *)x->c, (void *)x->blob_a,
              (void *)x->blob_b);
}

/* ---- what halftone.h says of them: the first wrong argument, in the order of their numbers; 0: none */

static int is_op(char t) {
    return matrix_is_trans(t) || t == 'N' || t == 'n';
}

static int misaligned(const void *p, size_t unit) {
    return p == NULL || (uintptr_t)p % unit != 0;
}

static int short_ld(int64_t ld, int64_t rows) {
    return ld < (rows > 1 ? rows : 1);
}

static int expected_sizes(const struct arguments *x) {
    return !is_op(x->ta) ? -1 : !is_op(x->tb) ? -2 : x->m < 0 ? -3 : x->n < 0 ? -4 : x->k < 0 ? -5 : 0;
}

static int too_large(const struct arguments *x) {
    const int64_t sizes[] = {x->m, x->n, x->k, x->batch};
    for (int i = 0; i < 4; i++)
        if (sizes[i] > HALFTONE_SIZE_MAX)
            return HALFTONE_TOO_LARGE;
    return 0;
}

/* Whether entries of C share an element, by each column of one against the nearest entries; -1: there are too many columns to try. */
static int entries_share(const struct arguments *x) {
    if (x->batch < 2 || x->m == 0 || x->n == 0)
        return 0;
    if (x->n > 1000)
        return -1;
    for (int64_t column = 0; column < x->n; column++) {
        const double at = (double)column * (double)x->ldc, nearest = floor(at / (double)x->stride_c);
        if (at > 0x1p52)
            return -1;
        for (double apart = nearest > 1 ? nearest : 1; apart <= nearest + 1 && apart < (double)x->batch; apart++)
            if (fabs(apart * (double)x->stride_c - at) < (double)x->m)
                return 1;
    }
    return 0;
}

enum call { PLAIN, BATCHED, PACKED };

static int expected_of_call(const struct arguments *x, enum call call) {
    const int empty = x->m == 0 || x->n == 0 || x->batch == 0, sizes = expected_sizes(x);
    if (sizes != 0)
        return sizes;
    if (x->alpha == NULL)
        return -6;
    const int reads = !empty && x->k > 0 && *x->alpha != 0.0f, packed = call == PACKED;
    const int64_t rows_a = matrix_is_trans(x->ta) ? x->k : x->m, rows_b = matrix_is_trans(x->tb) ? x->n : x->k;
    if (reads && (packed ? misaligned(x->blob_a, HALFTONE_ALIGNMENT) : misaligned(x->a, 4)))
        return -7;
    if (!packed && short_ld(x->lda, rows_a))
        return -8;
    if (reads && (packed ? misaligned(x->blob_b, HALFTONE_ALIGNMENT) : misaligned(x->b, 4)))
        return -9;
    if (!packed && short_ld(x->ldb, rows_b))
        return -10;
    if (x->beta == NULL)
        return -11;
    if (!empty && misaligned(x->c, 4))
        return -12;
    if (short_ld(x->ldc, x->m))
        return -13;
    if (call != BATCHED)
        return too_large(x);
    if (x->stride_a < 0 || x->stride_b < 0)
        return x->stride_a < 0 ? -14 : -15;
    if (x->stride_c < 0 || (x->batch > 1 && x->stride_c < x->m))
        return -16;
    const int share = entries_share(x);
    return share != 0 ? (share > 0 ? -16 : 0) : x->batch < 0 ? -17 : too_large(x);
}

/* ---- calls that are refused */

static void expect_code(halftone *h, const char *what, int code, int expected) {
    FUZZ_CHECK(code == expected, "%s: code %d (%s: %s), and %d is right", what, code, halftone_strerror(code), halftone_last_detail(h), expected);
    FUZZ_CHECK(expected == 0 || h == NULL || halftone_last_detail(h)[0] != '\0', "%s: code %d without a detail", what, code);
}

static void hostile_products(halftone *h, struct fuzz_rng *r) {
    struct arguments x = hostile_arguments(r);
    note("products", &x);
    const int batched = expected_of_call(&x, BATCHED);
    if (batched != 0)
        expect_code(h, "batched",
                   halftone_sgemm_strided_batched(h, x.ta, x.tb, x.m, x.n, x.k, x.alpha, x.a, x.lda, x.stride_a, x.b, x.ldb, x.stride_b, x.beta,
                                                  x.c, x.ldc, x.stride_c, x.batch),
                   batched);
    x.batch = 1;
    const int plain = expected_of_call(&x, PLAIN);
    if (plain != 0)
        expect_code(h, "sgemm", halftone_sgemm(h, x.ta, x.tb, x.m, x.n, x.k, x.alpha, x.a, x.lda, x.b, x.ldb, x.beta, x.c, x.ldc), plain);
    x.ta = x.tb = 'N';
    const int packed = expected_of_call(&x, PACKED);
    if (packed != 0)
        expect_code(h, "packed", halftone_sgemm_packed(h, x.m, x.n, x.k, x.alpha, x.blob_a, x.blob_b, x.beta, x.c, x.ldc), packed);
    if (packed != 0)
        expect_code(NULL, "NULL", halftone_sgemm_packed(NULL, x.m, x.n, x.k, x.alpha, x.blob_a, x.blob_b, x.beta, x.c, x.ldc), HALFTONE_NULL_HANDLE);
}

static void hostile_packing(halftone *h, struct fuzz_rng *r) {
    struct arguments x = hostile_arguments(r);
    x.batch = 1;
    note("packing", &x);
    const int64_t n = x.n, rows = matrix_is_trans(x.ta) ? x.k : x.m, cols = matrix_is_trans(x.tb) ? x.n : x.k;
    x.n = 0;
    int expected = !is_op(x.ta) ? -1 : x.m < 0 ? -3 : x.k < 0 ? -5 : 0;
    const int empty_a = x.m == 0 || x.k == 0, empty_b = n == 0 || x.k == 0;
    if (expected == 0)
        expected = !empty_a && misaligned(x.a, 4)                           ? -7
                   : short_ld(x.lda, rows)                                  ? -8
                   : !empty_a && misaligned(x.blob_a, HALFTONE_ALIGNMENT) ? -18
                                                                            : too_large(&x);
    if (expected != 0)
        expect_code(h, "pack_a", halftone_pack_a(h, x.ta, x.m, x.k, x.a, x.lda, x.blob_a), expected);
    x.m = 0;
    x.n = n;
    expected = !is_op(x.tb) ? -2 : x.n < 0 ? -4 : x.k < 0 ? -5 : 0;
    if (expected == 0)
        expected = !empty_b && misaligned(x.b, 4)                           ? -9
                   : short_ld(x.ldb, cols)                                  ? -10
                   : !empty_b && misaligned(x.blob_b, HALFTONE_ALIGNMENT) ? -18
                                                                            : too_large(&x);
    if (expected != 0)
        expect_code(h, "pack_b", halftone_pack_b(h, x.tb, x.k, x.n, x.b, x.ldb, x.blob_b), expected);
}

/* ---- questions: any arguments may come, and none may be followed by more than a code */

static void check_same_plan(const struct halftone_plan *x, const struct halftone_plan *y) {
    FUZZ_CHECK(memcmp(x, y, sizeof *x) == 0, "a query that failed wrote its result");
}

/* Programs that know more of the struct than the library does; less than version 0.1.0 has none knows. */
static void check_other_sizes(halftone *h, struct fuzz_rng *r, const struct arguments *x, const struct halftone_plan *whole) {
    enum { MORE = 64 };
    union {
        struct halftone_plan plan;
        unsigned char bytes[sizeof(struct halftone_plan) + MORE];
    } other, before;
    memset(&other, 0xa5, sizeof other);
    other.plan.size = (size_t)fuzz_from(r, 1, sizeof other);
    memcpy(&before, &other, sizeof before);
    const int fits = other.plan.size >= sizeof *whole;
    expect_code(h, "query by another size", halftone_query(h, x->ta, x->tb, x->m, x->n, x->k, x->batch, &other.plan), fits ? HALFTONE_OK : -18);
    FUZZ_CHECK(other.plan.size == before.plan.size, "the size became %zu", other.plan.size);
    FUZZ_CHECK(!fits || memcmp(other.bytes + sizeof whole->size, (const unsigned char *)whole + sizeof whole->size, sizeof *whole - sizeof whole->size) == 0,
               "a struct of %zu bytes is another", other.plan.size);
    for (size_t i = fits ? sizeof *whole : 0; i < sizeof other; i++)
        FUZZ_CHECK(other.bytes[i] == before.bytes[i], "byte %zu of a struct of %zu bytes was written", i, other.plan.size);
}

static void hostile_query(halftone *h, struct fuzz_rng *r) {
    struct halftone_plan plan, before;
    struct arguments x = hostile_arguments(r);
    size_t bytes = 77;
    if (fuzz_one_in(r, 3)) {
        x.m = hostile_size(r);
        x.n = hostile_size(r);
        x.k = hostile_size(r);
    }
    note("query", &x);
    memset(&before, 0xa5, sizeof before);
    before.size = fuzz_one_in(r, 16) ? 0 : sizeof before;
    memcpy(&plan, &before, sizeof plan);
    const int sizes = expected_sizes(&x), expected = sizes != 0 ? sizes : x.batch < 0 ? -17 : before.size == 0 ? -18 : too_large(&x);
    if (before.size == 0) {
        expect_code(h, "query without a size", halftone_query(h, x.ta, x.tb, x.m, x.n, x.k, x.batch, &plan), expected);
        check_same_plan(&plan, &before);
        return;
    }
    const int code = halftone_query(h, x.ta, x.tb, x.m, x.n, x.k, x.batch, &plan);
    const int again = halftone_workspace_bytes(h, x.ta, x.tb, x.m, x.n, x.k, x.batch, &bytes);
    if (expected != 0)
        expect_code(h, "query", code, expected);
    FUZZ_CHECK(code == HALFTONE_OK || code == expected || code == HALFTONE_TOO_LARGE || code == HALFTONE_ACCURACY, "query: code %d (%s: %s)", code,
               halftone_strerror(code), halftone_last_detail(h));
    FUZZ_CHECK(code == again, "query gives %d, workspace_bytes %d", code, again);
    if (code != HALFTONE_OK) {
        check_same_plan(&plan, &before);
        FUZZ_CHECK(bytes == 77, "workspace_bytes failed and wrote its result");
        return;
    }
    FUZZ_CHECK(bytes == plan.workspace_bytes, "query says %zu bytes, workspace_bytes %zu", plan.workspace_bytes, bytes);
    FUZZ_CHECK(plan.pack_ns >= 0 && plan.kernel_ns >= 0 && plan.predicted_ns >= plan.pack_ns && plan.predicted_ns >= plan.kernel_ns && plan.bound_units >= 0,
               "ns %lld + %lld = %lld, units %lld", (long long)plan.pack_ns, (long long)plan.kernel_ns, (long long)plan.predicted_ns,
               (long long)plan.bound_units);
    check_other_sizes(h, r, &x, &plan);
    const int none = sizes != 0 ? sizes : x.batch < 0 ? -17 : -18;
    expect_code(h, "query without a result", halftone_query(h, x.ta, x.tb, x.m, x.n, x.k, x.batch, NULL), none);
    expect_code(h, "workspace_bytes without a result", halftone_workspace_bytes(h, x.ta, x.tb, x.m, x.n, x.k, x.batch, NULL), none);
}

static void hostile_packed_bytes(halftone *h, struct fuzz_rng *r) {
    struct arguments x = hostile_arguments(r);
    size_t bytes = 77, single = 0;
    const int64_t rows = hostile_size(r), k = hostile_size(r), batch = fuzz_one_in(r, 2) ? 1 : hostile_size(r);
    x.m = x.n = rows;
    x.k = k;
    x.batch = batch;
    note("packed_bytes", &x);
    const int is_a = x.which == 'A' || x.which == 'a', is_b = x.which == 'B' || x.which == 'b';
    const int expected = !is_a && !is_b ? -18 : rows < 0 ? (is_a ? -3 : -4) : k < 0 ? -5 : batch < 0 ? -17 : too_large(&x);
    const int code = halftone_packed_bytes(h, x.which, rows, k, batch, &bytes);
    if (expected != 0)
        expect_code(h, "packed_bytes", code, expected);
    FUZZ_CHECK(code == HALFTONE_OK || code == expected || code == HALFTONE_TOO_LARGE || code == HALFTONE_NOT_SUPPORTED, "packed_bytes: code %d (%s: %s)",
               code, halftone_strerror(code), halftone_last_detail(h));
    FUZZ_CHECK(code == HALFTONE_OK || bytes == 77, "packed_bytes failed and wrote its result");
    if (code != HALFTONE_OK)
        return;
    expect_code(h, "packed_bytes of one", halftone_packed_bytes(h, x.which, rows, k, 1, &single), HALFTONE_OK);
    FUZZ_CHECK(bytes == single * (size_t)batch, "%zu bytes for one, %zu for %lld", single, bytes, (long long)batch);
    FUZZ_CHECK(rows == 0 || k == 0 || single >= (size_t)rows * (size_t)k, "%zu bytes", single);
}

static void hostile_rho(halftone *h, struct fuzz_rng *r) {
    struct arguments x = hostile_arguments(r);
    double rho = -7;
    note("estimate_rho", &x);
    x.alpha = x.beta = &one;
    x.c = memory;
    x.ldc = INT64_MAX;
    x.batch = 1;
    const int call = expected_of_call(&x, PLAIN);
    if (call != 0)
        expect_code(h, "estimate_rho", halftone_estimate_rho(h, x.ta, x.tb, x.m, x.n, x.k, x.a, x.lda, x.b, x.ldb, &rho), call);
    if (call != 0 && call != HALFTONE_TOO_LARGE)
        expect_code(h, "estimate_rho without a result", halftone_estimate_rho(h, x.ta, x.tb, x.m, x.n, x.k, x.a, x.lda, x.b, x.ldb, NULL), call);
    FUZZ_CHECK(call == 0 || (isinf(rho) && rho > 0), "estimate_rho failed and says %g", rho);
}

/* ---- settings */

static void hostile_text(struct fuzz_rng *r, char *text, size_t size) {
    static const char *const starts[] = {"", "auto", "bits=", "bound=", "relative=", "relative=1e-3:rho=", "reproducible:", "half", "fp32", "fp64", "fp64:", "fp32:", "f16x3", "ht_", "%s%n"};
    static const char letters[] = "0123456789.eE+-:=xnafNI \t%\n\377";
    strncpy(text, FUZZ_PICK(r, starts), size - 1);
    size_t at = strlen(text);
    for (int64_t n = fuzz_one_in(r, 10) ? (int64_t)(size - at) - 1 : fuzz_below(r, 12); n > 0 && at < size - 1; n--)
        text[at++] = FUZZ_PICK(r, letters);
    text[at] = '\0';
}

/* All that a handle is set to. */
struct settings {
    const char *scheme[2], *accuracy[2], *kernel;
    void *workspace, *stream;
    size_t bytes;
    int mode, tests;
};

static struct settings settings_of(halftone *h) {
    struct settings s;
    memset(&s, 0, sizeof s);
    const int codes[] = {halftone_get_scheme(h, HALFTONE_FP32, &s.scheme[0]), halftone_get_accuracy(h, HALFTONE_FP32, &s.accuracy[0]),
                         halftone_get_scheme(h, HALFTONE_FP64, &s.scheme[1]), halftone_get_accuracy(h, HALFTONE_FP64, &s.accuracy[1]),
                         halftone_get_kernel(h, &s.kernel),
                         halftone_get_workspace(h, &s.workspace, &s.bytes), halftone_get_stream(h, &s.stream),     halftone_get_pointer_mode(h, &s.mode),
                         halftone_get_recompute(h, &s.tests)};
    for (size_t i = 0; i < sizeof codes / sizeof *codes; i++)
        expect_code(h, "get", codes[i], HALFTONE_OK);
    return s;
}

typedef int query(halftone *, char, char, int64_t, int64_t, int64_t, int64_t, struct halftone_plan *);

/* An accuracy that the other type alone can keep is set for both at once. */
static void set_again(halftone *twin, int type, const char *scheme, const char *accuracy) {
    const char *const name = accuracy != NULL ? accuracy : scheme;
    char text[100];
    FUZZ_CHECK(name != NULL, "neither scheme nor accuracy is set");
    snprintf(text, sizeof text, "fp%d:%s", type == 1 ? 64 : 32, name);
    int code = (accuracy != NULL ? halftone_set_accuracy : halftone_set_scheme)(twin, text);
    if (code == HALFTONE_ACCURACY)
        code = halftone_set_accuracy(twin, name);
    expect_code(twin, text, code, HALFTONE_OK);
}

/* Another handle that is set to the same plans the same. */
static void check_twin(halftone *h, struct fuzz_rng *r) {
    const struct settings s = settings_of(h);
    struct halftone_plan plan = HALFTONE_PLAN_INIT, other = HALFTONE_PLAN_INIT;
    const int64_t m = fuzz_from(r, 1, 300), n = fuzz_from(r, 1, 300), k = fuzz_from(r, 1, 3000);
    halftone *twin = NULL;
    fuzz_note("a handle with the settings of another: scheme %s, accuracy %s, kernel %s", s.scheme[0] != NULL ? s.scheme[0] : "-",
              s.accuracy[0] != NULL ? s.accuracy[0] : "-", s.kernel != NULL ? s.kernel : "-");
    FUZZ_CHECK(halftone_create(&twin) == HALFTONE_OK, "no handle");
    for (int type = 0; type < 2; type++)
        set_again(twin, type, s.scheme[type], s.accuracy[type]);
    expect_code(twin, "set_recompute", halftone_set_recompute(twin, s.tests), HALFTONE_OK);
    expect_code(twin, "set_kernel", halftone_set_kernel(twin, s.kernel), HALFTONE_OK);
    for (int type = 0; type < 2; type++) {
        query *const ask = type == 1 ? halftone_dquery : halftone_query;
        const int code = ask(h, 'N', 'T', m, n, k, 1, &plan);
        FUZZ_CHECK(ask(twin, 'N', 'T', m, n, k, 1, &other) == code, "the plan of the one fails");
        FUZZ_CHECK(memcmp(&plan, &other, sizeof plan) == 0, "%s and %s, %s and %s", plan.kernel, other.kernel, plan.why_scheme, other.why_scheme);
    }
    expect_code(twin, "destroy", halftone_destroy(twin), HALFTONE_OK);
}

static void hostile_settings(halftone *h, struct fuzz_rng *r) {
    char text[400];
    struct halftone_plan before = HALFTONE_PLAN_INIT, after = HALFTONE_PLAN_INIT;
    hostile_text(r, text, sizeof text);
    check_twin(h, r);
    fuzz_note("settings: '%s'", text);
    const struct settings set_before = settings_of(h);
    const int asked = halftone_query(h, 'N', 'N', 70, 80, 90, 1, &before);
    const int codes[] = {halftone_set_scheme(h, text), halftone_set_accuracy(h, text), halftone_set_kernel(h, text)};
    const int64_t which = fuzz_below(r, 8);
    FUZZ_CHECK(codes[0] == 0 || codes[0] == HALFTONE_UNKNOWN_SCHEME, "set_scheme: %d", codes[0]);
    FUZZ_CHECK(codes[1] == 0 || codes[1] == HALFTONE_UNKNOWN_ACCURACY || codes[1] == HALFTONE_ACCURACY, "set_accuracy: %d", codes[1]);
    FUZZ_CHECK(codes[2] == 0 || codes[2] == HALFTONE_UNKNOWN_KERNEL, "set_kernel: %d", codes[2]);
    expect_code(h, "set_scheme(NULL)", halftone_set_scheme(h, NULL), HALFTONE_UNKNOWN_SCHEME);
    expect_code(h, "set_accuracy(NULL)", halftone_set_accuracy(h, NULL), HALFTONE_UNKNOWN_ACCURACY);
    expect_code(h, "set_pointer_mode", halftone_set_pointer_mode(h, (int)which + 2), HALFTONE_NOT_SUPPORTED);
    expect_code(h, "set_workspace(NULL, 1)", halftone_set_workspace(h, NULL, 1), -18);
    expect_code(h, "a workspace that is not aligned", halftone_set_workspace(h, (char *)memory + 4 * (which + 1), 100), -18);
    if (codes[0] != 0 && codes[1] != 0 && codes[2] != 0) { /* nothing was set */
        FUZZ_CHECK(halftone_query(h, 'N', 'N', 70, 80, 90, 1, &after) == asked, "what failed changed the handle");
        const struct settings set_after = settings_of(h);
        FUZZ_CHECK(memcmp(&set_before, &set_after, sizeof set_after) == 0, "what failed changed the handle");
        FUZZ_CHECK(asked != 0 || (before.scheme == after.scheme && before.kernel == after.kernel), "what failed changed the handle");
    }
    FUZZ_CHECK(halftone_schemes(h, 0, -1) == NULL && halftone_kernels(h, 1 << 30) == NULL && halftone_accuracies(0, (int)which + 100) == NULL, "lists have no end");
    FUZZ_CHECK(halftone_strerror((int)fuzz_next(r)) != NULL, "no text");
}

void hostile_run(halftone *h, struct fuzz_rng *r) {
    static void (*const kinds[])(halftone *, struct fuzz_rng *) = {hostile_products, hostile_packing, hostile_query,
                                                                   hostile_packed_bytes, hostile_rho,  hostile_settings};
    memory = device_make(MEMORY_FLOATS * 4);
    for (int64_t n = fuzz_from(r, 1, 8); n > 0; n--)
        FUZZ_PICK(r, kinds)(h, r);
    device_free(memory);
}
