/* blas_env.c: variables of the environment that the BLAS face alone has. */
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>

#include "blas_call.h"

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
