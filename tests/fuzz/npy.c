/* npy: mutated .npy files through the reader of bench/halftone/io/npy.c. Every file is read or refused with one line that names it; what is read
 * has the extents that its bytes allow. Build it with sanitizers: a reader that reads beside its memory does not show otherwise. */
#include "../../bench/halftone/io/npy.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fuzz.h"

enum { FILE_BYTES = 1 << 17, HEADER_BYTES = 600 };

struct totals {
    int64_t accepted, refused;
};

struct file {
    unsigned char bytes[FILE_BYTES];
    size_t length;
};

static char path[64];

static void add(struct file *f, const void *bytes, size_t count) {
    if (f->length + count > FILE_BYTES)
        count = FILE_BYTES - f->length;
    memcpy(f->bytes + f->length, bytes, count);
    f->length += count;
}

/* Of an element of this type; 0: none. */
static int64_t type_bytes(const char *type) {
    const char *digits = type + strcspn(type, "0123456789");
    return atoi(digits);
}

static void random_extent(struct fuzz_rng *r, char *text, size_t bytes) {
    static const char *const hostile[] = {"0",  "-1", "9223372036854775807", "4294967296", "99999999999999999999", "1.5", "03",
                                          "1_0", " 7", "0x4", "2147483648", "576460752303423488", "1L", ""};
    if (fuzz_one_in(r, 8))
        snprintf(text, bytes, "%s", FUZZ_PICK(r, hostile));
    else
        snprintf(text, bytes, "%lld", (long long)fuzz_below(r, fuzz_one_in(r, 10) ? 300 : 9));
}

static void random_shape(struct fuzz_rng *r, char *text, size_t bytes) {
    static const char *const odd[] = {"()", "(3)", "[2, 3]", "(2, 3", "(,)", "(2,,3)", "((2, 3))", "None", "(1,)*2", "( 2 ,3 , )"};
    char rows[32], cols[32], more[32];
    random_extent(r, rows, sizeof rows);
    random_extent(r, cols, sizeof cols);
    random_extent(r, more, sizeof more);
    const int64_t kind = fuzz_below(r, 12);
    if (kind == 0)
        snprintf(text, bytes, "%s", FUZZ_PICK(r, odd));
    else if (kind == 1)
        snprintf(text, bytes, "(%s, %s, %s)", rows, cols, more);
    else if (kind < 4)
        snprintf(text, bytes, "(%s,)", cols);
    else
        snprintf(text, bytes, "(%s, %s)", rows, cols);
}

/* A header as NumPy writes it, or one of its neighbours; *bytes: what one element of its type has. */
static void random_header(struct fuzz_rng *r, char *text, size_t size, int64_t *bytes) {
    static const char *const types[] = {"<f4", ">f4", "<f8", ">f8", "<f2", ">f2", "|i1", "<i2", ">i4", "<i8", "|u1", "<u2", "<u4", ">u8", "|b1", "=f4", "f4"};
    static const char *const odd[] = {"<c8", "<f16", "|O", "<U3", "|S5", "f", "", "<", "<f3", "<i16", "|f4", "<f44444444444", "|V8", "<f-4", "\\x3cf4"};
    const char *type = fuzz_one_in(r, 8) ? FUZZ_PICK(r, odd) : FUZZ_PICK(r, types);
    const char *order = fuzz_one_in(r, 12) ? "true" : fuzz_one_in(r, 2) ? "True" : "False";
    char shape[128];
    random_shape(r, shape, sizeof shape);
    *bytes = type_bytes(type);
    switch (fuzz_below(r, 10)) {
    case 0:
        snprintf(text, size, "{'shape': %s, 'descr': '%s', 'fortran_order': %s}", shape, type, order);
        break;
    case 1:
        snprintf(text, size, "{\"descr\": \"%s\", \"fortran_order\": %s, \"shape\": %s, }", type, order, shape);
        break;
    case 2:
        snprintf(text, size, "{'descr': '%s', 'descr': '%s', 'shape': %s, }", type, type, shape);
        break;
    case 3:
        snprintf(text, size, "{'descr': [('x', '%s')], 'fortran_order': %s, 'shape': %s, }%s", type, order, shape, "  x");
        break;
    default:
        snprintf(text, size, "{'descr': '%s', 'fortran_order': %s, 'shape': %s, }%*s\n", type, order, shape, (int)fuzz_below(r, 64), "");
    }
}

/* Product of all whole numbers behind 'shape', as far as it is small. */
static int64_t elements_of(const char *header) {
    const char *at = strstr(header, "shape");
    int64_t count = 1;
    for (at = at == NULL ? "" : at; *at != '\0' && *at != ')'; at++) {
        if (*at < '0' || *at > '9')
            continue;
        char *end;
        const long long value = strtoll(at, &end, 10);
        count = value > 100000 || count > 100000 ? 100001 : count * value;
        at = end - 1;
    }
    return count;
}

static void random_file(struct fuzz_rng *r, struct file *f) {
    char text[HEADER_BYTES];
    int64_t bytes;
    random_header(r, text, sizeof text, &bytes);
    const int major = fuzz_one_in(r, 10) ? (int)fuzz_below(r, 256) : (int)fuzz_from(r, 1, 3), minor = fuzz_one_in(r, 20);
    const size_t length = fuzz_one_in(r, 12) ? (size_t)fuzz_next(r) : strlen(text);
    const unsigned char start[12] = {0x93, 'N', 'U', 'M', 'P', 'Y', (unsigned char)major, (unsigned char)minor,
                                     (unsigned char)length, (unsigned char)(length >> 8), (unsigned char)(length >> 16), (unsigned char)(length >> 24)};
    f->length = 0;
    add(f, start, major == 1 ? 10 : 12);
    add(f, text, strlen(text));
    int64_t data = elements_of(text) * bytes;
    if (fuzz_one_in(r, 6))
        data += fuzz_from(r, -9, 9);
    for (int64_t i = 0; i < data && i < FILE_BYTES; i += 8) {
        const uint64_t word = fuzz_one_in(r, 40) ? UINT64_C(0x7ff0000000000000) : fuzz_next(r);
        add(f, &word, data - i < 8 ? (size_t)(data - i) : 8);
    }
}

static void mutate(struct fuzz_rng *r, struct file *f) {
    static const char alphabet[] = "{}()'\":,<>|=fiub0123456789 TrueFalsedescrshape\\[]\n\0x";
    const size_t near = f->length < 140 ? f->length : 140; /* most changes belong into the header */
    const size_t at = (size_t)fuzz_below(r, (int64_t)(fuzz_one_in(r, 5) ? f->length : near));
    const int64_t kind = fuzz_below(r, 6);
    if (kind == 0) {
        f->length = at + 1;
    } else if (kind == 1 && f->length < FILE_BYTES) {
        memmove(f->bytes + at + 1, f->bytes + at, f->length++ - at);
    } else if (kind == 2 && f->length > 1) {
        memmove(f->bytes + at, f->bytes + at + 1, --f->length - at);
    } else {
        f->bytes[at] = kind == 3 ? (unsigned char)fuzz_next(r) : (unsigned char)FUZZ_PICK(r, alphabet);
    }
}

static void write_file(const struct file *f) {
    FILE *out = fopen(path, "wb");
    if (out == NULL || fwrite(f->bytes, 1, f->length, out) != f->length || fclose(out) != 0)
        fuzz_fail("%s cannot be written", path);
}

/* The start of the file, with ? for what a terminal might obey. */
static void note_file(const struct file *f, int64_t index) {
    char start[301];
    size_t i = 0;
    for (; i < f->length && i < sizeof start - 1; i++)
        start[i] = f->bytes[i] >= ' ' && f->bytes[i] <= '~' ? (char)f->bytes[i] : '?';
    start[i] = '\0';
    fuzz_note("case %lld: a file of %zu bytes: %s", (long long)index, f->length, start);
}

/* One line that names the file and says what to do. */
static void check_refusal(const struct cli_error *f) {
    FUZZ_CHECK(strstr(f->text, path) != NULL, "the file is not named: %s", f->text);
    FUZZ_CHECK(strlen(f->text) < sizeof f->text - 1 && strchr(f->text, ';') != NULL, "no cure follows: %s", f->text);
    for (const char *p = f->text; *p != '\0'; p++)
        FUZZ_CHECK((unsigned char)*p >= ' ' && *p != 127, "byte %d of the message is %d", (int)(p - f->text), *p);
}

static void run_case(void *context, struct fuzz_rng *r, int64_t index) {
    static struct file file;
    struct totals *totals = context;
    struct npy_matrix x;
    struct cli_error f = {EXIT_OK, ""};
    snprintf(path, sizeof path, "/tmp/halftone_fuzz_%ld.npy", (long)getppid());
    random_file(r, &file);
    for (int64_t n = fuzz_one_in(r, 2) ? fuzz_below(r, 5) : 0; n > 0; n--)
        mutate(r, &file);
    write_file(&file);
    note_file(&file, index);
    const int code = npy_read(path, &x, &f);
    unlink(path);
    if (code != 0) {
        FUZZ_CHECK(code == -1 && x.data == NULL, "code %d, data %p", code, (void *)x.data);
        check_refusal(&f);
        totals->refused++;
        return;
    }
    FUZZ_CHECK(x.rows >= 0 && x.cols >= 0 && x.data != NULL, "%lld x %lld", (long long)x.rows, (long long)x.cols);
    FUZZ_CHECK(x.rows == 0 || x.cols <= (int64_t)file.length / x.rows, "%lld x %lld of %zu bytes", (long long)x.rows, (long long)x.cols, file.length);
    double sum = 0;
    for (int64_t i = 0; i < x.rows * x.cols; i++)
        sum += fabs((double)x.data[i]);
    FUZZ_CHECK(!(sum < 0), "no sum");
    npy_free(&x);
    totals->accepted++;
}

static void report(const void *context) {
    const struct totals *t = context;
    printf("  %lld files read, %lld refused\n", (long long)t->accepted, (long long)t->refused);
}

int main(int argc, char **argv) {
    static const struct fuzz f = {"npy", sizeof(struct totals), run_case, report};
    return fuzz_main(&f, argc, argv);
}
