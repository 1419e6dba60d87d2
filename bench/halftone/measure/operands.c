/* operands: a folder of stored operand pairs. See operands.h. */
#include "measure/operands.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/outfile.h"

#define MANIFEST "operands.tsv"
#define CURE "write the set again, for example with bench/data/real_data.py"

enum { FIELDS = 6, LINE_BYTES = 1024, PRODUCTS_MOST = 100000, PLACE_BYTES = 320, BATCH_MOST = 1 << 24 };

static const char *const field_names[FIELDS] = {"product", "a", "trans_a", "b", "trans_b", "batch"};

struct reader {
    struct operands *out;
    const char *path;
    int line, promised, has_header;
    struct cli_error *fault;
};

static int bad_line(const struct reader *r, const char *what) {
    return cli_error_set(r->fault, "%s:%d: %s; " CURE, r->path, r->line, what);
}

/* Cuts the line at its tabs; whether it has FIELDS fields that are not empty. */
static int cut(char *line, char *field[FIELDS]) {
    line[strcspn(line, "\r\n")] = '\0';
    for (int i = 0; i < FIELDS; i++) {
        field[i] = line;
        line += strcspn(line, "\t");
        if (*line != (i + 1 < FIELDS ? '\t' : '\0') || line == field[i])
            return 0;
        *line++ = '\0';
    }
    return 1;
}

static int copy_name(char out[OPERANDS_NAME_BYTES], const char *name, int is_file) {
    const size_t length = strlen(name);
    for (const char *p = name; *p != '\0'; p++)
        if (*p < ' ' || *p > '~' || (is_file && *p == '/'))
            return 0;
    if (length >= OPERANDS_NAME_BYTES)
        return 0;
    memcpy(out, name, length + 1);
    return 1;
}

static int parse_product(const struct reader *r, char *const field[FIELDS], struct operands_product *p) {
    memset(p, 0, sizeof *p);
    if (!copy_name(p->name, field[0], 0))
        return bad_line(r, "the product's name is longer than 63 characters, or not of printable ASCII");
    for (int i = 0; i < 2; i++) {
        const char *trans = field[2 + 2 * i];
        if (!copy_name(p->file[i], field[1 + 2 * i], 1))
            return bad_line(
                r, "a file is not a name in this folder, of at most 63 characters of printable ASCII");
        if (strcmp(trans, "N") != 0 && strcmp(trans, "T") != 0)
            return bad_line(r, "a transpose is neither N nor T");
        p->transposed[i] = trans[0] == 'T';
    }
    const long long batch = strtoll(field[5], NULL, 10); /* saturates */
    if (field[5][strspn(field[5], "0123456789")] != '\0' || batch < 1 || batch > BATCH_MOST)
        return bad_line(r, "the batch is not a number from 1 to 16777216");
    p->batch = batch;
    return 0;
}

static int add_product(struct operands *o, const struct operands_product *p, struct cli_error *f) {
    if (o->count % 64 == 0) {
        struct operands_product *grown = realloc(o->product, (size_t)(o->count + 64) * sizeof *grown);
        if (grown == NULL)
            return cli_error_memory(f, (double)(o->count + 64) * sizeof *grown, "a manifest");
        o->product = grown;
    }
    o->product[o->count++] = *p;
    return 0;
}

static int take_line(struct reader *r, char *line) {
    char *field[FIELDS];
    struct operands_product product;
    if (strchr(line, '\n') == NULL)
        return bad_line(r, "the line is too long, or the file is cut short");
    if (line[0] == '#') {
        (void)sscanf(line, "# products: %d", &r->promised);
        return 0;
    }
    if (!cut(line, field))
        return bad_line(r, "does not hold product, a, trans_a, b, trans_b, batch, separated by tabs");
    if (!r->has_header) {
        for (int i = 0; i < FIELDS; i++)
            if (strcmp(field[i], field_names[i]) != 0)
                return bad_line(r, "the first line is not: product, a, trans_a, b, trans_b, batch");
        r->has_header = 1;
        return 0;
    }
    if (r->out->count == PRODUCTS_MOST)
        return bad_line(r, "more than 100000 products");
    return parse_product(r, field, &product) == 0 ? add_product(r->out, &product, r->fault) : -1;
}

static int read_manifest(struct operands *o, const char *path, struct cli_error *f) {
    char line[LINE_BYTES];
    struct reader r = {o, path, 0, 0, 0, f};
    int status = 0;
    FILE *in = fopen(path, "r");
    if (in == NULL)
        return cli_error_set(f, "%s: cannot be opened: %s; name a folder that bench/data/real_data.py wrote", path,
                         strerror(errno));
    while (status == 0 && fgets(line, sizeof line, in) != NULL) {
        r.line++;
        status = take_line(&r, line);
    }
    if (status == 0 && ferror(in))
        status = cli_error_set(f, "%s: cannot be read: %s; name a folder that bench/data/real_data.py wrote", path,
                           strerror(errno));
    fclose(in);
    if (status == 0 && (o->count == 0 || o->count != r.promised))
        status = cli_error_set(
            f, "%s: holds %d products where `# products:` says %d: cut short, or never finished; " CURE, path,
            o->count, r.promised);
    return status;
}

static int read_pair(const struct operands *o, int i, int with_elements, struct pair *out, struct cli_error *f) {
    const struct operands_product *p = &o->product[i];
    char place[PLACE_BYTES];
    memset(out, 0, sizeof *out);
    out->batch = p->batch;
    int status = 0;
    for (int s = 0; s < 2 && status == 0; s++) {
        out->transposed[s] = p->transposed[s];
        char *path = outfile_join(o->folder, p->file[s]);
        status = path == NULL     ? cli_error_memory(f, PLACE_BYTES, "a path")
                 : !with_elements ? npy_examine(path, &out->x[s], f)
                 : o->is_wide     ? npy_read_wide(path, &out->x[s], f)
                                  : npy_read(path, &out->x[s], f);
        if (status == 0 && o->is_wide && !out->x[s].is_float64)
            status = cli_error_set(f, "%s: is not float64, which FP64 products are of; leave --fp64 out, or write a set with "
                                   "bench/data/real_data.py --fp64", path);
        free(path);
    }
    snprintf(place, sizeof place, "%.150s/" MANIFEST ": product %s: ", o->folder, p->name);
    AND_THEN(status, pair_check(out, place, 0, f));
    if (status == 0 && pair_rows(out, 0) * pair_cols(out, 0) * pair_cols(out, 1) == 0)
        status = cli_error_set(f, "%san extent is 0; leave the product out", place);
    if (status == 0 && o->is_wide && p->batch > 1)
        status = cli_error_set(f, "%sis a batch, and FP64 products are single ones; give each a line of its own", place);
    return status;
}

int operands_load(const struct operands *o, int i, struct pair *out, struct cli_error *f) {
    return read_pair(o, i, 1, out, f);
}

static int examine_all(const struct operands *o, struct cli_error *f) {
    int status = 0;
    for (int i = 0; i < o->count && status == 0; i++) {
        struct pair p;
        status = read_pair(o, i, 0, &p, f);
        pair_free(&p);
    }
    return status;
}

int operands_read(struct operands *o, const char *folder, int is_wide, struct cli_error *f) {
    memset(o, 0, sizeof *o);
    o->folder = folder;
    o->is_wide = is_wide;
    char *path = outfile_join(folder, MANIFEST);
    int status = path == NULL ? cli_error_memory(f, PLACE_BYTES, "a path") : read_manifest(o, path, f);
    free(path);
    return status == 0 ? examine_all(o, f) : -1;
}

void operands_free(struct operands *o) {
    free(o->product);
    memset(o, 0, sizeof *o);
}
