/* mlp: a perceptron of three layers, H = relu(W H + b), the last without relu; columns are samples. Sites: layer1, layer2, layer3.
 * Synthetic: n x n throughout, weights normal with variance 2 / n (He et al. 2015), inputs uniform in [0, 1), all from one seed. With
 * --data: the digits of app_data.py and the weights that it trained.
 *
 * The error is |H3 - R|_F / |R|_F over sampled columns (samples do not depend on one another), R from the same weights in FP64;
 * a sample's class is its largest output. */
#include "apps/app.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "accuracy/families.h"
#include "apps/app_kernels.h"
#include "io/progress.h"
#include "io/threads.h"

enum { LAYERS = 3, N_MOST = 32768 };
#define REFERENCE_FMA 2e10 /* more samples are not looked at */

struct mlp {
    int64_t batch, width[LAYERS + 1], looked_at;
    float *w[LAYERS], *bias[LAYERS], *h[LAYERS + 1];
    double *truth; /* host, width[LAYERS] x looked_at */
};

/* ---- data ---- */

struct fill {
    uint64_t stream;
    int64_t rows;
    int is_normal;
    double scale;
    float *to;
};

static int fill_columns(void *context, int64_t first, int64_t last) {
    const struct fill *const t = context;
    for (int64_t j = first; j < last; j++)
        for (int64_t i = 0; i < t->rows; i++) {
            const double u = family_uniform(family_bits(2, t->stream, (uint64_t)i, (uint64_t)j));
            const double v = t->is_normal ? family_uniform(family_bits(3, t->stream, (uint64_t)i, (uint64_t)j)) : 0;
            t->to[i + j * t->rows] = (float)(t->scale * (t->is_normal ? sqrt(-2 * log(1 - u)) * cos(6.283185307179586 * v) : u));
        }
    return 0;
}

/* A device matrix, rows x cols, from `host`, which goes. */
static int upload(float **to, float *host, int64_t count, struct cli_error *f) {
    int status = host != NULL ? app_alloc(to, (double)count * 4, f) : cli_error_memory(f, (double)count * 4, "a matrix");
    AND_THEN(status, session_device_check(ht_dev_upload(*to, host, (size_t)count * sizeof *host), "copy to the device", f));
    free(host);
    return status;
}

static int make_matrix(float **to, uint64_t stream, int64_t rows, int64_t cols, int is_normal, double scale, struct cli_error *f) {
    struct fill t = {stream, rows, is_normal, scale, malloc((size_t)(rows * cols) * sizeof(float))};
    if (t.to != NULL)
        (void)threads_run(threads_count(0, cols, 30 * rows * cols), cols, fill_columns, &t);
    return upload(to, t.to, rows * cols, f);
}

static int make_data(struct mlp *m, int64_t n, struct cli_error *f) {
    m->batch = n;
    for (int i = 0; i <= LAYERS; i++)
        m->width[i] = n;
    if (make_matrix(&m->h[0], 100, n, n, 0, 1, f) != 0)
        return -1;
    for (int i = 0; i < LAYERS; i++)
        if (make_matrix(&m->w[i], (uint64_t)i, n, n, 1, sqrt(2.0 / (double)n), f) != 0 ||
            make_matrix(&m->bias[i], 50 + (uint64_t)i, n, 1, 1, 0.01, f) != 0)
            return -1;
    return 0;
}

/* File `name`, row-major rows x cols, which is column-major cols x rows; *cols 0: it says how many. `rows` 0: as many as it has. */
static int read_matrix(const char *data, const char *name, int64_t *rows, int64_t *cols, float **to, struct cli_error *f) {
    struct npy_matrix x = {0};
    if (app_read(data, name, *rows > 0 ? *rows : 1, *cols, &x, f) != 0)
        return -1;
    *rows = *rows > 0 ? *rows : x.rows;
    *cols = x.cols;
    const int64_t count = *rows * *cols;
    float *const host = malloc((size_t)count * sizeof *host);
    for (int64_t i = 0; i < *rows && host != NULL; i++)
        for (int64_t j = 0; j < *cols; j++)
            host[i * *cols + j] = x.data[x.column_major ? j * x.rows + i : i * x.cols + j];
    npy_free(&x);
    return upload(to, host, count, f);
}

/* digits.npy: a sample a row. wN.npy: row k has what input k gives to each output. bN.npy: one row. */
static int read_data(struct mlp *m, const char *data, struct cli_error *f) {
    char name[32];
    if (read_matrix(data, "digits.npy", &m->batch, &m->width[0], &m->h[0], f) != 0)
        return -1;
    for (int i = 0; i < LAYERS; i++) {
        int64_t one = 1;
        snprintf(name, sizeof name, "w%d.npy", i + 1);
        if (read_matrix(data, name, &m->width[i], &m->width[i + 1], &m->w[i], f) != 0)
            return -1;
        snprintf(name, sizeof name, "b%d.npy", i + 1);
        if (read_matrix(data, name, &one, &m->width[i + 1], &m->bias[i], f) != 0)
            return -1;
    }
    return 0;
}

/* ---- the reference ---- */

/* *layer: the first `looked_at` columns of h[0] in FP64, on the device. */
static int open_input(struct mlp *m, double **layer, struct cli_error *f) {
    const size_t count = (size_t)(m->width[0] * m->looked_at);
    float *const single = malloc(count * sizeof *single);
    double *const wide = malloc(count * sizeof *wide);
    int status = single != NULL && wide != NULL ? app_alloc(layer, (double)count * 8, f) : cli_error_memory(f, (double)count * 12, "a reference");
    AND_THEN(status, session_device_check(ht_dev_download(single, m->h[0], count * sizeof *single), "copy from the device", f));
    for (size_t i = 0; i < count && status == 0; i++)
        wide[i] = (double)single[i];
    AND_THEN(status, session_device_check(ht_dev_upload(*layer, wide, count * sizeof *wide), "copy to the device", f));
    free(single);
    free(wide);
    return status;
}

static int make_reference(struct mlp *m, struct cli_error *f) {
    double *layer[LAYERS + 1] = {NULL}, fma = 0;
    for (int i = 0; i < LAYERS; i++)
        fma += (double)m->width[i] * (double)m->width[i + 1];
    m->looked_at = fma * (double)m->batch > REFERENCE_FMA ? (int64_t)(REFERENCE_FMA / fma) : m->batch;
    int status = open_input(m, &layer[0], f);
    for (int i = 0; i < LAYERS && status == 0; i++) {
        status = app_alloc(&layer[i + 1], (double)(m->width[i + 1] * m->looked_at) * 8, f);
        const struct layer_args args = {m->w[i], m->bias[i], layer[i], layer[i + 1], (int)m->width[i + 1], (int)m->width[i],
                                        (int)m->looked_at, i + 1 < LAYERS};
        AND_THEN(status, app_launched(app_layer(&args), "the reference", f));
    }
    const size_t bytes = (size_t)(m->width[LAYERS] * m->looked_at) * sizeof *m->truth;
    if (status == 0 && (m->truth = malloc(bytes)) == NULL)
        status = cli_error_memory(f, (double)bytes, "a reference");
    if (status == 0 && session_wait(f) == 0)
        status = session_device_check(ht_dev_download(m->truth, layer[LAYERS], bytes), "copy from the device", f);
    for (int i = 0; i <= LAYERS; i++)
        (void)ht_dev_free(layer[i]);
    return status;
}

/* ---- open and close ---- */

static void close_mlp(void *state) {
    struct mlp *const m = state;
    if (m == NULL)
        return;
    for (int i = 0; i <= LAYERS; i++)
        (void)ht_dev_free(m->h[i]);
    for (int i = 0; i < LAYERS; i++) {
        (void)ht_dev_free(m->w[i]);
        (void)ht_dev_free(m->bias[i]);
    }
    free(m->truth);
    free(m);
}

static int open_layers(struct mlp *m, const struct app_options *o, struct cli_error *f) {
    if ((o->data != NULL ? read_data(m, o->data, f) : make_data(m, o->n > 0 ? o->n : 96, f)) != 0)
        return -1;
    for (int i = 1; i <= LAYERS; i++)
        if (app_alloc(&m->h[i], (double)(m->width[i] * m->batch) * 4, f) != 0)
            return -1;
    return make_reference(m, f);
}

static int open_mlp(const struct app_options *o, void **state, char text[APP_TEXT], struct cli_error *f) {
    *state = NULL;
    if (app_layer == NULL)
        return cli_error_set(f, "builds for AMD have no kernel that adds a bias; use the simulator's build");
    if (o->data != NULL && o->n > 0)
        return cli_error_usage(f, "--n and --data exclude each other: the folder says how large the layers are");
    if (o->n > N_MOST || o->block > 0 || o->diagonal > 0)
        return cli_error_usage(f, "mlp takes --n up to %d or --data, and neither --block nor --diagonal", N_MOST);
    struct mlp *const m = calloc(1, sizeof *m);
    if (m == NULL)
        return cli_error_memory(f, sizeof *m, "a program");
    if (open_layers(m, o, f) != 0) {
        close_mlp(m);
        return -1;
    }
    snprintf(text, APP_TEXT, "%lld samples, widths %lld %lld %lld %lld, %s", (long long)m->batch, (long long)m->width[0], (long long)m->width[1],
             (long long)m->width[2], (long long)m->width[3], o->data == NULL ? "synthetic weights and inputs" : "digits and weights of --data");
    *state = m;
    return 0;
}

/* ---- a run ---- */

static int run_layers(struct mlp *m, struct products *p, struct app_run *out, struct cli_error *f) {
    for (int i = 0; i < LAYERS; i++) {
        const int64_t rows = m->width[i + 1], k = m->width[i];
        const struct product x = {'N', 'N', rows, m->batch, k, 1, m->w[i], rows, m->h[i], k, 0, m->h[i + 1], rows};
        const struct bias_args bias = {m->h[i + 1], m->bias[i], (int)rows, i + 1 < LAYERS, rows * m->batch};
        out->flop += 2.0 * (double)rows * (double)m->batch * (double)k;
        if (products_call(p, i, &x, f) != 0 || app_launched(app_bias(&bias), "a layer's bias", f) != 0)
            return -1;
    }
    return 0;
}

static int64_t class_of(const double *column, int64_t rows) {
    int64_t best = 0;
    for (int64_t i = 1; i < rows; i++)
        best = column[i] > column[best] ? i : best;
    return best;
}

static int compare(struct mlp *m, struct app_run *out, struct cli_error *f) {
    const int64_t rows = m->width[LAYERS], count = rows * m->looked_at;
    float *const h = malloc((size_t)count * sizeof *h);
    double *const column = malloc((size_t)rows * sizeof *column), error = 0, norm = 0;
    int status = h != NULL && column != NULL ? 0 : cli_error_memory(f, (double)count * 4, "the outputs");
    AND_THEN(status, session_device_check(ht_dev_download(h, m->h[LAYERS], (size_t)count * sizeof *h), "copy from the device", f));
    out->compared = m->looked_at;
    for (int64_t j = 0; j < m->looked_at && status == 0; j++) {
        const double *const truth = m->truth + j * rows;
        for (int64_t i = 0; i < rows; i++) {
            column[i] = (double)h[i + j * rows];
            error += (column[i] - truth[i]) * (column[i] - truth[i]);
            norm += truth[i] * truth[i];
        }
        out->changed += class_of(column, rows) != class_of(truth, rows);
    }
    out->error = sqrt(error / norm);
    free(h);
    free(column);
    return status;
}

static int run_mlp(void *state, struct products *p, struct app_run *out, int digest, struct cli_error *f) {
    struct mlp *const m = state;
    memset(out, 0, sizeof *out);
    const double start = progress_clock();
    if (run_layers(m, p, out, f) != 0 || products_finish(p, f) != 0)
        return -1;
    out->other_seconds = p->simulated ? 0 : progress_clock() - start;
    if (compare(m, out, f) != 0)
        return -1;
    out->digest = 0xcbf29ce484222325u;
    return digest ? app_digest(m->h[LAYERS], (size_t)(m->width[LAYERS] * m->batch) * sizeof(float), &out->digest, f) : 0;
}

static int result_mlp(void *state, struct npy_matrix *out, struct cli_error *f) {
    const struct mlp *const m = state;
    return app_download(m->h[LAYERS], m->width[LAYERS], m->batch, out, f);
}

static const char *const sites[LAYERS] = {"layer1", "layer2", "layer3"};

const struct app app_mlp = {"mlp", "perceptron of three layers, three product sites", "|H - R|_F / |R|_F, R in FP64", sites, LAYERS,
                            open_mlp, run_mlp, result_mlp, close_mlp};
