/* blas_model.c: from which size on a product is worth its copies. The constants are of one machine, 16 CPUs beside an H100
 * (bench/results/h100-hostblas.tsv): OpenBLAS computed 60 to 75 GFLOPS for each CPU in FP32, half of that in FP64; copies moved 4 to 5 GB/s for
 * each of one to four threads, and 20 in all with 12; CUDA's start took 0.2 to 0.4 s. */

#include "blas_call.h"

static const double CPU_GFLOPS = 64;  /* FP32, each CPU; FP64: half */
static const double COPY_GBPS = 4, COPY_GBPS_MOST = 20; /* each thread, all of them */
static const double START_MS = 300;   /* CUDA's start, in the first call */
static const double CALL_NS = 200000; /* threads, copies and kernels begun and waited for */

bool blas_start_pays(double saved_ns) {
    static double saved; /* by products that the CPU computed meanwhile */
    const int64_t said = blas_settings()->start_ms;
    dropin_lock(DROPIN_LOCK_START);
    saved += saved_ns;
    const bool pays = saved >= 1e6 * (said >= 0 ? (double)said : START_MS);
    dropin_unlock(DROPIN_LOCK_START);
    return pays;
}

double blas_share(const struct blas_call *x) {
    return x->routine == BLAS_gemm ? 1 : 0.5;
}

double blas_cpu_ns(const struct blas_call *x) {
    const struct blas_settings *const s = blas_settings();
    const double single = s->cpu_gflops > 0 ? (double)s->cpu_gflops : CPU_GFLOPS * (double)s->cpus;
    return 2 * (double)x->m * (double)x->n * (double)x->k * blas_share(x) / (x->type == BLAS_s ? single : single / 2);
}

double blas_copy_ns(const struct blas_call *x) {
    const struct blas_settings *const s = blas_settings();
    const double m = (double)x->m, n = (double)x->n, k = (double)x->k, each = x->type == BLAS_s ? 4 : 8;
    const bool reads_c = m * n == 0 ? false : x->type == BLAS_s ? *(const float *)x->beta != 0 : *(const double *)x->beta != 0;
    const double bytes = each * (m * k + k * n + (reads_c ? 2 : 1) * m * n * blas_share(x));
    /* as halftone_set_host_threads has them */
    const double by_size = 1 + bytes / 6e6, by_cpus = 0.75 * (double)s->cpus > 1 ? 0.75 * (double)s->cpus : 1;
    const double threads = s->threads > 0 ? (double)s->threads : by_size < by_cpus ? by_size : by_cpus;
    const double gbps = COPY_GBPS * threads < COPY_GBPS_MOST ? COPY_GBPS * threads : COPY_GBPS_MOST;
    return CALL_NS + bytes / (s->copy_gbps > 0 ? (double)s->copy_gbps : gbps);
}
