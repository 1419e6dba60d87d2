/* test_gpu: the budget parser on the project's budgets, on every fault of every key, on bad files
 * (tests/unit/budgets.txt) and on some 40,000 mutations of a good one. */
#define _POSIX_C_SOURCE 200809L /* mkdtemp */

#include <sys/stat.h>
#include <unistd.h>

#include "../../gen/base/err.h"
#include "../../gen/facts/gpu.h"
#include "../test.h"
#include "cases.h"

enum { FUZZ_ROUNDS = 40000, STRING_KEYS = 3 };

struct key {
    const char *name;
    long long low, high;
    const char *meaning;
};

#define KEY_ROW(field, low, high, meaning) {#field, low, high, meaning},
static const struct key number_keys[] = {GPU_NUMBER_KEYS(KEY_ROW)};
enum { NUMBER_KEYS = sizeof number_keys / sizeof number_keys[0] };

/* Parses a copy of exactly `len` bytes (the sanitizer sees any byte read beyond) and returns the messages. */
static bool parse_lines(const char *bytes, size_t len, const char *path, struct gpu *g, struct text *lines) {
    char *exact = malloc(len > 0 ? len : 1);
    assert_non_null(exact);
    if (len > 0)
        memcpy(exact, bytes, len);
    text_free(lines);
    text_add(lines, "");
    err_reset();
    err_keep(lines);
    bool ok = gpu_parse(g, path, exact, len);
    err_keep(NULL);
    assert_int_equal(ok, err_count() == 0);
    free(exact);
    return ok;
}

/* Asserts that `text` is rejected with exactly the lines `expected`. */
static void expect_faults(const struct text *text, const char *expected) {
    struct gpu g;
    TEXT lines = {0};
    bool ok = parse_lines(text->data, text->len, "t.gpu", &g, &lines);
    assert_string_equal(lines.data, expected);
    assert_false(ok);
}

static void expect_good(const struct text *text) {
    struct gpu g;
    TEXT lines = {0};
    bool ok = parse_lines(text->data, text->len, "t.gpu", &g, &lines);
    assert_string_equal(lines.data, "");
    assert_true(ok);
}

static void read_budget(struct text *out, const char *name) {
    char path[512];
    snprintf(path, sizeof path, "%s/gen/gpus/%s.gpu", cases_root(), name);
    assert_true(text_read_file(out, path));
}

static bool line_sets(const char *line, const char *key) {
    size_t len = strlen(key);
    return strncmp(line, key, len) == 0 && (line[len] == ' ' || line[len] == '=');
}

/* Copies `base` with the line of `key` replaced (NULL: dropped); returns the number of that line. */
static int replace_line(struct text *out, const struct text *base, const char *key, const char *replacement) {
    int found = 0, number = 0;
    text_free(out);
    for (const char *line = base->data; *line != '\0';) {
        const char *end = strchr(line, '\n');
        size_t len = end != NULL ? (size_t)(end - line) + 1 : strlen(line);
        number++;
        if (found == 0 && line_sets(line, key)) {
            found = number;
            if (replacement != NULL)
                text_addf(out, "%s\n", replacement);
        } else {
            text_add_bytes(out, line, len);
        }
        line += len;
    }
    assert_int_not_equal(found, 0);
    return found;
}

/* One line in the place of that of its key, and the one message it must give. */
static void expect_one(const struct text *base, const char *replacement, const char *message) {
    TEXT changed = {0}, expected = {0};
    char key[64];
    assert_int_equal(sscanf(replacement, "%63[a-z0-9_]", key), 1);
    int line = replace_line(&changed, base, key, replacement);
    text_addf(&expected, "t.gpu:%d: %s\n", line, message);
    expect_faults(&changed, expected.data);
}

TEST(all_budgets_are_good) {
    static const char *const names[] = {"a100",   "a800",    "h100",    "h200",    "l40s", "mi210",
                                        "mi250x", "rtx3090", "rtx4090", "rtx6000", "t4",   "titanrtx",
                                        "b200",   "gb10",    "rtx5090", "rtxpro6000"};
    TEXT list = {0}, lines = {0};
    assert_true(gpu_list(&list, cases_root(), "\n"));
    int listed = 0, wanted = 0;
    char previous[GPU_NAME_MAX] = "";
    for (char *name = strtok(list.data, "\n"); name != NULL; name = strtok(NULL, "\n"), listed++) {
        struct gpu g;
        err_reset();
        err_keep(&lines);
        bool ok = gpu_load(&g, cases_root(), name);
        err_keep(NULL);
        assert_string_equal(lines.data != NULL ? lines.data : "", "");
        assert_true(ok);
        assert_string_equal(g.name, name);
        assert_true(strcmp(previous, name) < 0); /* sorted bytewise, none twice */
        snprintf(previous, sizeof previous, "%s", name);
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            wanted += strcmp(names[i], name) == 0;
    }
    assert_int_equal(wanted, sizeof names / sizeof names[0]);
    assert_true(listed >= wanted);
}

/* Figures that follow from others: peaks within 2 % of the data sheets, EGEMM-TC's times from the rates. */
TEST(budgets_are_consistent) {
    static const struct {
        const char *name;
        long long f16_tflops, native_fp32_gflops; /* data sheets, FP32 accumulate; 0: not comparable */
    } peaks[] = {{"a100", 312, 19500},    {"a800", 312, 19500},   {"h100", 0, 67000},
                 {"h200", 0, 67000},      {"l40s", 362, 91600},   {"mi210", 181, 45300},
                 {"mi250x", 191, 47850},  {"rtx3090", 71, 35600}, {"rtx4090", 165, 82600},
                 {"rtx6000", 130, 16300}, {"t4", 65, 8100},       {"titanrtx", 130, 16300},
                 {"rtx5090", 209, 104800}, {"rtxpro6000", 503, 125000}, {"b200", 0, 75000}, {"gb10", 0, 31000}};
    for (size_t i = 0; i < sizeof peaks / sizeof peaks[0]; i++) {
        struct gpu g;
        assert_true(gpu_load(&g, cases_root(), peaks[i].name));
        long long gflops = g.sms * g.clock_mhz * 2 * g.f16_fma_per_cycle / 1000;
        if (peaks[i].f16_tflops > 0)
            assert_in_range(gflops, peaks[i].f16_tflops * 980, peaks[i].f16_tflops * 1020);
        assert_int_equal(g.native_fp32_gflops, peaks[i].native_fp32_gflops);
        assert_int_equal(g.hmma_1688_millicycles, 1024 * 1000 * g.schedulers_per_sm / g.f16_fma_per_cycle);
        assert_int_equal(g.sts_128_millicycles, 512 * 1000 / g.smem_bytes_per_cycle);
        assert_int_equal(g.lds_32_millicycles, 128 * 1000 / g.smem_bytes_per_cycle);
        assert_int_equal(g.ldg_128_millicycles, 512 * g.sms * g.sustained_clock_mhz / g.l2_gbps);
        assert_int_equal(g.smem_per_block_bytes + g.smem_reserved_per_block_bytes, g.smem_per_sm_bytes);
    }
}

/* EGEMM-TC's own choice for the T4 must satisfy its own equation 8 with our times (times are thousandths). */
TEST(t4_meets_egemm_equations) {
    struct gpu g;
    assert_true(gpu_load(&g, cases_root(), "t4"));
    const int64_t bm = 128, bn = 128, bk = 32, wm = 64, wn = 32, wk = 8;
    int64_t compute = 8 * bm * bn * bk / (2 * 16 * 8 * 8 * 4) * g.hmma_1688_millicycles;
    int64_t memory1 = 4 * (bm + bn) * bk / (32 * 16) * (g.ldg_128_millicycles + g.sts_128_millicycles);
    int64_t memory2 = bm * bn * bk / (wm * wn * wk) * (2 * wm / 8 + 2 * wn / 8) * g.lds_32_millicycles;
    EQUAL({compute, 4096000}, {memory1, 2154752}, {memory2, 1536000});
    assert_true(memory1 + memory2 <= compute);
}

TEST(fields_are_stored) {
    TEXT base = {0}, lines = {0};
    struct gpu g;
    read_budget(&base, "t4");
    assert_true(parse_lines(base.data, base.len, "t.gpu", &g, &lines));
    assert_string_equal(g.name, "t4");
    assert_string_equal(g.title, "NVIDIA T4");
    assert_string_equal(g.isa, "sm_75");
    EQUAL({g.sms, 40}, {g.registers_per_sm, 65536}, {g.bf16_fma_per_cycle, 0}, {g.lds_32_millicycles, 2000});
    assert_true(g.checksum == text_checksum(TEXT_CHECKSUM_SEED, base.data, base.len));
}

static void number_faults(const struct text *base, const struct key *key) {
    char line[256], message[512];
    snprintf(line, sizeof line, "%s = many # s", key->name);
    snprintf(message, sizeof message,
             "%s: 'many' is not an integer; write a decimal number from %lld to %lld", key->name, key->low,
             key->high);
    expect_one(base, line, message);
    snprintf(line, sizeof line, "%s=%lld  MHz # s", key->name, key->low);
    snprintf(message, sizeof message,
             "%s: 'MHz' follows the number; one plain decimal number, then '# source'", key->name);
    expect_one(base, line, message);

    const long long outside[] = {key->low - 1, key->high + 1, INT64_MAX};
    for (size_t i = 0; i < 3; i++) {
        snprintf(line, sizeof line, "%s = %lld # s", key->name, outside[i]);
        snprintf(message, sizeof message, "%s: %lld is out of range; it must be from %lld to %lld (%s)",
                 key->name, outside[i], key->low, key->high, key->meaning);
        expect_one(base, line, message);
    }
    snprintf(line, sizeof line, "%s = 18446744073709551657 # 2^64 + 41", key->name);
    snprintf(message, sizeof message,
             "%s: 18446744073709551657 is out of range; it must be from %lld to %lld (%s)", key->name,
             key->low, key->high, key->meaning);
    expect_one(base, line, message);
}

/* Faults of the line's form; they are the same for numbers and strings. */
static void form_faults(const struct text *base, const struct key *key, const char *value, bool wants_source) {
    char line[256], message[512];
    snprintf(line, sizeof line, "%s %s # s", key->name, value);
    snprintf(message, sizeof message, "'=' is missing after '%s'; write '%s = value  # source'", key->name,
             key->name);
    expect_one(base, line, message);
    snprintf(line, sizeof line, "%s", key->name);
    expect_one(base, line, message);
    snprintf(line, sizeof line, "%s = \t # s", key->name);
    snprintf(message, sizeof message, "%s: the value is missing; it is %s", key->name, key->meaning);
    expect_one(base, line, message);
    snprintf(message, sizeof message, "%s: the source is missing; add '# where the value comes from'",
             key->name);
    for (int i = 0; i < 2; i++) {
        TEXT changed = {0};
        if (i == 0)
            snprintf(line, sizeof line, "%s = %s", key->name, value);
        else
            snprintf(line, sizeof line, "%s = %s # \t", key->name, value);
        if (wants_source) {
            expect_one(base, line, message);
            continue;
        }
        replace_line(&changed, base, key->name, line);
        expect_good(&changed);
    }
}

static void presence_faults(const struct text *base, const struct key *key, const char *value,
                            bool is_number, bool wants_source) {
    TEXT changed = {0}, expected = {0}, missing = {0};
    char line[256];
    if (is_number)
        text_addf(&missing, "t.gpu: missing key '%s'; add '%s = N  # source', N from %lld to %lld: %s\n",
                  key->name, key->name, key->low, key->high, key->meaning);
    else
        text_addf(&missing, "t.gpu: missing key '%s'; add '%s = TEXT%s': %s\n", key->name, key->name,
                  wants_source ? "  # source" : "", key->meaning);
    replace_line(&changed, base, key->name, NULL);
    expect_faults(&changed, missing.data);

    snprintf(line, sizeof line, "%s = %s # s\n\n%s = %s # s", key->name, value, key->name, value);
    int at = replace_line(&changed, base, key->name, line);
    text_addf(&expected, "t.gpu:%d: key '%s' was already set at line %d; keep one of them\n", at + 2,
              key->name, at);
    expect_faults(&changed, expected.data);

    snprintf(line, sizeof line, "%sq = %s # s", key->name, value);
    at = replace_line(&changed, base, key->name, line);
    text_free(&expected);
    text_addf(&expected, "t.gpu:%d: unknown key '%sq'; did you mean '%s'?\n%s", at, key->name, key->name,
              missing.data);
    expect_faults(&changed, expected.data);
}

/* The value that `base` gives a key: what lies between '=' and '#', without the blanks. */
static void value_of(char *value, const struct text *base, const char *key) {
    const char *line = base->data;
    while (!line_sets(line, key))
        line = strchr(line, '\n') + 1;
    assert_int_equal(sscanf(strchr(line, '=') + 1, " %63[^#\n]", value), 1);
    for (size_t len = strlen(value); len > 0 && value[len - 1] == ' '; len--)
        value[len - 1] = '\0';
}

TEST(every_key_every_fault) {
    static const struct key strings[STRING_KEYS] = {
        {"name", 1, GPU_NAME_MAX - 1, "the word after --gpu and the folder below out/"},
        {"title", 1, GPU_TITLE_MAX - 1, "the product name"},
        {"isa", 1, GPU_NAME_MAX - 1, "instruction set: a row of the isa table"}};
    TEXT base = {0};
    read_budget(&base, "t4");
    for (int i = 0; i < NUMBER_KEYS + STRING_KEYS; i++) {
        bool is_number = i < NUMBER_KEYS;
        const struct key *key = is_number ? &number_keys[i] : &strings[i - NUMBER_KEYS];
        const bool wants_source = strcmp(key->name, "name") != 0 && strcmp(key->name, "title") != 0;
        char value[GPU_TITLE_MAX];
        value_of(value, &base, key->name);
        if (is_number)
            number_faults(&base, key);
        form_faults(&base, key, value, wants_source);
        presence_faults(&base, key, value, is_number, wants_source);
    }
}

/* Keys that a budget need not have, and what they say where it has them. */
TEST(optional_keys) {
    static const struct {
        const char *line;
        int capability;
    } cases[] = {{"compute_capability = 8.6 # s", 86}, {"compute_capability = 12.1 # s", 121},
                 {"compute_capability = 10.0 # s", 100}, {"# none", 0}, {"compute_capability = 12 # s", -1},
                 {"compute_capability = 8.6.1 # s", -1}, {"compute_capability = .6 # s", -1},
                 {"compute_capability = 8. # s", -1}, {"compute_capability = 100.0 # s", -1}};
    TEXT base = {0}, changed = {0}, lines = {0};
    struct gpu g;
    read_budget(&base, "t4");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        replace_line(&changed, &base, "compute_capability", cases[i].line);
        assert_true(parse_lines(changed.data, changed.len, "t.gpu", &g, &lines));
        assert_int_equal(gpu_capability(&g), cases[i].capability);
    }
    replace_line(&changed, &base, "also_for", NULL);
    assert_true(parse_lines(changed.data, changed.len, "t.gpu", &g, &lines));
    assert_string_equal(g.also_for, "");
}

/* A source that begins with "estimate" marks its value as one, and a value that --what-if gives is none. */
TEST(estimates_are_remembered) {
    static const char *const change[] = {" copy_gbps = 200", "sms=30"};
    struct gpu g;
    int estimates = 0;
    assert_true(gpu_load(&g, cases_root(), "t4"));
    for (enum gpu_key i = 0; i < GPU_NUMBERS; i++) {
        const char *name = gpu_number_name(i);
        const bool is_one = strcmp(name, "sustained_clock_mhz") == 0 || strcmp(name, "copy_gbps") == 0 ||
                            strcmp(name, "dram_latency_cycles") == 0 || strcmp(name, "launch_ns") == 0;
        assert_int_equal(gpu_is_estimate(&g, i), is_one);
        estimates += is_one;
    }
    assert_int_equal(estimates, 4);
    assert_true(gpu_override(&g, change, 2));
    assert_int_equal(__builtin_popcountll(g.estimates), 3);
}

/* Each of a budget's entries belongs to no other: GPU=native must find one budget. */
TEST(cards_belong_to_one_budget) {
    TEXT list = {0}, seen = {0};
    text_add(&seen, ", ");
    assert_true(gpu_list(&list, cases_root(), "\n"));
    for (char *name = strtok(list.data, "\n"); name != NULL; name = strtok(NULL, "\n")) {
        char entry[GPU_CARDS_MAX + 8];
        struct gpu g;
        assert_true(gpu_load(&g, cases_root(), name));
        assert_true(strlen(g.also_for) > 0);
        for (const char *card = g.also_for; *card != '\0';) {
            const size_t length = strcspn(card, ",");
            snprintf(entry, sizeof entry, ", %.*s, ", (int)length, card);
            assert_true(length > 0 && card[0] != ' ');
            assert_null(strstr(seen.data, entry));
            text_addf(&seen, "%.*s, ", (int)length, card);
            card += length;
            if (*card != '\0') {
                assert_memory_equal(card, ", ", 2);
                card += 2;
            }
        }
    }
}

TEST(faults_of_one_value) {
    static const struct {
        const char *line, *message;
    } cases[] = {
        {"name = Tesla-T4 # s", "name: 'Tesla-T4' may hold only a-z, 0-9 and '_'"},
        {"name = a b # s", "name: 'a b' may hold only a-z, 0-9 and '_'"},
        {"name = ../t4 # s", "name: '../t4' may hold only a-z, 0-9 and '_'"},
        {"name = a2345678901234567890123456789012 # 32 bytes", "name: 32 bytes are too long; at most 31"},
        {"title = */ # s", "title: '*/' may hold only printable ASCII other than '\"', '\\' and '*'"},
        {"title = \033[31mred\377 # s", "title: '?[31mred?' may hold only printable ASCII other than '\"', '\\' and '*'"},
        {"title = 1234567890123456789012345678901234567890123456789012345678901234 # 64 bytes", "title: 64 bytes are too long; at most 63"},
        {"compute_capability = sm_75 # s", "compute_capability: 'sm_75' may hold only 0-9 and '.'"},
        {"compute_capability = 7.5", "compute_capability: the source is missing; add '# where the value comes from'"},
        /* beside another key's */
        {"sustained_clock_mhz = 1591 # s", "sustained_clock_mhz 1591 exceeds clock_mhz 1590: no clock is sustained above boost"},
        {"copy_gbps = 321 # s", "copy_gbps 321 exceeds dram_gbps 320: a copy cannot beat the data sheet"},
        {"dram_gbps = 751 # s", "dram_gbps 751 exceeds l2_gbps 750: L2 is at least as fast as device memory"},
        {"smem_latency_cycles = 189 # s", "smem_latency_cycles 189 exceeds l2_latency_cycles 188: shared memory is nearer than L2"},
        {"l2_latency_cycles = 481 # s", "l2_latency_cycles 481 exceeds dram_latency_cycles 480: L2 is nearer than device memory"},
        {"blocks_per_sm = 33 # s", "blocks_per_sm 33 exceeds warps_per_sm 32: every block has a warp"},
        {"smem_per_block_bytes = 65537 # s",
         "smem_per_block_bytes 65537 plus smem_reserved_per_block_bytes 0 exceed smem_per_sm_bytes 65536: the largest block must fit an SM"},
    };
    TEXT base = {0}, changed = {0};
    read_budget(&base, "t4");
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        expect_one(&base, cases[i].line, cases[i].message);
    replace_line(&changed, &base, "name", "name = a234567890123456789012345678901 # 31 bytes");
    expect_good(&changed);
    replace_line(&changed, &base, "copy_gbps", "copy_gbps = 320 # equal is fine");
    expect_good(&changed);
}

TEST(forms_that_are_fine) {
    TEXT base = {0}, changed = {0}, crlf = {0};
    read_budget(&base, "t4");
    for (size_t i = 0; i < base.len; i++) {
        if (base.data[i] == '\n')
            text_add(&crlf, "\r");
        text_add_bytes(&crlf, base.data + i, 1);
    }
    expect_good(&crlf);
    replace_line(&changed, &base, "sms", "\t sms\t=\t40\t#\tdata sheet # of 2018\n  # a comment\n \t \n#");
    expect_good(&changed);
    replace_line(&changed, &base, "sms", "sms=0000040#s");
    expect_good(&changed);
    text_free(&changed);
    text_addf(&changed, "\xef\xbb\xbf%s", base.data); /* byte-order mark */
    expect_good(&changed);
    text_free(&changed);
    text_add_bytes(&changed, base.data, base.len - 1); /* without the final newline */
    expect_good(&changed);
}

TEST(empty_file_misses_all) {
    struct gpu g;
    TEXT lines = {0};
    assert_false(parse_lines("", 0, "t.gpu", &g, &lines));
    assert_int_equal(err_count(), NUMBER_KEYS + STRING_KEYS);
    for (int i = 0; i < NUMBER_KEYS; i++)
        assert_non_null(strstr(lines.data, number_keys[i].name));
}

/* Drops the "missing key" lines from `lines`; returns how many there were. */
static int drop_missing(struct text *lines) {
    struct text kept = {0};
    int dropped = 0;
    text_add(&kept, "");
    for (char *line = strtok(lines->data, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        if (strstr(line, ": missing key '") != NULL)
            dropped++;
        else
            text_addf(&kept, "%s\n", line);
    }
    text_free(lines);
    *lines = kept;
    return dropped;
}

/* A bad file: what is said of it, but for the keys that it lacks. */
static int says_otherwise(const struct one_case *one) {
    TEXT lines = {0};
    struct gpu g;
    assert_false(parse_lines(one->in.data, one->in.len, "t.gpu", &g, &lines));
    assert_true(drop_missing(&lines) > 0);
    const int otherwise = !cases_same(one, &lines);
    return otherwise;
}

TEST(bad_files) {
    struct cases cases = {.count = 0};
    int otherwise = 0;
    cases_read(&cases, "budgets.txt", "t.gpu");
    for (int i = 0; i < cases.count; i++)
        otherwise += says_otherwise(&cases.list[i]);
    EQUAL({otherwise, 0}, {cases.count, 21});
    cases_free(&cases);
}

/* Faults of a whole budget are said in the order of its lines, those of two lines last. */
TEST(a_whole_budget_with_several_faults) {
    static const struct key keys[] = {{"sms", 0, 0, "sms = 4O # the letter O"},
                                      {"warps_per_sm", 0, 0, "warps_per_sm = 32 # s\nwarps_per_sm = 32 # again"},
                                      {"l2_bytes", 0, 0, "l2_byte = 4194304 # s"},
                                      {"copy_gbps", 0, 0, "copy_gbps = 2400 # a digit too many"},
                                      {"launch_ns", 0, 0, "launch_ns = 2 # microseconds by mistake"}};
    enum { FAULTS = sizeof keys / sizeof *keys };
    struct text text[FAULTS + 1] = {{0}};
    TEXT want = {0};
    int at[FAULTS];
    read_budget(&text[0], "t4");
    for (int i = 0; i < FAULTS; i++)
        at[i] = replace_line(&text[i + 1], &text[i], keys[i].name, keys[i].meaning);
    text_addf(&want,
              "t.gpu:%d: sms: 'O' follows the number; one plain decimal number, then '# source'\n"
              "t.gpu:%d: key 'warps_per_sm' was already set at line %d; keep one of them\n"
              "t.gpu:%d: unknown key 'l2_byte'; did you mean 'l2_bytes'?\n"
              "t.gpu:%d: launch_ns: 2 is out of range; it must be from 100 to 100000 (cost of one more kernel in a stream)\n"
              "t.gpu:%d: copy_gbps 2400 exceeds dram_gbps 320: a copy cannot beat the data sheet\n",
              at[0], at[1] + 1, at[1], at[2], at[4], at[3]);
    struct one_case one = {.name = "complete", .in = text[FAULTS], .want = want};
    assert_int_equal(says_otherwise(&one), 0);
    for (int i = 0; i <= FAULTS; i++)
        text_free(&text[i]);
}

#define ONE_CASE(name, bytes, want) {name, {bytes, sizeof bytes - 1, 0}, {want, sizeof want - 1, 0}}

TEST(bytes_that_are_no_text) {
    static char nul[] = "name = t4 # s\nsms = 4\0000 # s\n# a comment with \0 too\n\0\nclock_mhz = 1590 # s\0\n",
                says_nul[] = "t.gpu:2: the line holds a NUL byte; a budget is plain text\n"
                             "t.gpu:3: the line holds a NUL byte; a budget is plain text\n"
                             "t.gpu:4: '?' is no key; write 'key = value  # source', or '#' before a comment\n"
                             "t.gpu:5: the line holds a NUL byte; a budget is plain text\n",
                any[701],
                says_any[] = "t.gpu:1: '?T?\?/x?' is no key; write 'key = value  # source', or '#' before a comment\n"
                             "t.gpu:2: unknown key 'S'; gen/facts/gpu.h lists the keys\n"
                             "t.gpu:3: unknown key 'S'; gen/facts/gpu.h lists the keys\n"
                             "t.gpu:4: unknown key 'S'; gen/facts/gpu.h lists the keys\n";
    for (int i = 0; i < 700; i++)
        any[i] = (char)(unsigned char)(11 + 73 * i); /* every byte there is */
    assert_int_equal(says_otherwise(&(struct one_case)ONE_CASE("NUL", nul, says_nul)), 0);
    assert_int_equal(says_otherwise(&(struct one_case)ONE_CASE("any bytes", any, says_any)), 0);
}

static void expect_load(const char *root, const char *name, bool good, const char *expected) {
    struct gpu g;
    TEXT lines = {0};
    text_add(&lines, "");
    err_reset();
    err_keep(&lines);
    assert_int_equal(gpu_load(&g, root, name), good);
    err_keep(NULL);
    assert_string_equal(lines.data, expected);
}

static void write_text(const struct text *t, const char *folder, const char *name) {
    char path[256];
    snprintf(path, sizeof path, "%s/gen/gpus/%s", folder, name);
    assert_true(text_write_file(t, path));
}

TEST(loading) {
    char folder[] = "/tmp/ht_gpu_XXXXXX", path[256], expected[512];
    static const char *const files[] = {"t4.gpu", "b2.gpu", "b10.gpu", "notes.txt", "Bad-Name.gpu", ".gpu"};
    TEXT base = {0}, list = {0};
    read_budget(&base, "t4");
    assert_non_null(mkdtemp(folder));
    assert_false(gpu_list(&list, folder, "\n"));
    snprintf(expected, sizeof expected,
             "halftone-gen: no budget is called 't4', and %s/gen/gpus holds none\n", folder);
    expect_load(folder, "t4", false, expected);
    snprintf(path, sizeof path, "%s/gen", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    snprintf(path, sizeof path, "%s/gen/gpus", folder);
    assert_int_equal(mkdir(path, 0700), 0);
    for (size_t i = 0; i < 6; i++)
        write_text(&base, folder, files[i]);
    snprintf(path, sizeof path, "%s/gen/gpus/dir.gpu", folder);
    assert_int_equal(mkdir(path, 0700), 0);

    assert_true(gpu_list(&list, folder, "\n"));
    assert_string_equal(list.data, "b10\nb2\ndir\nt4"); /* bytewise: b10 before b2 */
    expect_load(folder, "t4", true, "");
    expect_load(folder, "t5", false,
                "halftone-gen: no budget is called 't5'; known budgets: b10, b2, dir, t4" GPU_OTHER "\n");
    expect_load(folder, "", false,
                "halftone-gen: no budget is called ''; known budgets: b10, b2, dir, t4" GPU_OTHER "\n");
    snprintf(expected, sizeof expected,
             "%s: cannot be read; give the path of a .gpu file or the name of a budget\n", path);
    expect_load(folder, "dir", false, expected);
    expect_load(folder, path, false, expected);
    expect_load(folder, "x.gpu", false,
                "x.gpu: cannot be read; give the path of a .gpu file or the name of a budget\n");
    snprintf(path, sizeof path, "%s/gen/gpus/b2.gpu", folder);
    expect_load("/nowhere", path, true, ""); /* by path, the file may be called anything */
    snprintf(expected, sizeof expected, "%s: name is 't4' but the file is called 'b2.gpu'; they must agree\n",
             path);
    expect_load(folder, "b2", false, expected);

    for (size_t i = 0; i < 6; i++) {
        snprintf(path, sizeof path, "%s/gen/gpus/%s", folder, files[i]);
        unlink(path);
    }
    static const char *const folders[] = {"/gen/gpus/dir.gpu", "/gen/gpus", "/gen", ""};
    for (size_t i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "%s%s", folder, folders[i]);
        assert_int_equal(rmdir(path), 0);
    }
}

static uint64_t random_state;

/* Linear congruential generator (constants of Knuth's MMIX); the high bits are the good ones. */
static size_t random_below(size_t limit) {
    random_state = random_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (size_t)(random_state >> 33) % limit;
}

/* Start of a random line and its length with the newline. */
static size_t random_line(const struct text *t, size_t *len) {
    size_t at = random_below(t->len), end;
    while (at > 0 && t->data[at - 1] != '\n')
        at--;
    end = at;
    while (end < t->len && t->data[end] != '\n')
        end++;
    *len = end - at + (end < t->len);
    return at;
}

static void mutate(struct text *t) {
    struct text changed = {0};
    size_t len, at = random_line(t, &len);
    switch (random_below(6)) {
    case 0: /* flip one bit */
        t->data[random_below(t->len)] ^= (char)(1 << random_below(7));
        return;
    case 1: /* overwrite a byte with anything, NUL and newline included */
        t->data[random_below(t->len)] = (char)(unsigned char)random_below(256);
        return;
    case 2: /* cut the file */
        t->len = random_below(t->len) + 1;
        t->data[t->len] = '\0';
        return;
    case 3: /* delete a line */
        text_add_bytes(&changed, t->data, at);
        text_add_bytes(&changed, t->data + at + len, t->len - at - len);
        break;
    case 4: /* double a line */
        text_add_bytes(&changed, t->data, at + len);
        text_add_bytes(&changed, t->data + at, t->len - at);
        break;
    default: /* delete a byte */
        at = random_below(t->len);
        text_add_bytes(&changed, t->data, at);
        text_add_bytes(&changed, t->data + at + 1, t->len - at - 1);
        break;
    }
    if (changed.len == 0)
        text_add(&changed, "\n");
    text_free(t);
    *t = changed;
}

/* Whether some line of the text starts with the key, whatever follows: a check that shares nothing with the
 * parser. */
static bool has_line_for(const struct text *t, const char *key) {
    size_t len = strlen(key);
    for (size_t at = 0; at < t->len; at++) {
        if (t->len - at >= len && memcmp(t->data + at, key, len) == 0)
            return true;
        while (at < t->len && t->data[at] != '\n')
            at++;
    }
    return false;
}

TEST(mutations) {
    TEXT base = {0}, lines = {0};
    int accepted = 0;
    read_budget(&base, "t4");
    random_state = 20261120;
    for (int round = 0; round < FUZZ_ROUNDS; round++) {
        TEXT t = {0};
        struct gpu g;
        text_add_bytes(&t, base.data, base.len);
        for (size_t n = random_below(4) + 1; n > 0; n--)
            mutate(&t);
        bool ok = parse_lines(t.data, t.len, "t.gpu", &g, &lines);
        accepted += ok;
        if (ok) { /* leading blanks can arise from a flipped byte: then the key is not at the line's start */
#define CHECK_KEY(field, low, high, meaning)                                                                 \
    assert_true(has_line_for(&t, #field) || has_line_for(&t, " " #field));                                   \
    assert_true(g.field >= (low) && g.field <= (high));
            GPU_NUMBER_KEYS(CHECK_KEY)
#undef CHECK_KEY
            assert_true(has_line_for(&t, "name") && has_line_for(&t, "title") && has_line_for(&t, "isa"));
        }
    }
    /* Mutations of comments stay legal, most others do not: both outcomes must really occur. */
    assert_in_range(accepted, FUZZ_ROUNDS / 20, FUZZ_ROUNDS / 2);
}
