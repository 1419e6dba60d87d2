/* test_product: real kernels against FP64. Links with the CUDA library or the simulator; the cases are the same, a GPU gets larger
 * ones too. Every scheme is held to its own a-priori bound, exact cases to equality, bits to bits. HALFTONE_TEST_SMALL=1 leaves
 * cases out, for the sanitizers. The verdict of errors_* depends on the matrix unit's arithmetic; the others compare one way to a
 * result with another, bit for bit, or check what no product has a part in. */
#include <math.h>

#include "../../bench/halftone/accuracy/families.h"
#include "../../bench/halftone/accuracy/metrics.h"
#include "../../bench/halftone/accuracy/reference.h"
#include "../../runtime/halftone.h"
#include "../../runtime/ht_abi.h"
#include "../../runtime/ht_dev.h"
#include "../test.h"
#include "handle.h"

static int on_gpu, small;

struct matrix {
    int64_t rows, cols, ld;
    float *host, *device;
    int offset; /* floats from the allocation to the matrix */
};

struct product {
    char ta, tb;
    int64_t m, n, k, pad;
    float alpha, beta;
    const char *family;
};

static struct matrix matrix_make_at(int offset, int64_t rows, int64_t cols, int64_t pad) {
    struct matrix x = {rows, cols, rows + pad, NULL, NULL, offset};
    const size_t bytes = (size_t)(x.ld * cols) * sizeof(float);
    x.host = kept(bytes);
    x.device = (float *)kept_on_device(bytes + (size_t)(offset + 1) * sizeof(float)) + offset;
    for (int64_t i = 0; i < x.ld * cols; i++)
        x.host[i] = NAN; /* pads and unwritten outputs stay visible */
    return x;
}

static struct matrix matrix_make(int64_t rows, int64_t cols, int64_t pad) {
    return matrix_make_at(0, rows, cols, pad);
}

static void matrix_up(const struct matrix *x) {
    assert_int_equal(ht_dev_upload(x->device, x->host, (size_t)(x->ld * x->cols) * sizeof(float)), HT_DEV_OK);
}

static void matrix_down(struct matrix *x) {
    assert_int_equal(ht_dev_download(x->host, x->device, (size_t)(x->ld * x->cols) * sizeof(float)),
                     HT_DEV_OK);
}

/* op(X) has the family's values whatever the transpose, so that all transposes have one truth. */
static struct matrix operand(const struct product *p, char side, char trans) {
    const int64_t rows = side == 'A' ? p->m : p->k, cols = side == 'A' ? p->k : p->n;
    float *plain = kept((size_t)(rows * cols) * sizeof(float) + 4);
    family_fill(family_find(p->family), 7, side, p->m, p->n, p->k, plain, rows);
    struct matrix x = trans == 'N' ? matrix_make(rows, cols, p->pad) : matrix_make(cols, rows, p->pad);
    for (int64_t c = 0; c < cols; c++) {
        for (int64_t r = 0; r < rows; r++)
            x.host[trans == 'N' ? c * x.ld + r : r * x.ld + c] = plain[c * rows + r];
    }
    matrix_up(&x);
    return x;
}

static struct matrix result_matrix(const struct product *p) {
    struct matrix c = matrix_make(p->m, p->n, p->pad);
    for (int64_t j = 0; p->beta != 0.0f && j < p->n; j++) {
        for (int64_t i = 0; i < p->m; i++)
            c.host[j * c.ld + i] = (float)(i % 7 - 3) * 0.25f;
    }
    matrix_up(&c);
    return c;
}

/* What a unit that flushes FP16 or BF16 subnormals may drop of an element whose row is not scaled (ht_abi.h). */
static double flushed_of(double x, int exponent) {
    const int smallest_normal = exponent < -100 ? -126 : -14;
    const double residual = ldexp(1, exponent);
    if (fabs(x) < ldexp(1, smallest_normal)) /* ootomo: a residual of the other sign may remain */
        return x != 0 && exponent == -25 ? fabs(x) + residual * (1 + ldexp(1, -11)) : fabs(x);
    return fmin(fabs(x), residual);
}

/* The same for every element of the product of a and b (contiguous): beside the bound, for all magnitudes. The caller
 * frees it; NULL: nothing is dropped. */
static double *flushed_of_product(const struct product *p, const struct ht_scheme_desc *s, const float *a,
                                  const float *b) {
    if (s->flush_exponent == 0 || s->scales)
        return NULL;
    double *lost = keep(calloc((size_t)(p->m * p->n), sizeof *lost), free);
    for (int64_t j = 0; j < p->n; j++) {
        for (int64_t l = 0; l < p->k; l++) {
            const double y = (double)b[j * p->k + l], dy = flushed_of(y, s->flush_exponent);
            for (int64_t i = 0; i < p->m; i++) {
                const double x = (double)a[l * p->m + i], dx = flushed_of(x, s->flush_exponent);
                lost[j * p->m + i] += dx * fabs(y) + fabs(x) * dy + dx * dy;
            }
        }
    }
    return lost;
}

/* Largest |C - truth| / allowance, and that nothing outside of C was written. The bound is `units` of magnitude; flushed: NULL or what
 * is allowed besides. */
static double worst_ratio(const struct product *p, const struct reference *r, const struct matrix *c,
                          int64_t units, const double *magnitude, const double *flushed) {
    double worst = 0;
    for (int64_t j = 0; j < p->n; j++) {
        for (int64_t i = 0; i < c->ld; i++) {
            const double got = (double)c->host[j * c->ld + i];
            if (i >= p->m) {
                assert_true(isnan(got));
                continue;
            }
            const double old = p->beta != 0.0f ? (double)((float)(i % 7 - 3) * 0.25f) * (double)p->beta : 0;
            const double exact = r->exact[j * p->m + i] * (double)p->alpha + old;
            const double allowed =
                ldexp((double)units * magnitude[j * p->m + i] * fabs((double)p->alpha) + fabs(old), -24) +
                ldexp(1, -149) + (flushed ? flushed[j * p->m + i] * fabs((double)p->alpha) : 0);
            const double ratio = fabs(got - exact) / allowed;
            if (!isnan(worst) && !(ratio <= worst))
                worst = ratio; /* NaN stays */
        }
    }
    return worst;
}

static const struct ht_scheme_desc *scheme_named(const char *name) {
    for (int i = 0; i < ht_sets[0]->schemes; i++) {
        if (strcmp(ht_sets[0]->scheme[i].name, name) == 0)
            return &ht_sets[0]->scheme[i];
    }
    fail_msg("no scheme %s", name);
    return NULL;
}

static struct halftone_plan run_product(const struct product *p, struct matrix *c) {
    const size_t before = kept_count;
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    struct matrix a = operand(p, 'A', p->ta), b = operand(p, 'B', p->tb);
    check_code(halftone_query(handle, p->ta, p->tb, p->m, p->n, p->k, 1, &plan), "query");
    check_code(halftone_sgemm(handle, p->ta, p->tb, p->m, p->n, p->k, &p->alpha, a.device, a.ld, b.device,
                              b.ld, &p->beta, c->device, c->ld),
               plan.kernel);
    matrix_down(c);
    drop_kept(before);
    return plan;
}

static double largest_of(const float *x, int64_t count, int64_t step) {
    double most = 0;
    for (int64_t i = 0; i < count; i++)
        most = fmax(most, fabs((double)x[i * step]));
    return most;
}

/* What the bound of fixed-point schemes is relative to, in the place of |A||B|. */
static void fixed_point_magnitude(const struct product *p, const float *a, const float *b, double *magnitude) {
    for (int64_t i = 0; i < p->m; i++)
        magnitude[i] = (double)p->k * largest_of(a + i, p->k, p->m);
    for (int64_t j = p->n - 1; j >= 0; j--) { /* the first column last: it holds the rows' */
        const double col = largest_of(b + j * p->k, p->k, 1);
        for (int64_t i = 0; i < p->m; i++)
            magnitude[j * p->m + i] = magnitude[i] * col;
    }
}

/* The largest of a tile: `lines` of them, `line_step` apart, and `depth` k. */
static double largest_of_tile(const float *x, int64_t lines, int64_t line_step, int64_t depth, int64_t k_step) {
    double most = 0;
    for (int64_t l = 0; l < lines; l++)
        most = fmax(most, largest_of(x + l * line_step, depth, k_step));
    return most;
}

/* The same of schemes with scales of tiles: 16 rows x 32 k of A, 32 k x 8 columns of B. */
static void tile_magnitude(const struct product *p, const float *a, const float *b, double *magnitude) {
    enum { ROWS = HT_SCALE_A_ROWS, COLS = HT_SCALE_B_COLS, K = HT_SCALE_TILE_K };
    memset(magnitude, 0, (size_t)(p->m * p->n) * sizeof *magnitude);
    for (int64_t at = 0; at < ht_ceil_div(p->m, ROWS) * ht_ceil_div(p->n, COLS) * ht_ceil_div(p->k, K); at++) {
        const int64_t i0 = at % ht_ceil_div(p->m, ROWS) * ROWS, j0 = at / ht_ceil_div(p->m, ROWS) % ht_ceil_div(p->n, COLS) * COLS;
        const int64_t k0 = at / ht_ceil_div(p->m, ROWS) / ht_ceil_div(p->n, COLS) * K;
        const int64_t rows = p->m - i0 < ROWS ? p->m - i0 : ROWS, cols = p->n - j0 < COLS ? p->n - j0 : COLS;
        const int64_t depth = p->k - k0 < K ? p->k - k0 : K;
        const double most = (double)depth * largest_of_tile(a + k0 * p->m + i0, rows, 1, depth, p->m) *
                            largest_of_tile(b + j0 * p->k + k0, cols, p->k, depth, 1);
        for (int64_t j = j0; j < j0 + cols; j++)
            for (int64_t i = i0; i < i0 + rows; i++)
                magnitude[j * p->m + i] += most;
    }
}

/* Operands of a product without pads and transposes, and the truth about it. */
struct truth {
    size_t before; /* of what is kept */
    struct matrix a, b;
    struct reference r;
};

static void truth_make(const struct product *p, struct truth *t) {
    struct product plain = *p;
    plain.pad = 0;
    t->before = kept_count;
    t->a = operand(&plain, 'A', 'N');
    t->b = operand(&plain, 'B', 'N');
    assert_int_equal(reference_make(&t->r, 'N', 'N', p->m, p->n, p->k, t->a.host, p->m, t->b.host, p->k, 0, 0), 0);
}

static void truth_free(struct truth *t) {
    reference_free(&t->r);
    drop_kept(t->before);
}

/* What the handle is set to makes of the product. */
static void check_against(const char *label, const struct product *p, const struct truth *t) {
    const size_t before = kept_count;
    struct matrix c = result_matrix(p);
    const struct halftone_plan plan = run_product(p, &c);
    const int64_t units = plan.bound_units;
    double *const other = plan.fixed_point ? kept((size_t)(p->m * p->n) * sizeof *other) : NULL;
    if (plan.fixed_point == 1)
        fixed_point_magnitude(p, t->a.host, t->b.host, other);
    else if (plan.fixed_point == 2)
        tile_magnitude(p, t->a.host, t->b.host, other);
    double *flushed = flushed_of_product(p, scheme_named(plan.scheme), t->a.host, t->b.host);
    const double ratio = worst_ratio(p, &t->r, &c, units, other != NULL ? other : t->r.magnitude, flushed);
    if (!(ratio <= 1))
        fail_msg("%s %c%c %lldx%lldx%lld %s: error is %g of its bound of %lld units", label, p->ta, p->tb,
                 (long long)p->m, (long long)p->n, (long long)p->k, p->family, ratio, (long long)units);
    drop_kept(before);
}

static void check_product(const char *label, const struct product *p) {
    struct truth t;
    truth_make(p, &t);
    check_against(label, p, &t);
    truth_free(&t);
}

/* The rows of the scheme table that this library has. */
static const char *scheme_at(int i) {
    const char *name;
    for (int all = 0; (name = halftone_schemes(handle, HALFTONE_FP32, all)) != NULL; all++) {
        if (strcmp(name, "auto") != 0 && i-- == 0)
            return name;
    }
    return NULL;
}

static int has_scheme(const char *wanted) {
    const char *name;
    for (int i = 0; (name = scheme_at(i)) != NULL; i++)
        if (strcmp(name, wanted) == 0)
            return 1;
    return 0;
}

static void check_by_every_scheme(const struct product *p) {
    const char *scheme;
    struct truth t;
    truth_make(p, &t);
    for (int s = 0; (scheme = scheme_at(s)) != NULL; s++) {
        check_code(halftone_set_scheme(handle, scheme), scheme);
        check_against(scheme, p, &t);
    }
    truth_free(&t);
}

TEST(errors_every_scheme_shape_transpose) {
    static const struct product cases[] = {
        {'N', 'N', 1, 1, 1, 0, 1, 0, "llm"},           {'N', 'T', 17, 33, 65, 3, 1, 0, "uniform"},
        {'T', 'N', 127, 129, 131, 1, 1, 0, "uniform"}, {'T', 'T', 66, 130, 100, 5, -0.5f, 2, "llm"},
        {'C', 'N', 70, 1, 64, 0, 2, 1, "uniform"},     {'N', 'C', 1, 70, 257, 2, 1, -1, "llm"},
        {'N', 'N', 257, 65, 320, 7, 1, 0, "normal"},   {'C', 'T', 33, 18, 77, 13, 3, 0.5f, "phi1"},
    };
    enum { FEW = 4 };
    static const struct product large[] = {
        {'N', 'N', 1000, 1001, 999, 1, 1, 0, "uniform"},  {'T', 'N', 513, 4096, 31, 0, 1, 1, "llm"},
        {'N', 'T', 2049, 511, 1003, 3, 1, 0, "normal"},   {'T', 'T', 128, 128, 32768, 0, 1, 0, "llm"},
        {'N', 'N', 2048, 2048, 2048, 0, 1, 0, "uniform"},
    };
    for (size_t i = 0; i < (small ? FEW : sizeof cases / sizeof *cases); i++)
        check_by_every_scheme(&cases[i]);
    for (size_t i = 0; on_gpu && !small && i < sizeof large / sizeof *large; i++)
        check_by_every_scheme(&large[i]);
}

TEST(errors_every_kernel) {
    const struct product edges = {'N', 'N', 150, 140, 200, 1, 1.5f, 0, "uniform"};
    const struct product whole = {'N', 'N', 128, 64, 448, 0, 1.5f, 0, "uniform"}; /* stored by 16 bytes; more k than a ring holds */
    const char *kernel;
    struct truth at_edges, of_whole;
    truth_make(&edges, &at_edges);
    truth_make(&whole, &of_whole);
    for (int i = 0; (kernel = halftone_kernels(handle, i)) != NULL; i++) {
        check_code(halftone_set_kernel(handle, kernel), kernel);
        check_against(kernel, &edges, &at_edges);
        check_against(kernel, &whole, &of_whole);
    }
    truth_free(&at_edges);
    truth_free(&of_whole);
    check_code(halftone_set_kernel(handle, NULL), "no kernel");
}

/* Whole numbers whose sums fit 24 bits: every scheme, every kernel, no error at all. */
TEST(errors_small_integers_are_exact) {
    const struct product p = {'N', 'T', 90, 70, 150, 0, 1, 0, "integers"};
    const char *scheme;
    struct reference r;
    struct matrix a = operand(&p, 'A', 'N'), b = operand(&p, 'B', 'N');
    assert_int_equal(reference_make(&r, 'N', 'N', p.m, p.n, p.k, a.host, a.ld, b.host, b.ld, 0, 0), 0);
    for (int s = 0; (scheme = scheme_at(s)) != NULL; s++) {
        struct matrix c = result_matrix(&p);
        check_code(halftone_set_scheme(handle, scheme), scheme);
        run_product(&p, &c);
        for (int64_t i = 0; i < p.m * p.n; i++) {
            if ((double)c.host[i] != r.exact[i])
                fail_msg("%s: element %lld is %g, exactly %g", scheme, (long long)i, (double)c.host[i],
                         r.exact[i]);
        }
    }
    reference_free(&r);
}

/* Schemes that scale rows: magnitudes near the ends of FP32's range keep the bound; BF16 and TF32 slices also where a row
 * spans many binades. */
TEST(errors_scaled_schemes_cover_the_exponent_range) {
    static const char *const families[] = {"huge", "tiny", "rowscales", "subnormal", "hugetiny", "phi4"};
    static const char *const schemes[] = {"f16x3", "bf16x3", "bf16x6", "bf16x9", "tf32x3", "i8x6", "bf16x6u"};
    for (size_t s = 0; s < sizeof schemes / sizeof *schemes; s++) {
        if (!has_scheme(schemes[s]))
            continue; /* not every GPU has the unit */
        check_code(halftone_set_scheme(handle, schemes[s]), schemes[s]);
        for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
            if (!family_find(families[i]))
                fail_msg("family %s is gone", families[i]);
            const struct product p = {'N', 'N', 65, 40, 64, 0, 1, 0, families[i]};
            if (strcmp(schemes[s], "f16x3") == 0 && strcmp(families[i], "phi4") == 0)
                continue; /* a row spans more than 2^16 */
            if (strcmp(schemes[s], "i8x6") == 0 && strcmp(families[i], "subnormal") == 0)
                continue; /* rows below 2^-120 */
            check_product(schemes[s], &p);
        }
    }
}

/* Products of two numbers, k = 1: no more is lost than the split loses (gen/facts/scheme.c, split_units) and the matrix unit's
 * cuts of one sum, 4 units. The bound of a whole chain would not notice a split that cuts where it should round. */
TEST(errors_single_products_lose_what_the_split_loses) {
    static const struct {
        const char *scheme;
        double units;
    } rows[] = {{"half", 16388}, {"egemm", 5},  {"f16x3", 9},    {"bf16", 131329}, {"bf16x3", 769},
                {"bf16x6", 3},   {"bf16x9", 0}, {"tf32", 16388}, {"tf32x3", 9}, {"bf16x6u", 0}};
    const struct product p = {'N', 'N', 96, 96, 1, 0, 1, 0, "llm"};
    struct matrix a = operand(&p, 'A', 'N'), b = operand(&p, 'B', 'N'), c = result_matrix(&p);
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        if (!has_scheme(rows[r].scheme))
            continue;
        check_code(halftone_set_scheme(handle, rows[r].scheme), rows[r].scheme);
        run_product(&p, &c);
        double *flushed = flushed_of_product(&p, scheme_named(rows[r].scheme), a.host, b.host);
        for (int64_t i = 0; i < p.m * p.n; i++) {
            const double exact = (double)a.host[i % p.m] * (double)b.host[i / p.m];
            const double lost =
                (fabs((double)c.host[i] - exact) - (flushed ? flushed[i] : 0)) / ldexp(fabs(exact), -24);
            if (!(lost <= rows[r].units + 4))
                fail_msg("%s: %a * %a loses %g units, the split %g", rows[r].scheme, (double)a.host[i % p.m],
                         (double)b.host[i / p.m], lost, rows[r].units);
        }
    }
}

static void cluster_bits(const char *what, const float *x, const float *y, int64_t count) {
    const int64_t at = metrics_first_difference(x, y, count);
    if (at >= 0)
        fail_msg("%s: element %lld differs: %a and %a", what, (long long)at, (double)x[at], (double)y[at]);
}

/* Of device memory. With scales of tiles the certificate's two flags are the number of the packing (ht_pack_args, epoch). */
static void same_bytes(const char *scheme, int64_t k, const void *x, const void *y, size_t bytes) {
    unsigned char *host = kept(2 * bytes);
    assert_int_equal(ht_dev_download(host, x, bytes), HT_DEV_OK);
    assert_int_equal(ht_dev_download(host + bytes, y, bytes), HT_DEV_OK);
    int flags = scheme_named(scheme)->scales == HT_SCALES_TILES ? 2 : 0;
    for (size_t i = 0; i < bytes; i++)
        if (host[i] != host[bytes + i] && (i % sizeof(int) != 0 || flags-- == 0))
            fail_msg("%s, k = %lld: byte %zu of a packed operand is %d and %d", scheme, (long long)k, i, host[i], host[bytes + i]);
}

/* Every transpose gives the bits of `first`. */
static void transposes_have_bits(const char *scheme, const struct product *p, const struct matrix *first,
                                 struct matrix *c) {
    for (int t = 0; t < 4; t++) {
        struct product q = *p;
        q.ta = t & 1 ? 'T' : 'N';
        q.tb = t & 2 ? 'T' : 'N';
        run_product(&q, c);
        cluster_bits(scheme, first->host, c->host, p->m * p->n);
    }
}

/* Repeats, every transpose, packed operands and batch entries give the same bits. */
TEST(bits_do_not_depend_on_the_way) {
    const float one = 1, zero = 0;
    const char *scheme;
    struct product p = {'N', 'N', 130, 70, 200, 0, 1, 0, "uniform"};
    for (int s = 0; (scheme = scheme_at(s)) != NULL; s++) {
        struct matrix first = result_matrix(&p), c = result_matrix(&p);
        void *pa, *pb;
        size_t bytes_a, bytes_b;
        check_code(halftone_set_scheme(handle, scheme), scheme);
        run_product(&p, &first);
        transposes_have_bits(scheme, &p, &first, &c);
        if (scheme_named(scheme)->pack == NULL) { /* nothing else to compare with */
            continue;
        }
        struct matrix a = operand(&p, 'A', 'N'), b = operand(&p, 'B', 'T');
        check_code(halftone_packed_bytes(handle, 'A', p.m, p.k, 1, &bytes_a), "packed bytes");
        check_code(halftone_packed_bytes(handle, 'B', p.n, p.k, 1, &bytes_b), "packed bytes");
        pa = kept_on_device(bytes_a);
        pb = kept_on_device(bytes_b);
        check_code(halftone_pack_a(handle, 'N', p.m, p.k, a.device, a.ld, pa), "pack a");
        check_code(halftone_pack_b(handle, 'T', p.k, p.n, b.device, b.ld, pb), "pack b");
        check_code(halftone_sgemm_packed(handle, p.m, p.n, p.k, &one, pa, pb, &zero, c.device, c.ld),
                   "packed");
        matrix_down(&c);
        cluster_bits("packed", first.host, c.host, p.m * p.n);
        check_code(halftone_pack_ab(handle, 'N', 'T', p.m, p.n, p.k, a.device, a.ld, b.device, b.ld, pa, pb),
                   "pack ab");
        check_code(halftone_sgemm_packed(handle, p.m, p.n, p.k, &one, pa, pb, &zero, c.device, c.ld),
                   "packed");
        matrix_down(&c);
        cluster_bits("packed together", first.host, c.host, p.m * p.n);
    }
}

/* Device memory that holds no number of the test. */
static void *poisoned_with(unsigned char poison, size_t bytes) {
    void *memory = kept_on_device(bytes);
    assert_int_equal(ht_dev_memset_async(memory, poison, bytes, NULL), HT_DEV_OK);
    return memory;
}

static void *poisoned(size_t bytes) {
    return poisoned_with(0x5a, bytes);
}

/* Packs both operands of p as they are and transposed, together, and B alone: the same bytes. */
static void packed_alike(const char *scheme, const struct product *p) {
    const size_t before = kept_count;
    struct matrix a[2] = {operand(p, 'A', 'N'), operand(p, 'A', 'T')}, b[2] = {operand(p, 'B', 'N'), operand(p, 'B', 'T')};
    size_t bytes[2];
    void *packed[2][2];
    check_code(halftone_packed_bytes(handle, 'A', p->m, p->k, 1, &bytes[0]), "packed bytes");
    check_code(halftone_packed_bytes(handle, 'B', p->n, p->k, 1, &bytes[1]), "packed bytes");
    for (int way = 0; way < 2; way++) {
        const char trans = way ? 'T' : 'N';
        for (int side = 0; side < 2; side++)
            packed[side][way] = poisoned(bytes[side]);
        check_code(halftone_pack_ab(handle, trans, trans, p->m, p->n, p->k, a[way].device, a[way].ld, b[way].device,
                                    b[way].ld, packed[0][way], packed[1][way]),
                   "pack ab");
    }
    same_bytes(scheme, p->k, packed[0][0], packed[0][1], bytes[0]);
    same_bytes(scheme, p->k, packed[1][0], packed[1][1], bytes[1]);
    void *alone = poisoned(bytes[1]);
    check_code(halftone_pack_b(handle, 'N', p->k, p->n, b[0].device, b[0].ld, alone), "pack b");
    same_bytes(scheme, p->k, packed[1][0], alone, bytes[1]);
    drop_kept(before);
}

/* Rows of any length are packed to the same bytes whichever way they are contiguous: a block has strips of them, or, where k is,
 * 8, 4, 2 or 1 whole (templates/hooks/pack/strip_32x512.cuh), which go first where there are many. */
TEST(long_rows_are_packed_alike) {
    static const int64_t depths[] = {1100, 2049, 4099, 8200};
    const char *scheme;
    int seen = 0;
    for (int s = 0; (scheme = scheme_at(s)) != NULL; s++) {
        if (scheme_named(scheme)->pack == NULL || !scheme_named(scheme)->scales)
            continue;
        check_code(halftone_set_scheme(handle, scheme), scheme);
        for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
            const struct product p = {'N', 'N', 37, 20, depths[i], depths[i] % 4, 1, 0, "normal"};
            packed_alike(scheme, &p);
        }
        if (seen++ == 0) {
            const struct product many = {'N', 'N', 5, 400, 8192, 0, 1, 0, "normal"};
            packed_alike(scheme, &many);
        }
    }
}

/* B of p, packed into memory full of `poison`: its bytes, the caller's to free. */
static unsigned char *packed_over(unsigned char poison, const struct product *p, const struct matrix *b, size_t bytes) {
    void *packed = poisoned_with(poison, bytes);
    check_code(halftone_pack_b(handle, 'N', p->k, p->n, b->device, b->ld, packed), "pack b");
    unsigned char *host = kept(bytes);
    assert_int_equal(ht_dev_download(host, packed, bytes), HT_DEV_OK);
    return host;
}

/* Eight bytes are padding or written whole: a product reads both ints of a flag, of which packing raises one only when it must. */
TEST(nothing_is_half_written) {
    const struct product p = {'N', 'N', 37, 20, 300, 0, 1, 0, "normal"};
    struct matrix b = operand(&p, 'B', 'N');
    const char *scheme = "auto";
    for (int s = 0; scheme != NULL; scheme = scheme_at(s++)) {
        size_t bytes;
        check_code(halftone_set_scheme(handle, scheme), scheme);
        if (halftone_packed_bytes(handle, 'B', p.n, p.k, 1, &bytes) == HALFTONE_NOT_SUPPORTED)
            continue;
        unsigned char *x = packed_over(0x5a, &p, &b, bytes), *y = packed_over(0xa5, &p, &b, bytes);
        for (size_t i = 0; i < bytes; i++) {
            const size_t first = i / 8 * 8;
            if ((x[i] == 0x5a && y[i] == 0xa5) != (x[first] == 0x5a && y[first] == 0xa5))
                fail_msg("%s: not all of the 8 bytes from %zu on are written", scheme, first);
        }
    }
}

/* A packed once, multiplied with one B and then with another. */
TEST(packed_operand_is_used_again) {
    const float one = 1, zero = 0;
    const struct product p = {'T', 'N', 70, 50, 130, 3, 1, 0, "uniform"},
                         q = {'T', 'N', 70, 50, 130, 3, 1, 0, "llm"};
    const struct product *const product[] = {&p, &q};
    struct matrix a = operand(&p, 'A', 'T');
    void *pa, *pb;
    size_t bytes_a, bytes_b;
    check_code(halftone_set_scheme(handle, "f16x3"), "f16x3");
    check_code(halftone_packed_bytes(handle, 'A', p.m, p.k, 1, &bytes_a), "packed bytes");
    check_code(halftone_packed_bytes(handle, 'B', p.n, p.k, 1, &bytes_b), "packed bytes");
    pa = kept_on_device(bytes_a);
    pb = kept_on_device(bytes_b);
    check_code(halftone_pack_a(handle, 'T', p.m, p.k, a.device, a.ld, pa), "pack a");
    for (int i = 0; i < 2; i++) {
        struct matrix b = operand(product[i], 'B', 'N'), c = result_matrix(&p), direct = result_matrix(&p);
        check_code(halftone_pack_b(handle, 'N', p.k, p.n, b.device, b.ld, pb), "pack b");
        check_code(halftone_sgemm_packed(handle, p.m, p.n, p.k, &one, pa, pb, &zero, c.device, c.ld),
                   "packed");
        check_code(halftone_sgemm(handle, 'T', 'N', p.m, p.n, p.k, &one, a.device, a.ld, b.device, b.ld,
                                  &zero, direct.device, direct.ld),
                   "direct");
        matrix_down(&c);
        matrix_down(&direct);
        for (int64_t j = 0; j < p.n; j++)
            cluster_bits("packed A with another B", direct.host + j * c.ld, c.host + j * c.ld, p.m);
    }
}

/* `plain` in an allocation that starts `offset` floats earlier. */
static struct matrix shifted(const struct matrix *plain, int offset) {
    struct matrix x = matrix_make_at(offset, plain->rows, plain->cols, plain->ld - plain->rows);
    memcpy(x.host, plain->host, (size_t)(x.ld * x.cols) * sizeof(float));
    matrix_up(&x);
    return x;
}

/* Pointers that are aligned to one float and no more give the same bits. */
TEST(pointers_need_four_bytes) {
    const char *scheme;
    for (int s = 0; (scheme = scheme_at(s)) != NULL && (s == 0 || !small); s++) {
        check_code(halftone_set_scheme(handle, scheme), scheme);
        for (int t = 0; t < 4; t++) {
            const struct product p = {t & 1 ? 'T' : 'N', t & 2 ? 'T' : 'N', 68, 36, 72, 4, 2, -1, "normal"};
            struct matrix a0 = operand(&p, 'A', p.ta), b0 = operand(&p, 'B', p.tb), c0 = result_matrix(&p);
            struct matrix a1 = shifted(&a0, 1), b1 = shifted(&b0, 3), c1 = shifted(&c0, 1);
            check_code(halftone_sgemm(handle, p.ta, p.tb, p.m, p.n, p.k, &p.alpha, a0.device, a0.ld,
                                      b0.device, b0.ld, &p.beta, c0.device, c0.ld),
                       "aligned");
            check_code(halftone_sgemm(handle, p.ta, p.tb, p.m, p.n, p.k, &p.alpha, a1.device, a1.ld,
                                      b1.device, b1.ld, &p.beta, c1.device, c1.ld),
                       "unaligned");
            matrix_down(&c0);
            matrix_down(&c1);
            cluster_bits("unaligned", c0.host, c1.host, c0.ld * c0.cols);
        }
    }
}

/* Columns that begin at any of the four words of 16 bytes, each column elsewhere: packing shifts whole pieces in the middle
 * of the matrix and reads single elements at the ends of columns, and gives the bits of aligned columns. Nothing but NaN lies
 * between the columns. */
TEST(columns_begin_anywhere) {
    static const char *const schemes[] = {"f16x3", "half"};
    for (int s = 0; s < 2; s++) {
        if (!has_scheme(schemes[s]))
            continue;
        check_code(halftone_set_scheme(handle, schemes[s]), schemes[s]);
        for (int way = 0; way < 6; way++) { /* both ways of both operands, in tiles, by whole rows and by strips */
            const int t = way % 2, k = way < 2 ? 191 : way < 4 ? 291 : 1061;
            struct product p = {t ? 'T' : 'N', t ? 'T' : 'N', 151, 135, k, 1, 1, 0, "normal"};
            struct matrix first = result_matrix(&p);
            check_product("aligned columns", &p);
            run_product(&p, &first);
            for (int pad = 2; pad <= 5; pad++) {
                p.pad = pad;
                struct matrix a = operand(&p, 'A', p.ta), b = operand(&p, 'B', p.tb), c = result_matrix(&p);
                struct matrix a1 = shifted(&a, (pad + t + 1) % 4), b1 = shifted(&b, (pad * 3 + 1) % 4);
                check_code(halftone_sgemm(handle, p.ta, p.tb, p.m, p.n, p.k, &p.alpha, a1.device, a1.ld, b1.device,
                                          b1.ld, &p.beta, c.device, c.ld),
                           "shifted");
                matrix_down(&c);
                for (int64_t j = 0; j < p.n; j++)
                    cluster_bits("shifted", first.host + j * first.ld, c.host + j * c.ld, p.m);
            }
        }
    }
}

static const float *device_scalar(float value) {
    void *device = kept_on_device(sizeof value);
    assert_int_equal(ht_dev_upload(device, &value, sizeof value), HT_DEV_OK);
    return device;
}

/* alpha and beta in device memory: the bits of host scalars; alpha == 0 there makes NaN in A vanish. The
 * second shape is split along k. */
TEST(scalars_in_device_memory) {
    static const struct product shapes[] = {{'N', 'T', 70, 50, 90, 2, 1.5f, -0.5f, "uniform"},
                                            {'N', 'T', 33, 20, 4096, 1, 1.5f, -0.5f, "uniform"}};
    const float *alpha = device_scalar(1.5f), *beta = device_scalar(-0.5f), *zero = device_scalar(0);
    check_code(halftone_set_scheme(handle, "f16x3"), "f16x3");
    for (int i = 0; i < 2; i++) {
        const struct product *p = &shapes[i];
        struct matrix a = operand(p, 'A', 'N'), b = operand(p, 'B', 'T'), c = result_matrix(p),
                      d = result_matrix(p);
        struct matrix old = result_matrix(p);
        run_product(p, &c);
        check_code(halftone_set_pointer_mode(handle, HALFTONE_DEVICE), "device scalars");
        check_code(halftone_sgemm(handle, 'N', 'T', p->m, p->n, p->k, alpha, a.device, a.ld, b.device, b.ld,
                                  beta, d.device, d.ld),
                   "device scalars");
        matrix_down(&d);
        cluster_bits("device scalars", c.host, d.host, c.ld * c.cols);
        for (int64_t e = 0; e < a.ld * a.cols; e++)
            a.host[e] = e % 2 ? NAN : INFINITY;
        matrix_up(&a);
        matrix_up(&old);
        check_code(halftone_sgemm(handle, 'N', 'T', p->m, p->n, p->k, zero, a.device, a.ld, b.device, b.ld,
                                  beta, old.device, old.ld),
                   "alpha 0 on the device");
        check_code(halftone_set_pointer_mode(handle, HALFTONE_HOST), "host scalars");
        matrix_down(&old);
        for (int64_t e = 0; e < old.ld * old.cols; e++) {
            const float before = (float)(e % old.ld % 7 - 3) * 0.25f;
            if (e % old.ld < p->m && old.host[e] != -0.5f * before)
                fail_msg("alpha 0 on the device: element %lld is %g, beta * C is %g", (long long)e,
                         (double)old.host[e], (double)(-0.5f * before));
        }
    }
}

/* Batch entries further apart than they are large, all transposes, A and B both differing; what lies between
 * is neither read as data nor written. */
TEST(batches_with_strides) {
    enum { M = 35, N = 21, K = 67, BATCH = 4, PAD = 2, GAP = 29 };
    const float alpha = -1.25f, beta = 0.75f;
    check_code(halftone_set_scheme(handle, "f16x3"), "f16x3");
    for (int t = 0; t < 4; t++) {
        const char ta = t & 1 ? 'T' : 'N', tb = t & 2 ? 'T' : 'N';
        const int64_t lda = (ta == 'N' ? M : K) + PAD, ldb = (tb == 'N' ? K : N) + PAD, ldc = M + PAD;
        const int64_t stride_a = lda * (ta == 'N' ? K : M) + GAP, stride_b = ldb * (tb == 'N' ? N : K) + GAP,
                      stride_c = ldc * N + GAP;
        struct matrix a = matrix_make(stride_a, BATCH, 0), b = matrix_make(stride_b, BATCH, 0),
                      c = matrix_make(stride_c, BATCH, 0), single = matrix_make(stride_c, BATCH, 0);
        family_fill(family_find("normal"), 1, 'A', stride_a, 1, BATCH, a.host, a.ld);
        family_fill(family_find("normal"), 2, 'A', stride_b, 1, BATCH, b.host, b.ld);
        family_fill(family_find("normal"), 3, 'A', stride_c, 1, BATCH, c.host, c.ld);
        memcpy(single.host, c.host, (size_t)(stride_c * BATCH) * sizeof(float));
        struct matrix *const all[] = {&a, &b, &c, &single};
        for (int i = 0; i < 4; i++)
            matrix_up(all[i]);
        check_code(halftone_sgemm_strided_batched(handle, ta, tb, M, N, K, &alpha, a.device, lda, stride_a,
                                                  b.device, ldb, stride_b, &beta, c.device, ldc, stride_c,
                                                  BATCH),
                   "batch");
        for (int64_t i = 0; i < BATCH; i++)
            check_code(halftone_sgemm(handle, ta, tb, M, N, K, &alpha, a.device + i * stride_a, lda,
                                      b.device + i * stride_b, ldb, &beta, single.device + i * stride_c, ldc),
                       "single");
        matrix_down(&c);
        matrix_down(&single);
        cluster_bits("strided batch", single.host, c.host, stride_c * BATCH);
    }
}

/* x to 11 bits, toward zero or to nearest. */
static double to_11_bits(double x, int toward_zero) {
    const double unit = x == 0 ? 1 : ldexp(1, ilogb(x) - 10);
    return (toward_zero ? trunc(x / unit) : nearbyint(x / unit)) * unit;
}

/* What aligning the kept products of x * y to a sum whose last bit weighs `unit` cuts off, in that unit. */
static double cut_off(double x, double y, int toward_zero, int main_only, double unit) {
    const double hx = to_11_bits(x, toward_zero), hy = to_11_bits(y, toward_zero);
    const double lx = to_11_bits(x - hx, toward_zero), ly = to_11_bits(y - hy, toward_zero);
    const double main = hx * hy / unit, first = lx * hy / unit, second = hx * ly / unit;
    const double corrections = first - trunc(first) + second - trunc(second);
    return main - trunc(main) + (main_only ? 0 : corrections);
}

/* One product of 2^14 that fixes the alignment, then the worst of `TRIES` pairs in [1, 2) at each place. */
static void adversary_fill(const char *scheme, uint64_t seed, int64_t k, float *a, float *b) {
    enum { TRIES = 150 };
    const char *model = ht_sets[0]->sim_model;
    const int fraction_bits = strcmp(model, "sm90") == 0 || strstr(model, "_assumed") != NULL ? 25 : 24; /* gfx90a: rounds at 24 bits */
    const int toward_zero = strcmp(scheme, "markidis") == 0 || strcmp(scheme, "legemm") == 0;
    const int main_only =
        strcmp(scheme, "half") == 0 || strcmp(scheme, "ootomo") == 0 || strcmp(scheme, "legemm") == 0;
    a[0] = b[0] = 128;
    for (int64_t i = 1; i < k; i++) {
        double most = -1;
        for (uint64_t t = 0; t < TRIES; t++) {
            const float x = (float)(1 + family_uniform(family_bits(seed, 0, (uint64_t)i, t)));
            const float y = (float)(1 + family_uniform(family_bits(seed, 1, (uint64_t)i, t)));
            const double cut =
                cut_off((double)x, (double)y, toward_zero, main_only, ldexp(1, 14 - fraction_bits));
            if (cut > most) {
                most = cut;
                a[i] = x;
                b[i] = y;
            }
        }
    }
}

/* Fixed point has adversaries of its own: test_reproducible.c, test_mixpert.py. */
static int is_fixed_point(const char *scheme) {
    for (int i = 0; i < ht_sets[0]->schemes; i++)
        if (strcmp(ht_sets[0]->scheme[i].name, scheme) == 0)
            return ht_sets[0]->scheme[i].exact_k > 0 || ht_sets[0]->scheme[i].scales == HT_SCALES_TILES;
    return 0;
}

/* Data made to lose as much as the matrix unit can lose (bench/ACCURACY.md, section 7). */
TEST(errors_adversaries_keep_the_bound) {
    const float one = 1, zero = 0;
    const char *scheme;
    for (int s = 0; (scheme = scheme_at(s)) != NULL && !small; s++) {
        double most = 0;
        if (is_fixed_point(scheme))
            continue;
        check_code(halftone_set_scheme(handle, scheme), scheme);
        for (int64_t k = 16; k <= 256; k *= 4) {
            struct matrix a = matrix_make(1, k, 0), b = matrix_make(k, 1, 0), c = matrix_make(1, 1, 0);
            struct halftone_plan plan = HALFTONE_PLAN_INIT;
            check_code(halftone_query(handle, 'N', 'N', 1, 1, k, 1, &plan), "query");
            for (uint64_t seed = 1; seed <= 4; seed++) {
                double exact = 0;
                adversary_fill(scheme, seed, k, a.host, b.host);
                for (int64_t i = 0; i < k; i++)
                    exact += (double)a.host[i] * (double)b.host[i]; /* all positive: also |A||B| */
                matrix_up(&a);
                matrix_up(&b);
                check_code(halftone_sgemm(handle, 'N', 'N', 1, 1, k, &one, a.device, 1, b.device, k, &zero,
                                          c.device, 1),
                           scheme);
                matrix_down(&c);
                const double grade = fabs((double)c.host[0] - exact) / ldexp(exact, -24);
                if (!(grade <= (double)plan.bound_units))
                    fail_msg("%s: an adversary of k = %lld reaches %g units, the bound is %lld", scheme,
                             (long long)k, grade, (long long)plan.bound_units);
                if (grade / (double)plan.bound_units > most)
                    most = grade / (double)plan.bound_units;
            }
        }
        fprintf(stderr, "adversaries reach %.2f of the bound of %s\n", most, scheme);
    }
}

TEST(batches_share_and_differ) {
    const float one = 1, zero = 0;
    enum { M = 40, N = 30, K = 70, BATCH = 3 };
    struct matrix a = matrix_make(M, K, 0), b = matrix_make(K, N * BATCH, 0),
                  c = matrix_make(M, N * BATCH, 0);
    struct matrix single = matrix_make(M, N, 0);
    family_fill(family_find("uniform"), 1, 'A', M, N, K, a.host, a.ld);
    family_fill(family_find("uniform"), 2, 'B', M, N * BATCH, K, b.host, b.ld);
    matrix_up(&a);
    matrix_up(&b);
    check_code(halftone_set_scheme(handle, "f16x3"), "f16x3");
    check_code(halftone_sgemm_strided_batched(handle, 'N', 'N', M, N, K, &one, a.device, M, 0, b.device, K,
                                              K * N, &zero, c.device, M, M * N, BATCH),
               "batch");
    matrix_down(&c);
    for (int i = 0; i < BATCH; i++) {
        check_code(halftone_sgemm(handle, 'N', 'N', M, N, K, &one, a.device, M, b.device + i * K * N, K,
                                  &zero, single.device, M),
                   "single");
        matrix_down(&single);
        cluster_bits("batch entry", single.host, c.host + i * M * N, M * N);
    }
}

/* A few tiles and a long k: the pick splits k, and the split result keeps the bound. */
TEST(errors_few_tiles_split_k) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    const struct product p = {'N', 'N', 64, 64, on_gpu && !small ? 65536 : 4096, 0, 1, 1, "llm"};
    check_code(halftone_set_scheme(handle, "f16x3"), "f16x3");
    check_code(halftone_query(handle, 'N', 'N', p.m, p.n, p.k, 1, &plan), "query");
    if (plan.splits < 2)
        fail_msg("a %lldx%lldx%lld product is not split", (long long)p.m, (long long)p.n, (long long)p.k);
    check_product("split-K", &p);
}

TEST(blas_semantics) {
    const float one = 1, zero = 0, half = 0.5f;
    struct matrix a = matrix_make(20, 20, 0), c = matrix_make(20, 20, 0); /* NaN all over */
    matrix_up(&a);
    check_code(halftone_set_scheme(handle, "f16x3"), "f16x3");
    matrix_up(&c);
    check_code(
        halftone_sgemm(handle, 'N', 'N', 20, 20, 20, &zero, a.device, 20, a.device, 20, &zero, c.device, 20),
        "");
    matrix_down(&c);
    for (int i = 0; i < 400; i++)
        assert_true(c.host[i] == 0.0f);
    for (int i = 0; i < 400; i++)
        c.host[i] = (float)i;
    matrix_up(&c);
    check_code(
        halftone_sgemm(handle, 'N', 'N', 20, 20, 0, &one, a.device, 20, a.device, 20, &half, c.device, 20),
        "");
    matrix_down(&c);
    for (int i = 0; i < 400; i++)
        assert_true(c.host[i] == (float)i * 0.5f);
    check_code(halftone_sgemm(handle, 'N', 'N', 0, 20, 20, &one, NULL, 1, NULL, 20, &half, NULL, 1),
               "m == 0");
    assert_int_equal(
        halftone_sgemm(handle, 'N', 'N', 20, 20, 20, &one, a.device, 19, a.device, 20, &half, c.device, 20),
        -8);
}

static int open_handle(void **state) {
    struct ht_dev_info info;
    (void)state;
    if (create_handle() != 0 || ht_dev_open(ht_sets[0], &info) != HT_DEV_OK)
        return -1;
    small = only_small();
    on_gpu = !info.simulated;
    fprintf(stderr, "products on %s (%s)\n", info.name, halftone_gpu(handle));
    return 0;
}

FOR_ALL(open_handle, close_handle)
