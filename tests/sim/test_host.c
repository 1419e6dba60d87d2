/* test_host: products of matrices in host memory, with real kernels in the simulator. Elements are small integers, so
 * every result is exact and compared so. Streams run at once, or as late as events let them, or so but for one that runs
 * as early as they let it: a missing wait gives wrong elements in one of these orders. The linker puts the __wrap_ functions here before the
 * device layer's (tests.mk). */
#include <limits.h>
#include <math.h>

#include "../../runtime/ht_call.h"
#include "../../runtime/sim/sim_api.h"
#include "../kernels/handle.h"
#include "../test.h"

int __real_ht_dev_stream_create(void **stream);
int __real_ht_dev_stream_sync(void *stream);
int __real_ht_dev_alloc(void **memory, size_t bytes);
int __real_ht_dev_copy_in(void *device, const void *pinned, size_t bytes, void *stream);
int __real_ht_dev_copy_out(void *pinned, const void *device, size_t bytes, void *stream);
int __real_ht_dev_event_sync(void *event);
int __wrap_ht_dev_stream_create(void **stream);
int __wrap_ht_dev_stream_sync(void *stream);
int __wrap_ht_dev_alloc(void **memory, size_t bytes);
int __wrap_ht_dev_copy_in(void *device, const void *pinned, size_t bytes, void *stream);
int __wrap_ht_dev_copy_out(void *pinned, const void *device, size_t bytes, void *stream);
int __wrap_ht_dev_event_sync(void *event);

/* Streams in the order in which they are made here: the handle's, in, out. */
enum order { AT_ONCE, LATE, OWN_EARLY, IN_EARLY, OUT_EARLY, ORDERS };

static struct {
    enum order order;
    void *stream[3];
    int streams;
    size_t copied_in;
    int copies_out, fail_copy_out, allocs, fail_allocs; /* the first so many, of copies: from this one on */
    size_t largest_alloc;
    bool fail_sync; /* all waits for a stream */
} dev;

int __wrap_ht_dev_stream_create(void **stream) {
    const int code = __real_ht_dev_stream_create(stream);
    if (dev.order != AT_ONCE && code == HT_DEV_OK && dev.streams < 3) {
        assert_int_equal(ht_sim_hold(*stream), 0);
        dev.stream[dev.streams++] = *stream;
    }
    return code;
}

int __wrap_ht_dev_stream_sync(void *stream) {
    return dev.fail_sync ? HT_DEV_FAILED : __real_ht_dev_stream_sync(stream);
}

int __wrap_ht_dev_alloc(void **memory, size_t bytes) {
    *memory = NULL;
    dev.largest_alloc = bytes > dev.largest_alloc ? bytes : dev.largest_alloc;
    return dev.allocs++ < dev.fail_allocs ? HT_DEV_MEMORY : __real_ht_dev_alloc(memory, bytes);
}

static void run_early(void) {
    const int early = (int)dev.order - OWN_EARLY;
    if (early >= 0 && early < dev.streams)
        (void)ht_sim_run(dev.stream[early], LONG_MAX);
}

int __wrap_ht_dev_copy_in(void *device, const void *pinned, size_t bytes, void *stream) {
    dev.copied_in += bytes;
    const int code = __real_ht_dev_copy_in(device, pinned, bytes, stream);
    run_early();
    return code;
}

int __wrap_ht_dev_copy_out(void *pinned, const void *device, size_t bytes, void *stream) {
    if (dev.fail_copy_out > 0 && ++dev.copies_out >= dev.fail_copy_out)
        return HT_DEV_FAILED;
    return __real_ht_dev_copy_out(pinned, device, bytes, stream);
}

int __wrap_ht_dev_event_sync(void *event) {
    run_early();
    return __real_ht_dev_event_sync(event);
}

/* ---- one problem ---- */

struct problem {
    char uplo, ta, tb; /* uplo 'A': a product; else SYRK, of which B is A */
    bool fp64;         /* called with these numbers as doubles */
    int m, n, k, lda, ldb, ldc;
    float alpha, beta;
    float *a, *b, *c, *before;
};

static float small_integer(unsigned *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return (float)(int)(*seed >> 28) - 7.0f;
}

static float *filled(size_t count, unsigned *seed) {
    float *const x = keep(malloc((count + 1) * sizeof *x), free);
    for (size_t i = 0; i < count; i++)
        x[i] = small_integer(seed);
    return x;
}

static struct problem problem_of(char uplo, char ta, char tb, int m, int n, int k, float alpha, float beta, unsigned seed) {
    struct problem p = {.uplo = uplo, .ta = ta, .tb = tb, .m = m, .n = n, .k = k, .alpha = alpha, .beta = beta};
    const int a_rows = ta == 'N' ? m : k, b_rows = tb == 'N' ? k : n;
    p.lda = a_rows + 3;
    p.ldb = b_rows + 1;
    p.ldc = m + 5;
    p.a = filled((size_t)p.lda * (size_t)(ta == 'N' ? k : m), &seed);
    p.b = uplo == 'A' ? filled((size_t)p.ldb * (size_t)(tb == 'N' ? n : k), &seed) : p.a;
    if (uplo != 'A')
        p.ldb = p.lda;
    p.c = filled((size_t)p.ldc * (size_t)n, &seed);
    for (int col = 0; col < n; col++) /* where nothing is read, and nothing written */
        for (int row = m; row < p.ldc; row++)
            p.c[row + col * p.ldc] = NAN;
    for (int i = 0; beta == 0.0f && i < p.ldc * n; i++)
        p.c[i] = NAN;
    p.before = keep(malloc((size_t)p.ldc * (size_t)n * sizeof(float) + 1), free);
    memcpy(p.before, p.c, (size_t)p.ldc * (size_t)n * sizeof(float));
    return p;
}

static double *doubles(const float *x, size_t count) {
    double *const y = keep(malloc((count + 1) * sizeof *y), free);
    for (size_t i = 0; i < count; i++)
        y[i] = (double)x[i];
    return y;
}

static int problem_run_fp64(halftone *h, struct problem *p) {
    const size_t in_c = (size_t)p->ldc * (size_t)p->n;
    double *const a = doubles(p->a, (size_t)p->lda * (size_t)(p->ta == 'N' ? p->k : p->m));
    double *const b = doubles(p->b, (size_t)p->ldb * (size_t)(p->tb == 'N' ? p->n : p->k));
    double *const c = doubles(p->c, in_c);
    const double alpha = (double)p->alpha, beta = (double)p->beta;
    const int code = p->uplo != 'A' ? halftone_dsyrk_host(h, p->uplo, p->ta, p->n, p->k, &alpha, a, p->lda, &beta, c, p->ldc)
                                    : halftone_dgemm_host(h, p->ta, p->tb, p->m, p->n, p->k, &alpha, a, p->lda, b, p->ldb, &beta, c, p->ldc);
    for (size_t i = 0; i < in_c; i++)
        if (c[i] == c[i] || p->before[i] == p->before[i])
            p->c[i] = (float)c[i];
    return code;
}

static int problem_run(halftone *h, struct problem *p) {
    if (p->fp64)
        return problem_run_fp64(h, p);
    if (p->uplo != 'A')
        return halftone_ssyrk_host(h, p->uplo, p->ta, p->n, p->k, &p->alpha, p->a, p->lda, &p->beta, p->c, p->ldc);
    return halftone_sgemm_host(h, p->ta, p->tb, p->m, p->n, p->k, &p->alpha, p->a, p->lda, p->b, p->ldb, &p->beta, p->c,
                               p->ldc);
}

static bool is_wanted(const struct problem *p, int row, int col) {
    return row < p->m && (p->uplo == 'A' || (p->uplo == 'L' ? row >= col : row <= col));
}

static float element(const struct problem *p, int row, int col) {
    float sum = 0; /* exact */
    for (int i = 0; i < p->k; i++)
        sum += p->a[p->ta == 'N' ? row + i * p->lda : i + row * p->lda] * p->b[p->tb == 'N' ? i + col * p->ldb : col + i * p->ldb];
    return p->alpha * sum + (p->beta == 0.0f ? 0.0f : p->beta * p->before[row + col * p->ldc]);
}

static void problem_expect(const struct problem *p, const char *what) {
    assert_string_equal(ht_sim_error(), "");
    for (int col = 0; col < p->n; col++)
        for (int row = 0; row < p->ldc; row++) {
            const float found = p->c[row + col * p->ldc], before = p->before[row + col * p->ldc];
            if (is_wanted(p, row, col) ? found != element(p, row, col) : memcmp(&found, &before, sizeof found) != 0)
                fail_msg("%s: %c%c%c %dx%dx%d alpha %g beta %g: C(%d,%d) = %g, not %g", what, p->uplo, p->ta, p->tb, p->m, p->n,
                         p->k, (double)p->alpha, (double)p->beta, row, col, (double)found, (double)element(p, row, col));
        }
}

static int threads_of_all; /* that copy, of all handles */

static void drop_handle(void *h) {
    void *own = NULL;
    OK(halftone_get_stream(h, &own));
    OK(halftone_destroy(h));
    if (own != NULL)
        OK(ht_dev_stream_destroy(own));
}

/* In place of all that the test has made so far. */
static halftone *handle_of(enum order order, const char *scheme, int tile, size_t bytes) {
    void *own = NULL;
    drop_kept(0);
    memset(&dev, 0, sizeof dev);
    dev.order = order;
    OK(halftone_create(&handle));
    keep(handle, drop_handle);
    if (order != AT_ONCE) {
        OK(__wrap_ht_dev_stream_create(&own));
        OK(halftone_set_stream(handle, own));
    }
    OK(halftone_set_scheme(handle, scheme));
    OK(halftone_set_host_tiles(handle, tile, bytes));
    OK(halftone_set_host_threads(handle, threads_of_all));
    return handle;
}

static void run_exact(halftone *h, struct problem p, const char *what) {
    check_code(problem_run(h, &p), what);
    problem_expect(&p, what);
}

/* ---- tests ---- */

static const char ops[4][2] = {{'N', 'N'}, {'N', 'T'}, {'T', 'N'}, {'T', 'T'}};
static const char *const order_name[] = {"at once", "late", "the handle's early", "in early", "out early"};

/* Packed and unpacked operands, all transposes, tiles of several sizes and edges, in all orders of the streams. */
TEST(test_products) {
    static const char *const scheme[] = {"f16x3", "bf16x6u"};
    static const int size[][3] = {{1, 1, 1}, {64, 64, 7}, {200, 150, 33}, {65, 200, 20}, {130, 1, 40}};
    for (enum order order = AT_ONCE; order < ORDERS; order++)
        for (int s = 0; s < 2; s++) {
            halftone *const h = handle_of(order, scheme[s], 64, 0);
            for (int i = 0; i < 5; i++)
                for (int o = 0; o < 4; o++)
                    run_exact(h, problem_of('A', ops[o][0], ops[o][1], size[i][0], size[i][1], size[i][2], 2.0f, (float)(o % 3), (unsigned)(i * 4 + o)),
                              order_name[order]);
            const size_t few_row_blocks[] = {(size_t)130 << 10, 62000}; /* two, one of four */
            assert_int_equal(halftone_set_host_tiles(h, 64, few_row_blocks[s]), HALFTONE_OK);
            run_exact(h, problem_of('A', 'N', 'T', 200, 150, 33, 2.0f, (float)(order % 2), 1), order_name[order]);
        }
}

TEST(test_triangles) {
    for (enum order order = AT_ONCE; order < ORDERS; order++)
        for (int i = 0; i < 8; i++) {
            halftone *const h = handle_of(order, i & 4 ? "f16x3" : "bf16x6u", 64, 0);
            run_exact(h, problem_of(i & 1 ? 'L' : 'U', i & 2 ? 'N' : 'T', i & 2 ? 'T' : 'N', 200, 200, 21, -1.0f, (float)(i % 3), (unsigned)i),
                      order_name[order]);
        }
}

/* X X^T: both triangles have the same bits, those of SYRK, also where elements of `auto` are computed again. */
TEST(test_gram) {
    enum { N = 200, K = 512, LD = N + 1 };
    const float one = 1, zero = 0;
    unsigned seed = 11;
    for (int i = 0; i < 12; i += only_part() ? 5 : 1) {
        const bool by_rows = i & 1, is_checked = i % 3 == 2;
        const char ta = by_rows ? 'T' : 'N', tb = by_rows ? 'N' : 'T';
        const int ld = by_rows ? K : N;
        halftone *const h = handle_of(i < 6 ? AT_ONCE : OUT_EARLY, i % 3 == 0 ? "bf16x6u" : "f16x3", i & 2 ? 64 : 0, 0);
        struct halftone_plan plan = HALFTONE_PLAN_INIT;
        struct halftone_checked checked = {0, 0};
        if (is_checked) { /* by the kernel of f16x3: the shape is too small for `auto` to take it */
            OK(halftone_query(h, ta, tb, N, N, K, 1, &plan));
            OK(halftone_set_scheme(h, "auto"));
            OK(halftone_set_kernel(h, plan.kernel));
            OK(halftone_last_check(h, NULL));
        }
        float *const x = filled((size_t)N * K, &seed), *const c = filled((size_t)LD * N, &seed);
        float *const half = filled((size_t)LD * N, &seed);
        for (int e = 0; e < N * K; e++) { /* no whole numbers; rows that are large at different k fail the test of `auto` */
            x[e] += (float)(seed = seed * 1664525u + 1013904223u) * 0x1p-34f;
            x[e] *= (by_rows ? e / K - e % K : e % N - e / N) % 3 != 0 ? 0x1p-20f : 1.0f;
        }
        check_code(halftone_sgemm_host(h, ta, tb, N, N, K, &one, x, ld, x, ld, &zero, c, LD), "product");
        if (is_checked)
            OK(halftone_last_check(h, &checked));
        assert_true(!is_checked || i >= 6 || checked.alone + checked.in_blocks > N); /* late: not yet counted */
        check_code(halftone_ssyrk_host(h, 'L', ta, N, K, &one, x, ld, &zero, half, LD), "syrk");
        for (int col = 0; col < N; col++)
            for (int row = col; row < N; row++) {
                assert_memory_equal(&c[row + col * LD], &half[row + col * LD], sizeof *c);
                assert_memory_equal(&c[row + col * LD], &c[col + row * LD], sizeof *c);
            }
        int64_t at[4], left = 0;
        dev.copies_out = 0;
        dev.fail_copy_out = 3; /* where there are tiles, after the first two: all of C is named, what is there too */
        const int code = halftone_sgemm_host(h, ta, tb, N, N, K, &one, x, ld, x, ld, &zero, c, LD);
        assert_int_equal(code, i & 2 ? HALFTONE_DEVICE_ERROR : HALFTONE_OK);
        while (halftone_host_left(h, &at[0], &at[1], &at[2], &at[3]))
            left += at[2] * at[3];
        assert_int_equal(left, i & 2 ? N * N : 0);
    }
}

/* The same of doubles, where the library has native64. */
TEST(test_fp64) {
    for (enum order order = AT_ONCE; order < ORDERS; order++)
        for (int i = 0; i < 8; i++) {
            halftone *const h = handle_of(order, "auto", 64, i & 1 ? 120000 : 0); /* one block of four */
            struct problem p = i < 4 ? problem_of('A', ops[i][0], ops[i][1], 200, 150, 33, 2.0f, (float)(i % 3), (unsigned)i)
                                     : problem_of(i & 1 ? 'L' : 'U', i & 2 ? 'N' : 'T', i & 2 ? 'T' : 'N', 200, 200, 21, -1.0f, (float)(i % 3), (unsigned)i);
            p.fp64 = true;
            const int code = problem_run(h, &p);
            if (code == HALFTONE_NOT_SUPPORTED)
                skip();
            check_code(code, order_name[order]);
            problem_expect(&p, order_name[order]);
            p = problem_of('L', 'N', 'T', 9, 9, 0, 1.0f, (float)i, 3); /* only scaled */
            p.fp64 = true;
            run_exact(h, p, "k = 0");
        }
}

/* Each element of A, B and C is copied once where all row blocks fit, and B once more for each further span. */
TEST(test_copies_and_limits) {
    halftone *h = handle_of(AT_ONCE, "f16x3", 64, 0);
    run_exact(h, problem_of('A', 'N', 'T', 200, 150, 33, 1.0f, 1.0f, 5), "all blocks fit");
    assert_int_equal(dev.copied_in, 4 * (200 * 33 + 33 * 150 + 200 * 150));
    const size_t bytes = (size_t)130 << 10; /* of tiles: 2 C of 16 KB, 2 operands of 9 KB, panels of B and of two blocks of A, 17 KB each */
    h = handle_of(AT_ONCE, "f16x3", 64, bytes);
    run_exact(h, problem_of('A', 'N', 'T', 200, 150, 33, 1.0f, 0.0f, 5), "two blocks fit");
    assert_true(dev.largest_alloc <= bytes);
    assert_int_equal(dev.copied_in, 4 * (200 * 33 + 2 * 33 * 150));
    run_exact(h, problem_of('L', 'N', 'T', 200, 200, 33, 1.0f, 2.0f, 5), "two blocks fit");
    run_exact(h, problem_of('U', 'T', 'N', 200, 200, 33, 1.0f, 2.0f, 5), "two blocks fit");
    struct problem p = problem_of('A', 'N', 'N', 70, 70, 5000, 1.0f, 0.0f, 5);
    assert_int_equal(problem_run(h, &p), HALFTONE_OUT_OF_DEVICE_MEMORY);
    assert_non_null(strstr(halftone_last_detail(h), "k = 5000 is too long"));
    assert_memory_equal(p.c, p.before, (size_t)(p.ldc * p.n) * sizeof(float));
}

/* Products of packed tiles are not cut where a limit of the workspace asks for that: then tiles are not packed. */
TEST(test_workspace_limit) {
    enum { M = 384, N = 448, K_MOST = 512, LIMIT = 4096 };
    halftone *const h = handle_of(AT_ONCE, "auto", N, 0);
    int k = 0, found = 0;
    while (!found && (k += 32) <= K_MOST) { /* a tile that is packed, and in blocks is not */
        struct halftone_plan plan = HALFTONE_PLAN_INIT;
        assert_int_equal(halftone_set_workspace_limit(h, 0), HALFTONE_OK);
        check_code(halftone_query(h, 'N', 'N', M, N, k, 1, &plan), "without a limit");
        assert_int_equal(halftone_set_workspace_limit(h, LIMIT), HALFTONE_OK);
        found = plan.workspace_bytes > LIMIT && halftone_query(h, 'N', 'N', M, N, k, 1, &plan) == HALFTONE_OK;
    }
    if (found)
        run_exact(h, problem_of('A', 'N', 'N', M, 2 * N, k, 1.0f, 0.0f, 5), "under a limit");
    if (!found)
        skip();
}

/* A device with less memory than the limit says: smaller tiles. */
TEST(test_less_memory) {
    halftone *const h = handle_of(AT_ONCE, "bf16x6u", 64, 0);
    dev.fail_allocs = 2;
    run_exact(h, problem_of('A', 'T', 'N', 200, 150, 33, 1.0f, 3.0f, 6), "the third allocation");
    assert_true(dev.allocs >= 3);
    assert_int_equal(halftone_trim(h), HALFTONE_OK);
    dev.allocs = 0;
    dev.fail_allocs = 1000;
    struct problem p = problem_of('A', 'N', 'N', 70, 70, 5, 1.0f, 1.0f, 5);
    int64_t at[4];
    assert_int_equal(problem_run(h, &p), HALFTONE_OUT_OF_DEVICE_MEMORY);
    assert_int_equal(halftone_host_left(h, &at[0], &at[1], &at[2], &at[3]), 0);
    assert_memory_equal(p.c, p.before, (size_t)(p.ldc * p.n) * sizeof(float));
}

/* After a failure at each tile the missing ones are named, each once; with them C is complete. */
TEST(test_failure_between_tiles) {
    for (int i = 0; i < 3; i++)
        for (int failing = 1; failing <= 12; failing++) {
            halftone *const h = handle_of(AT_ONCE, "f16x3", 64, i == 1 ? (size_t)130 << 10 : 0);
            struct problem p = problem_of("ALU"[i], 'N', 'T', 200, i == 0 ? 150 : 200, 33, 1.0f, 2.0f, 7);
            dev.fail_copy_out = failing;
            const int code = problem_run(h, &p);
            assert_true(code == (failing <= (i == 0 ? 12 : 10) ? HALFTONE_DEVICE_ERROR : HALFTONE_OK));
            int64_t at[4], left = 0, wanted = 0;
            for (; halftone_host_left(h, &at[0], &at[1], &at[2], &at[3]); left++)
                for (int64_t col = at[1]; col < at[1] + at[3]; col++)
                    for (int64_t row = at[0]; row < at[0] + at[2]; row++)
                        if (is_wanted(&p, (int)row, (int)col)) {
                            float *const c = &p.c[row + col * p.ldc];
                            assert_true(*c == p.before[row + col * p.ldc]);
                            *c = element(&p, (int)row, (int)col);
                            wanted++;
                        }
            if (code != HALFTONE_OK && left == 0)
                assert_memory_equal(p.c, p.before, (size_t)(p.ldc * p.n) * sizeof(float));
            else
                problem_expect(&p, "what was left is done");
            assert_true(left == 0 || wanted > 0);
            dev.fail_copy_out = 0;
            memcpy(p.c, p.before, (size_t)(p.ldc * p.n) * sizeof(float));
            check_code(problem_run(h, &p), "again");
            problem_expect(&p, "again");
        }
}

/* Calls that only scale C ask the table, too, and those that are refused or do nothing have no line. */
TEST(test_the_last_site_is_the_last_calls) {
    halftone *const h = handle_of(AT_ONCE, "f16x3", 64, 0);
    const float zero = 0, one = 1, half = 0.5f;
    float c[4] = {1, 2, 3, 4};
    assert_int_equal(halftone_set_site(h, "k=30 accuracy=half"), HALFTONE_OK);
    for (int i = 0; i < 4; i++) {
        assert_int_equal(halftone_sgemm_host(h, 'N', 'N', 2, 2, 30, &zero, c, 2, c, 30, &half, c, 2), HALFTONE_OK);
        assert_int_equal(halftone_last_site(h), 1);
        const int code = i == 0   ? halftone_ssyrk_host(h, 'x', 'N', 2, 30, &one, c, 2, &one, c, 2)
                         : i == 1 ? halftone_sgemm_host(h, 'N', 'N', 2, 2, 30, &one, c, 1, c, 30, &one, c, 2)
                         : i == 2 ? halftone_sgemm_host(h, 'N', 'N', 2, 2, 30, &zero, c, 2, c, 30, &one, c, 2)
                                  : halftone_sgemm_host(h, 'N', 'N', 2, 2, 29, &zero, c, 2, c, 29, &half, c, 2);
        assert_int_equal(code, i == 0 ? -19 : i == 1 ? -8 : HALFTONE_OK);
        assert_int_equal(halftone_last_site(h), 0);
    }
    assert_true(c[0] == 1 / 32.0f && c[3] == 4 / 32.0f);
}

/* When C is complete nothing is waited for that may fail: nobody could tell it from a C that is untouched. */
TEST(test_a_failure_at_the_end_leaves_a_tile) {
    halftone *const h = handle_of(AT_ONCE, "f16x3", 64, 0);
    for (int n = 64; n <= 192; n += 64) {
        struct problem p = problem_of('A', 'N', 'T', 64, n, 33, 1.0f, 2.0f, 7);
        int64_t at[4], left = 0;
        dev.fail_sync = true;
        assert_int_equal(problem_run(h, &p), HALFTONE_DEVICE_ERROR);
        dev.fail_sync = false;
        while (halftone_host_left(h, &at[0], &at[1], &at[2], &at[3]))
            left += at[2] * at[3];
        assert_int_equal(left, n == 64 ? 0 : 64 * 64);
        dev.fail_sync = true;
        assert_int_equal(problem_run(h, &p), HALFTONE_DEVICE_ERROR);
        dev.fail_sync = false;
        assert_int_equal(halftone_ssyrk_host(h, 'x', 'N', 64, 33, &p.alpha, p.a, 64, &p.beta, p.c, 64), -19); /* not what the call before left */
        assert_int_equal(halftone_host_left(h, &at[0], &at[1], &at[2], &at[3]), 0);
        assert_true(n > 64 || memcmp(p.c, p.before, (size_t)(p.ldc * p.n) * sizeof(float)) == 0);
    }
}

/* What an older call left is forgotten. */
TEST(test_a_refused_call_leaves_nothing) {
    halftone *const h = handle_of(AT_ONCE, "f16x3", 64, 0);
    struct problem p = problem_of('A', 'N', 'T', 200, 150, 33, 1.0f, 2.0f, 7);
    dev.fail_copy_out = 5;
    assert_int_equal(problem_run(h, &p), HALFTONE_DEVICE_ERROR);
    p.lda = 1;
    assert_int_equal(problem_run(h, &p), -8);
    int64_t at[4];
    assert_int_equal(halftone_host_left(h, &at[0], &at[1], &at[2], &at[3]), 0);
}

/* What BLAS says of 0s, and what is refused. */
TEST(test_arguments) {
    halftone *const h = handle_of(AT_ONCE, "auto", 0, 0);
    const float one = 1, zero = 0, two = 2;
    float x[9] = {1, 2, 3, 4, 5, 6, 7, 8, 9}, c[9];
    memcpy(c, x, sizeof c);
    assert_int_equal(halftone_set_pointer_mode(h, HALFTONE_DEVICE), HALFTONE_OK);
    check_code(halftone_sgemm_host(h, 'n', 'c', 3, 2, 0, &one, NULL, 3, NULL, 2, &two, c, 3), "k = 0");
    assert_true(c[0] == 2 && c[5] == 12 && c[6] == 7);
    c[0] = NAN;
    check_code(halftone_ssyrk_host(h, 'l', 'n', 3, 2, &zero, NULL, 3, &zero, c, 3), "alpha = 0");
    assert_true(c[0] == 0 && c[3] == 8 && c[4] == 0 && c[6] == 7 && c[8] == 0);
    c[0] = NAN;
    check_code(halftone_sgemm_host(h, 'N', 'N', 1, 1, 3, &one, x, 1, x, 3, &zero, c, 1), "beta = 0");
    assert_true(c[0] == 14);
    int mode = -1;
    assert_int_equal(halftone_get_pointer_mode(h, &mode), HALFTONE_OK);
    assert_int_equal(mode, HALFTONE_DEVICE);
    check_code(halftone_sgemm_host(h, 'N', 'N', 0, 1, 3, &one, NULL, 1, NULL, 3, &zero, NULL, 1), "m = 0");
    assert_int_equal(halftone_sgemm_host(h, 'X', 'N', 1, 1, 3, &one, x, 1, x, 3, &zero, c, 1), -1);
    assert_int_equal(halftone_sgemm_host(h, 'N', 'N', 1, 1, -3, &one, x, 1, x, 3, &zero, c, 1), -5);
    assert_int_equal(halftone_sgemm_host(h, 'T', 'N', 1, 1, 3, &one, x, 2, x, 3, &zero, c, 1), -8);
    assert_int_equal(halftone_sgemm_host(h, 'N', 'N', 1, 1, 3, &one, x, 1, x, 3, &zero, c, 0), -13);
    assert_int_equal(halftone_sgemm_host(NULL, 'N', 'N', 1, 1, 3, &one, x, 1, x, 3, &zero, c, 1), HALFTONE_NULL_HANDLE);
    assert_int_equal(halftone_ssyrk_host(h, 'A', 'N', 1, 1, &one, x, 1, &zero, c, 1), -19);
    assert_int_equal(halftone_ssyrk_host(h, 'U', '-', 1, 1, &one, x, 1, &zero, c, 1), -1);
    assert_int_equal(halftone_ssyrk_host(h, 'U', 'T', 1, 2, &one, x, 1, &zero, c, 1), -8);
    assert_int_equal(halftone_set_host_tiles(h, 63, 0), -18);
    assert_int_equal(halftone_set_host_tiles(h, -1, 0), -18);
    assert_int_equal(halftone_set_host_threads(h, -1), -18);
    assert_int_equal(halftone_set_host_threads(h, 65), -18);
    assert_int_equal(halftone_host_left(h, NULL, NULL, NULL, NULL), 0);
    assert_int_equal(ht_sim_capture_begin(NULL), 0);
    assert_int_equal(halftone_sgemm_host(h, 'N', 'N', 1, 1, 3, &one, x, 1, x, 3, &zero, c, 1), HALFTONE_NOT_SUPPORTED);
    ht_sim_graph_free(ht_sim_capture_end(NULL));
}

/* One tile is the product of the device's copies, bit for bit. */
TEST(test_one_tile) {
    enum { N = 90 };
    halftone *const h = handle_of(AT_ONCE, "auto", 0, 0);
    static float x[N * N], y[N * N];
    const float alpha = 0.3f, beta = -1.7f;
    for (int i = 0; i < N * N; i++)
        x[i] = sinf((float)i), y[i] = cosf((float)i);
    float *const da = kept_on_device(sizeof x), *const dc = kept_on_device(sizeof y);
    assert_int_equal(ht_dev_upload(da, x, sizeof x) + ht_dev_upload(dc, y, sizeof y), HT_DEV_OK);
    check_code(halftone_sgemm(h, 'T', 'N', N, N, N, &alpha, da, N, da, N, &beta, dc, N), "on the device");
    check_code(halftone_sgemm_host(h, 'T', 'N', N, N, N, &alpha, x, N, x, N, &beta, y, N), "from the host");
    assert_memory_equal(y, dc, sizeof y);
}

/* The site of a product is that of the whole call: its tiles are no products of their own. */
TEST(test_a_site_has_its_tiles) {
    enum { M = 130, N = 70, K = 40 };
    static float a[M * K], b[K * N], c[3][M * N];
    const float one = 1, zero = 0;
    const char *line = NULL;
    int64_t products = 0;
    for (int i = 0; i < M * K; i++)
        a[i] = sinf((float)i);
    for (int i = 0; i < K * N; i++)
        b[i] = cosf((float)i);
    for (int i = 0; i < 3; i++) {
        halftone *const h = handle_of(AT_ONCE, i == 1 ? "half" : "f16x3", 64, 0);
        if (i == 2) {
            check_code(halftone_set_site(h, "m=-64 n=-64 scheme=bf16x6u"), "of tiles");
            check_code(halftone_set_site(h, "m=130 n=70 k=40 op=NN scheme=half"), "of the call");
        }
        check_code(halftone_sgemm_host(h, 'N', 'N', M, N, K, &one, a, M, b, K, &zero, c[i], M), "from the host");
        assert_int_equal(halftone_last_site(h), i == 2 ? 2 : 0);
        check_code(halftone_get_site(h, 1, &line, &products), "site");
        assert_int_equal(products, i == 2);
    }
    assert_memory_equal(c[2], c[1], sizeof c[1]);
    assert_true(memcmp(c[2], c[0], sizeof c[0]) != 0);
}

/* Tiles lie in memory that comes and goes: a handle that knew them would refuse what a program puts there later. */
TEST(test_what_tiles_packed_is_forgotten) {
    enum { M = 130, N = 70, K = 40 };
    static float a[M * K], b[K * N], c[M * N];
    const float one = 1, zero = 0;
    size_t bytes = 0;
    halftone *const h = handle_of(AT_ONCE, "half", 64, 0);
    float *const x = kept_on_device(sizeof a);
    memset(x, 0, sizeof a);
    check_code(halftone_packed_bytes(h, 'A', 64, K, 1, &bytes), "packed bytes");
    void *const packed = kept_on_device(bytes);
    check_code(halftone_pack_a(h, 'N', 64, K, x, 64, packed), "packing");
    for (int i = 0; i < 2; i++) {
        dev.fail_copy_out = i == 1 ? 2 : 0;
        const int code = halftone_sgemm_host(h, 'N', 'N', M, N, K, &one, a, M, b, K, &zero, c, M);
        assert_int_equal(code, i == 1 ? HALFTONE_DEVICE_ERROR : HALFTONE_OK);
        assert_true(h->packed_count == 1 && h->packed[0].at == packed);
        dev.copies_out = 0;
    }
}

/* What one thread copies several do: whole columns, parts of them, triangles, fewer elements than threads. */
TEST(test_threads) {
    for (threads_of_all = 2; threads_of_all <= 64; threads_of_all += 31) {
        halftone *const h = handle_of(AT_ONCE, "f16x3", 64, 0);
        run_exact(h, problem_of('A', 'T', 'N', 3, 2, 5, 1.0f, 1.0f, 8), "few elements");
        test_copies_and_limits(NULL);
    }
    threads_of_all = 0;
}
