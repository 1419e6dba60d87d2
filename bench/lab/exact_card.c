/* exact_card WHAT [N]: accuracy fp64-exact on this machine's GPU. check: every family at 256 x 256 x 256, all elements against
 * exact_sum.h; replay: a graph of a product whose data then are others; sample: 100,000 elements at 4096; time: at 1024 to 8192, or N, beside cuBLAS DGEMM, native64, crt15, crt20 and accuracy fp64; small: one odd product, for
 * compute-sanitizer. Rows of a table, a line each; exit 1 where a bit is wrong. Built by bench/lab/run exact. */
#include <cublas_v2.h>
#include <cuda_runtime_api.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../tests/kernels/exact_families.h"
#include "../../tests/kernels/exact_sum.h"
#include "halftone.h"

enum { THREADS = 16, SAMPLES = 100000 };

static halftone *library;

static void must(int code, const char *what) {
    if (code == 0)
        return;
    fprintf(stderr, "exact_card: %s: %d: %s\n", what, code, library != NULL ? halftone_last_detail(library) : "");
    exit(2);
}

struct product {
    const char *family;
    char ta, tb;
    int m, n, k;
    double alpha, beta;
    double *a, *b, *c, *got; /* on the host */
    void *da, *db, *dc;
    long long checked; /* elements, all or spread over C */
};

/* A share of a piece of work. */
struct share {
    struct product *p;
    int thread;
    long long wrong;
};

static void in_threads(struct product *p, void *(*work)(void *), struct share *shares) {
    pthread_t thread[THREADS];
    for (int i = 0; i < THREADS; i++) {
        shares[i] = (struct share){p, i, 0};
        must(pthread_create(&thread[i], NULL, work, &shares[i]), "thread");
    }
    for (int i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
}

/* Element (row, k) of A, or of B by columns; without padding. */
static double *place(const struct product *p, int is_a, int64_t row, int64_t k) {
    const int k_contiguous = is_a ? p->ta != 'N' : p->tb == 'N';
    const int64_t rows = is_a ? p->m : p->n;
    return (is_a ? p->a : p->b) + (k_contiguous ? row * p->k + k : k * rows + row);
}

static void *fill(void *argument) {
    const struct share *const s = argument;
    struct product *const p = s->p;
    random_state = (uint64_t)s->thread * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (int is_a = 0; is_a < 2; is_a++)
        for (int row = s->thread; row < (is_a ? p->m : p->n); row += THREADS)
            for (int k = 0; k < p->k; k++)
                *place(p, is_a, row, k) = exact_element(p->family, is_a ? 'A' : 'B', row, k, p->k);
    for (int64_t i = s->thread; i < (int64_t)p->m * p->n; i += THREADS)
        p->c[i] = random_uniform();
    return NULL;
}

static void *verify(void *argument) {
    struct share *const s = argument;
    const struct product *const p = s->p;
    const int64_t all = (int64_t)p->m * p->n, step_a = p->ta != 'N' ? 1 : p->m, step_b = p->tb == 'N' ? 1 : p->n;
    for (int64_t i = s->thread; i < p->checked; i += THREADS) {
        const int64_t at = p->checked == all ? i : (int64_t)((uint64_t)i * UINT64_C(0x9e3779b97f4a7c15) % (uint64_t)all);
        const double expected = exact_dot_product(p->k, p->alpha, place(p, 1, at % p->m, 0), step_a, place(p, 0, at / p->m, 0), step_b,
                                                  p->beta, p->c[at]);
        if (isnan(expected) ? !isnan(p->got[at]) : memcmp(&p->got[at], &expected, sizeof expected) != 0)
            s->wrong++;
    }
    return NULL;
}

static void *on_device(const double *x, size_t count) {
    void *p;
    must((int)cudaMalloc(&p, count * sizeof *x), "memory");
    must((int)cudaMemcpy(p, x, count * sizeof *x, cudaMemcpyHostToDevice), "copy");
    return p;
}

static void open_product(struct product *p) {
    struct share shares[THREADS];
    const size_t a = (size_t)p->m * (size_t)p->k, b = (size_t)p->n * (size_t)p->k, c = (size_t)p->m * (size_t)p->n;
    p->a = malloc(a * sizeof(double));
    p->b = malloc(b * sizeof(double));
    p->c = malloc(c * sizeof(double));
    p->got = malloc(c * sizeof(double));
    must(!p->a || !p->b || !p->c || !p->got, "memory");
    in_threads(p, fill, shares);
    p->da = on_device(p->a, a);
    p->db = on_device(p->b, b);
    p->dc = on_device(p->c, c);
}

static void close_product(struct product *p) {
    free(p->a);
    free(p->b);
    free(p->c);
    free(p->got);
    cudaFree(p->da);
    cudaFree(p->db);
    cudaFree(p->dc);
}

static void multiply(const struct product *p) {
    must(halftone_dgemm(library, p->ta, p->tb, p->m, p->n, p->k, &p->alpha, p->da, p->ta == 'N' ? p->m : p->k, p->db,
                        p->tb == 'N' ? p->k : p->n, &p->beta, p->dc, p->m),
         p->family);
}

/* How many of the checked elements of C are wrong. */
static long long count_wrong(struct product p) {
    struct share shares[THREADS];
    long long wrong = 0;
    must((int)cudaMemcpy(p.got, p.dc, (size_t)p.m * (size_t)p.n * sizeof(double), cudaMemcpyDeviceToHost), "copy");
    p.checked = p.checked > 0 ? p.checked : (long long)p.m * p.n;
    in_threads(&p, verify, shares);
    for (int i = 0; i < THREADS; i++)
        wrong += shares[i].wrong;
    printf("%s\t%c%c\t%d\t%d\t%d\t%g\t%g\t%lld\t%lld\n", p.family, p.ta, p.tb, p.m, p.n, p.k, p.alpha, p.beta, p.checked, wrong);
    fflush(stdout);
    return wrong;
}

static long long check(struct product p) {
    open_product(&p);
    multiply(&p);
    const long long wrong = count_wrong(p);
    close_product(&p);
    return wrong;
}

/* One graph, replayed with other data in the same memory, which take other numbers of moduli. */
static long long check_replays(void) {
    static const char *const families[] = {"integers", "phi2", "single", "uniform"};
    struct product p = {.family = "fixed", .ta = 'N', .tb = 'N', .m = 256, .n = 192, .k = 700, .alpha = 1};
    const size_t a = (size_t)p.m * (size_t)p.k, b = (size_t)p.n * (size_t)p.k;
    struct share shares[THREADS];
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t replay;
    open_product(&p);
    multiply(&p);
    long long wrong = count_wrong(p);
    must((int)cudaStreamCreate(&stream), "stream");
    must(halftone_set_stream(library, stream), "stream");
    must((int)cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
    multiply(&p);
    must((int)cudaStreamEndCapture(stream, &graph), "capture");
    must((int)cudaGraphInstantiate(&replay, graph, 0), "graph");
    for (size_t i = 0; i < sizeof families / sizeof *families; i++) {
        p.family = families[i];
        in_threads(&p, fill, shares);
        must((int)cudaMemcpy(p.da, p.a, a * sizeof(double), cudaMemcpyHostToDevice), "copy");
        must((int)cudaMemcpy(p.db, p.b, b * sizeof(double), cudaMemcpyHostToDevice), "copy");
        must((int)cudaGraphLaunch(replay, stream), "replay");
        must((int)cudaStreamSynchronize(stream), "replay");
        wrong += count_wrong(p);
    }
    must(halftone_set_stream(library, NULL), "stream");
    close_product(&p);
    return wrong;
}

static double milliseconds(void (*call)(void *), void *with) {
    cudaEvent_t begin, end;
    float ms = 0;
    must((int)cudaEventCreate(&begin), "event");
    must((int)cudaEventCreate(&end), "event");
    call(with);
    for (int times = 1;; times *= 2) {
        cudaEventRecord(begin, NULL);
        for (int i = 0; i < times; i++)
            call(with);
        cudaEventRecord(end, NULL);
        must((int)cudaEventSynchronize(end), "time");
        cudaEventElapsedTime(&ms, begin, end);
        if (ms > 80) {
            cudaEventDestroy(begin);
            cudaEventDestroy(end);
            return ms / (float)times;
        }
    }
}

static cublasHandle_t blas;

static void by_cublas(void *with) {
    const struct product *const p = with;
    must((int)cublasDgemm(blas, CUBLAS_OP_N, CUBLAS_OP_N, p->m, p->n, p->k, &p->alpha, p->da, p->m, p->db, p->k, &p->beta, p->dc, p->m), "cuBLAS");
}

static void by_halftone(void *with) {
    multiply(with);
}

static void time_all(const char *family, int n) {
    static const char *const schemes[] = {"native64", "crt15", "crt20"};
    struct product p = {.family = family, .ta = 'N', .tb = 'N', .m = n, .n = n, .k = n, .alpha = 1};
    const double flops = 2.0 * n * n * n * 1e-9;
    open_product(&p);
    must((int)cublasCreate(&blas), "cuBLAS");
    const double dgemm = milliseconds(by_cublas, &p);
    printf("%s\t%d\tcublas-dgemm\t%.4f\t%.2f\n", family, n, dgemm, flops / dgemm);
    for (size_t i = 0; i < sizeof schemes / sizeof *schemes; i++) {
        must(halftone_set_scheme(library, schemes[i]), schemes[i]);
        const double ms = milliseconds(by_halftone, &p);
        printf("%s\t%d\t%s\t%.4f\t%.2f\n", family, n, schemes[i], ms, flops / ms);
    }
    static const char *const accuracies[] = {"fp64", "fp64-exact"};
    for (size_t i = 0; i < sizeof accuracies / sizeof *accuracies; i++) {
        must(halftone_set_accuracy(library, accuracies[i]), accuracies[i]);
        const double ms = milliseconds(by_halftone, &p);
        printf("%s\t%d\t%s\t%.4f\t%.2f\n", family, n, accuracies[i], ms, flops / ms);
    }
    fflush(stdout);
    cublasDestroy(blas);
    close_product(&p);
}

static long long check_all(void) {
    long long wrong = 0;
    for (size_t i = 0; i < sizeof exact_families / sizeof *exact_families; i++) {
        struct product p = {.family = exact_families[i], .ta = i % 2 ? 'T' : 'N', .tb = i % 3 ? 'N' : 'T', .m = 256, .n = 256, .k = 256, .alpha = 1};
        wrong += check(p);
        p.k = 255;
        p.alpha = -0.3;
        p.beta = 1.7;
        wrong += check(p);
    }
    wrong += check((struct product){.family = "phi4", .ta = 'N', .tb = 'N', .m = 64, .n = 64, .k = 200001, .alpha = 1});
    return wrong + check((struct product){.family = "scaled", .ta = 'T', .tb = 'N', .m = 32, .n = 32, .k = 131072, .alpha = 1});
}

int main(int argc, char **argv) {
    const char *const what = argc > 1 ? argv[1] : "";
    long long wrong = 0;
    must(halftone_create(&library), "library");
    must(halftone_set_accuracy(library, "fp64-exact"), "fp64-exact");
    if (strcmp(what, "check") == 0 || strcmp(what, "sample") == 0 || strcmp(what, "replay") == 0)
        printf("family\ttransposes\tm\tn\tk\talpha\tbeta\tchecked\twrong\n");
    if (strcmp(what, "small") == 0)
        wrong = check((struct product){.family = "phi4", .ta = 'N', .tb = 'T', .m = 70, .n = 130, .k = 77, .alpha = 1}) +
                check((struct product){.family = "everything", .ta = 'T', .tb = 'N', .m = 40, .n = 50, .k = 130, .alpha = 0.3, .beta = -2});
    if (strcmp(what, "check") == 0)
        wrong = check_all();
    if (strcmp(what, "replay") == 0)
        wrong = check_replays();
    for (int i = 0; i < 8 && strcmp(what, "sample") == 0; i++) {
        static const char *const families[] = {"uniform", "phi1", "phi2", "phi4", "scaled", "integers", "fixed", "single"};
        wrong += check((struct product){.family = families[i], .ta = 'N', .tb = 'N', .m = 4096, .n = 4096, .k = 4096, .alpha = 1, .checked = SAMPLES});
    }
    if (strcmp(what, "time") == 0) {
        static const char *const families[] = {"uniform", "fixed", "single", "integers", "phi1", "phi2", "phi4"};
        printf("family\tn\tmethod\tms\ttflops\n");
        for (int n = argc > 2 ? atoi(argv[2]) : 1024; n <= (argc > 2 ? atoi(argv[2]) : 8192); n *= 2)
            for (int i = 0; i < (n == 4096 ? 7 : 6); i++)
                time_all(families[i], n);
    }
    halftone_destroy(library);
    return wrong != 0;
}
