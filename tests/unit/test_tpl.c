/* Tests of gen/tpl. Cases are in tests/unit/tpl.txt: each an expansion, or the refusals as err_user words
 * them. The emitter replaces the hole `fill` and keeps all others. */
#include <locale.h>

#include "../../gen/base/err.h"
#include "../../gen/emit/tpl.h"
#include "../test.h"
#include "cases.h"

enum { PARAMS_MAX = 16, FUZZ_ROUNDS = 400 };

struct test_params {
    struct tpl_param list[PARAMS_MAX];
    char names[PARAMS_MAX][32];
    int count;
};

static struct cases cases;

static bool emit_fill(void *context, const char *name, struct text *out, int indent) {
    int *calls = context;
    (*calls)++;
    text_addf(out, "%*sfilled_by_emitter(%d);  \n%*swhile (more)\n", indent, "", *calls, indent, "");
    return strcmp(name, "fill") == 0;
}

static void read_params(struct test_params *p, const struct text *in) {
    p->count = 0;
    if (in->len < 3 || strncmp(in->data, "// ", 3) != 0)
        return;
    const char *at = in->data + 3;
    for (; p->count < PARAMS_MAX; p->count++) {
        const size_t len = strcspn(at, ":= \n");
        const bool foldable = at[len] == ':';
        if ((at[len] != '=' && !foldable) || len >= 32)
            return;
        memcpy(p->names[p->count], at, len);
        p->names[p->count][len] = '\0';
        char *end;
        const long value = strtol(at + len + (foldable ? 2 : 1), &end, 10);
        p->list[p->count] = (struct tpl_param){p->names[p->count], 0, value, foldable};
        at = end + (*end == ' ');
    }
}

static bool expand(struct text *out, struct text *errors, const char *path, const struct text *in,
                   const struct test_params *p) {
    int calls = 0;
    const struct tpl_options options = {path, p->list, p->count, emit_fill, &calls};
    char *exact = malloc(in->len > 0 ? in->len : 1); /* the sanitizer sees any byte read beyond */
    assert_non_null(exact);
    if (in->len > 0)
        memcpy(exact, in->data, in->len);
    err_keep(errors);
    const bool ok = tpl_expand(out, exact, in->len, &options);
    err_keep(NULL);
    free(exact);
    return ok;
}

TEST(test_cases) {
    int failures = 0, refused = 0;
    for (int i = 0; i < cases.count; i++) {
        const struct one_case *const one = &cases.list[i];
        TEXT out = {0}, errors = {0};
        struct test_params p;
        read_params(&p, &one->in);
        const bool ok = expand(&out, &errors, "in", &one->in, &p);
        if (ok == (errors.len > 0) || (!ok && out.len > 0)) {
            print_error("%s: result and reports disagree\n%s", one->name, errors.data ? errors.data : "");
            failures++;
        }
        failures += !cases_same(one, ok ? &out : &errors);
        refused += !ok;
    }
    assert_int_equal(failures, 0);
    assert_true(refused >= 15 && cases.count - refused >= 20);
}

/* An expansion has nothing left to unroll: expanding it again changes nothing. */
TEST(test_expansion_is_a_fixed_point) {
    for (int i = 0; i < cases.count; i++) {
        TEXT out = {0}, again = {0}, errors = {0};
        struct test_params p;
        read_params(&p, &cases.list[i].in);
        if (expand(&out, &errors, "in", &cases.list[i].in, &p)) {
            assert_true(expand(&again, &errors, "out", &out, &p));
            assert_true(text_same(&out, &again));
        }
    }
}

static uint32_t next_random(uint32_t *seed) {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 17;
    *seed ^= *seed << 5;
    return *seed;
}

/* Deletes, doubles, swaps and overwrites bytes and short runs. */
static void mutate(struct text *t, const struct text *in, uint32_t *seed) {
    static const char *const pieces[] = {
        "{", "}", "(", ")", ";", "[", "\"", "/*", "*/", "//", "\n", "\\\n", "//@emit x\n", "//@end\n", "'",
        "i", "<", "#", "if (x)", "else", "for (", "do", ",", "0x", "case 1:", "R\"(", "break;", "switch (x)",
        "\n#pragma unroll\n", "0", "->", "?"};
    text_add_bytes(t, in->data, in->len);
    const uint32_t edits = 1 + next_random(seed) % 6;
    for (uint32_t e = 0; e < edits && t->len > 0; e++) {
        const size_t at = next_random(seed) % t->len, left = t->len - at;
        const size_t run = 1 + next_random(seed) % (left < 20 ? left : 20);
        const char *piece = pieces[next_random(seed) % (sizeof pieces / sizeof *pieces)];
        struct text next = {0};
        text_add_bytes(&next, t->data, at);
        switch (next_random(seed) % 4) {
        case 0:
            text_add_bytes(&next, t->data + at + run, left - run);
            break;
        case 1:
            text_add_bytes(&next, t->data + at, run);
            text_add_bytes(&next, t->data + at, left);
            break;
        case 2:
            text_add(&next, piece);
            text_add_bytes(&next, t->data + at, left);
            break;
        default:
            text_add_bytes(&next, (const char[]){(char)next_random(seed)}, 1);
            text_add_bytes(&next, t->data + at + 1, left - 1);
        }
        text_free(t);
        *t = next;
    }
}

TEST(test_no_crash_on_mutations) {
    const char *rounds = getenv("HALFTONE_FUZZ_ROUNDS");
    const long count = rounds ? strtol(rounds, NULL, 10) : FUZZ_ROUNDS;
    uint32_t seed = 20240229;
    long accepted = 0;
    for (int i = 0; i < cases.count; i++) {
        const struct text *const in = &cases.list[i].in;
        struct test_params p;
        read_params(&p, in);
        const bool slow = strncmp(cases.list[i].name, "slow_", 5) == 0; /* runs into the limits */
        for (long round = 0; round < (slow ? count / 100 : count); round++) {
            TEXT t = {0}, out = {0}, errors = {0};
            mutate(&t, in, &seed);
            const bool ok = expand(&out, &errors, "fuzz", &t, &p);
            assert_true(ok == (errors.len == 0));
            assert_true(ok || out.len == 0);
            accepted += ok;
        }
    }
    assert_true(accepted > 0);
}

static struct text expand_string(const char *s, const struct tpl_param *params, int count) {
    struct text out = {0};
    const struct tpl_options options = {"string", params, count, NULL, NULL};
    assert_true(tpl_expand(&out, s, strlen(s), &options));
    return out;
}

TEST(test_bytes_outside_loops_are_kept) {
    static const char odd[] = "a\0b \t\xff\xfe\n\n\n// \xc3\xa9\r\n\"x(#pragma unroll)\" )x'";
    TEXT out = {0};
    const struct tpl_options options = {"odd", NULL, 0, NULL, NULL};
    assert_true(tpl_expand(&out, odd, sizeof odd - 1, &options));
    static const char want[] = "a\0b \t\xff\xfe\n\n\n// \xc3\xa9\n\"x(#pragma unroll)\" )x'\n";
    assert_int_equal(out.len, sizeof want - 1);
    assert_memory_equal(out.data, want, out.len);
    text_free(&out);
    out = expand_string("", NULL, 0);
    assert_int_equal(out.len, 0);
}

TEST(test_locale_does_not_matter) {
    static const char loop[] = "{\n#pragma unroll\nfor (int i = 9999; i < 10001; i++) {\n    f(i);\n}\n}\n";
    TEXT plain = expand_string(loop, NULL, 0);
    const char *other = setlocale(LC_ALL, "de_DE.UTF-8");
    TEXT local = expand_string(loop, NULL, 0);
    setlocale(LC_ALL, "C");
    if (!other)
        print_message("no de_DE.UTF-8 here: compared under the C locale only\n");
    assert_string_equal(plain.data, "{\nf(9999);\nf(10000);\n}\n");
    assert_string_equal(plain.data, local.data);
}

/* The caller's text stays as it is when there is a refusal, and is appended to otherwise. */
TEST(test_output_is_appended) {
    TEXT out = {0}, errors = {0};
    const struct tpl_options options = {"x", NULL, 0, NULL, NULL};
    text_add(&out, "before\n");
    assert_true(tpl_expand(&out, "x;", 2, &options));
    assert_string_equal(out.data, "before\nx;\n");
    err_reset();
    err_keep(&errors);
    assert_false(tpl_expand(&out, "//@end", 6, &options));
    err_keep(NULL);
    assert_int_equal(err_count(), 1);
    assert_string_equal(out.data, "before\nx;\n");
}

/* Functions that nothing which stays names go, with the comment right above them; a heading goes with all it heads. */
TEST(test_functions_that_nothing_calls_are_left_out) {
    static const char code[] = "// head\n\n#define CALL by_macro(1)\n#if X\nint by_macro(int i)\n{\n    return i;\n}\n#endif\n\n"
                               "// of no use\nvoid lost(void)\n{\n    kept_by_lost(); // by_comment\n}\n\n"
                               "// gone: a heading\n\nvoid kept_by_lost(void)\n{\n    lost();\n}\nvoid by_comment(void) {}\n\n"
                               "// stays: a heading\n\n// above\nvoid above(void) {}\n\ntemplate <int N, bool B = (N > 1)>\nvoid both(int)\n{\n"
                               "    x.field({deep<N>()});\n}\n\ntemplate <class T> void both(T v) {}\n\nMACRO(lost, 1)\nint deep(void)\n{\n}\n\n"
                               "struct point {\n    int member(void) { return by_struct(); }\n};\nint by_struct() {}\n"
                               "constexpr int A[2] = {by_table(1), 2};\n\nint by_table(int);\nint by_table(int i)\n{\n}\nvoid last(void) {}\n";
    static const char want[] = "// head\n\n#define CALL by_macro(1)\n#if X\nint by_macro(int i)\n{\n    return i;\n}\n#endif\n\n"
                               "// of no use\nvoid lost(void)\n{\n    kept_by_lost(); // by_comment\n}\n\n"
                               "// gone: a heading\n\nvoid kept_by_lost(void)\n{\n    lost();\n}\n\n"
                               "// stays: a heading\n\ntemplate <int N, bool B = (N > 1)>\nvoid both(int)\n{\n"
                               "    x.field({deep<N>()});\n}\n\ntemplate <class T> void both(T v) {}\n\nMACRO(lost, 1)\nint deep(void)\n{\n}\n\n"
                               "struct point {\n    int member(void) { return by_struct(); }\n};\nint by_struct() {}\n"
                               "constexpr int A[2] = {by_table(1), 2};\n\nint by_table(int);\nint by_table(int i)\n{\n}\n";
    TEXT in = {0}, calls = {0}, out = {0};
    text_add(&in, code);
    text_add(&calls, "int launch() { return both(1); }");
    reach_add(&out, &in, 0, &calls);
    assert_string_equal(out.data, want);
    char *unused = strstr(in.data, "MACRO(lost"); /* without it the two that call each other go */
    memcpy(unused, "MACRO(most", 10);
    out.len = 0;
    reach_add(&out, &in, 0, &calls);
    assert_null(strstr(out.data, "lost"));
    assert_null(strstr(out.data, "gone"));
}

/* Of the library functions stand behind the rest, and are declared before it with the types they take; an #if goes with both, two that are
 * alike become one; what the compiler evaluates, or has a default argument, stays in front, a kernel beside the rest. */
TEST(test_library_functions_stand_behind) {
    static const char library[] = "#ifndef S\n// first: a heading\n\n// lowest\nint low(int x) // tail\n{\n    return x;\n}\n\nint lost()\n{\n}\n#endif\n\n"
                                  "// second: a heading\n#ifndef S\ntemplate <int N>\nvoid wide(int a,\n          int b)\n{\n    low(N);\n}\n#endif\n\n"
                                  "#ifndef S\nvoid unused()\n{\n}\n#endif\n\n// a type\nstruct pair {\n    int x;\n};\n\n"
                                  "constexpr int twice(int x)\n{\n    return 2 * x;\n}\n\nint by_default(int x = 1)\n{\n}\n\n"
                                  "__global__ void kernel()\n{\n    wide<1>();\n}\n\n";
    static const char rest[] = "// rest\nconstexpr int A = twice(2);\nvoid launch()\n{\n    kernel(by_default());\n}\n";
    static const char want[] = "// ---- what the kernel is made of; functions stand behind it\n"
                               "#ifndef S\nint low(int x);\ntemplate <int N>\nvoid wide(int a,\n          int b);\n#endif\n\n"
                               "// a type\nstruct pair {\n    int x;\n};\n\nconstexpr int twice(int x)\n{\n    return 2 * x;\n}\n\n"
                               "int by_default(int x = 1)\n{\n}\n\n// ---- the kernel\n\n__global__ void kernel()\n{\n    wide<1>();\n}\n\n"
                               "// rest\nconstexpr int A = twice(2);\nvoid launch()\n{\n    kernel(by_default());\n}\n"
                               "\n// ---- functions that it calls\n// first: a heading\n\n#ifndef S\n// lowest\nint low(int x) // tail\n{\n    return x;\n}\n#endif\n\n"
                               "// second: a heading\n#ifndef S\ntemplate <int N>\nvoid wide(int a,\n          int b)\n{\n    low(N);\n}\n#endif\n";
    TEXT in = {0}, calls = {0}, out = {0};
    text_add(&in, library);
    text_add(&in, rest);
    text_add(&calls, "launch");
    reach_add(&out, &in, sizeof library - 1, &calls);
    assert_string_equal(out.data, want);
}

/* What a template says of its own names: int constants at the start of a line, as far as they are known. */
TEST(test_constants) {
    static const char text[] = "constexpr int A = BM / 32, B = A > 3 ? 7 : (A == 2) + 1; // C = 5\nconstexpr int D = sizeof(int), E = f(A, B), F = "
                               "A || 1 / 0 > D, G = A && B ? B * 2 : 9;\n    constexpr int H = 1;\nconstexpr long I = 1;\nconstexpr int BM = 3, J = "
                               "-A % 2;\nconstexpr int k(int x)\n{\n}\nconstexpr int K = BM <= 64 && BM != 63, L = 1 << 3 | 1;\n";
    static const struct {
        const char *name;
        long value;
        bool foldable;
    } want[] = {{"BM", 64, false}, {"A", 2, true}, {"B", 2, false}, {"G", 4, true}, {"J", 0, false}, {"K", 1, false}, {"L", 9, false}};
    enum { COUNT = sizeof want / sizeof *want };
    struct tpl_param list[COUNT + 1] = {{"BM", 0, 64, false}};
    int count = 1;
    assert_true(tpl_read_constants(text, sizeof text - 1, "A G", list, &count, COUNT + 1));
    assert_int_equal(count, COUNT);
    for (int i = 0; i < COUNT; i++) {
        const size_t length = list[i].length > 0 ? list[i].length : strlen(list[i].name);
        assert_int_equal(length, strlen(want[i].name));
        assert_memory_equal(list[i].name, want[i].name, length);
        assert_int_equal(list[i].value, want[i].value);
        assert_int_equal(list[i].foldable, want[i].foldable);
    }
    count = 1;
    assert_false(tpl_read_constants(text, sizeof text - 1, "", list, &count, 3));
    /* as a bound of a loop; comparisons elsewhere stay text */
    TEXT out = expand_string("{\n#pragma unroll\nfor (int i = 0; i < (N > 1 ? 2 : 1); i++) {\n    f(i + N, i < 2);\n}\n}\n",
                                    (const struct tpl_param[]){{"N", 0, 3, true}}, 1);
    assert_string_equal(out.data, "{\nf(3, 0 < 2);\nf(4, 1 < 2);\n}\n");
}

static void check_section(const char *in, const char *want) {
    TEXT out = {0}, errors = {0};
    err_keep(&errors);
    const bool ok = tpl_section(&out, "file.h", in, strlen(in), "abi");
    err_keep(NULL);
    assert_true(ok == (want != NULL));
    if (want)
        assert_string_equal(out.data, want);
    else
        assert_string_equal(errors.data,
                            "file.h: wants one section between the lines /*@abi*/ and /*@end*/\n");
}

TEST(test_section) {
    check_section("a\n/*@abi*/\nint x; \n\n  y\r\n/*@end*/\nb\n", "int x;\n\n  y\n");
    check_section("/*@other*/\n1\n/*@end*/\n/*@abi*/\n2\n/*@end*/\n/*@other*/\n3\n/*@end*/", "2\n");
    check_section("/*@abi*/\n2\n", NULL);
    check_section("/*@end*/\n2\n", NULL);
    check_section("", NULL);
    check_section("/*@abi*/\n2\n/*@end*/\n/*@abi*/\n2\n/*@end*/\n", NULL);
}

static int read_all(void **state) {
    (void)state;
    cases_read(&cases, "tpl.txt", "in");
    return 0;
}

static int free_all(void **state) {
    (void)state;
    cases_free(&cases);
    return 0;
}

FOR_ALL(read_all, free_all)
