/* test_npy: .npy round trips, every element type, and malformed files: each gives one line with a cure,
 * nothing is leaked, nothing half-written stays behind. Run it under AddressSanitizer for the mutations to be
 * worth most. */
#define _POSIX_C_SOURCE 200809L

#include <dirent.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../../bench/halftone/io/npy.h"
#include "../test.h"

static char folder[64], path[96];

static int make_folder(void **state) {
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/halftone_npy_XXXXXX");
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/x.npy", folder);
    return 0;
}

static int remove_folder(void **state) {
    (void)state;
    unlink(path);
    return rmdir(folder); /* fails when something half-written was left */
}

static void put(const void *bytes, size_t count) {
    FILE *out = fopen(path, "wb");
    assert_non_null(out);
    assert_int_equal(fwrite(bytes, 1, count, out), count);
    assert_int_equal(fclose(out), 0);
}

/* A version `major` file with this header text and data. */
static size_t build(unsigned char *out, int major, const char *header, const void *data, size_t data_bytes) {
    size_t length = strlen(header), at = 8;
    memcpy(out, "\x93NUMPY", 6);
    out[6] = (unsigned char)major;
    out[7] = 0;
    out[at++] = (unsigned char)(length & 255);
    out[at++] = (unsigned char)(length >> 8);
    if (major > 1) {
        out[at++] = 0;
        out[at++] = 0;
    }
    memcpy(out + at, header, length);
    if (data_bytes > 0)
        memcpy(out + at + length, data, data_bytes);
    return at + length + data_bytes;
}

static void put_built(const char *header, const void *data, size_t data_bytes) {
    unsigned char file[4096];
    put(file, build(file, 1, header, data, data_bytes));
}

static int read_built(const char *header, const void *data, size_t data_bytes, struct npy_matrix *x,
                      struct cli_error *f) {
    put_built(header, data, data_bytes);
    return npy_read(path, x, f);
}

TEST(round_trip) {
    float values[6] = {1.5f, -0.0f, INFINITY, NAN, 1e-45f, -3e38f};
    for (int order = 0; order < 2; order++) {
        struct npy_matrix in = {.data = values, .rows = 2, .cols = 3, .column_major = order}, out;
        struct cli_error f;
        assert_int_equal(npy_write(path, &in, &f), 0);
        assert_int_equal(npy_read(path, &out, &f), 0);
        assert_true(out.rows == 2 && out.cols == 3 && out.column_major == order);
        assert_memory_equal(out.data, values, sizeof values);
        npy_free(&out);
        struct stat info;
        assert_int_equal(stat(path, &info), 0);
        assert_int_equal(info.st_size, 128 + 24); /* data starts at a multiple of 64 */
    }
    struct npy_matrix empty = {.data = values, .rows = 0, .cols = 7, .column_major = 0}, out;
    struct cli_error f;
    assert_int_equal(npy_write(path, &empty, &f), 0);
    assert_int_equal(npy_read(path, &out, &f), 0);
    assert_true(out.rows == 0 && out.cols == 7 && out.data != NULL);
    npy_free(&out);
}

struct type_case {
    const char *descr;
    unsigned char bytes[16]; /* two elements */
    size_t size;
    float first, second;
};

TEST(element_types) {
    static const struct type_case cases[] = {
        {"<f4", {0, 0, 0xc0, 0x3f, 0, 0, 0x80, 0xbf}, 4, 1.5f, -1.0f},
        {">f4", {0x3f, 0xc0, 0, 0, 0xbf, 0x80, 0, 0}, 4, 1.5f, -1.0f},
        {"<f8", {0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0, 0, 0, 0, 0, 0, 0xf0, 0xbf}, 8, 1.5f, -1.0f},
        {">f8", {0x3f, 0xf8, 0, 0, 0, 0, 0, 0, 0xff, 0xf0, 0, 0, 0, 0, 0, 0}, 8, 1.5f, -INFINITY},
        {"<f2", {0x00, 0x3e, 0x01, 0x80}, 2, 1.5f, -0x1p-24f},
        {">f2", {0x7c, 0x00, 0x04, 0x00}, 2, INFINITY, 0x1p-14f},
        {"|i1", {0x7f, 0x80}, 1, 127.0f, -128.0f},
        {"|u1", {0x7f, 0x80}, 1, 127.0f, 128.0f},
        {"<i2", {0xff, 0xff, 0x00, 0x80}, 2, -1.0f, -32768.0f},
        {">u2", {0xff, 0xff, 0x01, 0x02}, 2, 65535.0f, 258.0f},
        {"<i4", {0xfe, 0xff, 0xff, 0xff, 1, 0, 0, 1}, 4, -2.0f, 16777216.0f},
        {"<u4", {0xff, 0xff, 0xff, 0xff, 1, 0, 0, 0}, 4, 4294967296.0f, 1.0f},
        {"<i8", {0, 0, 0, 0, 0, 0, 0, 0x80, 5, 0, 0, 0, 0, 0, 0, 0}, 8, -0x1p63f, 5.0f},
        {">u8", {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 7}, 8, 0x1p64f, 7.0f},
        {"|b1", {1, 0}, 1, 1.0f, 0.0f},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char header[128];
        struct npy_matrix x;
        struct cli_error f = {EXIT_OK, ""};
        snprintf(header, sizeof header, "{'descr': '%s', 'fortran_order': False, 'shape': (1, 2), }\n",
                 cases[i].descr);
        assert_int_equal(read_built(header, cases[i].bytes, 2 * cases[i].size, &x, &f), 0);
        assert_true(x.data[0] == cases[i].first && x.data[1] == cases[i].second);
        npy_free(&x);
    }
}

TEST(shapes_and_versions) {
    const float data[3] = {1, 2, 3};
    unsigned char file[512];
    struct npy_matrix x;
    struct cli_error f;
    /* 1-d is one row, also when it says Fortran order; keys in any order, double quotes, no last comma */
    assert_int_equal(
        read_built("{\"shape\":(3,),\"fortran_order\":True,\"descr\":\"<f4\"}", data, 12, &x, &f), 0);
    assert_true(x.rows == 1 && x.cols == 3 && !x.column_major && x.data[2] == 3.0f);
    npy_free(&x);
    for (int major = 1; major <= 3; major++) {
        put(file,
            build(file, major, "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 1), } \n", data, 12));
        assert_int_equal(npy_read(path, &x, &f), 0);
        assert_true(x.rows == 3 && x.cols == 1 && x.data[1] == 2.0f);
        npy_free(&x);
    }
    assert_int_equal(read_built("{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }", NULL, 0, &x, &f),
                     0);
    assert_true(x.rows == 1 && x.cols == 0);
    npy_free(&x);
}

struct bad_case {
    const char *header;
    size_t data_bytes;
    const char *needle; /* must appear in the message */
};

TEST(malformed_headers) {
    static const struct bad_case cases[] = {
        {"", 0, "dictionary"},
        {"hello", 0, "dictionary"},
        {"{", 0, "dictionary"},
        {"{}", 0, "needs 'descr'"},
        {"{'descr': '<f4', 'fortran_order': False, }", 4, "needs 'descr'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1)", 4, "not closed"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), } x", 4, "text after"},
        {"{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }", 4, "twice"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), 'extra': 1, }", 4, "unknown key"},
        {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (1, 1), }", 4, "neither True nor False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': 1, }", 4, "not a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1), }", 4, "not a tuple"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, }", 4, "not a number"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-1, 1), }", 4, "not a number"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 99999999999999999999), }", 4, "too large"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (4000000000, 4000000000), }", 4,
         "more than any memory"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (100000, 100000), }", 4, "cut short"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (), }", 4, "0 dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1), }", 4, "3 dimensions"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }", 3, "cut short"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }", 5, "after the array"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (1, 1), }", 8, "'<c8', which this command cannot read; give real and imaginary parts"},
        {"{'descr': '<f16', 'fortran_order': False, 'shape': (1, 1), }", 16, "'<f16'"},
        {"{'descr': '<f', 'fortran_order': False, 'shape': (1, 1), }", 4, "'<f'"},
        {"{'descr': '', 'fortran_order': False, 'shape': (1, 1), }", 4, "''"},
        {"{'descr': '|O', 'fortran_order': False, 'shape': (1, 1), }", 8, "'|O'"},
        {"{'descr': '<U3', 'fortran_order': False, 'shape': (1, 1), }", 12, "'<U3'"},
        {"{'descr': '|f4', 'fortran_order': False, 'shape': (1, 1), }", 4, "byte order"},
        {"{'descr': [('x', '<f4')], 'fortran_order': False, 'shape': (1, 1), }", 4, "structured"},
        {"{'descr': 4, 'fortran_order': False, 'shape': (1, 1), }", 4, "type string"},
        {"{'descr': '<f4\n', 'fortran_order': False, 'shape': (1, 1), }", 4, "type string"},
        {"{'descr': '\033[2J', 'fortran_order': False, 'shape': (1, 1), }", 4, "type string"},
        {"{'descr': '<f4 and a great deal more', 'fortran_order': False, 'shape': (1, 1), }", 4,
         "type string"},
    };
    const unsigned char zeros[32] = {0};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct npy_matrix x;
        struct cli_error f = {EXIT_OK, ""};
        assert_int_equal(read_built(cases[i].header, zeros, cases[i].data_bytes, &x, &f), -1);
        if (strstr(f.text, cases[i].needle) == NULL)
            fail_msg("%s -> %s", cases[i].header, f.text);
        assert_non_null(strstr(f.text, path));
        assert_non_null(strchr(f.text, ';')); /* the cure follows */
        assert_null(strchr(f.text, '\n'));
        assert_null(x.data);
        assert_int_equal(f.code, EXIT_FAULT);
    }
}

TEST(malformed_files) {
    struct npy_matrix x;
    struct cli_error f;
    put("", 0);
    assert_int_equal(npy_read(path, &x, &f), -1);
    assert_non_null(strstr(f.text, "not a .npy file"));
    put("PK\003\004 an npz archive", 20);
    assert_int_equal(npy_read(path, &x, &f), -1);
    put("\x93NUMPY\x07\x00\x10\x00", 10);
    assert_int_equal(npy_read(path, &x, &f), -1);
    assert_non_null(strstr(f.text, "version 7.0"));
    put("\x93NUMPY\x02\x00\xff\xff\xff\xff", 12);
    assert_int_equal(npy_read(path, &x, &f), -1);
    assert_non_null(strstr(f.text, "claims"));
    put("\x93NUMPY\x01\x00\x76", 9);
    assert_int_equal(npy_read(path, &x, &f), -1);
    assert_non_null(strstr(f.text, "ends inside"));
    assert_int_equal(npy_read(folder, &x, &f), -1); /* a folder */
    assert_int_equal(npy_read("/nonexistent/x.npy", &x, &f), -1);
    assert_non_null(strstr(f.text, "cannot be opened"));
    const double large = 1e39;
    assert_int_equal(
        read_built("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1), }", &large, 8, &x, &f), -1);
    assert_non_null(strstr(f.text, "too large for float32"));
    assert_null(x.data);
}

/* float64 as it is, both ways; what is not float64 is refused. */
TEST(wide_matrices_keep_every_bit) {
    const double values[6] = {0.1, -1e300, 5e-324, -0.0, (double)INFINITY, 3};
    struct npy_matrix x, y;
    struct cli_error f;
    put_built("{'descr': '<f8', 'fortran_order': True, 'shape': (2, 3), }", values, sizeof values);
    assert_int_equal(npy_examine(path, &x, &f), 0);
    assert_true(x.is_float64 && x.wide == NULL && x.data == NULL);
    assert_int_equal(npy_read_wide(path, &x, &f), 0);
    assert_true(x.data == NULL && x.rows == 2 && x.cols == 3 && x.column_major);
    assert_memory_equal(x.wide, values, sizeof values);
    assert_int_equal(npy_write(path, &x, &f), 0);
    assert_int_equal(npy_read_wide(path, &y, &f), 0);
    assert_true(y.column_major && y.is_float64);
    assert_memory_equal(y.wide, values, sizeof values);
    npy_free(&x);
    npy_free(&y);
    const float single = 1;
    put_built("{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1), }", &single, sizeof single);
    assert_int_equal(npy_read_wide(path, &x, &f), -1);
    assert_non_null(strstr(f.text, "holds float32"));
    assert_true(x.wide == NULL && x.data == NULL);
}

static int files_in_folder(void) {
    DIR *d = opendir(folder);
    int count = 0;
    assert_non_null(d);
    for (struct dirent *entry = readdir(d); entry != NULL; entry = readdir(d))
        count += entry->d_name[0] != '.';
    closedir(d);
    return count;
}

/* A failed write leaves the old file and no temporary one. */
TEST(failed_write_leaves_nothing) {
    float one = 1;
    struct npy_matrix x = {.data = &one, .rows = 1, .cols = 1, .column_major = 0};
    struct cli_error f;
    char inside[160];
    assert_int_equal(npy_write(path, &x, &f), 0);
    int before = files_in_folder();
    snprintf(inside, sizeof inside, "%s/none/y.npy", folder);
    assert_int_equal(npy_write(inside, &x, &f), -1);
    assert_non_null(strstr(f.text, "cannot write"));
    assert_int_equal(npy_write(folder, &x, &f), -1); /* a folder stands there: the rename fails */
    assert_int_equal(files_in_folder(), before);
}

/* Fixed-seed mutations of good files: any answer is right, as long as it is an answer. A file that is still
 * read must not be larger than the bytes it has. */
TEST(mutations) {
    static const char *const header[3] = {
        "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }                     \n",
        "{'descr': '>i2', 'fortran_order': True, 'shape': (24,), }      \n",
        "{'descr': '<f8', 'fortran_order': False, 'shape': (2, 3), }\n"};
    static const char alphabet[] = "0123456789(),'\"{}: <>|=fiubTrue\\[]\x93\xff\x01";
    unsigned char base[512], file[1024], data[48];
    uint32_t random = 12345;
    int accepted = 0;
    for (int i = 0; i < 48; i++)
        data[i] = (unsigned char)(i * 5);
    for (int round = 0; round < 6000; round++) {
        size_t length = build(base, 1 + round % 3, header[round / 3 % 3], data, sizeof data);
        memcpy(file, base, length);
        for (int edits = 1 + round % 4; edits > 0; edits--) {
            random = random * 1664525u + 1013904223u;
            size_t at = (random >> 8) % length, kind = random >> 29;
            random = random * 1664525u + 1013904223u;
            if (kind < 3) {
                file[at] = (unsigned char)alphabet[(random >> 8) % (sizeof alphabet - 1)];
            } else if (kind < 5) {
                file[at] = (unsigned char)(random >> 16);
            } else if (kind == 5) {
                length = at > 0 ? at : 1; /* cut */
            } else if (kind == 6 && length + 8 < sizeof file) {
                memmove(file + at + 1, file + at, length - at); /* insert */
                file[at] = (unsigned char)alphabet[(random >> 8) % (sizeof alphabet - 1)];
                length++;
            } else {
                memmove(file + at, file + at + 1, length - at - 1); /* delete */
                length = length > 1 ? length - 1 : 1;
            }
        }
        struct npy_matrix x;
        struct cli_error f = {EXIT_OK, ""};
        put(file, length);
        if (npy_read(path, &x, &f) == 0) {
            double sum = 0;
            assert_true(x.rows >= 0 && x.cols >= 0 && x.rows * x.cols <= (int64_t)length);
            for (int64_t i = 0; i < x.rows * x.cols; i++)
                sum += (double)x.data[i];
            accepted += sum == sum || 1;
            npy_free(&x);
        } else {
            assert_true(f.text[0] != '\0' && x.data == NULL);
        }
    }
    assert_true(accepted > 100 && accepted < 5900);
}

FOR_ALL(make_folder, remove_folder)
