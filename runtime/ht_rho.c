/* ht_rho.c: how much cancels: halftone_estimate_rho, by products with random vectors. */
#include "ht_call.h"

#include <math.h> /* INFINITY, no function */
#include <stdlib.h>

enum { PROBES = 8 };

/* For a random x of +-1 the mean of ||M x||^2 is ||M||_F^2. Device memory: x n x PROBES; k x 2 PROBES,
 * more random vectors and y = B x; m x 2 PROBES, A by both. Host memory: vectors to upload, and what comes
 * back. */
struct probe {
    float *x, *y, *z;
    float *vectors, *back;
};

static void probe_close(struct probe *p) {
    (void)ht_dev_free(p->x);
    (void)ht_dev_free(p->y);
    (void)ht_dev_free(p->z);
    free(p->vectors);
    free(p->back);
}

/* From a multiplicative generator (Knuth's MMIX constants): equal calls ask with equal vectors. */
static void fill_signs(float *to, int64_t count, uint64_t seed) {
    for (int64_t i = 0; i < count; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        to[i] = seed >> 63 ? 1.0f : -1.0f;
    }
}

static int probe_open(halftone *h, const struct call *x, struct probe *p) {
    const int64_t sizes[] = {x->n, 2 * x->k, 2 * x->m};
    float **const memory[] = {&p->x, &p->y, &p->z};
    int code = HALFTONE_OK;
    memset(p, 0, sizeof *p);
    for (int i = 0; i < 3 && code == HALFTONE_OK; i++) {
        void *got = NULL;
        code = ht_fail_device(h, ht_dev_alloc(&got, (size_t)(sizes[i] * PROBES) * sizeof(float)));
        *memory[i] = (float *)got;
    }
    if (code != HALFTONE_OK)
        return code;
    const int64_t up = x->n > 2 * x->k ? x->n : 2 * x->k, down = x->k > 2 * x->m ? x->k : 2 * x->m;
    p->vectors = (float *)malloc((size_t)(up * PROBES) * sizeof(float));
    p->back = (float *)malloc((size_t)(down * PROBES) * sizeof(float));
    return p->vectors != NULL && p->back != NULL ? HALFTONE_OK : HALFTONE_OUT_OF_HOST_MEMORY;
}

/* C = op(A) B of dense vectors, whatever the handle is set to. */
static int probe_product(halftone *h, char trans, int64_t m, int64_t k, int64_t vectors, const float *a,
                         int64_t lda, const float *b, float *result) {
    static const float one = 1, zero = 0;
    struct ht_half half = h->half[0];
    const bool has_user = h->has_user;
    const int mode = h->pointer_mode;
    struct call c = with_operands(call_of(h, false, trans, 'N', m, vectors, k, 1), a, lda, 0, b, k, 0);
    half.forced = NO_KERNEL;
    half.own.scheme = ht_auto_scheme(half.set);
    half.own.is_auto = true;
    c.half = &half;
    c.asked = &half.own;
    c.is_inner = true;
    c.alpha = &one;
    c.beta = &zero;
    c.c = result;
    c.ldc = m;
    h->has_user = false;
    h->pointer_mode = HALFTONE_HOST;
    const int code = ht_run_gemm(&c);
    h->has_user = has_user;
    h->pointer_mode = mode;
    return code;
}

/* The largest magnitude; 2^200, which no float is, where one is NaN or Inf. */
static double largest_of(const float *x, int64_t count) {
    double most = 0;
    for (int64_t i = 0; i < count; i++) {
        const double size = x[i] < 0 ? -(double)x[i] : (double)x[i];
        if (!(size < 0x1p128))
            return 0x1p200;
        most = size > most ? size : most;
    }
    return most;
}

static void scale_by(float *x, int64_t count, double scale) {
    for (int64_t i = 0; i < count; i++)
        x[i] = (float)((double)x[i] * scale);
}

/* The power of two that brings a magnitude into [1, 2); 1 for none. */
static double normalizing(double most) {
    double scale = 1;
    for (; most * scale >= 2; scale /= 2) {
    }
    for (; most > 0 && most * scale < 1; scale *= 2) {
    }
    return scale;
}

/* p->back = op(M) p->vectors, of magnitudes up to 2, times a power of two that a ratio of norms does not
 * see: where sums overflow or are lost among subnormal numbers, the vectors are made 2^64 times smaller or
 * larger and multiplied again. */
static int probe_scaled(halftone *h, struct probe *p, char trans, int64_t rows, int64_t k, int64_t vectors,
                        const float *m, int64_t ld, float *in, float *out, const char *name) {
    const size_t up = (size_t)(k * vectors) * sizeof *in, down = (size_t)(rows * vectors) * sizeof *out;
    double most = 0;
    for (int attempt = 0; attempt < 2; attempt++) {
        int code = ht_fail_device(h, ht_dev_upload_on(in, p->vectors, up, h->stream));
        AND_THEN(code, probe_product(h, trans, rows, k, vectors, m, ld, in, out));
        AND_THEN(code, ht_fail_device(h, ht_dev_stream_sync(h->stream)));
        AND_THEN(code, ht_fail_device(h, ht_dev_download(p->back, out, down)));
        if (code != HALFTONE_OK)
            return code;
        most = largest_of(p->back, rows * vectors);
        if (most >= 0x1p-64 && most < 0x1p128)
            return HALFTONE_OK;
        scale_by(p->vectors, k * vectors, most < 1 ? 0x1p64 : 0x1p-64);
    }
    return most < 0x1p128 ? HALFTONE_OK
                          : ht_fail(h, HALFTONE_NOT_SUPPORTED, "%s holds NaN or Inf: it has no norm", name);
}

static double sum_of_squares(const float *x, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

static int probe_run(halftone *h, const struct call *x, struct probe *p, double *rho) {
    const int64_t in = x->k * PROBES, out = x->m * PROBES;
    fill_signs(p->vectors, x->n * PROBES, 1);
    int code = probe_scaled(h, p, x->of[1].trans, x->k, x->n, PROBES, (const float *)x->of[1].src,
                            x->of[1].ld, p->x, p->y, "B");
    if (code != HALFTONE_OK)
        return code;
    scale_by(p->back, in, normalizing(largest_of(p->back, in)));
    const double of_b = sum_of_squares(p->back, in);
    fill_signs(p->vectors, in, 2);
    memcpy(p->vectors + in, p->back, (size_t)in * sizeof(float));
    code = probe_scaled(h, p, x->of[0].trans, x->m, x->k, 2 * PROBES, (const float *)x->of[0].src,
                        x->of[0].ld, p->y, p->z, "A");
    if (code != HALFTONE_OK)
        return code;
    const double of_a = sum_of_squares(p->back, out), of_ab = sum_of_squares(p->back + out, out);
    const double square = of_a * of_b == 0 ? 1 : of_a * of_b / of_ab / (double)PROBES;
    if (!(square <= 1e60))
        return ht_fail(h, HALFTONE_NOT_SUPPORTED, "nothing is left of the product: no ratio");
    double root = 1; /* Newton's method from below: no libm for one square root */
    for (int i = 0; i < 200; i++)
        root = 0.5 * (root + square / root);
    *rho = root > 1 ? root : 1;
    return HALFTONE_OK;
}

HT_IN_OWN_FENV static int probe_call(void *of) {
    struct call *const c = (struct call *)of; /* sizes, transposes, A and B */
    double *const rho = (double *)c->answer;
    halftone *const h = c->h;
    const float one = 1;
    float result = 0;
    c->alpha = c->beta = &one;
    c->c = &result;
    c->ldc = c->stride_c = c->m > 1 ? c->m : 1;
    int capturing = 0, code = ht_check_gemm(c);
    if (code == HALFTONE_OK && rho == NULL)
        return ht_fail(h, -18, "rho is NULL");
    AND_THEN(code, ht_fail_device(h, ht_dev_is_capturing(h->stream, &capturing)));
    if (code == HALFTONE_OK && capturing)
        return ht_fail(h, HALFTONE_NOT_SUPPORTED,
                       "the stream is being captured, and rho is needed on the host");
    if (code != HALFTONE_OK)
        return code;
    if (c->m == 0 || c->n == 0 || c->k == 0) {
        *rho = 1;
        return HALFTONE_OK;
    }
    struct probe p;
    code = probe_open(h, c, &p);
    AND_THEN(code, probe_run(h, c, &p, rho));
    probe_close(&p);
    return code;
}

int halftone_estimate_rho(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,
                          const float *a, int64_t lda, const float *b, int64_t ldb, double *rho) {
    struct call c = with_operands(call_of(handle, false, transa, transb, m, n, k, 1), a, lda, 0, b, ldb, 0);
    const int code = ht_begin(handle);
    c.answer = rho;
    if (rho != NULL)
        *rho = INFINITY; /* of which no accuracy follows */
    return code == HALFTONE_OK ? ht_in_own_fenv(probe_call, &c) : code;
}
