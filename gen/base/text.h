/* text: a growable byte buffer, and whole-file reading and writing. Memory that runs out ends the program. */
#ifndef HT_TEXT_H
#define HT_TEXT_H

#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

struct text {
    char *data; /* always NUL-terminated once anything was added; NULL while empty */
    size_t len, cap;
};

void *text_memory(void *old, size_t bytes); /* realloc that ends the program, and says so, where it fails */
void text_free(struct text *t);
void text_free_list(struct text *const *list); /* ends with NULL */
#define text_free_all(...) text_free_list((struct text *const[]){__VA_ARGS__, NULL})
bool text_same(const struct text *x, const struct text *y);
void text_add(struct text *t, const char *s);
void text_add_bytes(struct text *t, const char *bytes, size_t len);
void text_addf(struct text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_addv(struct text *t, const char *format, va_list arguments) __attribute__((format(printf, 2, 0)));

/* An int64_t in a format, and thousandths with three decimals: text_addf(t, MILLI " us", AS_MILLI(ns)). */
#define I64 "%" PRId64
#define MILLI I64 ".%03d"
#define AS_MILLI(value) (int64_t)(value) / 1000, (int)((value) % 1000)

/* A whole line behind `indent` blanks. */
void text_line(struct text *t, int indent, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Copies the next entry of a list with commas, and moves the list behind it; false: there is none left. */
bool text_entry(const char **list, char *entry, size_t size);

const char *text_base_name(const char *path); /* behind its last '/' */

/* Whether the word is in a list with blanks between; NULL: an empty one. */
bool text_has_word(const char *list, const char *word, size_t len);

/* Cuts a line at its tabs into `most` cells at most; how many. */
int text_cells(char *line, char **cell, int most);

/* Row of a table whose rows begin with a pointer to their name; `count`: none. */
size_t text_find_row(const char *name, const void *table, size_t count, size_t row_bytes);
#define TEXT_ROW(name, table) text_find_row(name, table, sizeof(table) / sizeof *(table), sizeof *(table))

/* Appends the whole file; false (and nothing appended) when it cannot be read. */
bool text_read_file(struct text *t, const char *path);

/* Writes the buffer to path, closing it; false on any error, full disk included. */
bool text_write_file(const struct text *t, const char *path);

/* Reads a plain decimal number from 0 to high: no sign, no blank, no leading zero. What stands behind it;
 * NULL: none there. */
const char *text_number(const char *s, int64_t high, int64_t *value);

/* FNV-1a, 64 bits: the checksum in banners and manifests. */
uint64_t text_checksum(uint64_t seed, const char *bytes, size_t len);
#define TEXT_CHECKSUM_SEED UINT64_C(0xcbf29ce484222325)

#endif
