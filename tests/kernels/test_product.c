/* test_product: real kernels against FP64. Links with the CUDA library or the simulator; the cases are the same, a GPU gets larger
 * ones too. Every scheme is held to its own a-priori bound, exact cases to equality, bits to bits. HALFTONE_TEST_SMALL=1 leaves
 * cases out, for the sanitizers. The verdict of errors_* depends on the matrix unit's arithmetic; the others compare one way to a
 * result with another, bit for bit, or check what no product has a part in. */
#include <math.h>

#include "../../bench/halftone/accuracy/reference.h"
#include "product32.h"

static int on_gpu, small;

/* What a unit that flushes FP16 or BF16 subnormals may drop of an element whose row is not scaled (ht_abi.h). */
static double flushed_of(double x, int exponent) {
    const int smallest_normal = exponent < -100 ? -126 : -14;
    const double residual = ldexp(1, exponent);
    if (fabs(x) < ldexp(1, smallest_normal)) /* ootomo: a residual of the other sign may remain */
        return x != 0 && exponent == -25 ? fabs(x) + residual * (1 + ldexp(1, -11)) : fabs(x);
    return fmin(fabs(x), residual);
}

/* The same for every element of the product: beside the bound, for all magnitudes. NULL: nothing is dropped. */
static double *flushed_of_product(const struct product *p, const struct ht_scheme_desc *s) {
    if (s->flush_exponent == 0 || s->scales)
        return NULL;
    double *lost = keep(calloc((size_t)(p->m * p->n), sizeof *lost), free);
    for (int64_t j = 0; j < p->n; j++) {
        for (int64_t l = 0; l < p->k; l++) {
            const double y = (double)p->b[j * p->k + l], dy = flushed_of(y, s->flush_exponent);
            for (int64_t i = 0; i < p->m; i++) {
                const double x = (double)p->a[l * p->m + i], dx = flushed_of(x, s->flush_exponent);
                lost[j * p->m + i] += dx * fabs(y) + fabs(x) * dy + dx * dy;
            }
        }
    }
    return lost;
}

/* Largest |C - truth| / allowance. The bound is `units` of magnitude; flushed: NULL or what is allowed besides. */
static double worst_ratio(const struct product *p, const struct reference *r, const float *c, int64_t units, const double *magnitude,
                          const double *flushed) {
    double worst = 0;
    for (int64_t at = 0; at < p->m * p->n; at++) {
        const double old = (double)p->c[at] * (double)p->beta, exact = r->exact[at] * (double)p->alpha + old;
        const double allowed = ldexp((double)units * magnitude[at] * fabs((double)p->alpha) + fabs(old), -24) + ldexp(1, -149) +
                               (flushed ? flushed[at] * fabs((double)p->alpha) : 0);
        const double ratio = fabs((double)c[at] - exact) / allowed;
        if (!isnan(worst) && !(ratio <= worst))
            worst = ratio; /* NaN stays */
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

static double largest_of(const float *x, int64_t count, int64_t step) {
    double most = 0;
    for (int64_t i = 0; i < count; i++)
        most = fmax(most, fabs((double)x[i * step]));
    return most;
}

/* What the bound of fixed-point schemes is relative to, in the place of |A||B|. */
static void fixed_point_magnitude(const struct product *p, double *magnitude) {
    for (int64_t i = 0; i < p->m; i++)
        magnitude[i] = (double)p->k * largest_of(p->a + i, p->k, p->m);
    for (int64_t j = p->n - 1; j >= 0; j--) { /* the first column last: it holds the rows' */
        const double col = largest_of(p->b + j * p->k, p->k, 1);
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
static void tile_magnitude(const struct product *p, double *magnitude) {
    enum { ROWS = HT_SCALE_A_ROWS, COLS = HT_SCALE_B_COLS, K = HT_SCALE_TILE_K };
    memset(magnitude, 0, (size_t)(p->m * p->n) * sizeof *magnitude);
    for (int64_t at = 0; at < ht_ceil_div(p->m, ROWS) * ht_ceil_div(p->n, COLS) * ht_ceil_div(p->k, K); at++) {
        const int64_t i0 = at % ht_ceil_div(p->m, ROWS) * ROWS, j0 = at / ht_ceil_div(p->m, ROWS) % ht_ceil_div(p->n, COLS) * COLS;
        const int64_t k0 = at / ht_ceil_div(p->m, ROWS) / ht_ceil_div(p->n, COLS) * K;
        const int64_t rows = p->m - i0 < ROWS ? p->m - i0 : ROWS, cols = p->n - j0 < COLS ? p->n - j0 : COLS;
        const int64_t depth = p->k - k0 < K ? p->k - k0 : K;
        const double most = (double)depth * largest_of_tile(p->a + k0 * p->m + i0, rows, 1, depth, p->m) *
                            largest_of_tile(p->b + j0 * p->k + k0, cols, p->k, depth, 1);
        for (int64_t j = j0; j < j0 + cols; j++)
            for (int64_t i = i0; i < i0 + rows; i++)
                magnitude[j * p->m + i] += most;
    }
}

/* A product's numbers, and the truth about it. */
struct truth {
    struct product p;
    struct reference r;
};

static struct truth truth_of(const struct product *p) {
    struct truth t = {.p = *p};
    product_fill(&t.p);
    OK(reference_make(&t.r, 'N', 'N', p->m, p->n, p->k, t.p.a, p->m, t.p.b, p->k, 0, 0));
    return t;
}

static void truth_free(struct truth *t) {
    reference_free(&t->r);
    product_free(&t->p);
}

/* What the handle is set to makes of the product. */
static void check_against(const char *label, const struct truth *t) {
    const struct product *const p = &t->p;
    const size_t before = kept_count;
    const struct halftone_plan plan = plan_of(p);
    float *const c = run(p, plan.kernel);
    double *const other = plan.fixed_point ? kept((size_t)(p->m * p->n) * sizeof *other) : NULL;
    if (plan.fixed_point == 1)
        fixed_point_magnitude(p, other);
    else if (plan.fixed_point == 2)
        tile_magnitude(p, other);
    double *flushed = flushed_of_product(p, scheme_named(plan.scheme));
    const double ratio = worst_ratio(p, &t->r, c, plan.bound_units, other != NULL ? other : t->r.magnitude, flushed);
    if (!(ratio <= 1))
        fail_msg("%s %c%c %lldx%lldx%lld %s: error is %g of its bound of %lld units", label, p->ta, p->tb,
                 (long long)p->m, (long long)p->n, (long long)p->k, p->family, ratio, (long long)plan.bound_units);
    drop_kept(before);
}

static void check_product(const char *label, const struct product *p) {
    struct truth t = truth_of(p);
    check_against(label, &t);
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

static void check_by_every_scheme(const struct product *p) {
    const char *scheme;
    struct truth t = truth_of(p);
    for (int s = 0; (scheme = scheme_at(s)) != NULL; s++) {
        check_code(halftone_set_scheme(handle, scheme), scheme);
        check_against(scheme, &t);
    }
    truth_free(&t);
}

TEST(errors_every_scheme_shape_transpose) {
    static const struct product cases[] = {
        PRODUCT('N', 'N', 1, 1, 1, 0, 1, 0, "llm"),           PRODUCT('N', 'T', 17, 33, 65, 3, 1, 0, "uniform"),
        PRODUCT('T', 'N', 127, 129, 131, 1, 1, 0, "uniform"), PRODUCT('T', 'T', 66, 130, 100, 5, -0.5f, 2, "llm"),
        PRODUCT('C', 'N', 70, 1, 64, 0, 2, 1, "uniform"),     PRODUCT('N', 'C', 1, 70, 257, 2, 1, -1, "llm"),
        PRODUCT('N', 'N', 257, 65, 320, 7, 1, 0, "normal"),   PRODUCT('C', 'T', 33, 18, 77, 13, 3, 0.5f, "phi1"),
    };
    enum { FEW = 4 };
    static const struct product large[] = {
        PRODUCT('N', 'N', 1000, 1001, 999, 1, 1, 0, "uniform"),  PRODUCT('T', 'N', 513, 4096, 31, 0, 1, 1, "llm"),
        PRODUCT('N', 'T', 2049, 511, 1003, 3, 1, 0, "normal"),   PRODUCT('T', 'T', 128, 128, 32768, 0, 1, 0, "llm"),
        PRODUCT('N', 'N', 2048, 2048, 2048, 0, 1, 0, "uniform"),
    };
    for (size_t i = 0; i < (small ? FEW : sizeof cases / sizeof *cases); i++)
        check_by_every_scheme(&cases[i]);
    for (size_t i = 0; on_gpu && !small && i < sizeof large / sizeof *large; i++)
        check_by_every_scheme(&large[i]);
}

TEST(errors_every_kernel) {
    const char *kernel;
    struct truth at_edges = truth_of(&(struct product)PRODUCT('N', 'N', 150, 140, 200, 1, 1.5f, -0.5f, "uniform")), /* the others are stored by 16 bytes */
                 of_whole = truth_of(&(struct product)PRODUCT('N', 'N', 128, 64, 448, 0, 1.5f, 0, "uniform")), /* more k than a ring holds */
                 is_added = truth_of(&(struct product)PRODUCT('N', 'N', 128, 64, 64, 0, 1, 0.75f, "uniform"));
    for (int i = 0; (kernel = halftone_kernels(handle, i)) != NULL; i++) {
        check_code(halftone_set_kernel(handle, kernel), kernel);
        check_against(kernel, &at_edges);
        check_against(kernel, &of_whole);
        check_against(kernel, &is_added);
    }
    reference_free(&at_edges.r);
    reference_free(&of_whole.r);
    reference_free(&is_added.r);
}

/* Whole numbers whose sums fit 24 bits: every scheme, every kernel, no error at all. */
TEST(errors_small_integers_are_exact) {
    struct truth t = truth_of(&(struct product)PRODUCT('N', 'T', 90, 70, 150, 0, 1, 0, "integers"));
    const char *scheme;
    for (int s = 0; (scheme = scheme_at(s)) != NULL; s++) {
        check_code(halftone_set_scheme(handle, scheme), scheme);
        float *const c = run(&t.p, scheme);
        for (int64_t i = 0; i < t.p.m * t.p.n; i++)
            if ((double)c[i] != t.r.exact[i])
                fail_msg("%s: element %lld is %g, exactly %g", scheme, (long long)i, (double)c[i], t.r.exact[i]);
    }
    truth_free(&t);
}

/* Schemes that scale rows: magnitudes near the ends of FP32's range keep the bound; BF16 and TF32 slices also where a row
 * spans many binades. */
TEST(errors_scaled_schemes_cover_the_exponent_range) {
    static const char *const families[] = {"huge", "tiny", "rowscales", "subnormal", "hugetiny", "phi4"};
    static const char *const schemes[] = {"f16x3", "bf16x3", "bf16x6", "bf16x9", "tf32x3", "i8x6", "bf16x6u"};
    for (size_t s = 0; s < sizeof schemes / sizeof *schemes; s++) {
        if (!has_scheme(HALFTONE_FP32, schemes[s]))
            continue; /* not every GPU has the unit */
        check_code(halftone_set_scheme(handle, schemes[s]), schemes[s]);
        for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
            if (!family_find(families[i]))
                fail_msg("family %s is gone", families[i]);
            const struct product p = PRODUCT('N', 'N', 65, 40, 64, 0, 1, 0, families[i]);
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
    const struct product p = product_of('N', 'N', 96, 96, 1, "llm");
    for (size_t r = 0; r < sizeof rows / sizeof *rows; r++) {
        if (!has_scheme(HALFTONE_FP32, rows[r].scheme))
            continue;
        check_code(halftone_set_scheme(handle, rows[r].scheme), rows[r].scheme);
        float *const c = run(&p, rows[r].scheme);
        double *flushed = flushed_of_product(&p, scheme_named(rows[r].scheme));
        for (int64_t i = 0; i < p.m * p.n; i++) {
            const double x = (double)p.a[i % p.m], y = (double)p.b[i / p.m];
            const double lost = (fabs((double)c[i] - x * y) - (flushed ? flushed[i] : 0)) / ldexp(fabs(x * y), -24);
            if (!(lost <= rows[r].units + 4))
                fail_msg("%s: %a * %a loses %g units, the split %g", rows[r].scheme, x, y, lost, rows[r].units);
        }
    }
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

/* Packs both operands, apart or together. */
static void pack_both(const struct product *p, bool together, void *const packed[2]) {
    const struct operand a = stored(p, 'A', p->ta), b = stored(p, 'B', p->tb);
    if (together) {
        check_code(halftone_pack_ab(handle, p->ta, p->tb, p->m, p->n, p->k, a.device, a.ld, b.device, b.ld, packed[0], packed[1]), "pack ab");
    } else {
        check_code(halftone_pack_a(handle, p->ta, p->m, p->k, a.device, a.ld, packed[0]), "pack a");
        check_code(halftone_pack_b(handle, p->tb, p->k, p->n, b.device, b.ld, packed[1]), "pack b");
    }
}

/* The product of packed operands. */
static float *run_packed(const struct product *p, void *const packed[2]) {
    const struct operand c = stored_c(p);
    check_code(halftone_sgemm_packed(handle, p->m, p->n, p->k, &p->alpha, packed[0], packed[1], &p->beta, c.device, c.ld), "packed");
    return dense_result(p, &c);
}

static void packed_bytes(const struct product *p, size_t *bytes) {
    check_code(halftone_packed_bytes(handle, 'A', p->m, p->k, 1, &bytes[0]), "packed bytes");
    check_code(halftone_packed_bytes(handle, 'B', p->n, p->k, 1, &bytes[1]), "packed bytes");
}

/* Repeats, every transpose, packed operands and batch entries give the same bits. */
TEST(bits_do_not_depend_on_the_way) {
    const char *scheme;
    struct product p = product_of('N', 'N', 130, 70, 200, "uniform");
    for (int s = 0; (scheme = scheme_at(s)) != NULL; s++) {
        size_t bytes[2];
        check_code(halftone_set_scheme(handle, scheme), scheme);
        p.ta = p.tb = 'N';
        float *const first = run(&p, scheme);
        for (int t = 0; t < 4; t++) {
            p.ta = t & 1 ? 'T' : 'N';
            p.tb = t & 2 ? 'T' : 'N';
            expect_bits(scheme, first, run(&p, scheme), p.m * p.n);
        }
        if (scheme_named(scheme)->pack == NULL) /* nothing else to compare with */
            continue;
        packed_bytes(&p, bytes);
        void *const packed[2] = {kept_on_device(bytes[0]), kept_on_device(bytes[1])};
        p.ta = 'N';
        for (int together = 0; together < 2; together++) {
            pack_both(&p, together, packed);
            expect_bits(together ? "packed together" : "packed", first, run_packed(&p, packed), p.m * p.n);
        }
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
static void packed_alike(const char *scheme, struct product p) {
    size_t bytes[2];
    void *packed[2][2];
    product_fill(&p);
    packed_bytes(&p, bytes);
    for (int way = 0; way < 2; way++) {
        p.ta = p.tb = way ? 'T' : 'N';
        for (int side = 0; side < 2; side++)
            packed[way][side] = poisoned(bytes[side]);
        pack_both(&p, true, packed[way]);
    }
    same_bytes(scheme, p.k, packed[0][0], packed[1][0], bytes[0]);
    same_bytes(scheme, p.k, packed[0][1], packed[1][1], bytes[1]);
    void *alone = poisoned(bytes[1]);
    const struct operand b = stored(&p, 'B', 'N');
    check_code(halftone_pack_b(handle, 'N', p.k, p.n, b.device, b.ld, alone), "pack b");
    same_bytes(scheme, p.k, packed[0][1], alone, bytes[1]);
    product_free(&p);
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
        for (size_t i = 0; i < sizeof depths / sizeof *depths; i++)
            packed_alike(scheme, (struct product)PRODUCT('N', 'N', 37, 20, depths[i], depths[i] % 4, 1, 0, "normal"));
        if (seen++ == 0)
            packed_alike(scheme, (struct product)PRODUCT('N', 'N', 5, 400, 8192, 0, 1, 0, "normal"));
    }
}

/* B of p, packed into memory full of `poison`: its bytes. */
static unsigned char *packed_over(unsigned char poison, const struct product *p, const struct operand *b, size_t bytes) {
    void *packed = poisoned_with(poison, bytes);
    check_code(halftone_pack_b(handle, 'N', p->k, p->n, b->device, b->ld, packed), "pack b");
    unsigned char *host = kept(bytes);
    assert_int_equal(ht_dev_download(host, packed, bytes), HT_DEV_OK);
    return host;
}

/* Eight bytes are padding or written whole: a product reads both ints of a flag, of which packing raises one only when it must. */
TEST(nothing_is_half_written) {
    const struct product p = product_of('N', 'N', 37, 20, 300, "normal");
    const struct operand b = stored(&p, 'B', 'N');
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
    struct product p = PRODUCT('T', 'N', 70, 50, 130, 3, 1, 0, "llm");
    size_t bytes[2];
    product_fill(&p);
    check_code(halftone_set_scheme(handle, "f16x3"), "f16x3");
    packed_bytes(&p, bytes);
    void *const packed[2] = {kept_on_device(bytes[0]), kept_on_device(bytes[1])};
    pack_both(&p, false, packed);
    for (int i = 0; i < 2; i++) {
        const struct operand b = stored(&p, 'B', 'N');
        check_code(halftone_pack_b(handle, 'N', p.k, p.n, b.device, b.ld, packed[1]), "pack b");
        expect_bits("packed A with another B", run(&p, "direct"), run_packed(&p, packed), p.m * p.n);
        family_fill(family_find("uniform"), 9, 'B', p.m, p.n, p.k, p.b, p.k);
    }
}

/* The same in an allocation that starts `offset` floats earlier. */
static struct operand shifted(struct operand x, int offset) {
    x.device = on_device_at(x.at, x.count, offset);
    return x;
}

/* Pointers that are aligned to one float and no more give the same bits. */
TEST(pointers_need_four_bytes) {
    const char *scheme;
    for (int s = 0; (scheme = scheme_at(s)) != NULL && (s == 0 || !small); s++) {
        check_code(halftone_set_scheme(handle, scheme), scheme);
        for (int t = 0; t < 4; t++) {
            struct product p = PRODUCT(t & 1 ? 'T' : 'N', t & 2 ? 'T' : 'N', 68, 36, 72, 4, 2, -1, "normal");
            product_fill(&p);
            const struct operand a = stored(&p, 'A', p.ta), b = stored(&p, 'B', p.tb), c = stored_c(&p);
            const struct operand a1 = shifted(a, 1), b1 = shifted(b, 3), c1 = shifted(c, 1);
            multiply_stored(&p, &a, &b, &c, "aligned");
            multiply_stored(&p, &a1, &b1, &c1, "unaligned");
            expect_bits("unaligned", result_of(&c, p.m), result_of(&c1, p.m), c.count);
            product_free(&p);
        }
    }
}

/* Columns that begin at any of the four words of 16 bytes, each column elsewhere: packing shifts whole pieces in the middle
 * of the matrix and reads single elements at the ends of columns, and gives the bits of aligned columns. Nothing but NaN lies
 * between the columns. */
TEST(columns_begin_anywhere) {
    static const char *const schemes[] = {"f16x3", "half"};
    for (int s = 0; s < 2; s++) {
        if (!has_scheme(HALFTONE_FP32, schemes[s]))
            continue;
        check_code(halftone_set_scheme(handle, schemes[s]), schemes[s]);
        for (int way = 0; way < 6; way++) { /* both ways of both operands, in tiles, by whole rows and by strips */
            const int t = way % 2, k = way < 2 ? 191 : way < 4 ? 291 : 1061;
            struct truth of = truth_of(&(struct product)PRODUCT(t ? 'T' : 'N', t ? 'T' : 'N', 151, 135, k, 1, 1, 0, "normal"));
            struct product *const p = &of.p;
            check_against("aligned columns", &of);
            float *const first = run(p, "aligned columns");
            for (p->pad = 2; p->pad <= 5; p->pad++) {
                const struct operand a = shifted(stored(p, 'A', p->ta), (int)(p->pad + t + 1) % 4),
                                     b = shifted(stored(p, 'B', p->tb), (int)(p->pad * 3 + 1) % 4), c = stored_c(p);
                multiply_stored(p, &a, &b, &c, "shifted");
                expect_bits("shifted", first, dense_result(p, &c), p->m * p->n);
            }
            truth_free(&of);
        }
    }
}

/* alpha and beta in device memory: the bits of host scalars; alpha == 0 there makes NaN in A vanish. The
 * second shape is split along k. */
TEST(scalars_in_device_memory) {
    static const struct product shapes[] = {PRODUCT('N', 'T', 70, 50, 90, 2, 1.5f, -0.5f, "uniform"),
                                            PRODUCT('N', 'T', 33, 20, 4096, 1, 1.5f, -0.5f, "uniform")};
    const float values[] = {1.5f, -0.5f, 0}, *const scalars = on_device(values, 3);
    check_code(halftone_set_scheme(handle, "f16x3"), "f16x3");
    for (int i = 0; i < 2; i++) {
        struct product p = shapes[i];
        product_fill(&p);
        float *const want = run(&p, "host scalars");
        const struct operand a = stored(&p, 'A', 'N'), b = stored(&p, 'B', 'T'), c = stored_c(&p), d = stored_c(&p);
        check_code(halftone_set_pointer_mode(handle, HALFTONE_DEVICE), "device scalars");
        multiply('N', 'T', p.m, p.n, p.k, 1, &scalars[0], &a, &b, &scalars[1], &c, "device scalars");
        for (int64_t e = 0; e < a.count; e++)
            a.at[e] = e % 2 ? NAN : INFINITY;
        upload(a.device, a.at, a.count);
        multiply('N', 'T', p.m, p.n, p.k, 1, &scalars[2], &a, &b, &scalars[1], &d, "alpha 0 on the device");
        check_code(halftone_set_pointer_mode(handle, HALFTONE_HOST), "host scalars");
        expect_bits("device scalars", want, dense_result(&p, &c), p.m * p.n);
        float *const scaled = dense_result(&p, &d);
        for (int64_t e = 0; e < p.m * p.n; e++)
            if (scaled[e] != -0.5f * p.c[e])
                fail_msg("alpha 0 on the device: element %lld is %g, beta * C is %g", (long long)e, (double)scaled[e], (double)(-0.5f * p.c[e]));
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
        struct operand a = {.ld = (ta == 'N' ? M : K) + PAD}, b = {.ld = (tb == 'N' ? K : N) + PAD}, c = {.ld = M + PAD};
        struct operand *const all[] = {&a, &b, &c};
        const int64_t columns[] = {ta == 'N' ? K : M, tb == 'N' ? N : K, N};
        for (int i = 0; i < 3; i++) {
            all[i]->stride = all[i]->ld * columns[i] + GAP;
            all[i]->count = all[i]->stride * BATCH;
            all[i]->at = allocated(all[i]->count);
            family_fill(family_find("normal"), (uint64_t)i + 1, 'A', all[i]->stride, 1, BATCH, all[i]->at, all[i]->stride);
            all[i]->device = on_device(all[i]->at, all[i]->count);
        }
        const struct operand single = shifted(c, 0);
        multiply(ta, tb, M, N, K, BATCH, &alpha, &a, &b, &beta, &c, "batch");
        for (int64_t i = 0; i < BATCH; i++) {
            const struct operand ai = {.device = a.device + i * a.stride, .ld = a.ld}, bi = {.device = b.device + i * b.stride, .ld = b.ld},
                                 ci = {.device = single.device + i * c.stride, .ld = c.ld};
            multiply(ta, tb, M, N, K, 1, &alpha, &ai, &bi, &beta, &ci, "single");
        }
        expect_bits("strided batch", download(allocated(c.count), single.device, c.count), download(allocated(c.count), c.device, c.count), c.count);
    }
}

/* X X^T of p's A, whose B has the same numbers, by one matrix and by two: below the diagonal the same bits, above it those of its mirror, but
 * where C is added to. In how many places two matrices give others there. */
static int64_t is_symmetric(struct product p, const float *scalars) {
    const bool adds = p.beta != 0;
    int64_t differ = 0;
    product_fill(&p);
    for (int64_t e = 0; e < p.n * p.k; e++)
        p.b[e] = p.a[e % p.k * p.m + e / p.k];
    const float *const two = run(&p, "two matrices");
    const struct operand x = stored(&p, 'A', p.ta), c = stored_c(&p);
    check_code(halftone_set_pointer_mode(handle, scalars != NULL ? HALFTONE_DEVICE : HALFTONE_HOST), "scalars");
    multiply(p.ta, p.tb, p.m, p.n, p.k, 1, scalars != NULL ? &scalars[0] : &p.alpha, &x, &x, scalars != NULL ? &scalars[adds ? 2 : 1] : &p.beta, &c, "one matrix");
    check_code(halftone_set_pointer_mode(handle, HALFTONE_HOST), "scalars");
    float *const got = dense_result(&p, &c);
    for (int64_t e = 0; e < p.m * p.n; e++) {
        const int64_t row = e % p.m, col = e / p.m, mirrored = row < col && !adds ? col + row * p.m : e;
        expect_bits("X X^T", &two[mirrored], &got[e], 1);
        differ += !same_bits(two[mirrored], two[e]);
    }
    product_free(&p);
    return differ;
}

TEST(x_times_its_transpose_is_symmetric) {
    static const int64_t sizes[] = {1, 63, 64, 65, 200, 520}; /* the last in blocks */
    const float values[] = {1, 0, 0.5f}, *const scalars = on_device(values, 3);
    int64_t differ = 0;
    check_code(halftone_set_scheme(handle, "f16x3"), "f16x3");
    for (int way = 0; way < 24; way++) {
        const bool last = way % 6 == 5;
        const char ta = way & 1 ? 'N' : 'T', tb = way & 1 ? 'T' : 'N';
        const struct product p = PRODUCT(ta, tb, sizes[way % 6], sizes[way % 6], last ? 64 : 300, 1, 1, way / 6 == 2 ? 0.5f : 0, "normal");
        check_code(halftone_set_workspace_limit(handle, last ? 1 << 18 : 0), "limit");
        assert_true(!last || plan_of(&p).blocks > 1);
        differ += is_symmetric(p, way / 6 >= 2 ? scalars : NULL);
    }
    assert_true(differ > 20);
}

/* By unpacked slices, of the least small products in a chain. */
TEST(x_times_its_transpose_is_symmetric_unpacked) {
    if (!has_scheme(HALFTONE_FP32, "bf16x6u"))
        skip();
    check_code(halftone_set_scheme(handle, "bf16x6u"), "bf16x6u");
    for (int way = 0; way < 4; way++)
        (void)is_symmetric((struct product)PRODUCT(way & 1 ? 'N' : 'T', way & 1 ? 'T' : 'N', 167, 167, way < 2 ? 122 : 250, 0, 1, 0, "phi2"), NULL);
}

/* Of a batch too, whose entries lie apart. */
TEST(batches_of_x_times_its_transpose_are_symmetric) {
    enum { N = 70, K = 200, BATCH = 3 };
    const float one = 1, zero = 0;
    struct operand x = operand_made(N, K, false, 1, BATCH), c = operand_made(N, N, false, 2, BATCH);
    family_fill(family_find("normal"), 3, 'A', x.count, 1, 1, x.at, x.count);
    x.device = on_device(x.at, x.count);
    c.device = on_device(c.at, c.count);
    check_code(halftone_set_scheme(handle, "f16x3"), "f16x3");
    multiply('N', 'T', N, N, K, BATCH, &one, &x, &x, &zero, &c, "batch");
    const float *const got = result_of(&c, N);
    for (int64_t e = 0; e < (int64_t)BATCH * N * N; e++) {
        const float *const of = got + e / (N * N) * c.stride;
        expect_bits("a batch of X X^T", of + e % N * c.ld + e / N % N, of + e / N % N * c.ld + e % N, 1);
    }
}

/* A number of FP16 or BF16 near x, and the bits of one. */
static float number_of(int type, float x) {
    const int exponent = x != 0 && ilogbf(x) > -14 ? ilogbf(x) : -14;
    uint32_t bits;
    if (type == HALFTONE_FP16 && isfinite(x))
        return ldexpf(nearbyintf(ldexpf(x, 10 - exponent)), exponent - 10);
    memcpy(&bits, &x, sizeof bits);
    bits &= 0xffff0000;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* p's numbers as `type` has them, subnormals and zeros of both signs among them; Inf in the last row, NaN in the one before. */
static void fill_narrow(struct product *p, int type) {
    product_fill(p);
    for (int64_t i = 0; i < p->m * p->k; i++)
        p->a[i] = number_of(type, i % 97 == 5 ? p->a[i] * 0x1p-22f : i % 31 == 7 ? -0.0f : p->a[i]);
    for (int64_t i = 0; i < p->k * p->n; i++)
        p->b[i] = number_of(type, p->b[i]);
    if (p->m > 2) {
        p->a[p->m - 1] = INFINITY;
        p->a[p->m - 2] = NAN;
    }
}

static int multiply_narrow(const struct product *p, int type, const void *a, int64_t lda, const void *b, int64_t ldb, const struct operand *c) {
    return halftone_gemm_ex(handle, p->ta, p->tb, p->m, p->n, p->k, &p->alpha, a, lda, 0, b, ldb, 0, &p->beta, c->device, c->ld, 0, 1, type);
}

/* C of both ways to give the product's numbers. */
static void expect_narrow(struct product p, int type, const char *what) {
    fill_narrow(&p, type);
    const struct operand a = stored(&p, 'A', p.ta), b = stored(&p, 'B', p.tb), c = stored_c(&p), d = stored_c(&p);
    multiply_stored(&p, &a, &b, &c, what);
    check_code(multiply_narrow(&p, type, narrow_copy(type, &a, p.offset), a.ld, narrow_copy(type, &b, p.offset * 3), b.ld, &d), what);
    const float *const want = dense_result(&p, &c), *const got = dense_result(&p, &d);
    for (int64_t i = 0; i < p.m * p.n; i++)
        if (!same_or_nan(want[i], got[i]))
            fail_msg("%s, type %d, %c%c %lldx%lldx%lld: element %lld is %a, not %a", what, type, p.ta, p.tb, (long long)p.m, (long long)p.n,
                     (long long)p.k, (long long)i, (double)got[i], (double)want[i]);
    product_free(&p);
}

TEST(operands_of_16_bits_give_the_bits_of_their_floats) {
    static const char *const schemes[] = {"auto", "f16x3", "bf16x6u", "i8x6", "i8x3", "ozaki-sp"};
    static const struct product shapes[] = {
        PRODUCT('N', 'N', 70, 65, 300, 3, 1.5f, 0.5f, "normal"), PRODUCT('N', 'N', 1, 1, 1, 0, 1, 0, "normal"),
        PRODUCT('N', 'N', 64, 40, 256, 0, 1, 0, "normal"),       PRODUCT('N', 'N', 33, 3, 1032, 8, -1, 0, "uniform"),
        PRODUCT('N', 'N', 5, 300, 2, 1, 1, 1, "normal"),         PRODUCT('N', 'N', 3, 520, 270, 2, 1, 0, "normal")};
    for (int s = 0; s < 6; s++) {
        if (halftone_set_scheme(handle, schemes[s]) != HALFTONE_OK)
            continue;
        for (int i = 0; i < 48; i += small || s > 0 ? 5 : 1) {
            struct product p = shapes[i / 2 % 6];
            p.ta = i / 12 & 1 ? 'T' : 'N';
            p.tb = i / 12 & 2 ? 'N' : 'T';
            p.offset = i / 12;
            expect_narrow(p, i & 1 ? HALFTONE_FP16 : HALFTONE_BF16, schemes[s]);
        }
    }
}

/* Of a batch, B shared; in blocks too; and what a workspace of the caller's needs besides. */
TEST(batches_blocks_and_workspace_of_16_bits) {
    enum { M = 35, N = 70, K = 67, BATCH = 3 };
    const float one = 1, zero = 0;
    const struct operand a = operand_made(M, K, true, 5, BATCH), b = operand_made(N, K, false, 2, 1), c = operand_made(M, N, false, 1, BATCH);
    if (halftone_set_scheme(handle, "i8x6") != HALFTONE_OK)
        skip();
    for (int64_t i = 0; i < a.count; i++)
        a.at[i] = (float)(i * 7 % 253 - 126) * 0.25f;
    for (int64_t i = 0; i < b.count; i++)
        b.at[i] = (float)(i * 5 % 241 - 120);
    float *const device[] = {on_device(a.at, a.count), on_device(b.at, b.count)};
    const void *const narrow[] = {narrow_copy(HALFTONE_BF16, &a, 0), narrow_copy(HALFTONE_BF16, &b, 0)};
    float *const out = on_device(c.at, c.count), *const want = allocated(c.count), *const got = allocated(c.count);
    size_t bytes;
    check_code(halftone_sgemm_strided_batched(handle, 'T', 'T', M, N, K, &one, device[0], a.ld, a.stride, device[1], b.ld, 0, &zero, out, c.ld, c.stride, BATCH), "floats");
    download(want, out, c.count);
    check_code(halftone_workspace_bytes(handle, 'T', 'T', M, N, K, 1, &bytes), "bytes");
    bytes += (size_t)(HALFTONE_WIDE_BYTES(K, M, 1) + HALFTONE_WIDE_BYTES(N, K, 1));
    char *const mine = kept_on_device(bytes);
    for (int way = 0; way < 4; way++) { /* all; in blocks of the batch; one by one in a workspace, which then is too small */
        const int64_t batch = way < 2 ? BATCH : 1;
        check_code(halftone_set_workspace_limit(handle, way == 1 ? bytes : 0), "limit");
        check_code(halftone_set_workspace(handle, way < 2 ? NULL : mine, way < 2 ? 0 : bytes - (way == 3)), "workspace");
        for (int64_t e = 0; e < BATCH; e += batch) {
            const int code = halftone_gemm_ex(handle, 'T', 'T', M, N, K, &one, (const uint16_t *)narrow[0] + e * a.stride, a.ld, a.stride, narrow[1], b.ld, 0,
                                              &zero, out + e * c.stride, c.ld, c.stride, batch, HALFTONE_BF16);
            assert_int_equal(code, way == 3 ? HALFTONE_WORKSPACE : HALFTONE_OK);
        }
        expect_bits("a batch", want, download(got, out, c.count), c.count);
        upload(out, c.at, way < 2 ? c.count : 0);
    }
}

TEST(operands_of_16_bits_are_checked) {
    const struct product p = product_of('N', 'N', 8, 8, 8, "normal");
    const struct operand a = stored(&p, 'A', 'N'), c = stored_c(&p);
    char *const at = narrow_copy(HALFTONE_BF16, &a, 0);
    assert_int_equal(multiply_narrow(&p, 0, at, 8, at, 8, &c), -18);
    assert_int_equal(multiply_narrow(&p, HALFTONE_FP64, at, 8, at, 8, &c), -18);
    assert_int_equal(multiply_narrow(&p, HALFTONE_FP16, at + 1, 8, at, 8, &c), -7);
    assert_int_equal(multiply_narrow(&p, HALFTONE_FP16, at, 8, NULL, 8, &c), -9);
    check_code(multiply_narrow(&p, HALFTONE_FP32, a.device, 8, a.device, 8, &c), "floats");
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
    const char *scheme;
    for (int s = 0; (scheme = scheme_at(s)) != NULL && !small; s++) {
        double most = 0;
        if (is_fixed_point(scheme))
            continue;
        check_code(halftone_set_scheme(handle, scheme), scheme);
        for (int64_t k = 16; k <= 256; k *= 4) {
            struct product p = product_of('N', 'N', 1, 1, k, NULL);
            const struct halftone_plan plan = plan_of(&p);
            for (uint64_t seed = 1; seed <= 4; seed++) {
                double exact = 0;
                adversary_fill(scheme, seed, k, p.a, p.b);
                for (int64_t i = 0; i < k; i++)
                    exact += (double)p.a[i] * (double)p.b[i]; /* all positive: also |A||B| */
                const double grade = fabs((double)run(&p, scheme)[0] - exact) / ldexp(exact, -24);
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
    enum { M = 40, N = 30, K = 70, BATCH = 3 };
    const float one = 1, zero = 0;
    const struct product all = product_of('N', 'N', M, N * BATCH, K, "uniform");
    struct operand a = stored(&all, 'A', 'N'), b = stored(&all, 'B', 'N'), c = stored_c(&all), single = operand_made(M, N, false, 0, 1);
    single.device = on_device(single.at, single.count);
    a.stride = 0;
    b.stride = K * N;
    c.stride = M * N;
    check_code(halftone_set_scheme(handle, "f16x3"), "f16x3");
    multiply('N', 'N', M, N, K, BATCH, &one, &a, &b, &zero, &c, "batch");
    float *const got = result_of(&c, M);
    for (int i = 0; i < BATCH; i++, b.device += K * N) {
        multiply('N', 'N', M, N, K, 1, &one, &a, &b, &zero, &single, "single");
        expect_bits("batch entry", result_of(&single, M), got + i * M * N, M * N);
    }
}

/* A few tiles and a long k: the pick splits k, and the split result keeps the bound. */
TEST(errors_few_tiles_split_k) {
    const struct product p = PRODUCT('N', 'N', 64, 64, on_gpu && !small ? 65536 : 4096, 0, 1, 1, "llm");
    check_code(halftone_set_scheme(handle, "f16x3"), "f16x3");
    if (plan_of(&p).splits < 2)
        fail_msg("a %lldx%lldx%lld product is not split", (long long)p.m, (long long)p.n, (long long)p.k);
    check_product("split-K", &p);
}

TEST(blas_semantics) {
    const float one = 1, zero = 0, half = 0.5f;
    struct operand a = operand_made(20, 20, false, 0, 1), c = operand_made(20, 20, false, 0, 1); /* NaN all over */
    a.device = on_device(a.at, a.count);
    c.device = on_device(c.at, c.count);
    check_code(halftone_set_scheme(handle, "f16x3"), "f16x3");
    multiply('N', 'N', 20, 20, 20, 1, &zero, &a, &a, &zero, &c, "alpha == 0");
    const float *got = result_of(&c, 20);
    for (int i = 0; i < 400; i++) {
        assert_true(got[i] == 0.0f);
        c.at[i] = (float)i;
    }
    upload(c.device, c.at, c.count);
    multiply('N', 'N', 20, 20, 0, 1, &one, &a, &a, &half, &c, "k == 0");
    got = result_of(&c, 20);
    for (int i = 0; i < 400; i++)
        assert_true(got[i] == (float)i * 0.5f);
    check_code(halftone_sgemm(handle, 'N', 'N', 0, 20, 20, &one, NULL, 1, NULL, 20, &half, NULL, 1), "m == 0");
    assert_int_equal(halftone_sgemm(handle, 'N', 'N', 20, 20, 20, &one, a.device, 19, a.device, 20, &half, c.device, 20), -8);
}

/* ---- two blocks that share panels */

/* The scheme's first kernel of one block; a name of `kernel`s scheme begins alike. NULL: there is none. */
static const char *kernel_of_one_block(const char *kernel) {
    const size_t scheme = strcspn(kernel + strlen("ht_"), "_") + strlen("ht_") + 1;
    const char *other;
    for (int i = 0; (other = halftone_kernels(handle, i)) != NULL; i++)
        if (strncmp(other, kernel, scheme) == 0 && strstr(other, "_c2_") == NULL)
            return other;
    return NULL;
}

static int parts_by(const char *kernel, const struct product *p) {
    check_code(halftone_set_kernel(handle, kernel), kernel);
    return plan_of(p).splits;
}

/* However blocks work together, equal chains give equal bits: again and again, and where k has as many parts those of one block alone. */
static void pair_has_bits(const char *kernel, const char *alone, const struct product *p, const struct operand of[3], int repeats) {
    const size_t before = kept_count;
    const int parts = parts_by(kernel, p);
    float *first = NULL;
    for (int i = 0; i < repeats; i++) {
        const size_t others = kept_count;
        upload(of[2].device, of[2].at, of[2].count);
        multiply_stored(p, &of[0], &of[1], &of[2], kernel);
        float *const got = dense_result(p, &of[2]);
        if (i == 0) {
            first = got;
            continue;
        }
        expect_bits(kernel, first, got, p->m * p->n);
        drop_kept(others);
    }
    if (parts_by(alone, p) == parts)
        expect_bits(alone, first, run(p, alone), p->m * p->n);
    drop_kept(before);
}

static void pairs_have_bits(struct product p, int repeats) {
    product_fill(&p);
    const struct operand of[] = {stored(&p, 'A', 'N'), stored(&p, 'B', 'N'), stored_c(&p)};
    const char *kernel;
    for (int i = 0; (kernel = halftone_kernels(handle, i)) != NULL; i++) {
        const char *const alone = strstr(kernel, "_c2_") != NULL ? kernel_of_one_block(kernel) : NULL;
        if (alone != NULL)
            pair_has_bits(kernel, alone, &p, of, repeats);
    }
    product_free(&p);
}

TEST(pairs_of_blocks_have_the_bits_of_one) {
    static const struct {
        struct product p;
        int repeats;
    } few[] = {{PRODUCT('N', 'N', 139, 75, 192, 0, 1, 0, "uniform"), 2}, {PRODUCT('N', 'N', 65, 300, 130, 1, 1, 0, "uniform"), 1}},
      many[] = {{PRODUCT('N', 'N', 512, 512, 512, 0, 1, 0, "uniform"), 100},  {PRODUCT('N', 'N', 1024, 1024, 1024, 0, 1, 0, "uniform"), 50},
                {PRODUCT('N', 'N', 1000, 1001, 999, 1, 1, 0, "uniform"), 20}, {PRODUCT('N', 'N', 2048, 2048, 2048, 0, 1, 0, "uniform"), 10},
                {PRODUCT('N', 'N', 4097, 4100, 260, 3, 1, 0, "uniform"), 3},  {PRODUCT('N', 'N', 129, 65, 32768, 0, 1, 0, "uniform"), 20},
                {PRODUCT('N', 'N', 8192, 8192, 1024, 0, 1, 0, "uniform"), 2}, {PRODUCT('N', 'N', 64, 16384, 512, 0, 1, 0, "uniform"), 10},
                {PRODUCT('N', 'N', 16384, 65, 512, 2, 1, 0, "uniform"), 10},  {PRODUCT('N', 'N', 3001, 5003, 2049, 1, 1, 0, "uniform"), 3}};
    for (size_t j = 0; j < sizeof few / sizeof *few; j++)
        pairs_have_bits(few[j].p, few[j].repeats);
    for (size_t j = 0; on_gpu && !small && j < sizeof many / sizeof *many; j++)
        pairs_have_bits(many[j].p, many[j].repeats);
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
FOR_EACH(reset_handle, NULL)
