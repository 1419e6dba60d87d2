/* bits: what every scheme and kernel computes, bit for bit, as a TSV: case, scheme, kernel, hash of the
 * inputs, hash of C (FNV-1a, 64 bits), C's first four values in hex. Linked with the CUDA library it shows a
 * GPU's bits, linked with the simulator (HALFTONE_SIM_MODEL set to the same architecture) it must show the
 * same ones: tests/gpu/check_gpu.sh compares.
 *
 * A NaN is hashed and shown as 7fffffff: IEEE 754 leaves its sign and payload open. The inputs have a hash of
 * their own because some families use the C library's exp, log and cos, whose last bits differ between its
 * versions. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../bench/halftone/accuracy/families.h"
#include "../../runtime/halftone.h"
#include "../../runtime/ht_abi.h"
#include "../../runtime/ht_dev.h"

struct bits_case {
    const char *family;
    char ta, tb;
    int m, n, k, pad;
    float alpha, beta;
};

static const struct bits_case cases[] = {
    {"uniform", 'N', 'N', 64, 64, 64, 0, 1, 0},
    {"uniform", 'T', 'N', 33, 47, 129, 3, 1, 0},
    {"uniform", 'N', 'T', 130, 70, 96, 1, -0.5f, 2},
    {"uniform01", 'T', 'T', 17, 65, 200, 5, 1, 0},
    {"llm", 'N', 'N', 65, 33, 256, 0, 1, 0},
    {"llm", 'N', 'N', 24, 20, 2048, 0, 1.5f, 1}, /* split-K */
    {"normal", 'N', 'N', 50, 40, 100, 2, 1, 0},
    {"normal", 'T', 'N', 16, 8, 4000, 0, 1, 0}, /* split-K */
    {"phi0.1", 'N', 'T', 31, 29, 63, 0, 1, 0},
    {"phi1", 'N', 'N', 31, 29, 65, 0, 1, 0},
    {"phi2", 'N', 'N', 40, 40, 80, 0, 1, 0},
    {"phi4", 'N', 'N', 40, 40, 80, 0, 1, 0},
    {"integers", 'N', 'N', 45, 30, 150, 0, 1, -1},
    {"huge", 'N', 'N', 40, 30, 70, 0, 1, 0},
    {"tiny", 'N', 'N', 40, 30, 70, 0, 1, 0},
    {"hugetiny", 'T', 'T', 40, 30, 70, 0, 1, 0},
    {"subnormal", 'N', 'N', 40, 30, 70, 0, 1, 0},
    {"rowscales", 'N', 'N', 66, 30, 70, 0, 1, 0},
    {"dscaled", 'N', 'N', 40, 30, 70, 0, 1, 0},
    {"cancel1e2", 'N', 'N', 40, 30, 128, 0, 1, 0},
    {"cancel1e4", 'N', 'T', 40, 30, 128, 0, 1, 0},
    {"cancel1e6", 'N', 'N', 40, 30, 127, 0, 1, 0},
    {"hilbert", 'N', 'N', 40, 40, 40, 0, 1, 0},
    {"permutation", 'N', 'N', 48, 48, 48, 0, 1, 0},
    {"zeros", 'N', 'N', 20, 20, 33, 0, 1, 0},
    {"nan", 'N', 'N', 20, 20, 33, 0, 1, 0},
    {"inf", 'T', 'N', 20, 20, 33, 0, 1, 0},
    {"uniform", 'N', 'N', 1, 1, 1, 0, 1, 0},
    {"llm", 'N', 'T', 1, 70, 257, 2, 1, 0},
    {"normal", 'C', 'N', 70, 1, 31, 0, 3, 0.5f},
};
/* For every kernel by name: several tiles of the largest kernels are not needed, edges of all are. */
static const struct bits_case kernel_case = {"llm", 'N', 'N', 139, 75, 192, 1, 1.25f, -1};
/* For every kernel of f16x3 with the certificate of `auto`: some results, many and nearly all are computed again. */
static const struct bits_case tested_cases[] = {
    {"cauchy", 'N', 'N', 139, 75, 320, 1, 1.25f, -1},
    {"phi4", 'T', 'N', 75, 139, 320, 1, 1, 0},
    {"softmax", 'N', 'N', 139, 75, 320, 0, 1, 0},
    {"nan", 'N', 'T', 70, 75, 192, 0, 1, 0},
};

enum { SHOWN = 4 };
static const uint64_t FNV_START = UINT64_C(0xcbf29ce484222325), FNV_PRIME = UINT64_C(0x100000001b3);

static halftone *handle;

static void die(const char *what, int code) {
    fprintf(stderr, "bits: %s: %s: %s\n", what, halftone_strerror(code),
            halftone_last_detail(code == HALFTONE_OK ? NULL : handle));
    exit(1);
}

static uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return isnan(x) ? 0x7fffffffu : bits;
}

/* Bytes from the lowest up, whatever the machine. */
static uint64_t hash_of(uint64_t hash, const float *x, int64_t rows, int64_t cols, int64_t ld) {
    for (int64_t c = 0; c < cols; c++) {
        for (int64_t r = 0; r < rows; r++) {
            const uint32_t bits = bits_of(x[c * ld + r]);
            for (int byte = 0; byte < 4; byte++)
                hash = (hash ^ (bits >> (8 * byte) & 0xffu)) * FNV_PRIME;
        }
    }
    return hash;
}

static float *host_array(int64_t count) {
    float *x = malloc((size_t)count * sizeof *x);
    if (x == NULL)
        die("no memory", HALFTONE_OUT_OF_HOST_MEMORY);
    for (int64_t i = 0; i < count; i++)
        x[i] = NAN;
    return x;
}

static float *device_copy(const float *host, int64_t count) {
    void *device = NULL;
    const size_t bytes = (size_t)count * sizeof *host;
    if (ht_dev_alloc(&device, bytes) != HT_DEV_OK || ht_dev_upload(device, host, bytes) != HT_DEV_OK)
        die("upload", HALFTONE_DEVICE_ERROR);
    return device;
}

/* op(X) of the case is rows x cols; what is stored is it or its transpose, with padded columns. */
static float *operand(const struct bits_case *x, char side, int64_t *ld, int64_t *count) {
    const int64_t rows = side == 'A' ? x->m : x->k, cols = side == 'A' ? x->k : x->n;
    const int trans = (side == 'A' ? x->ta : x->tb) != 'N';
    float *plain = host_array(rows * cols);
    family_fill(family_find(x->family), 11, side, x->m, x->n, x->k, plain, rows);
    *ld = (trans ? cols : rows) + x->pad;
    *count = *ld * (trans ? rows : cols);
    float *stored = host_array(*count);
    for (int64_t c = 0; c < cols; c++) {
        for (int64_t r = 0; r < rows; r++)
            stored[trans ? r * *ld + c : c * *ld + r] = plain[c * rows + r];
    }
    free(plain);
    return stored;
}

static void case_name(const struct bits_case *x, char *name, size_t size) {
    snprintf(name, size, "%s-%c%c-%dx%dx%d+%d-%g-%g", x->family, x->ta, x->tb, x->m, x->n, x->k, x->pad,
             (double)x->alpha, (double)x->beta);
}

static void run(const struct bits_case *x) {
    char name[96];
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    int64_t lda, ldb, count_a, count_b;
    const int64_t ldc = x->m + x->pad, count_c = ldc * x->n;
    float *a = operand(x, 'A', &lda, &count_a), *b = operand(x, 'B', &ldb, &count_b),
          *c = host_array(count_c);
    for (int64_t i = 0; x->beta != 0.0f && i < count_c; i++)
        c[i] = (float)(i % 13 - 6) * 0.375f;
    const uint64_t inputs = hash_of(
        hash_of(hash_of(FNV_START, a, count_a, 1, count_a), b, count_b, 1, count_b), c, count_c, 1, count_c);
    float *da = device_copy(a, count_a), *db = device_copy(b, count_b), *dc = device_copy(c, count_c);
    int code = halftone_query(handle, x->ta, x->tb, x->m, x->n, x->k, 1, &plan);
    if (code == HALFTONE_OK)
        code = halftone_sgemm(handle, x->ta, x->tb, x->m, x->n, x->k, &x->alpha, da, lda, db, ldb, &x->beta,
                              dc, ldc);
    case_name(x, name, sizeof name);
    if (code != HALFTONE_OK)
        die(name, code);
    if (ht_dev_download(c, dc, (size_t)count_c * sizeof *c) != HT_DEV_OK)
        die(name, HALFTONE_DEVICE_ERROR);
    printf("%s\t%s\t%s/%d\t%016llx\t%016llx\t", name, plan.scheme, plan.kernel, plan.splits,
           (unsigned long long)inputs, (unsigned long long)hash_of(FNV_START, c, x->m, x->n, ldc));
    for (int64_t i = 0; i < SHOWN; i++)
        printf("%s%08x", i > 0 ? " " : "", (unsigned)(i < x->m ? bits_of(c[i]) : 0));
    printf("\n");
    ht_dev_free(da);
    ht_dev_free(db);
    ht_dev_free(dc);
    free(a);
    free(b);
    free(c);
}

/* The simulator's name for the arithmetic of this device; check_gpu.sh hands it to the simulator. */
static const char *model_of(const struct ht_dev_info *device) {
    static const struct {
        int capability;
        const char *model;
    } known[] = {{750, "sm75"}, {800, "sm80"}, {860, "sm86"}, {890, "sm89"}, {900, "sm90"},
                 {1000, "sm100_assumed"}, {1030, "sm100_assumed"}, {1200, "sm120_assumed"}, {1210, "sm120_assumed"}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].capability == device->capability)
            return known[i].model;
    return "unknown";
}

int main(void) {
    struct ht_dev_info device;
    const char *name;
    const int code = halftone_create(&handle);
    if (code != HALFTONE_OK || ht_dev_open(ht_sets[0], &device) != HT_DEV_OK)
        die("no handle", code);
    fprintf(stderr, "model %s: bits of %s\n", model_of(&device), device.name);
    printf("case\tscheme\tkernel\tinputs\tresult\tfirst\n");
    for (int s = 0; (name = halftone_schemes(handle, HALFTONE_FP32, s)) != NULL; s++) {
        const int set = strcmp(name, "auto") == 0 ? -1 : halftone_set_scheme(handle, name);
        for (size_t i = 0; set == HALFTONE_OK && i < sizeof cases / sizeof *cases; i++)
            run(&cases[i]);
    }
    for (int i = 0; (name = halftone_kernels(handle, i)) != NULL; i++) {
        if (halftone_set_kernel(handle, name) != HALFTONE_OK)
            die(name, HALFTONE_UNKNOWN_KERNEL);
        run(&kernel_case);
    }
    const int has_auto = halftone_set_scheme(handle, "auto") == HALFTONE_OK;
    for (int i = 0; has_auto && (name = halftone_kernels(handle, i)) != NULL; i++) {
        if (strncmp(name, "ht_f16x3_", strlen("ht_f16x3_")) != 0 || halftone_set_kernel(handle, name) != HALFTONE_OK)
            continue;
        for (size_t c = 0; c < sizeof tested_cases / sizeof *tested_cases; c++)
            run(&tested_cases[c]);
    }
    return halftone_destroy(handle) == HALFTONE_OK && fflush(stdout) == 0 ? 0 : 1;
}
