/* cluster_bits: kernels of one scheme whose chains are equal give the same bits, however their blocks work together: every
 * kernel of two blocks that share panels ("_c2") beside the scheme's first kernel of one block, and beside itself many times.
 * Linked with a CUDA library or the simulator; on a GPU (any argument) with large shapes: many items for each block, odd edges,
 * parts of k.
 *
 * Exit 0: the same; 1: not, or a call failed; the last line says what was compared. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../bench/halftone/accuracy/families.h"
#include "../../runtime/halftone.h"
#include "../../runtime/ht_dev.h"

struct shape {
    int m, n, k, pad; /* pad: of C's columns */
    int repeats;
};
static const struct shape small[] = {{139, 75, 192, 0, 2}, {65, 300, 130, 1, 1}};
static const struct shape large[] = {{512, 512, 512, 0, 200},     {1024, 1024, 1024, 0, 200}, {1000, 1001, 999, 1, 50},
                                     {2048, 2048, 2048, 0, 50},   {4097, 4100, 260, 3, 20},   {129, 65, 32768, 0, 20},
                                     {8192, 8192, 1024, 0, 10},   {64, 16384, 512, 0, 20},   {16384, 65, 512, 2, 20},
                                     {3001, 5003, 2049, 1, 10}};
enum { NAME_BYTES = 128 };

static halftone *handle;
static int compared, split_apart;

static void check(const char *what, int code) {
    if (code == 0)
        return;
    printf("cluster_bits: %s: %s: %s\n", what, halftone_strerror(code), halftone_last_detail(handle));
    exit(1);
}

static void *device_array(size_t bytes) {
    void *p = NULL;
    check("memory", ht_dev_alloc(&p, bytes) == HT_DEV_OK ? 0 : HALFTONE_OUT_OF_DEVICE_MEMORY);
    return p;
}

static float *host_array(size_t count) {
    float *p = calloc(count, sizeof *p);
    check("memory", p != NULL ? 0 : HALFTONE_OUT_OF_HOST_MEMORY);
    return p;
}

struct problem {
    const struct shape *s;
    float *a, *b, *c; /* device */
    size_t bytes;     /* of C */
};

static float *operand(const struct shape *s, char side, int rows, int cols) {
    const size_t count = (size_t)rows * (size_t)cols;
    float *host = host_array(count), *device = device_array(count * sizeof *host);
    family_fill(family_find("uniform"), 3, side, s->m, s->n, s->k, host, rows);
    check("upload", ht_dev_upload(device, host, count * sizeof *host));
    free(host);
    return device;
}

/* How many parts k had. */
static int multiply(const struct problem *p, const char *kernel, float *result) {
    const float one = 1, zero = 0;
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    check(kernel, halftone_set_kernel(handle, kernel));
    check(kernel, halftone_query(handle, 'N', 'N', p->s->m, p->s->n, p->s->k, 1, &plan));
    check("clear", ht_dev_memset_async(p->c, 0xff, p->bytes, NULL));
    check(kernel, halftone_sgemm(handle, 'N', 'N', p->s->m, p->s->n, p->s->k, &one, p->a, p->s->m, p->b, p->s->k, &zero, p->c,
                                 p->s->m + p->s->pad));
    check("download", ht_dev_download(result, p->c, p->bytes));
    return plan.splits;
}

static void expect_same(const struct problem *p, const char *kernel, const char *other, const float *x, const float *y) {
    compared++;
    if (memcmp(x, y, p->bytes) == 0)
        return;
    size_t at = 0;
    while (memcmp(&x[at], &y[at], sizeof *x) == 0)
        at++;
    printf("cluster_bits: %dx%dx%d+%d: %s and %s differ first at row %zu, column %zu: %a, %a\n", p->s->m, p->s->n, p->s->k,
           p->s->pad, kernel, other, at % (size_t)(p->s->m + p->s->pad), at / (size_t)(p->s->m + p->s->pad), (double)x[at],
           (double)y[at]);
    exit(1);
}

static void compare(const struct shape *s, const char *kernel, const char *alone) {
    struct problem p = {s, operand(s, 'A', s->m, s->k), operand(s, 'B', s->k, s->n), NULL, 0};
    const size_t count = (size_t)(s->m + s->pad) * (size_t)s->n;
    p.bytes = count * sizeof *p.c;
    p.c = device_array(p.bytes);
    float *first = host_array(count), *again = host_array(count);
    const int splits = multiply(&p, kernel, first);
    for (int i = 1; i < s->repeats; i++) {
        multiply(&p, kernel, again);
        expect_same(&p, kernel, "itself", first, again);
    }
    if (multiply(&p, alone, again) == splits)
        expect_same(&p, kernel, alone, first, again);
    else
        split_apart++;
    ht_dev_free(p.a);
    ht_dev_free(p.b);
    ht_dev_free(p.c);
    free(first);
    free(again);
}

/* The scheme's part of a kernel's name, "ht_f16x3_". */
static size_t scheme_length(const char *kernel) {
    const char *end = strchr(kernel + strlen("ht_"), '_');
    return end != NULL ? (size_t)(end - kernel) + 1 : strlen(kernel);
}

/* The first kernel of one block of the same scheme, into `name`; 0: none. */
static int find_alone(const char *kernel, char *name) {
    const char *other;
    for (int i = 0; (other = halftone_kernels(handle, i)) != NULL; i++) {
        if (strncmp(other, kernel, scheme_length(kernel)) == 0 && strstr(other, "_c2_") == NULL) {
            snprintf(name, NAME_BYTES, "%s", other);
            return 1;
        }
    }
    return 0;
}

int main(int argc, char **argv) {
    const struct shape *const shapes = argc > 1 ? large : small;
    const size_t count = argc > 1 ? sizeof large / sizeof *large : sizeof small / sizeof *small;
    const char *found;
    (void)argv;
    check("no handle", halftone_create(&handle));
    for (int i = 0; (found = halftone_kernels(handle, i)) != NULL; i++) {
        char kernel[NAME_BYTES], alone[NAME_BYTES];
        snprintf(kernel, sizeof kernel, "%s", found);
        if (strstr(kernel, "_c2_") == NULL || !find_alone(kernel, alone))
            continue;
        for (size_t s = 0; s < count; s++)
            compare(&shapes[s], kernel, alone);
    }
    printf("%d results are equal bit for bit; %d pairs of kernels split k differently\n", compared, split_apart);
    return halftone_destroy(handle) == HALFTONE_OK && compared > 0 ? 0 : 1;
}
