// fp64_auto: FP64's default accuracy beside cuBLAS DGEMM, residues by name and native64 on data of several kinds: TFLOPS, sustained, of each, the share
// of C that residues keep, and errors of 64 x 64 elements against sums in twice the precision, in 2^-53 |A||B|.
// Built by bench/lab/run fp64-auto.
#include <cublas_v2.h>
#include "fp64_study.cuh"
#include "halftone.h"

// counts: [0] bits of x, [1] of y, [2] of neither
static __global__ void whose(const double *c, const double *x, const double *y, long long count, unsigned long long *counts) {
    unsigned long long own[3] = {0, 0, 0};
    for (long long i = blockIdx.x * 256ll + threadIdx.x; i < count; i += gridDim.x * 256ll) {
        const long long bits = __double_as_longlong(c[i]);
        own[bits == __double_as_longlong(x[i]) ? 0 : bits == __double_as_longlong(y[i]) ? 1 : 2]++;
    }
    for (int i = 0; i < 3; i++)
        atomicAdd(&counts[i], own[i]);
}

struct bench {
    int n;
    double *a, *b, *c[4];
    cublasHandle_t blas;
    halftone *h;
    truth64 truth;
};

static void multiply(bench &x, int method) {
    const double one = 1, zero = 0;
    if (method == 0)
        CHECK(cublasDgemm(x.blas, CUBLAS_OP_N, CUBLAS_OP_N, x.n, x.n, x.n, &one, x.a, x.n, x.b, x.n, &zero, x.c[0], x.n));
    else
        CHECK(halftone_dgemm(x.h, 'N', 'N', x.n, x.n, x.n, &one, x.a, x.n, x.b, x.n, &zero, x.c[method], x.n));
}

// A captured call, replayed twice on other data between: its bits beside those of a call.
static void capture(bench &x) {
    cudaStream_t stream;
    cudaGraph_t graph;
    cudaGraphExec_t exec;
    unsigned long long *counts, host[3];
    CHECK(cudaStreamCreate(&stream));
    CHECK(halftone_set_accuracy(x.h, "fp64"));
    CHECK(halftone_set_stream(x.h, stream));
    multiply(x, 1);
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    multiply(x, 1);
    CHECK(cudaStreamEndCapture(stream, &graph));
    CHECK(cudaGraphInstantiate(&exec, graph, 0));
    CHECK(cudaMalloc(&counts, sizeof host));
    for (int family : {UNIFORM, ONE_BAD, D300, UNIFORM}) {
        fill_on_device(x.a, x.n, family, true, stream);
        fill_on_device(x.b, x.n, family, false, stream);
        CHECK(cudaGraphLaunch(exec, stream));
        CHECK(cudaMemcpyAsync(x.c[2], x.c[1], (size_t)x.n * x.n * 8, cudaMemcpyDeviceToDevice, stream));
        multiply(x, 1);
        CHECK(cudaMemsetAsync(counts, 0, sizeof host, stream));
        whose<<<1024, 256, 0, stream>>>(x.c[1], x.c[2], x.c[2], (long long)x.n * x.n, counts);
        CHECK(cudaMemcpyAsync(host, counts, sizeof host, cudaMemcpyDeviceToHost, stream));
        CHECK(cudaStreamSynchronize(stream));
        printf("# %d: a replayed graph on %s: %llu elements of other bits\n", x.n, names[family], host[1] + host[2]);
    }
    CHECK(halftone_set_stream(x.h, NULL));
    CHECK(cudaFree(counts));
}

static double tflops(bench &x, int method) {
    return 2.0 * x.n * x.n * x.n / milliseconds([&] { multiply(x, method); }, 60) * 1e-9;
}

static void run(bench &x, int family) {
    static const char *const methods[] = {"dgemm", "fp64", "crt15", "native64"};
    fill_on_device(x.a, x.n, family, true);
    fill_on_device(x.b, x.n, family, false);
    x.truth = truth_of(x.a, x.b, x.n);
    double rate[4], error[4];
    for (int method = 0; method < 4; method++) {
        if (method > 0)
            CHECK(method == 1 ? halftone_set_accuracy(x.h, "fp64") : halftone_set_scheme(x.h, methods[method]));
        rate[method] = tflops(x, method);
        error[method] = errors_of(x.truth, x.c[method], x.n).grade;
    }
    unsigned long long *counts, host[3];
    CHECK(cudaMalloc(&counts, sizeof host));
    CHECK(cudaMemset(counts, 0, sizeof host));
    whose<<<1024, 256>>>(x.c[1], x.c[2], x.c[3], (long long)x.n * x.n, counts);
    CHECK(cudaMemcpy(host, counts, sizeof host, cudaMemcpyDeviceToHost));
    for (int method = 0; method < 4; method++) {
        printf("%d\t%s\t%s\t%.1f\t%.3f\t%.3g\t", x.n, names[family], methods[method], rate[method], rate[method] / rate[0], error[method]);
        if (method == 1)
            printf("%.1f\t%llu\n", 100.0 * (double)host[0] / ((double)x.n * x.n), host[2]);
        else
            printf("-\t-\n");
    }
    fflush(stdout);
    CHECK(cudaFree(counts));
}

int main(int argc, char **argv) {
    bench x;
    CHECK(cublasCreate(&x.blas));
    CHECK(halftone_create(&x.h));
    printf("n\tfamily\tmethod\tTFLOPS\tto dgemm\tin u|A||B|\tresidues keep, %%\telements of neither\n");
    for (int i = 1; i < argc; i++) {
        x.n = atoi(argv[i]);
        const size_t bytes = (size_t)x.n * x.n * 8;
        CHECK(cudaMalloc(&x.a, bytes));
        CHECK(cudaMalloc(&x.b, bytes));
        for (auto &c : x.c)
            CHECK(cudaMalloc(&c, bytes));
        struct halftone_plan plan = HALFTONE_PLAN_INIT;
        CHECK(halftone_set_accuracy(x.h, "fp64"));
        CHECK(halftone_dquery(x.h, 'N', 'N', x.n, x.n, x.n, 1, &plan));
        printf("# %d: %s, %.1f us predicted, %.0f MB; %s\n", x.n, plan.scheme, (double)plan.predicted_ns * 1e-3,
               (double)plan.workspace_bytes * 1e-6, plan.why_scheme);
        for (int family = 0; family < FAMILIES; family++)
            run(x, family);
        if (i == 1)
            capture(x);
        CHECK(cudaFree(x.a));
        CHECK(cudaFree(x.b));
        for (auto &c : x.c)
            CHECK(cudaFree(c));
    }
    return halftone_destroy(x.h);
}
