/* matrix: see problem.h. */
#include "problem.h"

#include <stdlib.h>
#include <string.h>

#include "../../runtime/ht_dev.h"

enum { GUARD = 256, GAP_BYTES = 256, VECTOR_BYTES = 16 };

static const uint32_t POISON = 0x7ffc5a5a; /* a NaN of FP32, and two of them one of FP64 */

/* ---- memory */

void *host_make(size_t bytes) {
    void *p = malloc(bytes + 1);
    FUZZ_CHECK(p != NULL, "no memory for the fuzzer itself");
    return p;
}

void *device_make(int64_t bytes) {
    void *memory = NULL;
    FUZZ_CHECK(ht_dev_alloc(&memory, (size_t)bytes) == HT_DEV_OK, "no memory for the fuzzer itself: %lld bytes", (long long)bytes);
    return memory;
}

void device_free(void *memory) {
    (void)ht_dev_free(memory);
}

void *device_make_guarded(size_t bytes) {
    return device_make((int64_t)bytes + GUARD);
}

void device_check_guard(const void *memory, size_t bytes, const char *name) {
    unsigned char guard[GUARD];
    FUZZ_CHECK(ht_dev_download(guard, (const char *)memory + bytes, sizeof guard) == HT_DEV_OK, "download");
    for (size_t i = 0; i < sizeof guard; i++)
        FUZZ_CHECK(guard[i] == 0xff, "byte %zu behind %s was written", i, name);
}

/* ---- layout */

int matrix_is_trans(char op) {
    return op != '\0' && strchr("TtCc", op) != NULL;
}

/* How far columns are apart, beyond their elements, and how often entries share memory: one in so many. */
static const struct spread {
    int64_t gap, wide_gap, shared;
} spread_of_fp32 = {4, 70, 4}, spread_of_fp64 = {3, 40, 3};

void matrix_lay_out(struct matrix *x, size_t size, int64_t rows, int64_t cols, int64_t entries, int is_c, struct fuzz_rng *r) {
    const struct spread *const spread = size == sizeof(double) ? &spread_of_fp64 : &spread_of_fp32;
    memset(x, 0, sizeof *x);
    x->size = size;
    x->rows = rows;
    x->cols = cols;
    x->entries = entries;
    x->ld = (rows > 1 ? rows : 1) + (fuzz_one_in(r, 2) ? 0 : fuzz_from(r, 1, fuzz_one_in(r, 3) ? spread->wide_gap : spread->gap));
    if (entries > 1 && rows > 0 && fuzz_one_in(r, 6)) { /* entries are columns of one large matrix */
        x->stride = rows + fuzz_from(r, 0, 3);
        x->ld = x->stride * entries + fuzz_from(r, 0, 3);
    } else if (entries > 1) {
        x->stride = cols > 0 ? x->ld * (cols - 1) + rows + fuzz_from(r, 0, 5) : rows;
    }
    if (!is_c && entries > 1 && fuzz_one_in(r, spread->shared))
        x->stride = fuzz_one_in(r, 2) ? 0 : fuzz_from(r, 1, x->ld); /* one matrix, or matrices that overlap */
}

void matrix_make(struct matrix *x, struct fuzz_rng *r) {
    const int64_t last = x->rows * x->cols * x->entries > 0 ? (x->entries - 1) * x->stride + (x->cols - 1) * x->ld + x->rows : 0;
    const int64_t size = (int64_t)x->size;
    x->lead = fuzz_one_in(r, 2) ? fuzz_from(r, 0, (GAP_BYTES + VECTOR_BYTES) / size - 1) : 0;
    x->elements = x->lead + last + (fuzz_one_in(r, 2) ? 0 : fuzz_from(r, 1, GAP_BYTES / size));
    const size_t bytes = matrix_bytes(x);
    x->host = host_make(bytes);
    x->device = device_make((int64_t)bytes + (bytes == 0));
    for (size_t at = 0; at < bytes; at += sizeof POISON)
        memcpy((char *)x->host + at, &POISON, sizeof POISON);
}

void matrix_free(struct matrix *x) {
    free(x->host);
    device_free(x->device);
}

int64_t matrix_at(const struct matrix *x, int64_t entry, int64_t row, int64_t col) {
    return x->lead + entry * x->stride + col * x->ld + row;
}

double matrix_value(const struct matrix *x, const void *memory, int64_t at) {
    return x->size == sizeof(float) ? (double)((const float *)memory)[at] : ((const double *)memory)[at];
}

size_t matrix_bytes(const struct matrix *x) {
    return (size_t)x->elements * x->size;
}

static void *element_of(const struct matrix *x, void *memory, int64_t at) {
    return (char *)memory + (size_t)at * x->size;
}

void *matrix_data(const struct matrix *x) {
    return element_of(x, x->device, x->lead);
}

void *matrix_host(const struct matrix *x) {
    return element_of(x, x->host, x->lead);
}

/* ---- who touched what */

void matrix_upload(const struct matrix *x) {
    FUZZ_CHECK(ht_dev_upload(x->device, x->host, matrix_bytes(x)) == HT_DEV_OK, "upload");
}

static void *download(const struct matrix *x) {
    void *const now = host_make(matrix_bytes(x));
    FUZZ_CHECK(ht_dev_download(now, x->device, matrix_bytes(x)) == HT_DEV_OK, "download");
    return now;
}

static double value_of(const struct matrix *x, const void *element) {
    return x->size == sizeof(double) ? *(const double *)element : (double)*(const float *)element;
}

void matrix_check_outside(const struct matrix *c, const void *now) {
    const char *const found = now;
    char *const want = host_make(matrix_bytes(c));
    memcpy(want, c->host, matrix_bytes(c));
    for (int64_t e = 0; e < c->entries; e++) {
        for (int64_t j = 0; j < c->cols; j++) {
            const size_t at = (size_t)matrix_at(c, e, 0, j) * c->size;
            memcpy(want + at, found + at, (size_t)c->rows * c->size);
        }
    }
    for (size_t at = 0; at < matrix_bytes(c); at += c->size)
        FUZZ_CHECK(memcmp(want + at, found + at, c->size) == 0, "element %lld of C's memory, outside of C, became %a",
                   (long long)(at / c->size) - (long long)c->lead, value_of(c, found + at));
    free(want);
}

void *matrix_read(const struct matrix *c) {
    void *const now = download(c);
    matrix_check_outside(c, now);
    return now;
}

void matrix_check_untouched(const struct matrix *x, const char *name) {
    void *const now = download(x);
    FUZZ_CHECK(memcmp(now, x->host, matrix_bytes(x)) == 0, "%s was written", name);
    free(now);
}
