/* cholesky: A = L L^T, tiled, right-looking, of the RBF kernel matrix of image patches plus a diagonal, as MixPert's tuner is
 * measured with. A(i, j) = exp(-|p_i - p_j|^2 / mean |p - q|^2), and the diagonal. Blocks of FACTOR_BLOCK columns are factored on the
 * device in FP32; everything else is products, at four sites, in this order:
 *
 *     solve      L(below, j) = S(below, j) inverse(L(j, j))^T     j: FACTOR_BLOCK columns of a panel of `block` columns
 *     panel      S(below, rest of the panel) -= L(below, j) L(rest, j)^T
 *     diagonal   S(i, i) -= L(i, panel) L(i, panel)^T             i: tiles of `block` rows behind the panel
 *     update     S(below i, i) -= L(below i, panel) L(i, panel)^T
 *
 * The error is |A - L L^T|_F / |A|_F in FP64, all of it. */
#include "apps/app.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accuracy/families.h"
#include "apps/app_kernels.h"
#include "io/progress.h"
#include "io/threads.h"

enum { SOLVE, PANEL, DIAGONAL, UPDATE, SITES, PIXELS = 64, N_MOST = 65536, SAMPLE = 512 };

struct cholesky {
    int64_t n, block;
    float *a, *s, *l, *inverse;
    double *square, *sum; /* residual, a number for each thread, then for each tile */
    int *failed;
    double norm; /* |A|_F */
};

/* ---- the matrix ---- */

struct patches {
    float *pixel; /* n x PIXELS, row-major */
    int64_t n;
    double scale; /* 1 / mean squared distance */
    float diagonal, *a;
};

/* Like patches of a photograph: a brightness, a slope in either direction, and noise. */
static void make_patches(struct patches *p) {
    for (int64_t i = 0; i < p->n; i++)
        for (int j = 0; j < PIXELS; j++) {
            double u[4];
            for (int c = 0; c < 4; c++)
                u[c] = family_uniform(family_bits(1, (uint64_t)c, (uint64_t)i, c < 3 ? 0 : (uint64_t)j));
            p->pixel[i * PIXELS + j] =
                (float)(u[0] + (u[1] - 0.5) * (j % 8 - 3.5) / 8 + (u[2] - 0.5) * (j / 8 - 3.5) / 8 + 0.1 * (u[3] - 0.5));
        }
}

static double distance(const float *x, const float *y) {
    float sum[8] = {0};
    for (int j = 0; j < PIXELS; j += 8)
        for (int c = 0; c < 8; c++)
            sum[c] += (x[j + c] - y[j + c]) * (x[j + c] - y[j + c]);
    return (double)((sum[0] + sum[1]) + (sum[2] + sum[3]) + ((sum[4] + sum[5]) + (sum[6] + sum[7])));
}

static double scale_of(const struct patches *p) {
    const int64_t step = p->n > SAMPLE ? p->n / SAMPLE : 1;
    double sum = 0;
    int64_t count = 0;
    for (int64_t i = 0; i < p->n; i += step)
        for (int64_t j = 0; j < i; j += step, count++)
            sum += distance(&p->pixel[i * PIXELS], &p->pixel[j * PIXELS]);
    return sum > 0 ? (double)count / sum : 1;
}

static int fill_columns(void *context, int64_t first, int64_t last) {
    const struct patches *const p = context;
    for (int64_t j = first; j < last; j++)
        for (int64_t i = 0; i < p->n; i++) {
            const double d = distance(&p->pixel[i * PIXELS], &p->pixel[j * PIXELS]);
            p->a[i + j * p->n] = (float)exp(-p->scale * d) + (i == j ? p->diagonal : 0);
        }
    return 0;
}

static int read_patches(const struct app_options *o, struct patches *p, struct cli_error *f) {
    struct npy_matrix m = {0};
    if (app_read(o->data, "patches.npy", p->n, PIXELS, &m, f) != 0)
        return -1;
    for (int64_t i = 0; i < p->n; i++)
        for (int64_t j = 0; j < PIXELS; j++)
            p->pixel[i * PIXELS + j] = m.data[m.column_major ? j * m.rows + i : i * m.cols + j];
    npy_free(&m);
    return 0;
}

static double norm_of(const float *a, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (double)a[i] * (double)a[i];
    return sqrt(sum);
}

static int fill_matrix(struct cholesky *c, const struct app_options *o, struct cli_error *f) {
    const double bytes = (double)c->n * (double)c->n * 4;
    struct patches p = {.n = c->n, .diagonal = (float)(o->diagonal > 0 ? o->diagonal : 1)};
    p.pixel = malloc((size_t)c->n * PIXELS * sizeof *p.pixel);
    p.a = malloc((size_t)bytes);
    int status = p.pixel != NULL && p.a != NULL ? 0 : cli_error_memory(f, bytes, "the matrix");
    if (status == 0 && o->data == NULL)
        make_patches(&p);
    else if (status == 0)
        status = read_patches(o, &p, f);
    if (status == 0) {
        p.scale = scale_of(&p);
        (void)threads_run(threads_count(0, c->n, c->n * c->n * PIXELS), c->n, fill_columns, &p);
        c->norm = norm_of(p.a, c->n * c->n);
        status = session_device_check(ht_dev_upload(c->a, p.a, (size_t)bytes), "copy to the device", f);
    }
    free(p.pixel);
    free(p.a);
    return status;
}

/* ---- open and close ---- */

static int64_t tiles_of(const struct cholesky *c) {
    const int64_t side = c->n / RESIDUAL_TILE;
    return side * (side + 1) / 2;
}

static int allocate(struct cholesky *c, struct cli_error *f) {
    const double bytes = (double)c->n * (double)c->n * 4, tiles = (double)tiles_of(c);
    if (app_alloc(&c->a, bytes, f) != 0 || app_alloc(&c->s, bytes, f) != 0 || app_alloc(&c->l, bytes, f) != 0 ||
        app_alloc(&c->inverse, FACTOR_BLOCK * FACTOR_BLOCK * 4, f) != 0 || app_alloc(&c->failed, 4, f) != 0 ||
        app_alloc(&c->square, tiles * (double)APP_THREADS * 8, f) != 0)
        return -1;
    return app_alloc(&c->sum, tiles * 8, f);
}

static void close_cholesky(void *state) {
    struct cholesky *const c = state;
    if (c == NULL)
        return;
    void *const memory[] = {c->a, c->s, c->l, c->inverse, c->failed, c->square, c->sum};
    for (size_t i = 0; i < sizeof memory / sizeof memory[0]; i++)
        (void)ht_dev_free(memory[i]);
    free(c);
}

static int open_cholesky(const struct app_options *o, void **state, char text[APP_TEXT], struct cli_error *f) {
    struct cholesky *const c = calloc(1, sizeof *c);
    *state = NULL;
    if (c == NULL)
        return cli_error_memory(f, sizeof *c, "a program");
    c->n = o->n > 0 ? o->n : 256;
    c->block = o->block > 0 ? o->block : c->n >= 8192 ? 1024 : c->n >= 4096 ? 512 : 128;
    int status = app_factor != NULL ? 0 : cli_error_set(f, "builds for AMD have no kernel that factors a block; use the simulator's build");
    if (status == 0 && (c->n % FACTOR_BLOCK != 0 || c->block % FACTOR_BLOCK != 0 || c->n > N_MOST))
        status = cli_error_usage(f, "--n and --block must be multiples of %d, n at most %d", FACTOR_BLOCK, N_MOST);
    AND_THEN(status, allocate(c, f));
    AND_THEN(status, fill_matrix(c, o, f));
    if (status != 0) {
        close_cholesky(c);
        return -1;
    }
    snprintf(text, APP_TEXT, "n %lld, panels of %lld, RBF kernel of %s, diagonal %g", (long long)c->n, (long long)c->block,
             o->data == NULL ? "synthetic patches" : "image patches of --data", o->diagonal > 0 ? o->diagonal : 1);
    *state = c;
    return 0;
}

/* ---- a run ---- */

static float *at(float *matrix, const struct cholesky *c, int64_t row, int64_t column) {
    return matrix + row + column * c->n;
}

static int call(struct products *p, int site, const struct product *x, struct app_run *out, struct cli_error *f) {
    out->flop += 2.0 * (double)x->m * (double)x->n * (double)x->k;
    return products_call(p, site, x, f);
}

/* S(rows, columns) -= L(rows, k) L(columns, k)^T, k: columns of L from `from` on. */
static int subtract(struct cholesky *c, struct products *p, int site, int64_t row, int64_t rows, int64_t column, int64_t columns,
                    int64_t from, int64_t k, struct app_run *out, struct cli_error *f) {
    const struct product x = {'N', 'T', rows, columns, k, -1, at(c->l, c, row, from), c->n, at(c->l, c, column, from), c->n,
                              1, at(c->s, c, row, column), c->n};
    return call(p, site, &x, out, f);
}

/* Columns [first, last). */
static int factor_panel(struct cholesky *c, struct products *p, int64_t first, int64_t last, struct app_run *out, struct cli_error *f) {
    const int n = (int)c->n;
    for (int64_t j = first; j < last; j += FACTOR_BLOCK) {
        const int64_t below = j + FACTOR_BLOCK;
        const struct factor_args args = {at(c->s, c, j, j), at(c->l, c, j, j), c->inverse, n, (int)j, c->failed};
        const struct product solve = {'N', 'T', c->n - below, FACTOR_BLOCK, FACTOR_BLOCK, 1, at(c->s, c, below, j), n, c->inverse,
                                      FACTOR_BLOCK, 0, at(c->l, c, below, j), n};
        if (app_launched(app_factor(&args), "factoring a block", f) != 0)
            return -1;
        if (below < n && call(p, SOLVE, &solve, out, f) != 0)
            return -1;
        if (below < last && subtract(c, p, PANEL, below, c->n - below, below, last - below, j, FACTOR_BLOCK, out, f) != 0)
            return -1;
    }
    return 0;
}

static int factor_matrix(struct cholesky *c, struct products *p, struct app_run *out, struct cli_error *f) {
    for (int64_t first = 0; first < c->n; first += c->block) {
        const int64_t last = first + c->block < c->n ? first + c->block : c->n;
        if (factor_panel(c, p, first, last, out, f) != 0)
            return -1;
        for (int64_t i = last; i < c->n; i += c->block) {
            const int64_t end = i + c->block < c->n ? i + c->block : c->n;
            if (subtract(c, p, DIAGONAL, i, end - i, i, end - i, first, last - first, out, f) != 0)
                return -1;
            if (end < c->n && subtract(c, p, UPDATE, end, c->n - end, i, end - i, first, last - first, out, f) != 0)
                return -1;
        }
    }
    return 0;
}

static int measure_error(struct cholesky *c, struct app_run *out, struct cli_error *f) {
    const int64_t tiles = tiles_of(c);
    const struct residual_args residual = {c->a, c->l, (int)c->n, c->square};
    const struct fold_args fold = {c->square, c->sum, (int)tiles, APP_THREADS};
    double *const sum = malloc((size_t)tiles * sizeof *sum), total = 0;
    int status = sum != NULL ? 0 : cli_error_memory(f, (double)tiles * 8, "a residual");
    AND_THEN(status, app_launched(app_residual(&residual), "the residual", f));
    AND_THEN(status, app_launched(app_fold(&fold), "the residual's sum", f));
    if (status == 0 && session_wait(f) == 0)
        status = session_device_check(ht_dev_download(sum, c->sum, (size_t)tiles * sizeof *sum), "copy from the device", f);
    for (int64_t i = 0; i < tiles && status == 0; i++)
        total += sum[i];
    out->error = sqrt(total) / c->norm;
    free(sum);
    return status;
}

static int prepare(struct cholesky *c, struct cli_error *f) {
    const size_t bytes = (size_t)(c->n * c->n) * sizeof(float);
    const struct copy_args copy = {c->a, c->s, c->n * c->n};
    if (app_launched(app_copy(&copy), "a copy", f) != 0 ||
        session_device_check(ht_dev_memset_async(c->l, 0, bytes, NULL), "clearing L", f) != 0 ||
        session_device_check(ht_dev_memset_async(c->failed, 0, sizeof(int), NULL), "clearing a flag", f) != 0)
        return -1;
    return session_wait(f);
}

static int run_cholesky(void *state, struct products *p, struct app_run *out, int digest, struct cli_error *f) {
    struct cholesky *const c = state;
    int failed = 0;
    memset(out, 0, sizeof *out);
    if (prepare(c, f) != 0)
        return -1;
    const double start = progress_clock();
    if (factor_matrix(c, p, out, f) != 0 || products_finish(p, f) != 0)
        return -1;
    out->other_seconds = p->simulated ? 0 : progress_clock() - start;
    if (session_device_check(ht_dev_download(&failed, c->failed, sizeof failed), "copy from the device", f) != 0)
        return -1;
    if (failed != 0) { /* too low a level: what is left is not positive definite, no L, so no error is small enough */
        out->error = INFINITY;
        return 0;
    }
    if (measure_error(c, out, f) != 0)
        return -1;
    out->digest = 0xcbf29ce484222325u;
    return digest ? app_digest(c->l, (size_t)(c->n * c->n) * sizeof(float), &out->digest, f) : 0;
}

static int result_cholesky(void *state, struct npy_matrix *out, struct cli_error *f) {
    const struct cholesky *const c = state;
    return app_download(c->l, c->n, c->n, out, f);
}

static const char *const sites[SITES] = {"solve", "panel", "diagonal", "update"};

const struct app app_cholesky = {"cholesky", "tiled Cholesky factorization, four product sites", "|A - LL'|_F / |A|_F", sites, SITES,
                                 open_cholesky, run_cholesky, result_cholesky, close_cholesky};
