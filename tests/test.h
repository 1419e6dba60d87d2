/* test.h: a test program. TEST(name) { ... } is a test and its place in the list; they run in the order in
 * which they stand. FOR_ALL(setup, teardown) names what is done before and behind all of them, FOR_EACH each one.
 *
 * A program's argument is a pattern of names, in which * stands for anything, !PATTERN for all others, or
 * --list. A pattern that names no test is an error: cmocka alone would pass. */
#ifndef TESTS_TEST_H
#define TESTS_TEST_H
#include <fnmatch.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#ifdef __cplusplus
extern "C" {
#endif
#include <cmocka.h>
#ifdef __cplusplus
}
#endif

enum { TESTS_MAX = 128, NO_SUCH_TEST = 2, ALL_SKIPPED = 77 };

static struct CMUnitTest test_list[TESTS_MAX];
static int test_count;
static struct {
    CMFixtureFunction before, after;
} all_tests, each_test;

#define FIXTURES(of, setup, teardown)                                                                        \
    __attribute__((constructor)) static void set_##of(void) {                                                \
        of.before = setup;                                                                                   \
        of.after = teardown;                                                                                 \
    }
#define FOR_ALL(setup, teardown) FIXTURES(all_tests, setup, teardown)
#define FOR_EACH(setup, teardown) FIXTURES(each_test, setup, teardown)

/* Memory that is given back behind each test, or by drop_kept(how much there was). */
static struct kept_block {
    void *memory;
    void (*drop)(void *memory);
} *kept_blocks;
static size_t kept_count;

static inline void *keep(void *memory, void (*drop)(void *memory)) {
    kept_blocks = (struct kept_block *)realloc(kept_blocks, (kept_count + 1) * sizeof *kept_blocks);
    assert_true(memory != NULL && kept_blocks != NULL);
    kept_blocks[kept_count].drop = drop;
    return kept_blocks[kept_count++].memory = memory;
}

static inline void drop_kept(size_t but) {
    for (; kept_count > but; kept_count--)
        kept_blocks[kept_count - 1].drop(kept_blocks[kept_count - 1].memory);
}

/* Of the host, at a multiple of 1024 bytes. */
static inline void *kept(size_t bytes) {
    return keep(aligned_alloc(1024, bytes / 1024 * 1024 + 1024), free);
}

static inline int after_test(void **state) {
    const int code = each_test.after != NULL ? each_test.after(state) : 0;
    drop_kept(0);
    return code;
}

static inline void add_test(const char *name, CMUnitTestFunction function) {
    if (test_count == TESTS_MAX)
        abort();
    test_list[test_count].name = name;
    test_list[test_count++].test_func = function;
}

#define TEST(name)                                                                                           \
    static void name(void **);                                                                               \
    __attribute__((constructor)) static void add_##name(void) {                                              \
        add_test(#name, name);                                                                               \
    }                                                                                                        \
    static void name(void **test_state __attribute__((unused)))

/* A call that has to return 0: HALFTONE_OK, HT_DEV_OK. */
#define OK(call) assert_int_equal(call, 0)

#ifndef __cplusplus
/* EQUAL({x, 1}, {y, 2}): pairs of integers that have to be equal. Nothing in them may change another. */
#define EQUAL(...)                                                                                           \
    equal_pairs((const int64_t[][2]){__VA_ARGS__},                                                           \
                sizeof((const int64_t[][2]){__VA_ARGS__}) / sizeof(int64_t[2]), #__VA_ARGS__, __FILE__,      \
                __LINE__)

static inline void equal_pairs(const int64_t (*pair)[2], size_t count, const char *text, const char *file,
                               int line) {
    for (size_t i = 0; i < count; i++)
        if (pair[i][0] != pair[i][1]) {
            print_error("%lld != %lld, pair %zu of %s\n", (long long)pair[i][0], (long long)pair[i][1], i + 1, text);
            _fail(file, line);
        }
}
#endif

/* What is not to be tested here. */
static inline int skip_all_tests(const char *why) {
    printf("[  SKIPPED ] all tests: %s\n", why);
    return ALL_SKIPPED;
}

static inline int is_wished(const char *name) {
    const char *wish = getenv(name);
    return wish != NULL && wish[0] != '\0' && strcmp(wish, "0") != 0;
}

/* HALFTONE_TEST_SMALL=1 leaves large cases out. */
static inline int only_small(void) {
    return is_wished("HALFTONE_TEST_SMALL");
}

/* HALFTONE_TEST_COVER=1, of `make test`: the smallest tile of each kind is there, and a part of cases that are alike is enough. */
static inline int only_part(void) {
    return is_wished("HALFTONE_TEST_COVER");
}

static inline int list_tests(int argc, char **argv) {
    if (argc < 2 || strcmp(argv[1], "--list") != 0)
        return 0;
    for (int i = 0; i < test_count; i++)
        puts(test_list[i].name);
    return 1;
}

int main(int argc, char **argv) {
    const int others = argc > 1 && argv[1][0] == '!';
    const char *pattern = argc > 1 ? argv[1] + others : "*";
    int named = 0;
    if (list_tests(argc, argv))
        return 0;
    for (int i = 0; i < test_count; i++) {
        named += fnmatch(pattern, test_list[i].name, 0) == 0;
        test_list[i].setup_func = each_test.before;
        test_list[i].teardown_func = after_test;
    }
    if (named == 0) {
        fprintf(stderr, "%s: no test is called '%s'; --list names them all\n", argv[0], pattern);
        return NO_SUCH_TEST;
    }
    if (others)
        cmocka_set_skip_filter(pattern);
    else
        cmocka_set_test_filter(pattern);
    return _cmocka_run_group_tests(argv[0], test_list, (size_t)test_count, all_tests.before, all_tests.after);
}
#endif
