/* choose.h: which tests of a program run, and whether with large cases. A program's argument is a pattern of names, in which * stands
 * for anything, !PATTERN for all others, or --list. A pattern that names no test is an error: cmocka alone would pass. Include it after
 * cmocka.h. */
#ifndef TESTS_CHOOSE_H
#define TESTS_CHOOSE_H
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* HALFTONE_TEST_SMALL=1 leaves large cases out. */
static inline int choose_small(void) {
    const char *wish = getenv("HALFTONE_TEST_SMALL");
    return wish != NULL && wish[0] != '\0' && strcmp(wish, "0") != 0;
}

enum { CHOOSE_RUN = -1, CHOOSE_NOTHING = 2 };

/* A group of tests, as cmocka_run_group_tests takes it. */
struct choice {
    const struct CMUnitTest *tests;
    size_t count;
};
#define CHOICE(tests) {(tests), sizeof(tests) / sizeof *(tests)}

/* CHOOSE_RUN: the groups are to be run, of which cmocka leaves out what was not named; or the exit code of a program that has
 * done what its argument asks. */
static inline int choose_tests(int argc, char **argv, const struct choice *group, int groups) {
    const int others = argc > 1 && argv[1][0] == '!', lists = argc > 1 && strcmp(argv[1], "--list") == 0;
    const char *pattern = argc > 1 ? argv[1] + others : "*";
    int named = 0;
    for (int i = 0; i < groups; i++) {
        for (size_t j = 0; j < group[i].count; j++) {
            if (lists)
                puts(group[i].tests[j].name);
            named += fnmatch(pattern, group[i].tests[j].name, 0) == 0;
        }
    }
    if (lists)
        return 0;
    if (named == 0) {
        fprintf(stderr, "%s: no test is called '%s'; --list names them all\n", argv[0], pattern);
        return CHOOSE_NOTHING;
    }
    if (others)
        cmocka_set_skip_filter(pattern);
    else
        cmocka_set_test_filter(pattern);
    return CHOOSE_RUN;
}
#endif
