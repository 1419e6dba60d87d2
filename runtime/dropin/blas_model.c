/* blas_model.c: the variables of the environment that the BLAS face alone has, and from which size on a product is worth its copies. The constants are of one machine, 16 CPUs beside an H100
 * (bench/results/h100-hostblas.tsv): OpenBLAS computed 60 to 75 GFLOPS for each CPU in FP32, half of that in FP64; copies moved 4 to 5 GB/s for
 * each of one to four threads, and 20 in all with 12; CUDA's start took 0.2 to 0.4 s. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "blas_call.h"

/* ---- the environment ---- */

static struct blas_settings settings;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int64_t read_integer(const char *name, int64_t least, int64_t most, int64_t absent) {
    const char *const text = getenv(name);
    char *end = NULL;
    if (text == NULL || text[0] == '\0')
        return absent;
    const long long value = text[0] >= '0' && text[0] <= '9' ? strtoll(text, &end, 10) : -1;
    if (value >= least && value <= most && *end == '\0')
        return value;
    dropin_say("%s=%.200s is not an integer from %lld to %lld%s", name, text, (long long)least,
               (long long)most, dropin_nothing);
    settings.good = false;
    return absent;
}

/* As the variables of BLAS libraries say, else those that the process may run on. */
static int64_t count_cpus(void) {
    static const char *const names[] = {"OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "BLIS_NUM_THREADS", "OMP_NUM_THREADS"};
    cpu_set_t set;
    const int64_t here = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1024;
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *const text = getenv(names[i]);
        const long long value = text != NULL ? strtoll(text, NULL, 10) : 0;
        if (value > 0)
            return value < here ? value : here;
    }
    return here;
}

static void read_once(void) {
    settings.good = true;
    settings.tile = read_integer("HALFTONE_BLAS_TILE", 64, 1 << 20, 0);
    settings.threads = read_integer("HALFTONE_BLAS_THREADS", 1, 64, 0);
    settings.cpu_gflops = read_integer("HALFTONE_BLAS_CPU_GFLOPS", 1, 1000000, 0);
    settings.copy_gbps = read_integer("HALFTONE_BLAS_COPY_GBPS", 1, 10000, 0);
    settings.start_ms = read_integer("HALFTONE_BLAS_START_MS", 0, 100000, -1);
    settings.cpus = count_cpus();
    settings.all_sizes = dropin_settings()->eager || dropin_settings()->least_is_set;
}

const struct blas_settings *blas_settings(void) {
    (void)pthread_once(&once, read_once);
    return &settings;
}

/* ---- the model ---- */

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
