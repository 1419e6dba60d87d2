/* npy: reader and writer of .npy files. See npy.h. Source of the format: numpy/lib/format.py, "Format
 * Version 1.0". */
#define _POSIX_C_SOURCE 200809L
#include "io/npy.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/outfile.h"

enum { HEADER_MOST_BYTES = 1 << 16, CHUNK_ELEMENTS = 1 << 14, DIMENSIONS_MOST = 32, KEY_BYTES = 16 };
#define CURE_FLOAT32 "save it with numpy.save(path, x.astype(numpy.float32))"

struct header {
    char kind; /* 'f', 'i', 'u' or 'b', as in NumPy */
    int bytes, big_endian, fortran_order, dimensions;
    int64_t extent[DIMENSIONS_MOST];
};

/* A cursor over the header's Python literal: a dict with three keys. */
struct cursor {
    const char *at, *end;
    const char *path;
    struct cli_error *fault;
};

static int bad_header(const struct cursor *c, const char *what) {
    return cli_error_set(c->fault, "%s: damaged .npy header (%s); save the array again with numpy.save", c->path,
                     what);
}

static void skip_space(struct cursor *c) {
    while (c->at < c->end && (*c->at == ' ' || *c->at == '\t' || *c->at == '\n' || *c->at == '\r'))
        c->at++;
}

static int take(struct cursor *c, char wanted) {
    skip_space(c);
    if (c->at >= c->end || *c->at != wanted)
        return 0;
    c->at++;
    return 1;
}

static int take_word(struct cursor *c, const char *word) {
    size_t length = strlen(word);
    skip_space(c);
    if ((size_t)(c->end - c->at) < length || memcmp(c->at, word, length) != 0)
        return 0;
    c->at += length;
    return 1;
}

/* A quoted string of printable ASCII without escapes, shorter than KEY_BYTES: it is quoted in messages of one line. */
static int take_string(struct cursor *c, char out[KEY_BYTES]) {
    skip_space(c);
    if (c->at >= c->end || (*c->at != '\'' && *c->at != '"'))
        return 0;
    char quote = *c->at++;
    int length = 0;
    while (c->at < c->end && *c->at != quote) {
        if (length + 1 >= KEY_BYTES || *c->at == '\\' || *c->at < ' ' || *c->at > '~')
            return 0;
        out[length++] = *c->at++;
    }
    out[length] = '\0';
    return take(c, quote);
}

static int parse_descr(struct cursor *c, struct header *h) {
    char text[KEY_BYTES];
    skip_space(c);
    if (c->at < c->end && *c->at == '[')
        return cli_error_set(c->fault, "%s: holds a structured array; pick one field and " CURE_FLOAT32, c->path);
    if (!take_string(c, text))
        return bad_header(c, "'descr' is not a type string");
    const char *p = text;
    char order = *p != '\0' && strchr("<>|=", *p) != NULL ? *p++ : '=';
    h->kind = *p != '\0' ? *p++ : '?';
    char *rest = NULL;
    long bytes = *p >= '0' && *p <= '9' ? strtol(p, &rest, 10) : 0;
    int whole = rest != NULL && *rest == '\0';
    int floating = h->kind == 'f' && (bytes == 2 || bytes == 4 || bytes == 8);
    int integer =
        (h->kind == 'i' || h->kind == 'u') && (bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8);
    if (!whole || !(floating || integer || (h->kind == 'b' && bytes == 1)))
        return cli_error_set(c->fault, "%s: holds elements of type '%s', which this command cannot read; %s", c->path, text,
                             h->kind == 'c' ? "give real and imaginary parts one by one" : CURE_FLOAT32);
    if (bytes > 1 && order == '|')
        return bad_header(c, "'descr' has no byte order");
    h->bytes = (int)bytes;
    h->big_endian = order == '>';
    return 0;
}

static int parse_extent(struct cursor *c, int64_t *out) {
    int64_t value = 0;
    int digits = 0;
    skip_space(c);
    for (; c->at < c->end && *c->at >= '0' && *c->at <= '9'; c->at++, digits++) {
        int digit = *c->at - '0';
        if (value > (INT64_MAX - digit) / 10)
            return bad_header(c, "an extent in 'shape' is too large");
        value = value * 10 + digit;
    }
    if (digits == 0)
        return bad_header(c, "'shape' holds something that is not a number");
    *out = value;
    return 0;
}

static int parse_shape(struct cursor *c, struct header *h) {
    if (!take(c, '('))
        return bad_header(c, "'shape' is not a tuple");
    while (!take(c, ')')) {
        if (h->dimensions == DIMENSIONS_MOST)
            return bad_header(c, "'shape' has too many dimensions");
        if (parse_extent(c, &h->extent[h->dimensions++]) != 0)
            return -1;
        if (take(c, ','))
            continue;
        if (h->dimensions == 1) /* "(3)" is a number in Python, not a tuple */
            return bad_header(c, "'shape' is not a tuple");
        if (!take(c, ')'))
            return bad_header(c, "'shape' is not closed");
        return 0;
    }
    return 0;
}

static int parse_entry(struct cursor *c, struct header *h, int seen[3]) {
    static const char *const keys[3] = {"descr", "fortran_order", "shape"};
    char key[KEY_BYTES];
    if (!take_string(c, key) || !take(c, ':'))
        return bad_header(c, "it is not a dictionary");
    int which = 0;
    while (which < 3 && strcmp(key, keys[which]) != 0)
        which++;
    if (which == 3)
        return bad_header(c, "it has an unknown key");
    if (seen[which]++)
        return bad_header(c, "a key appears twice");
    if (which == 0)
        return parse_descr(c, h);
    if (which == 2)
        return parse_shape(c, h);
    if (take_word(c, "True"))
        h->fortran_order = 1;
    else if (!take_word(c, "False"))
        return bad_header(c, "'fortran_order' is neither True nor False");
    return 0;
}

static int parse_header(struct cursor *c, struct header *h) {
    int seen[3] = {0, 0, 0};
    memset(h, 0, sizeof *h);
    if (!take(c, '{'))
        return bad_header(c, "it is not a dictionary");
    while (!take(c, '}')) {
        if (parse_entry(c, h, seen) != 0)
            return -1;
        if (take(c, ','))
            continue;
        if (!take(c, '}'))
            return bad_header(c, "the dictionary is not closed");
        break;
    }
    if (!seen[0] || !seen[1] || !seen[2])
        return bad_header(c, "it needs 'descr', 'fortran_order' and 'shape'");
    skip_space(c);
    if (c->at != c->end)
        return bad_header(c, "text after the dictionary");
    return 0;
}

/* Reads magic, version and the header's text; *data_at gets the offset of the first element. */
static int read_header(FILE *in, const char *path, struct header *h, int64_t *data_at, struct cli_error *f) {
    unsigned char start[12];
    if (fread(start, 1, 8, in) != 8 || memcmp(start, "\x93NUMPY", 6) != 0)
        return cli_error_set(f, "%s: is not a .npy file; " CURE_FLOAT32, path);
    int version = start[6];
    if (version < 1 || version > 3 || start[7] != 0)
        return cli_error_set(
            f, "%s: .npy format version %d.%d is unknown here (1.0, 2.0 and 3.0 are read); " CURE_FLOAT32,
            path, start[6], start[7]);
    size_t length_bytes = version == 1 ? 2 : 4;
    if (fread(start + 8, 1, length_bytes, in) != length_bytes)
        return cli_error_set(f, "%s: ends inside its header; copy the file again or save the array again", path);
    uint32_t length = (uint32_t)start[8] | (uint32_t)start[9] << 8;
    if (version > 1)
        length |= (uint32_t)start[10] << 16 | (uint32_t)start[11] << 24;
    if (length > HEADER_MOST_BYTES)
        return cli_error_set(
            f, "%s: damaged .npy header (it claims %lu bytes); save the array again with numpy.save", path,
            (unsigned long)length);
    char *text = malloc((size_t)length + 1);
    if (text == NULL)
        return cli_error_memory(f, length, "a .npy header");
    int status;
    if (fread(text, 1, length, in) != length) {
        status =
            cli_error_set(f, "%s: ends inside its header; copy the file again or save the array again", path);
    } else {
        struct cursor c = {text, text + length, path, f};
        status = parse_header(&c, h);
    }
    free(text);
    *data_at = 8 + (int64_t)length_bytes + length;
    return status;
}

static int header_to_extents(const struct header *h, const char *path, struct npy_matrix *out,
                             struct cli_error *f) {
    if (h->dimensions == 0 || h->dimensions > 2)
        return cli_error_set(
            f, "%s: has %d dimensions, a matrix has 2; reshape it, for example x.reshape(len(x), -1)", path,
            h->dimensions);
    out->rows = h->dimensions == 2 ? h->extent[0] : 1;
    out->cols = h->dimensions == 2 ? h->extent[1] : h->extent[0];
    out->column_major = h->dimensions == 2 && h->fortran_order;
    int64_t most = INT64_MAX / 16;
    if (out->cols != 0 && out->rows > most / out->cols)
        return cli_error_set(f,
                         "%s: claims %lld x %lld elements, more than any memory holds; save the array again",
                         path, (long long)out->rows, (long long)out->cols);
    return 0;
}

/* The data must be exactly as long as the header says: checked before memory is taken, so that a damaged
 * extent cannot ask for terabytes. */
static int check_length(FILE *in, const char *path, int64_t data_at, int64_t data_bytes, struct cli_error *f) {
    struct stat info;
    if (fstat(fileno(in), &info) != 0)
        return cli_error_set(f, "%s: cannot be examined: %s; copy it to a local folder", path, strerror(errno));
    if (!S_ISREG(info.st_mode))
        return cli_error_set(f, "%s: is not a regular file; save the array to a file first", path);
    int64_t present = (int64_t)info.st_size - data_at;
    if (present < data_bytes)
        return cli_error_set(
            f, "%s: cut short: %lld of %lld data bytes; copy the file again or save the array again", path,
            (long long)(present < 0 ? 0 : present), (long long)data_bytes);
    if (present > data_bytes)
        return cli_error_set(f, "%s: %lld bytes after the array; save one array per file with numpy.save", path,
                         (long long)(present - data_bytes));
    return 0;
}

static double half_to_double(unsigned bits) {
    unsigned exponent = bits >> 10 & 31, fraction = bits & 1023;
    double magnitude;
    if (exponent == 31)
        magnitude = fraction ? (double)NAN : (double)INFINITY;
    else if (exponent == 0)
        magnitude = ldexp(fraction, -24);
    else
        magnitude = ldexp(fraction + 1024.0, (int)exponent - 25);
    return bits >> 15 ? -magnitude : magnitude;
}

/* The element's bits as a number in the machine's own order. */
static uint64_t gather_bits(const unsigned char *p, const struct header *h) {
    uint64_t bits = 0;
    for (int i = 0; i < h->bytes; i++)
        bits |= (uint64_t)p[i] << 8 * (h->big_endian ? h->bytes - 1 - i : i);
    return bits;
}

static double wide_element(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static float element(const unsigned char *p, const struct header *h) {
    uint64_t bits = gather_bits(p, h);
    if (h->kind == 'b')
        return bits != 0 ? 1.0f : 0.0f;
    if (h->kind == 'u')
        return (float)bits;
    if (h->kind == 'i') {
        int unused = 64 - 8 * h->bytes;
        uint64_t wide = bits << unused;
        int64_t value;
        memcpy(&value, &wide, sizeof value);
        return (float)(value / ((int64_t)1 << unused)); /* exact: the low bits are zero, the sign is kept */
    }
    if (h->bytes == 2)
        return (float)half_to_double((unsigned)bits);
    if (h->bytes == 4) {
        uint32_t low = (uint32_t)bits;
        float value;
        memcpy(&value, &low, sizeof value);
        return value;
    }
    return (float)wide_element(bits);
}

static int finite_in_file(const unsigned char *p, const struct header *h) {
    return (gather_bits(p, h) >> 52 & 2047) != 2047;
}

/* Into data or wide, whichever the matrix has. */
static int read_elements(FILE *in, const char *path, const struct header *h, int64_t count, const struct npy_matrix *out,
                         struct cli_error *f) {
    unsigned char *chunk = malloc((size_t)CHUNK_ELEMENTS * 8);
    if (chunk == NULL)
        return cli_error_memory(f, CHUNK_ELEMENTS * 8, "a read buffer");
    int status = 0;
    for (int64_t done = 0; done < count && status == 0;) {
        size_t now = count - done < CHUNK_ELEMENTS ? (size_t)(count - done) : CHUNK_ELEMENTS;
        if (fread(chunk, (size_t)h->bytes, now, in) != now) {
            status = cli_error_set(f, "%s: reading failed after %lld elements; copy the file again", path,
                               (long long)done);
            break;
        }
        for (size_t i = 0; i < now && status == 0; i++) {
            const unsigned char *p = chunk + i * (size_t)h->bytes;
            if (out->wide != NULL) {
                out->wide[done + (int64_t)i] = wide_element(gather_bits(p, h));
                continue;
            }
            const float value = element(p, h);
            out->data[done + (int64_t)i] = value;
            if (isinf(value) && h->kind == 'f' && h->bytes == 8 && finite_in_file(p, h))
                status = cli_error_set(f,
                                   "%s: element %lld is too large for float32 (3.4e38); scale the array, for "
                                   "example by 2.0**-100, and the result back",
                                   path, (long long)done + (long long)i);
        }
        done += (int64_t)now;
    }
    free(chunk);
    return status;
}

/* Leaves the file at its first element. */
static int examine_open_file(FILE *in, const char *path, struct header *h, struct npy_matrix *out, struct cli_error *f) {
    int64_t data_at = 0;
    if (read_header(in, path, h, &data_at, f) != 0 || header_to_extents(h, path, out, f) != 0)
        return -1;
    out->is_float64 = h->kind == 'f' && h->bytes == 8;
    return check_length(in, path, data_at, out->rows * out->cols * h->bytes, f);
}

enum how { HEADER_ALONE, SINGLE, WIDE };

static int read_open_file(FILE *in, const char *path, enum how how, struct npy_matrix *out, struct cli_error *f) {
    struct header h;
    if (examine_open_file(in, path, &h, out, f) != 0)
        return -1;
    if (how == HEADER_ALONE)
        return 0;
    if (how == WIDE && !out->is_float64)
        return cli_error_set(f, "%s: holds %s%d, and FP64 products take float64 in both files; save it with numpy.save(path, "
                                "x.astype(numpy.float64)), or name an accuracy or scheme of FP32",
                             path, h.kind == 'f' ? "float" : h.kind == 'i' ? "int" : h.kind == 'u' ? "uint" : "bool", 8 * h.bytes);
    const int64_t count = out->rows * out->cols;
    const size_t bytes = (size_t)count * (how == WIDE ? sizeof *out->wide : sizeof *out->data);
    void *const memory = malloc(bytes > 0 ? bytes : 1);
    if (memory == NULL)
        return cli_error_memory(f, (double)bytes, path);
    if (how == WIDE)
        out->wide = memory;
    else
        out->data = memory;
    if (read_elements(in, path, &h, count, out, f) == 0)
        return 0;
    npy_free(out);
    return -1;
}

static int open_and_read(const char *path, enum how how, struct npy_matrix *out, struct cli_error *f) {
    memset(out, 0, sizeof *out);
    struct stat info;
    if (stat(path, &info) == 0 && S_ISDIR(info.st_mode))
        return cli_error_set(f, "%s: is a folder; name a .npy file in it", path);
    FILE *in = fopen(path, "rb");
    if (in == NULL)
        return cli_error_set(f, "%s: cannot be opened: %s; check the name", path, strerror(errno));
    const int status = read_open_file(in, path, how, out, f);
    fclose(in);
    return status;
}

int npy_read(const char *path, struct npy_matrix *out, struct cli_error *f) {
    return open_and_read(path, SINGLE, out, f);
}

int npy_read_wide(const char *path, struct npy_matrix *out, struct cli_error *f) {
    return open_and_read(path, WIDE, out, f);
}

int npy_examine(const char *path, struct npy_matrix *out, struct cli_error *f) {
    return open_and_read(path, HEADER_ALONE, out, f);
}

/* Element `i`'s bits. */
static uint64_t bits_of(const struct npy_matrix *m, int64_t i) {
    uint64_t bits = 0;
    uint32_t low;
    if (m->wide != NULL) {
        memcpy(&bits, &m->wide[i], sizeof bits);
        return bits;
    }
    memcpy(&low, &m->data[i], sizeof low);
    return low;
}

static void write_elements(FILE *out, const struct npy_matrix *m, int64_t count) {
    enum { AT_ONCE = 1024 };
    unsigned char chunk[8 * AT_ONCE];
    const int bytes = m->wide != NULL ? 8 : 4;
    for (int64_t done = 0; done < count;) {
        const int64_t now = count - done < AT_ONCE ? count - done : AT_ONCE;
        for (int64_t i = 0; i < now; i++) {
            const uint64_t bits = bits_of(m, done + i);
            for (int b = 0; b < bytes; b++)
                chunk[bytes * i + b] = (unsigned char)(bits >> 8 * b);
        }
        if (fwrite(chunk, (size_t)bytes, (size_t)now, out) != (size_t)now)
            return; /* outfile_commit reports it */
        done += now;
    }
}

int npy_write(const char *path, const struct npy_matrix *matrix, struct cli_error *f) {
    char text[192];
    int length =
        snprintf(text, sizeof text, "{'descr': '<f%d', 'fortran_order': %s, 'shape': (%lld, %lld), }",
                 matrix->wide != NULL ? 8 : 4, matrix->column_major ? "True" : "False", (long long)matrix->rows, (long long)matrix->cols);
    int padded = (10 + length + 1 + 63) / 64 * 64 -
                 10; /* magic, version and length are 10 bytes; data starts at 64s */
    struct outfile o;
    if (outfile_open(&o, path, f) != 0)
        return -1;
    fwrite("\x93NUMPY\x01\x00", 1, 8, o.stream);
    fputc(padded & 255, o.stream);
    fputc(padded >> 8, o.stream);
    fprintf(o.stream, "%s%*s\n", text, padded - length - 1, "");
    write_elements(o.stream, matrix, matrix->rows * matrix->cols);
    return outfile_commit(&o, f);
}

void npy_free(struct npy_matrix *matrix) {
    free(matrix->data);
    free(matrix->wide);
    memset(matrix, 0, sizeof *matrix);
}
