/* gpu: reads and checks the resource budget of one GPU. Level 1.
 *
 * A line is taken apart as `key = value  # source`. Whatever is wrong with a line, its key counts as seen, so
 * that one mistake gives one message; checks between keys run only on values that are good by themselves.
 * Digits are read by hand: no locale, no octal, no silent overflow. Knows nothing of tiles, schemes or the
 * isa table. */
#define _POSIX_C_SOURCE 200809L /* opendir: C11 cannot list a folder */
#include "gpu.h"

#include <dirent.h>
#include <limits.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "err.h"

enum { LINE_MAX_BYTES = 512, QUOTE_MAX = 40, KEY_NAME_MAX = 40 };
enum value_kind { VALUE_NUMBER, VALUE_WORD, VALUE_TITLE };

/* Index of each key in key_table. */
#define KEY_INDEX(field, low, high, meaning) KEY_##field,
enum { KEY_name, KEY_title, KEY_isa, GPU_NUMBER_KEYS(KEY_INDEX) KEY_COUNT };
#undef KEY_INDEX

struct key {
    const char *name;
    enum value_kind kind;
    int64_t low, high; /* of a number; of the length of a string */
    const char *meaning;
    size_t offset; /* of the field in struct gpu */
};

#define KEY_ROW(field, low, high, meaning)                                                                   \
    {#field, VALUE_NUMBER, low, high, meaning, offsetof(struct gpu, field)},
static const struct key key_table[KEY_COUNT] = {
    {"name", VALUE_WORD, 1, GPU_NAME_MAX - 1, "the word after --gpu and the folder below out/",
     offsetof(struct gpu, name)},
    {"title", VALUE_TITLE, 1, GPU_TITLE_MAX - 1, "the product name", offsetof(struct gpu, title)},
    {"isa", VALUE_WORD, 1, GPU_NAME_MAX - 1, "instruction set: a row of the isa table",
     offsetof(struct gpu, isa)},
    GPU_NUMBER_KEYS(KEY_ROW)};
#undef KEY_ROW

/* Pairs that no real GPU turns round; each catches a slip of a unit or a digit. */
static const struct {
    int small, large;
    const char *why;
} order_table[] = {
    {KEY_sustained_clock_mhz, KEY_clock_mhz, "no clock is sustained above boost"},
    {KEY_copy_gbps, KEY_dram_gbps, "a copy cannot beat the data sheet"},
    {KEY_dram_gbps, KEY_l2_gbps, "L2 is at least as fast as device memory"},
    {KEY_smem_latency_cycles, KEY_l2_latency_cycles, "shared memory is nearer than L2"},
    {KEY_l2_latency_cycles, KEY_dram_latency_cycles, "L2 is nearer than device memory"},
    {KEY_schedulers_per_sm, KEY_warps_per_sm, "every scheduler can hold a warp"},
    {KEY_blocks_per_sm, KEY_warps_per_sm, "every block has a warp"},
};

struct span {
    const char *at;
    size_t len;
};

struct parse {
    struct gpu *gpu;
    const char *path;
    int line;                /* being parsed, from 1 */
    int seen_at[KEY_COUNT];  /* line of the key's first appearance; 0: none so far */
    bool is_good[KEY_COUNT]; /* its value was stored */
};

struct quote {
    char text[QUOTE_MAX + 4];
};

static bool is_blank(char c) {
    return c == ' ' || c == '\t';
}

static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_key_char(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_';
}

static bool is_word_char(char c) {
    return (c >= 'a' && c <= 'z') || is_digit(c) || c == '_';
}

/* A title goes into comments and C strings of generated files: printable ASCII that ends neither. */
static bool is_title_char(char c) {
    return c >= ' ' && c <= '~' && c != '"' && c != '\\' && c != '*';
}

static struct span span_trim(struct span s) {
    while (s.len > 0 && is_blank(s.at[0])) {
        s.at++;
        s.len--;
    }
    while (s.len > 0 && is_blank(s.at[s.len - 1]))
        s.len--;
    return s;
}

static struct span span_tail(struct span s, size_t skip) {
    return (struct span){s.at + skip, s.len - skip};
}

static size_t span_find(struct span s, char c) {
    const char *hit = s.len > 0 ? memchr(s.at, c, s.len) : NULL;
    return hit != NULL ? (size_t)(hit - s.at) : s.len;
}

static bool span_all(struct span s, bool (*accepts)(char c)) {
    for (size_t i = 0; i < s.len; i++)
        if (!accepts(s.at[i]))
            return false;
    return true;
}

/* A span made fit for a message: cut to QUOTE_MAX bytes, '?' for bytes that a terminal might obey. */
static struct quote span_quote(struct span s) {
    struct quote q = {{0}};
    size_t len = s.len < QUOTE_MAX ? s.len : QUOTE_MAX;
    for (size_t i = 0; i < len; i++)
        q.text[i] = s.at[i] >= ' ' && s.at[i] <= '~' ? s.at[i] : '?';
    if (len < s.len)
        memcpy(q.text + len, "...", 3);
    return q;
}

static size_t min_size(size_t x, size_t y) {
    return x < y ? x : y;
}

static char to_lower(char c) {
    return c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
}

/* Levenshtein distance of a short span and a key name, capitals aside. */
static size_t edit_distance(struct span s, const char *name) {
    size_t row[KEY_NAME_MAX + 1], width = min_size(strlen(name), KEY_NAME_MAX);
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 1; i <= s.len; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            size_t replaced = diagonal + (to_lower(s.at[i - 1]) != name[j - 1]);
            diagonal = row[j];
            row[j] = min_size(replaced, min_size(row[j], row[j - 1]) + 1);
        }
    }
    return row[width];
}

static int key_find(struct span name) {
    for (int i = 0; i < KEY_COUNT; i++)
        if (strlen(key_table[i].name) == name.len && memcmp(key_table[i].name, name.at, name.len) == 0)
            return i;
    return -1;
}

static void unknown_key_report(const struct parse *p, struct span name) {
    int nearest = -1;
    size_t best = name.len < 3 ? 2 : name.len / 3 + 1; /* farther off than a third of the word is no help */
    for (int i = 0; i < KEY_COUNT && name.len <= KEY_NAME_MAX; i++) {
        size_t distance = edit_distance(name, key_table[i].name);
        if (distance < best) {
            best = distance;
            nearest = i;
        }
    }
    struct quote q = span_quote(name);
    if (nearest >= 0)
        err_user(p->path, p->line, "unknown key '%s'; did you mean '%s'?", q.text, key_table[nearest].name);
    else
        err_user(p->path, p->line, "unknown key '%s'; gen/gpu.h lists the keys", q.text);
}

/* The key at the start of a line and what follows it; -1 when the line is to be dropped (reported here). */
static int key_parse(struct parse *p, struct span line, struct span *rest) {
    struct span name = {line.at, 0};
    while (name.len < line.len && is_key_char(line.at[name.len]))
        name.len++;
    *rest = span_trim(span_tail(line, name.len));
    if (name.len == 0) {
        err_user(p->path, p->line, "'%s' is no key; write 'key = value  # source', or '#' before a comment",
                 span_quote(line).text);
        return -1;
    }
    int key = key_find(name);
    if (key < 0) {
        unknown_key_report(p, name);
        return -1;
    }
    if (p->seen_at[key] > 0) {
        err_user(p->path, p->line, "key '%s' was already set at line %d; keep one of them",
                 key_table[key].name, p->seen_at[key]);
        return -1;
    }
    p->seen_at[key] = p->line;
    return key;
}

/* Reads decimal digits with an optional minus; returns how many bytes were used (0: no integer). Saturates.
 */
static size_t integer_parse(struct span value, int64_t *number) {
    size_t at = value.len > 0 && value.at[0] == '-' ? 1 : 0, first = at;
    int64_t n = 0;
    for (; at < value.len && is_digit(value.at[at]); at++) {
        int digit = value.at[at] - '0';
        n = n > (INT64_MAX - digit) / 10 ? INT64_MAX : n * 10 + digit;
    }
    *number = first == 1 ? -n : n;
    return at > first ? at : 0;
}

static bool number_store(struct parse *p, const struct key *key, struct span value) {
    int64_t number;
    size_t used = integer_parse(value, &number);
    long long low = key->low, high = key->high;
    if (used == 0) {
        err_user(p->path, p->line, "%s: '%s' is not an integer; write a decimal number from %lld to %lld",
                 key->name, span_quote(value).text, low, high);
        return false;
    }
    if (used < value.len) {
        err_user(p->path, p->line, "%s: '%s' follows the number; one plain decimal number, then '# source'",
                 key->name, span_quote(span_trim(span_tail(value, used))).text);
        return false;
    }
    if (number < key->low || number > key->high) {
        err_user(p->path, p->line, "%s: %s is out of range; it must be from %lld to %lld (%s)", key->name,
                 span_quote(value).text, low, high, key->meaning);
        return false;
    }
    memcpy((char *)p->gpu + key->offset, &number, sizeof number);
    return true;
}

static bool string_store(struct parse *p, const struct key *key, struct span value) {
    bool is_word = key->kind == VALUE_WORD;
    if (!span_all(value, is_word ? is_word_char : is_title_char)) {
        err_user(p->path, p->line, "%s: '%s' may hold only %s", key->name, span_quote(value).text,
                 is_word ? "a-z, 0-9 and '_'" : "printable ASCII other than '\"', '\\' and '*'");
        return false;
    }
    if (value.len > (size_t)key->high) {
        err_user(p->path, p->line, "%s: %zu bytes are too long; at most %lld", key->name, value.len,
                 (long long)key->high);
        return false;
    }
    memcpy((char *)p->gpu + key->offset, value.at, value.len); /* the record was zeroed: already terminated */
    return true;
}

/* `key = value  # source`, blanks around it gone. */
static void assignment_parse(struct parse *p, struct span line) {
    struct span rest;
    int index = key_parse(p, line, &rest);
    if (index < 0)
        return;
    const struct key *key = &key_table[index];
    if (rest.len == 0 || rest.at[0] != '=') {
        err_user(p->path, p->line, "'=' is missing after '%s'; write '%s = value  # source'", key->name,
                 key->name);
        return;
    }
    rest = span_tail(rest, 1);
    size_t hash = span_find(rest, '#');
    struct span value = span_trim((struct span){rest.at, hash});
    bool has_source = hash < rest.len && span_trim(span_tail(rest, hash + 1)).len > 0;
    if (value.len == 0)
        err_user(p->path, p->line, "%s: the value is missing; it is %s", key->name, key->meaning);
    else
        p->is_good[index] =
            key->kind == VALUE_NUMBER ? number_store(p, key, value) : string_store(p, key, value);
    if (!has_source)
        err_user(p->path, p->line, "%s: the source is missing; add '# where the value comes from'",
                 key->name);
}

/* One line without its end. */
static void line_parse(struct parse *p, struct span whole) {
    struct span line = span_trim(whole), rest;
    bool has_nul = span_find(line, '\0') < line.len, has_cr = span_find(line, '\r') < line.len;
    if (has_nul || has_cr ||
        line.len > LINE_MAX_BYTES) { /* not looked at any further, but its key counts as seen */
        if (line.at[0] != '#' && key_parse(p, line, &rest) < 0)
            return;
        if (has_nul)
            err_user(p->path, p->line, "the line holds a NUL byte; a budget is plain text");
        else if (has_cr)
            err_user(p->path, p->line, "the line holds a carriage return; end lines with LF or CR LF");
        else
            err_user(p->path, p->line, "the line has %zu bytes; at most %d", line.len, (int)LINE_MAX_BYTES);
    } else if (line.len > 0 && line.at[0] != '#') {
        assignment_parse(p, line);
    }
}

static void missing_report(const struct parse *p) {
    for (int i = 0; i < KEY_COUNT; i++) {
        const struct key *key = &key_table[i];
        if (p->seen_at[i] > 0)
            continue;
        if (key->kind == VALUE_NUMBER)
            err_user(p->path, 0, "missing key '%s'; add '%s = N  # source', N from %lld to %lld: %s",
                     key->name, key->name, (long long)key->low, (long long)key->high, key->meaning);
        else
            err_user(p->path, 0, "missing key '%s'; add '%s = TEXT  # source': %s", key->name, key->name,
                     key->meaning);
    }
}

static long long number_of(const struct parse *p, int key) {
    int64_t number;
    memcpy(&number, (const char *)p->gpu + key_table[key].offset, sizeof number);
    return number;
}

/* Checks between keys; each message stands at the line of the key that is too large. */
static void cross_check(const struct parse *p) {
    for (size_t i = 0; i < sizeof order_table / sizeof order_table[0]; i++) {
        int small = order_table[i].small, large = order_table[i].large;
        if (p->is_good[small] && p->is_good[large] && number_of(p, small) > number_of(p, large))
            err_user(p->path, p->seen_at[small], "%s %lld exceeds %s %lld: %s", key_table[small].name,
                     number_of(p, small), key_table[large].name, number_of(p, large), order_table[i].why);
    }
    const struct gpu *g = p->gpu;
    if (p->is_good[KEY_smem_per_sm_bytes] && p->is_good[KEY_smem_per_block_bytes] &&
        g->smem_per_block_bytes + g->smem_reserved_per_block_bytes > g->smem_per_sm_bytes)
        err_user(p->path, p->seen_at[KEY_smem_per_block_bytes],
                 "smem_per_block_bytes %lld plus smem_reserved_per_block_bytes %lld exceed smem_per_sm_bytes "
                 "%lld: "
                 "the largest block must fit an SM",
                 (long long)g->smem_per_block_bytes, (long long)g->smem_reserved_per_block_bytes,
                 (long long)g->smem_per_sm_bytes);
}

bool gpu_parse(struct gpu *g, const char *path, const char *bytes, size_t len) {
    struct parse p = {.gpu = g, .path = path};
    struct span rest = {bytes, len};
    int errors_before = err_count();

    memset(g, 0, sizeof *g);
    g->checksum = text_checksum(TEXT_CHECKSUM_SEED, bytes, len);
    if (rest.len >= 3 && memcmp(rest.at, "\xef\xbb\xbf", 3) == 0)
        rest = span_tail(rest, 3); /* byte-order mark of some editors */
    while (rest.len > 0) {
        struct span line = {rest.at, span_find(rest, '\n')};
        rest = span_tail(rest, min_size(line.len + 1, rest.len));
        if (line.len > 0 && line.at[line.len - 1] == '\r')
            line.len--;
        if (p.line < INT_MAX)
            p.line++;
        line_parse(&p, line);
    }
    missing_report(&p);
    cross_check(&p);
    return err_count() == errors_before;
}

/* NAME of "NAME.gpu"; length 0 when the file name is no budget's. */
static struct span budget_name(const char *file_name) {
    struct span name = {file_name, strlen(file_name)};
    name.len = name.len > 4 && strcmp(file_name + name.len - 4, ".gpu") == 0 ? name.len - 4 : 0;
    return span_all(name, is_word_char) ? name : (struct span){file_name, 0};
}

static int name_compare(const void *x, const void *y) {
    return strcmp(*(const char *const *)x, *(const char *const *)y);
}

/* Collects the names as NUL-terminated strings, one after the other; returns their number, -1 on failure. */
static long names_collect(struct text *names, DIR *folder) {
    long count = 0;
    for (struct dirent *entry = readdir(folder); entry != NULL; entry = readdir(folder)) {
        struct span name = budget_name(entry->d_name);
        if (name.len == 0)
            continue;
        text_add_bytes(names, name.at, name.len);
        text_add_bytes(names, "", 1);
        count++;
    }
    return names->failed ? -1 : count;
}

/* Appends `separator`-joined sorted names, each followed by the separator when `is_closed`. */
static bool names_join(struct text *out, const struct text *names, long count, const char *separator,
                       bool is_closed) {
    if (count == 0)
        return !out->failed;
    const char **sorted = calloc((size_t)count, sizeof *sorted);
    if (sorted == NULL)
        return false;
    const char *at = names->data;
    for (long i = 0; i < count; i++) {
        sorted[i] = at;
        at += strlen(at) + 1;
    }
    qsort(sorted, (size_t)count, sizeof *sorted, name_compare);
    for (long i = 0; i < count; i++) {
        text_add(out, sorted[i]);
        if (is_closed || i + 1 < count)
            text_add(out, separator);
    }
    free(sorted);
    return !out->failed;
}

static bool names_append(struct text *out, const char *root, const char *separator, bool is_closed) {
    struct text path = {0}, names = {0};
    bool ok = false;
    text_addf(&path, "%s/gen/gpus", root);
    DIR *folder = path.failed ? NULL : opendir(path.data);
    if (folder != NULL) {
        long count = names_collect(&names, folder);
        closedir(folder);
        ok = count >= 0 && names_join(out, &names, count, separator, is_closed);
    }
    text_free(&names);
    text_free(&path);
    return ok;
}

bool gpu_list(struct text *out, const char *root) {
    return names_append(out, root, "\n", true);
}

static bool is_path(const char *name_or_path) {
    size_t len = strlen(name_or_path);
    return strchr(name_or_path, '/') != NULL || (len >= 4 && strcmp(name_or_path + len - 4, ".gpu") == 0);
}

static bool is_known(const char *root, const char *name) {
    struct text known = {0}, line = {0};
    text_add(&known, "\n");
    text_addf(&line, "\n%s\n", name);
    bool found = gpu_list(&known, root) && !line.failed && strstr(known.data, line.data) != NULL;
    text_free(&line);
    text_free(&known);
    return found;
}

static void unknown_name_report(const char *root, const char *name) {
    struct text known = {0};
    struct quote q = span_quote((struct span){name, strlen(name)});
    if (names_append(&known, root, ", ", false) && known.len > 0)
        err_user(NULL, 0, "no budget is called '%s'; known budgets: %s", q.text, known.data);
    else
        err_user(NULL, 0, "no budget is called '%s', and %s/gen/gpus holds none", q.text, root);
    text_free(&known);
}

bool gpu_load(struct gpu *g, const char *root, const char *name_or_path) {
    struct text path = {0}, bytes = {0};
    bool ok = false;
    struct span name = {name_or_path, strlen(name_or_path)};
    bool by_path = is_path(name_or_path);

    if (!by_path && (name.len == 0 || !span_all(name, is_word_char))) {
        unknown_name_report(root, name_or_path);
        return false;
    }
    if (by_path)
        text_add(&path, name_or_path);
    else
        text_addf(&path, "%s/gen/gpus/%s.gpu", root, name_or_path);
    if (path.failed)
        err_user(NULL, 0, "out of memory");
    else if (!text_read_file(&bytes, path.data)) {
        if (by_path || is_known(root, name_or_path))
            err_user(path.data, 0, "cannot be read; give the path of a .gpu file or the name of a budget");
        else
            unknown_name_report(root, name_or_path);
    } else {
        ok = gpu_parse(g, path.data, bytes.data, bytes.len);
        if (ok && !by_path && strcmp(g->name, name_or_path) != 0) {
            err_user(path.data, 0, "name is '%s' but the file is called '%s.gpu'; they must agree", g->name,
                     name_or_path);
            ok = false;
        }
    }
    text_free(&bytes);
    text_free(&path);
    return ok;
}
