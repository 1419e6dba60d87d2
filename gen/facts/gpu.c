/* gpu: see gpu.h. Whatever is wrong with a line, its key counts as seen, so that one mistake gives one
 * message; checks between keys run only on values that are good by themselves. */
#include "facts/gpu.h"

#include <dirent.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/err.h"

enum { LINE_MAX_BYTES = 512, QUOTE_MAX = 40, KEY_NAME_MAX = 40 };

#define BLANKS " \t"
#define DIGITS "0123456789"
#define CAPITALS "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define WORD "abcdefghijklmnopqrstuvwxyz_" DIGITS
/* A title goes into comments and C strings of generated files: printable ASCII that ends neither. */
#define TITLE WORD CAPITALS " !#$%&'()+,-./:;<=>?@[]^`{|}~"

/* Index of each key in key_table; that of a number: behind the texts. */
enum { KEY_name, KEY_title, KEY_also_for, KEY_compute_capability, KEY_isa, KEY_TEXTS };
enum { KEY_COUNT = KEY_TEXTS + GPU_NUMBERS };
#define KEY(field) (KEY_TEXTS + GPU_##field)

struct key {
    const char *name;
    int64_t low, high; /* of a number; high of a string is the most bytes */
    const char *meaning;
    size_t offset;       /* of the field in struct gpu */
    const char *accepts; /* the bytes of a string; NULL: a number */
    bool is_optional, needs_no_source;
};

#define KEY_ROW(field, low, high, meaning)                                                                   \
    {#field, low, high, meaning, offsetof(struct gpu, field), NULL, false, false},
static const struct key key_table[KEY_COUNT] = {
    {"name", 0, GPU_NAME_MAX - 1, "the word after --gpu and the folder below out/",
     offsetof(struct gpu, name), WORD, false, true},
    {"title", 0, GPU_TITLE_MAX - 1, "the product name", offsetof(struct gpu, title), TITLE, false, true},
    {"also_for", 0, GPU_CARDS_MAX - 1, "parts of the names of the cards that it suits, separated by ', '",
     offsetof(struct gpu, also_for), TITLE, true, true},
    {"compute_capability", 0, GPU_CAPABILITY_MAX - 1, "of the GPU, as in 8.6 (NVIDIA alone)",
     offsetof(struct gpu, compute_capability), DIGITS ".", true, false},
    {"isa", 0, GPU_NAME_MAX - 1, "instruction set: a row of the isa table", offsetof(struct gpu, isa), WORD,
     false, false},
    GPU_NUMBER_KEYS(KEY_ROW)};
#undef KEY_ROW
_Static_assert(GPU_NUMBERS <= 64, "struct gpu has 64 bits for estimates");

/* Pairs that no real GPU turns round; each catches a slip of a unit or a digit. */
static const struct {
    int small, large;
    const char *why;
} order_table[] = {
    {KEY(sustained_clock_mhz), KEY(clock_mhz), "no clock is sustained above boost"},
    {KEY(copy_gbps), KEY(dram_gbps), "a copy cannot beat the data sheet"},
    {KEY(dram_gbps), KEY(l2_gbps), "L2 is at least as fast as device memory"},
    {KEY(smem_latency_cycles), KEY(l2_latency_cycles), "shared memory is nearer than L2"},
    {KEY(l2_latency_cycles), KEY(dram_latency_cycles), "L2 is nearer than device memory"},
    {KEY(schedulers_per_sm), KEY(warps_per_sm), "every scheduler can hold a warp"},
    {KEY(blocks_per_sm), KEY(warps_per_sm), "every block has a warp"},
};

struct parse {
    struct gpu *gpu;
    const char *path;
    int line;                /* being parsed, from 1 */
    int seen_at[KEY_COUNT];  /* line of the key's first appearance; 0: none so far */
    bool is_good[KEY_COUNT]; /* its value was stored */
};

/* Reports a fault of the line being parsed. */
#define fault_at(p, ...) err_user((p)->path, (p)->line, __VA_ARGS__)

struct quote {
    char text[QUOTE_MAX + 4];
};

/* A text made fit for a message: cut to QUOTE_MAX bytes, '?' for bytes that a terminal might obey. */
static struct quote quote(const char *s) {
    struct quote q = {{0}};
    for (int i = 0; i < QUOTE_MAX && s[i]; i++)
        q.text[i] = s[i] >= ' ' && s[i] <= '~' ? s[i] : '?';
    if (strlen(s) > QUOTE_MAX)
        memcpy(q.text + QUOTE_MAX, "...", 3);
    return q;
}

static bool is_all(const char *s, const char *accepted) {
    return s[strspn(s, accepted)] == '\0';
}

/* Cuts the blanks off both ends. */
static char *trim(char *s) {
    s += strspn(s, BLANKS);
    for (size_t len = strlen(s); len > 0 && strchr(BLANKS, s[len - 1]); len--)
        s[len - 1] = '\0';
    return s;
}

/* Levenshtein distance of a word and a key name, both of KEY_NAME_MAX bytes at most, capitals aside. */
static size_t edit_distance(const char *word, const char *name) {
    size_t row[KEY_NAME_MAX + 1], width = strlen(name);
    for (size_t j = 0; j <= width; j++)
        row[j] = j;
    for (size_t i = 1; word[i - 1]; i++) {
        const char *capital = strchr(CAPITALS, word[i - 1]);
        const char c = capital ? (char)('a' + (capital - CAPITALS)) : word[i - 1];
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= width; j++) {
            const size_t replaced = diagonal + (c != name[j - 1]);
            const size_t added = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;
            diagonal = row[j];
            row[j] = replaced < added ? replaced : added;
        }
    }
    return row[width];
}

static void unknown_key_report(const struct parse *p, const char *name) {
    const size_t len = strlen(name);
    size_t best = len < 3 ? 2 : len / 3 + 1, distance; /* farther off than a third of the word is no help */
    int nearest = -1;
    for (int i = 0; i < KEY_COUNT && len <= KEY_NAME_MAX; i++) {
        if ((distance = edit_distance(name, key_table[i].name)) < best) {
            best = distance;
            nearest = i;
        }
    }
    if (nearest >= 0)
        fault_at(p, "unknown key '%s'; did you mean '%s'?", quote(name).text, key_table[nearest].name);
    else
        fault_at(p, "unknown key '%s'; gen/facts/gpu.h lists the keys", quote(name).text);
}

/* The key at the start of a line, and in *rest what follows it; -1 when the line is to be dropped
 * (reported). */
static int key_parse(struct parse *p, char *line, char **rest) {
    char name[LINE_MAX_BYTES + 1] = {0};
    const size_t len = strspn(line, WORD CAPITALS);
    memcpy(name, line, len);
    *rest = line + len;
    const int key = (int)TEXT_ROW(name, key_table);
    if (len == 0)
        fault_at(p, "'%s' is no key; write 'key = value  # source', or '#' before a comment",
                 quote(line).text);
    else if (key == KEY_COUNT)
        unknown_key_report(p, name);
    else if (p->seen_at[key] > 0)
        fault_at(p, "key '%s' was already set at line %d; keep one of them", name, p->seen_at[key]);
    else {
        p->seen_at[key] = p->line;
        return key;
    }
    return -1;
}

static int64_t *number_of(struct gpu *g, const struct key *key) {
    return (int64_t *)(void *)((char *)g + key->offset);
}

static bool number_store(struct parse *p, const struct key *key, char *value) {
    const size_t sign = *value == '-', used = sign + strspn(value + sign, DIGITS);
    const long long number = strtoll(value, NULL, 10); /* saturates */
    const long long low = key->low, high = key->high;
    if (used == sign)
        return fault_at(p, "%s: '%s' is not an integer; write a decimal number from %lld to %lld", key->name,
                        quote(value).text, low, high);
    if (value[used])
        return fault_at(p, "%s: '%s' follows the number; one plain decimal number, then '# source'",
                        key->name, quote(trim(value + used)).text);
    if (number < low || number > high)
        return fault_at(p, "%s: %s is out of range; it must be from %lld to %lld (%s)", key->name,
                        quote(value).text, low, high, key->meaning);
    *number_of(p->gpu, key) = number;
    return true;
}

static bool string_store(struct parse *p, const struct key *key, const char *value) {
    if (!is_all(value, key->accepts))
        return fault_at(p, "%s: '%s' may hold only %s", key->name, quote(value).text,
                        strchr(key->accepts, ' ')   ? "printable ASCII other than '\"', '\\' and '*'"
                        : strchr(key->accepts, '.') ? "0-9 and '.'"
                                                    : "a-z, 0-9 and '_'");
    if (strlen(value) > (size_t)key->high)
        return fault_at(p, "%s: %zu bytes are too long; at most %lld", key->name, strlen(value),
                        (long long)key->high);
    strcpy((char *)p->gpu + key->offset, value);
    return true;
}

/* What follows a key: `= value  # source`. */
static void assignment_parse(struct parse *p, const struct key *key, char *rest) {
    if (*rest != '=') {
        fault_at(p, "'=' is missing after '%s'; write '%s = value  # source'", key->name, key->name);
        return;
    }
    char *hash = strchr(rest, '#');
    const char *source = hash ? trim(hash + 1) : "";
    if (!key->accepts) {
        const uint64_t bit = UINT64_C(1) << (key - &key_table[KEY_TEXTS]);
        p->gpu->estimates =
            strncmp(source, "estimate", 8) == 0 ? p->gpu->estimates | bit : p->gpu->estimates & ~bit;
    }
    if (hash)
        *hash = '\0';
    char *value = trim(rest + 1);
    if (!*value)
        fault_at(p, "%s: the value is missing; it is %s", key->name, key->meaning);
    else
        p->is_good[key - key_table] =
            key->accepts ? string_store(p, key, value) : number_store(p, key, value);
    if (!*source && !key->needs_no_source)
        fault_at(p, "%s: the source is missing; add '# where the value comes from'", key->name);
}

/* One line without its end. */
static void line_parse(struct parse *p, const char *bytes, size_t len) {
    char buffer[LINE_MAX_BYTES + 1] = {0}, *rest = buffer;
    for (; len > 0 && (*bytes == ' ' || *bytes == '\t'); len--)
        bytes++;
    for (size_t i = 0; i < len && i < LINE_MAX_BYTES; i++)
        buffer[i] = bytes[i] ? bytes[i] : '\1'; /* as good as a NUL in messages */
    char *line = trim(buffer);
    const bool assigns = *line && *line != '#';
    const int key = assigns ? key_parse(p, line, &rest) : 0;
    if (key < 0)
        return;
    if (memchr(bytes, '\0', len))
        fault_at(p, "the line holds a NUL byte; a budget is plain text");
    else if (memchr(bytes, '\r', len))
        fault_at(p, "the line holds a carriage return; end lines with LF or CR LF");
    else if (len > LINE_MAX_BYTES)
        fault_at(p, "the line has %zu bytes; at most %d", len, (int)LINE_MAX_BYTES);
    else if (assigns)
        assignment_parse(p, &key_table[key], trim(rest));
}

static void missing_report(const struct parse *p) {
    for (int i = 0; i < KEY_COUNT; i++) {
        const struct key *key = &key_table[i];
        const long long low = key->low, high = key->high;
        if (key->is_optional || p->seen_at[i] > 0)
            continue;
        if (key->accepts)
            err_user(p->path, 0, "missing key '%s'; add '%s = TEXT%s': %s", key->name, key->name,
                     key->needs_no_source ? "" : "  # source", key->meaning);
        else
            err_user(p->path, 0, "missing key '%s'; add '%s = N  # source', N from %lld to %lld: %s",
                     key->name, key->name, low, high, key->meaning);
    }
}

/* Checks between keys; each message stands at the line of the key that is too large. */
static void cross_check(const struct parse *p) {
    for (size_t i = 0; i < sizeof order_table / sizeof order_table[0]; i++) {
        const int small = order_table[i].small, large = order_table[i].large;
        const long long x = *number_of(p->gpu, &key_table[small]), y = *number_of(p->gpu, &key_table[large]);
        if (p->is_good[small] && p->is_good[large] && x > y)
            err_user(p->path, p->seen_at[small], "%s %lld exceeds %s %lld: %s", key_table[small].name, x,
                     key_table[large].name, y, order_table[i].why);
    }
    const struct gpu *g = p->gpu;
    if (p->is_good[KEY(smem_per_sm_bytes)] && p->is_good[KEY(smem_per_block_bytes)] &&
        g->smem_per_block_bytes + g->smem_reserved_per_block_bytes > g->smem_per_sm_bytes)
        err_user(p->path, p->seen_at[KEY(smem_per_block_bytes)],
                 "smem_per_block_bytes %lld plus smem_reserved_per_block_bytes %lld exceed smem_per_sm_bytes "
                 "%lld: the largest block must fit an SM",
                 (long long)g->smem_per_block_bytes, (long long)g->smem_reserved_per_block_bytes,
                 (long long)g->smem_per_sm_bytes);
}

bool gpu_parse(struct gpu *g, const char *path, const char *bytes, size_t len) {
    struct parse p = {.gpu = g, .path = path};
    const int errors_before = err_count();
    const bool has_mark = len >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0; /* byte order; some editors */
    memset(g, 0, sizeof *g);
    g->checksum = text_checksum(TEXT_CHECKSUM_SEED, bytes, len);
    for (size_t at = has_mark ? 3 : 0, end; at < len; at = end + 1) {
        const char *newline = memchr(bytes + at, '\n', len - at);
        end = newline ? (size_t)(newline - bytes) : len;
        p.line++;
        line_parse(&p, bytes + at, end - at - (end > at && bytes[end - 1] == '\r'));
    }
    missing_report(&p);
    cross_check(&p);
    return err_count() == errors_before;
}

const char *gpu_number_name(enum gpu_key key) {
    return key_table[KEY_TEXTS + key].name;
}

int64_t gpu_number(const struct gpu *g, enum gpu_key key) {
    return *(const int64_t *)(const void *)((const char *)g + key_table[KEY_TEXTS + key].offset);
}

bool gpu_is_estimate(const struct gpu *g, enum gpu_key key) {
    return (g->estimates >> key & 1) != 0;
}

int gpu_capability(const struct gpu *g) {
    int major, minor, end = 0;
    if (!*g->compute_capability)
        return 0;
    sscanf(g->compute_capability, "%2d.%1d%n", &major, &minor, &end); /* of digits and dots */
    return end > 0 && !g->compute_capability[end] ? 10 * major + minor : -1;
}

bool gpu_number_set(struct gpu *g, enum gpu_key key, int64_t value) {
    const struct key *k = &key_table[KEY_TEXTS + key];
    if (value < k->low || value > k->high)
        return false;
    *number_of(g, k) = value;
    return true;
}

bool gpu_override(struct gpu *g, const char *const *assignments, int count) {
    struct parse p = {.gpu = g, .path = "--what-if"};
    const int errors_before = err_count();
    for (p.line = 1; p.line <= count; p.line++) {
        struct text line = {0};
        text_addf(&line, "%s  # --what-if", assignments[p.line - 1]);
        line_parse(&p, line.data ? line.data : "", line.len);
        text_free(&line);
    }
    memset(p.is_good, true, sizeof p.is_good); /* what was not replaced came from a checked budget */
    if (err_count() == errors_before)
        cross_check(&p);
    return err_count() == errors_before;
}

/* Whether a file name is a budget's, NAME.gpu. */
static int is_budget(const struct dirent *entry) {
    const size_t word = strspn(entry->d_name, WORD);
    return word > 0 && strcmp(entry->d_name + word, ".gpu") == 0;
}

/* The dot before "gpu" is less than every byte of a name, so that files are in the order of names. */
bool gpu_list(struct text *out, const char *root, const char *between) {
    struct text path = {0};
    struct dirent **entries = NULL;
    text_addf(&path, "%s/gen/gpus", root);
    const int count = scandir(path.data, &entries, is_budget, alphasort);
    for (int i = 0; i < count; i++) {
        const char *const name = entries[i]->d_name;
        text_addf(out, "%s%.*s", i > 0 ? between : "", (int)strlen(name) - 4, name);
        free(entries[i]);
    }
    free(entries);
    text_free(&path);
    return count >= 0;
}

/* name NULL: none was given. */
static bool unknown_name_report(const char *root, const char *name) {
    struct text known = {0};
    gpu_list(&known, root, ", ");
    if (known.len > 0 && name)
        err_user(NULL, 0, "no budget is called '%s'; known budgets: %s" GPU_OTHER, quote(name).text,
                 known.data);
    else if (known.len > 0)
        err_user(NULL, 0, "--gpu is missing; known budgets: %s", known.data);
    else
        err_user(NULL, 0, "no budget is called '%s', and %s/gen/gpus holds none",
                 quote(name ? name : "").text, root);
    text_free(&known);
    return false;
}

bool gpu_load(struct gpu *g, const char *root, const char *name_or_path) {
    struct text path = {0}, bytes = {0};
    if (!name_or_path)
        return unknown_name_report(root, NULL);
    const size_t len = strlen(name_or_path);
    const bool by_path =
        strchr(name_or_path, '/') || (len >= 4 && strcmp(name_or_path + len - 4, ".gpu") == 0);
    const bool is_name = len > 0 && is_all(name_or_path, WORD);
    bool ok = false;
    if (by_path)
        text_add(&path, name_or_path);
    else
        text_addf(&path, "%s/gen/gpus/%s.gpu", root, name_or_path);
    if (!by_path && (!is_name || access(path.data, F_OK) != 0))
        unknown_name_report(root, name_or_path);
    else if (!text_read_file(&bytes, path.data))
        err_user(path.data, 0, "cannot be read; give the path of a .gpu file or the name of a budget");
    else
        ok = gpu_parse(g, path.data, bytes.data, bytes.len);
    if (ok && !by_path && strcmp(g->name, name_or_path) != 0)
        ok = err_user(path.data, 0, "name is '%s' but the file is called '%s.gpu'; they must agree", g->name,
                      name_or_path);
    text_free_all(&bytes, &path);
    return ok;
}
