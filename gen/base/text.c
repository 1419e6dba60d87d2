/* text: see text.h. Bytes are bytes: NULs pass through. Reports nothing: the caller says which file. */
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

void *text_memory(void *old, size_t bytes) {
    void *const memory = realloc(old, bytes);
    if (!memory) {
        fputs("halftone-gen: out of memory\n", stderr);
        exit(1);
    }
    return memory;
}

/* Makes room for `extra` bytes and the NUL. */
static void text_reserve(struct text *t, size_t extra) {
    if (t->len + extra < t->cap)
        return;
    t->cap = 2 * t->cap + extra + FIRST_CAP;
    t->data = text_memory(t->data, t->cap);
}

bool text_same(const struct text *x, const struct text *y) {
    return x->len == y->len && (x->len == 0 || memcmp(x->data, y->data, x->len) == 0);
}

void text_add(struct text *t, const char *s) {
    text_add_bytes(t, s, strlen(s));
}

/* `bytes` must not lie inside the buffer itself: growing may move it. */
void text_add_bytes(struct text *t, const char *bytes, size_t len) {
    text_reserve(t, len);
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
    text_reserve(t, (size_t)len);
    vsnprintf(t->data + t->len, (size_t)len + 1, format, arguments);
    t->len += (size_t)len;
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

const char *text_base_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

bool text_has_word(const char *list, const char *word, size_t len) {
    for (const char *at = list; at; at = strchr(at, ' ')) {
        at += *at == ' ';
        if (strncmp(at, word, len) == 0 && (at[len] == ' ' || at[len] == 0))
            return true;
    }
    return false;
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

bool text_read_file(struct text *t, const char *path) {
    const size_t before = t->len;
    FILE *const file = fopen(path, "rb");
    for (size_t got = file != NULL; got > 0; t->len += got) {
        text_reserve(t, READ_CHUNK);
        got = fread(t->data + t->len, 1, READ_CHUNK, file);
    }
    const bool ok = file && !ferror(file);
    if (file)
        fclose(file); /* only read from: nothing can be lost here */
    t->len = ok ? t->len : before;
    if (t->data)
        t->data[t->len] = '\0';
    return ok;
}

bool text_write_file(const struct text *t, const char *path) {
    FILE *const file = fopen(path, "wb");
    const bool written = file && (t->len == 0 || fwrite(t->data, 1, t->len, file) == t->len);
    return file && fclose(file) == 0 && written; /* a full disk may show only as the last buffer is written */
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
