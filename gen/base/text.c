/* text: the growable byte buffer and whole-file input and output.
 *
 * Bytes are bytes: files are opened in binary mode and NULs pass through. Knows no formats and reports
 * nothing; the caller knows which file it was and says so. */
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_CAP = 256, READ_CHUNK = 65536 };

void text_free(struct text *t) {
    free(t->data);
    *t = (struct text){0};
}

void text_free_list(struct text *const *list) {
    while (*list)
        text_free(*list++);
}

/* Makes room for `extra` bytes and the NUL; sets `failed` when that is impossible. */
static bool text_reserve(struct text *t, size_t extra) {
    if (t->failed)
        return false;
    if (extra >= SIZE_MAX - t->len) {
        t->failed = true;
        return false;
    }
    size_t need = t->len + extra + 1;
    if (need <= t->cap)
        return true;
    size_t cap = t->cap < FIRST_CAP ? FIRST_CAP : t->cap;
    while (cap < need)
        cap = cap > SIZE_MAX / 2 ? need : cap * 2;
    char *data = realloc(t->data, cap);
    if (data == NULL) {
        t->failed = true;
        return false;
    }
    t->data = data;
    t->cap = cap;
    return true;
}

bool text_same(const struct text *x, const struct text *y) {
    return x->len == y->len && (x->len == 0 || memcmp(x->data, y->data, x->len) == 0);
}

void text_add(struct text *t, const char *s) {
    text_add_bytes(t, s, strlen(s));
}

/* `bytes` must not lie inside the buffer itself: growing may move it. */
void text_add_bytes(struct text *t, const char *bytes, size_t len) {
    if (!text_reserve(t, len))
        return;
    if (len > 0)
        memcpy(t->data + t->len, bytes, len);
    t->len += len;
    t->data[t->len] = '\0';
}

void text_addv(struct text *t, const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    const int len = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (len < 0)
        t->failed = true;
    else if (text_reserve(t, (size_t)len)) {
        vsnprintf(t->data + t->len, (size_t)len + 1, format, arguments);
        t->len += (size_t)len;
    }
}

void text_addf(struct text *t, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    text_addv(t, format, arguments);
    va_end(arguments);
}

void text_line(struct text *t, int indent, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    text_addf(t, "%*s", indent, "");
    text_addv(t, format, arguments);
    text_add(t, "\n");
    va_end(arguments);
}

bool text_entry(const char **list, char *entry, size_t size) {
    const size_t len = strcspn(*list, ",");
    const bool any = **list != '\0';
    snprintf(entry, size, "%.*s", (int)len, *list);
    *list += len + ((*list)[len] == ',');
    return any;
}

int text_cells(char *line, char **cell, int most) {
    int count = 0;
    while (line && count < most) {
        cell[count++] = line;
        line = strchr(line, '\t');
        if (line)
            *line++ = '\0';
    }
    return count;
}

size_t text_find_row(const char *name, const void *table, size_t count, size_t row_bytes) {
    const char *row = table;
    size_t i = 0;
    for (; i < count && strcmp(*(const char *const *)(const void *)row, name) != 0; i++)
        row += row_bytes;
    return i;
}

/* Appends from an open file; false on a read error or when memory ends. */
static bool text_read_stream(struct text *t, FILE *file) {
    for (;;) {
        if (!text_reserve(t, READ_CHUNK))
            return false;
        size_t got = fread(t->data + t->len, 1, READ_CHUNK, file);
        t->len += got;
        t->data[t->len] = '\0';
        if (got < READ_CHUNK)
            return ferror(file) == 0;
    }
}

bool text_read_file(struct text *t, const char *path) {
    if (t->failed)
        return false;
    FILE *file = fopen(path, "rb");
    if (file == NULL)
        return false;
    size_t before = t->len;
    bool ok = text_read_stream(t, file);
    fclose(file); /* only read from: nothing can be lost here */
    if (!ok) {
        t->len = before;
        if (t->data != NULL)
            t->data[before] = '\0';
    }
    return ok;
}

bool text_write_file(const struct text *t, const char *path) {
    if (t->failed)
        return false;
    FILE *file = fopen(path, "wb");
    if (file == NULL)
        return false;
    bool ok = t->len == 0 || fwrite(t->data, 1, t->len, file) == t->len;
    if (fclose(file) != 0) /* the last buffer is written here: a full disk may show only now */
        ok = false;
    return ok;
}

const char *text_number(const char *s, int64_t high, int64_t *value) {
    const char *at = s;
    int64_t number = 0;
    for (; *at >= '0' && *at <= '9'; at++) {
        const int digit = *at - '0';
        if (number > (high - digit) / 10 || (at > s && *s == '0'))
            return NULL;
        number = number * 10 + digit;
    }
    *value = number;
    return at > s ? at : NULL;
}

uint64_t text_checksum(uint64_t seed, const char *bytes, size_t len) {
    uint64_t hash = seed;
    for (size_t i = 0; i < len; i++) {
        hash ^= (unsigned char)bytes[i];
        hash *= UINT64_C(0x100000001b3); /* FNV prime, 64 bits (Fowler, Noll, Vo) */
    }
    return hash;
}
