/* test_sites: the table of sites: which line a product runs by. Without generator, simulator or GPU: fake_set.h. */
#include <unistd.h>

#include "fake_set.h"

/* ---- sites ---- */

/* Runs a product of these sizes and says by which scheme and line; halftone_query must have said the same. */
static void assert_site(halftone *h, char ta, char tb, int m, int n, int k, const char *scheme, int line) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    char begins[64];
    const struct problem p = problem_of(ta, tb, m, n, k, 0);
    OK(halftone_query(h, ta, tb, m, n, k, 1, &plan));
    assert_string_equal(plan.scheme, scheme);
    assert_int_equal(plan.site, line);
    snprintf(begins, sizeof begins, "line %d of the site table: ", line);
    assert_true((strncmp(plan.why_scheme, begins, strlen(begins)) == 0) == (line > 0));
    check(h, &p);
    assert_string_equal(fake_kernels[dev.last_kernel].scheme, scheme);
    assert_int_equal(halftone_last_site(h), line);
}

API_TEST(test_products_at_a_site_run_at_its_accuracy) {
    static const char *const lines[] = {"site=layer[12] m=-64 scheme=half  # narrow", "# none", "  ", "op=NT k=70- accuracy=bits=12\n",
                                        "site=layer* accuracy=tf32", "batch=2- scheme=half"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        OK(halftone_set_site(h, lines[i]));
    assert_site(h, 'N', 'N', 30, 30, 30, "f16x3", 0);
    assert_site(h, 'N', 'C', 30, 30, 70, "wide", 2);
    assert_site(h, 'N', 'T', 30, 30, 69, "f16x3", 0);
    OK(halftone_at_site(h, "layer1"));
    assert_site(h, 'N', 't', 64, 30, 70, "half", 1);
    assert_site(h, 'N', 'T', 65, 30, 70, "wide", 2);
    assert_site(h, 'N', 'N', 65, 30, 70, "wide", 3);
    OK(halftone_at_site(h, "layer3"));
    assert_site(h, 'N', 'N', 64, 30, 70, "wide", 3);
    OK(halftone_at_site(h, "other"));
    assert_site(h, 'N', 'N', 64, 30, 70, "f16x3", 0);
    struct problem p = problem_of('N', 'N', 8, 8, 8, 0);
    p.batch = 2;
    p.stride_a = p.stride_b = p.stride_c = 64;
    check(h, &p);
    assert_int_equal(halftone_last_site(h), 4);
    const char *text = NULL;
    const int64_t counted[] = {1, 2, 2, 1};
    for (int i = 0; i < 4; i++) {
        int64_t products = -1;
        OK(halftone_get_site(h, i, &text, &products));
        assert_int_equal(products, counted[i]);
        assert_true(strncmp(text, lines[i > 0 ? i + 2 : 0], strlen(text)) == 0);
    }
    int64_t products = 7;
    OK(halftone_get_site(h, 4, &text, &products));
    assert_true(text == NULL && products == 0);
}

/* The handle's own setting stays what it was, and holds where the table is empty again; a kernel by name wins. */
API_TEST(test_sites_leave_the_handle_as_it_is) {
    OK(halftone_set_accuracy(h, "half"));
    OK(halftone_set_site(h, "m=30 accuracy=fp32-fast"));
    for (int i = 0; i < 3; i++) { /* plans of both are remembered */
        assert_site(h, 'N', 'N', 30, 30, 30, "f16x3", 1);
        assert_site(h, 'N', 'N', 31, 30, 30, "half", 0);
    }
    expect_set(h, NULL, "half", NULL);
    OK(halftone_set_kernel(h, "ht_fake_half"));
    assert_site(h, 'N', 'N', 30, 30, 30, "half", 0);
    OK(halftone_set_kernel(h, NULL));
    OK(halftone_set_site(h, NULL));
    assert_site(h, 'N', 'N', 30, 30, 30, "half", 0);
    OK(halftone_set_site(h, "m=30 scheme=wide"));
    assert_site(h, 'N', 'N', 30, 30, 30, "wide", 1);
    dev.fail_after = 1; /* of the workspace that grows: a product that fails is none of the site's */
    struct problem p = problem_of('N', 'N', 30, 300, 3000, 0);
    const char *text = NULL;
    int64_t products = 0;
    assert_int_equal(run_and_compare(h, &p), HALFTONE_OUT_OF_DEVICE_MEMORY);
    assert_null(strstr(halftone_last_detail(h), "line 1")); /* which did not ask for too much */
    assert_int_equal(halftone_last_site(h), 0);
    OK(halftone_get_site(h, 0, &text, &products));
    assert_int_equal(products, 1);
    dev.fail_after = 0;
    assert_site(h, 'N', 'N', 31, 30, 30, "half", 0); /* the failure has left the handle's setting */
    size_t bytes = 0, wide = 0; /* of no line: sizes differ */
    OK(halftone_set_scheme(h, "half"));
    OK(halftone_packed_bytes(h, 'A', 30, 30, 1, &bytes));
    OK(halftone_set_scheme(h, "wide"));
    OK(halftone_packed_bytes(h, 'A', 30, 30, 1, &wide));
    assert_true(bytes < wide);
}

/* Plans of one shape under two accuracies are two; what was remembered is forgotten with the lines it came from. */
API_TEST(test_sites_of_one_shape) {
    OK(halftone_set_site(h, "site=a accuracy=half") + halftone_set_site(h, "site=b accuracy=fp32-fast"));
    for (int i = 0; i < 4; i++) {
        OK(halftone_at_site(h, i % 2 ? "b" : "a"));
        assert_site(h, 'N', 'N', 30, 30, 30, i % 2 ? "f16x3" : "half", i % 2 + 1);
        assert_site(h, 'N', 'T', 30, 30, 30, i % 2 ? "f16x3" : "half", i % 2 + 1);
    }
    OK(halftone_at_site(h, NULL));
    assert_site(h, 'N', 'T', 30, 30, 30, "f16x3", 0);
    OK(halftone_set_site(h, "op=NT scheme=wide"));
    assert_site(h, 'N', 'T', 30, 30, 30, "wide", 3);
    assert_site(h, 'N', 'N', 30, 30, 30, "f16x3", 0);
}

static int64_t products_of_line(halftone *h, int line) {
    const char *text = NULL;
    int64_t products = -1;
    OK(halftone_get_site(h, line - 1, &text, &products));
    return products;
}

/* Lines that ask for site= and k= alone decide packing and products of packed operands alike; others do not. */
API_TEST(test_packed_operands_are_their_sites) {
    static const char *const lines[] = {"site=layer1 m=-999 scheme=wide", "op=NN scheme=wide", "batch=1 scheme=wide", "site=layer* scheme=half",
                                        "k=9000- scheme=wide", "site=fast accuracy=fp32-fast"};
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    size_t bytes = 0, own = 0;
    OK(halftone_packed_bytes(h, 'A', 65, 65, 1, &own));
    for (int i = 0; i < 6; i++)
        OK(halftone_set_site(h, lines[i]));
    OK(halftone_packed_bytes(h, 'A', 65, 65, 1, &bytes));
    assert_int_equal(bytes, own);
    OK(halftone_at_site(h, "layer1"));
    OK(halftone_query(h, 'N', 'N', 0, 0, 65, 1, &plan)); /* remembered beside */
    assert_int_equal(plan.site, 1);
    OK(halftone_packed_bytes(h, 'A', 65, 65, 1, &bytes));
    assert_int_equal(bytes, 2 * 2 * HT_ATOM_BYTES); /* of half */
    OK(halftone_set_kernel(h, "ht_fake_wide"));
    OK(halftone_packed_bytes(h, 'A', 65, 65, 1, &bytes));
    assert_int_equal(bytes, own);
    OK(halftone_set_kernel(h, NULL) + halftone_set_site(h, NULL));
    for (int i = 3; i < 6; i++)
        OK(halftone_set_site(h, lines[i]));
    packed_equals_unpacked(h, 'N', 'N', 70, 30, 50);
    packed_equals_unpacked(h, 'T', 'N', 5, 130, 33);
    assert_string_equal(fake_kernels[dev.last_kernel].scheme, "half");
    assert_int_equal(products_of_line(h, 1), 4); /* packed ones and the others */
    assert_int_equal(halftone_last_site(h), 1);
    OK(halftone_at_site(h, NULL));
    packed_equals_unpacked(h, 'C', 'C', 3, 4, 9000);
    assert_string_equal(fake_kernels[dev.last_kernel].scheme, "wide");
    assert_int_equal(products_of_line(h, 2), 2);
    packed_equals_unpacked(h, 'N', 'N', 70, 30, 50);
    assert_string_equal(fake_kernels[dev.last_kernel].scheme, "f16x3");
    assert_int_equal(halftone_last_site(h), 0);
    OK(halftone_at_site(h, "fast"));
    assert_site(h, 'N', 'N', 30, 30, 30, "f16x3", 3);
    REFUSED_FOR(halftone_packed_bytes(h, 'A', 65, 65, 1, &bytes), HALFTONE_NOT_SUPPORTED,
                "line 3 of the site table, 'site=fast accuracy=fp32-fast': accuracy 'fp32-fast' chooses");
    assert_non_null(strstr(halftone_last_detail(h), "say scheme= in this line"));
    OK(halftone_at_site(h, NULL));
    OK(halftone_packed_bytes(h, 'A', 65, 65, 1, &bytes));
    assert_int_equal(bytes, own);
}

/* Code and place of what a product is refused for, which query says, too. */
static void refused_product(halftone *h, int code, const char *place, const char *says) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    struct problem p = problem_of('N', 'N', 30, 30, 4000, 0);
    assert_int_equal(run_and_compare(h, &p), code);
    for (int i = 0; i < 2; i++) {
        if (strncmp(halftone_last_detail(h), place, strlen(place)) != 0 || strstr(halftone_last_detail(h), says) == NULL)
            fail_msg("'%s', not '%s' and '%s'", halftone_last_detail(h), place, says);
        assert_int_equal(halftone_query(h, 'N', 'N', 30, 30, 4000, 1, &plan), code);
    }
    assert_int_equal(halftone_last_site(h), 0);
}

API_TEST(test_a_line_that_asks_for_too_much_is_said) {
    double x[4] = {1, 2, 3, 4}, one = 1, zero = 0;
    char path[] = "/tmp/halftone-sites-XXXXXX", place[96];
    static const char lacking[] = "m=1-29 scheme=half\naccuracy=reproducible\n", text[] = "# products\n\nm=1-29 scheme=half\naccuracy=bits=12\n";
    const int file = mkstemp(path);
    assert_true(file >= 0 && write(file, lacking, sizeof lacking - 1) == sizeof lacking - 1);
    REFUSED(halftone_read_sites(h, path), HALFTONE_ACCURACY); /* for either type */
    snprintf(place, sizeof place, "%s:2: reproducible needs the fixed-point scheme of 6", path);
    assert_true(strncmp(halftone_last_detail(h), place, strlen(place)) == 0);
    assert_true(ftruncate(file, 0) == 0 && pwrite(file, text, sizeof text - 1, 0) == sizeof text - 1);
    OK(halftone_read_sites(h, path)); /* FP32 products can have it */
    snprintf(place, sizeof place, "%s:4, 'accuracy=bits=12': ", path);
    assert_int_equal(halftone_dgemm(h, 'N', 'N', 1, 1, 1, &one, x, 1, x, 1, &zero, x + 1, 1), HALFTONE_NOT_SUPPORTED);
    assert_true(strncmp(halftone_last_detail(h), place, strlen(place)) == 0 && strstr(halftone_last_detail(h), "without scheme 'native64'"));
    assert_int_equal(halftone_set_site(h, NULL) + halftone_set_site(h, "# first") + halftone_set_site(h, "k=4000 accuracy=bits=18"), HALFTONE_OK);
    refused_product(h, HALFTONE_ACCURACY, "line 1 of the site table, 'k=4000 accuracy=bits=18': ", "bits=18");
    close(file);
    unlink(path);
}

/* More products than are remembered, twice: each still has its own line. */
API_TEST(test_many_sites) {
    char line[64], name[16];
    dev.dry = true;
    for (int i = 0; i < 300; i++) {
        snprintf(line, sizeof line, "site=s%d scheme=%s", i, i % 2 ? "half" : "wide");
        OK(halftone_set_site(h, line));
    }
    for (int i = 0; i < 900; i++) {
        struct halftone_plan plan = HALFTONE_PLAN_INIT;
        snprintf(name, sizeof name, "s%d", i % 450);
        OK(halftone_at_site(h, name));
        OK(halftone_query(h, 'N', 'N', 8, 8, 8, 1, &plan));
        assert_int_equal(plan.site, i % 450 < 300 ? i % 450 + 1 : 0);
    }
}

static void refused_line(halftone *h, const char *line, int code, const char *says) {
    assert_int_equal(halftone_set_site(h, line), code);
    if (strstr(halftone_last_detail(h), says) == NULL)
        fail_msg("'%s': '%s', not '%s'", line, halftone_last_detail(h), says);
    const char *text = "";
    int64_t products = -1;
    OK(halftone_get_site(h, 1, &text, &products));
    assert_true(text == NULL); /* the table still has its one line */
}

API_TEST(test_wrong_lines_change_nothing) {
    char text[2000];
    memset(text, 'x', sizeof text);
    text[sizeof text - 1] = '\0';
    OK(halftone_set_site(h, "m=4 scheme=half"));
    refused_line(h, "m=4", HALFTONE_SITE, "'m=4' is wrong, given twice or out of place: conditions site=");
    refused_line(h, "m=9-2 scheme=half", HALFTONE_SITE, "'m=9-2' is wrong");
    refused_line(h, "scheme=half m=4", HALFTONE_SITE, "'m=4' is wrong");
    refused_line(h, "op=NC scheme=half", HALFTONE_SITE, "'op=NC' is wrong");
    static const char *const twice[] = {"site=a site=b", "op=NN op=NN", "m=0- m=5", "batch=2 k=4 batch=2"};
    for (size_t i = 0; i < sizeof twice / sizeof *twice; i++) {
        char line[64], says[64];
        snprintf(line, sizeof line, "%s scheme=half", twice[i]);
        snprintf(says, sizeof says, "'%s' is wrong, given twice", strrchr(twice[i], ' ') + 1);
        refused_line(h, line, HALFTONE_SITE, says);
    }
    refused_line(h, "accuracy=best", HALFTONE_SITE, "'accuracy=best' is wrong");
    refused_line(h, "m=4 original", HALFTONE_SITE, "no original");
    refused_line(h, "api=cublas* scheme=half", HALFTONE_SITE, "api= and ordinal= are a drop-in's");
    refused_line(h, "ordinal=2 scheme=half", HALFTONE_SITE, "api= and ordinal= are a drop-in's");
    refused_line(h, text, HALFTONE_SITE, "1999 characters");
    refused_line(h, "m=5 scheme=half\nm=6 scheme=half", HALFTONE_SITE, "more than one line: add each by a call of its own");
    refused_line(h, "# small ones\nm=6 scheme=half\n", HALFTONE_SITE, "more than one line");
    OK(halftone_set_site(h, "# small ones\r\n"));
    refused_line(h, "scheme=best", HALFTONE_UNKNOWN_SCHEME, "no scheme 'best'");
    refused_line(h, "scheme=crt15", HALFTONE_UNKNOWN_SCHEME, "no scheme 'crt15'; this library has for FP32 auto, half, f16x3");
    refused_line(h, "accuracy=fp32", HALFTONE_ACCURACY, "needs scheme bf16x6u");
    refused_line(h, "accuracy=bits=1000", HALFTONE_UNKNOWN_ACCURACY, "'bits=1000' is none of");
    REFUSED(halftone_at_site(h, text), HALFTONE_SITE);
    REFUSED(halftone_set_site(NULL, "m=4 scheme=half"), HALFTONE_NULL_HANDLE);
    REFUSED(halftone_get_site(h, 0, NULL, NULL), -18);
    REFUSED(halftone_read_sites(h, NULL), -18);
    assert_int_equal(halftone_last_site(NULL), 0);
    /* each accuracy that there is may stand in a line: the list of lines' own is the library's */
    for (int i = 0; halftone_accuracies(0, i) != NULL; i++) {
        const char *const name = halftone_accuracies(0, i), *const value = strchr(name, '=');
        snprintf(text, sizeof text, "accuracy=%.*s%s", (int)strcspn(name, "[="), name, value == NULL ? "" : strcmp(name, "bits=N") == 0 ? "=12" : strcmp(name, "bound=X") == 0 ? "=1e-5" : "=1e-5:rho=2");
        assert_int_not_equal(halftone_set_site(h, text), HALFTONE_SITE);
    }
}

/* Answers about the last product are not of the one before it; of matrices of the host: test_host.c. */
API_TEST(test_what_is_asked_of_the_last_product) {
    const float zero = 0, one = 1;
    float c[4] = {1, 2, 3, 4};
    OK(halftone_set_site(h, "k=30 scheme=half"));
    for (int i = 0; i < 3; i++) {
        assert_site(h, 'N', 'N', 30, 30, 30, "half", 1);
        struct problem p = problem_of('N', 'N', 30, 30, 30, 0);
        check(h, &p);
        assert_int_equal(halftone_last_site(h), 1);
        const int code = i == 0 ? halftone_sgemm(h, 'N', 'N', 2, 2, 30, &one, c, 1, c, 30, &one, c, 2)
                   : i == 1 ? halftone_sgemm(h, 'N', 'N', 0, 2, 30, &one, c, 2, c, 30, &one, c, 2)
                            : halftone_sgemm(h, 'N', 'N', 2, 2, 30, &zero, c, 2, c, 30, &one, c, 2);
        assert_int_equal(code, i == 0 ? -8 : HALFTONE_OK);
        assert_int_equal(halftone_last_site(h), 0);
    }
}

/* Lines far longer than any that says something, by what is behind `mark`, and lines around them. */
static void write_long_lines(int file, const char *mark) {
    char text[5000];
    memset(text, 'w', sizeof text);
    memcpy(text, mark, strlen(mark));
    memcpy(text + 3000, "x\nm=5 scheme=half #", 19);
    memcpy(text + 4800, "y\n# m=6 original\nm=7 scheme=wide\n", 33);
    assert_true(ftruncate(file, 0) == 0 && pwrite(file, text, 4833, 0) == 4833);
}

API_TEST(test_a_file_of_sites_is_taken_whole_or_not_at_all) {
    const char *text = "";
    int64_t products = 0;
    char path[] = "/tmp/halftone-sites-XXXXXX";
    const int file = mkstemp(path);
    static const char good[] = "# products\n\nm=30 scheme=half\nscheme=wide\n", wrong[] = "m=4 scheme=half\n\nm=5 original\n";
    assert_true(file >= 0 && write(file, good, sizeof good - 1) == sizeof good - 1);
    OK(halftone_read_sites(h, path));
    assert_site(h, 'N', 'N', 30, 30, 30, "half", 1);
    assert_site(h, 'N', 'N', 31, 30, 30, "wide", 2);
    assert_true(ftruncate(file, 0) == 0 && pwrite(file, wrong, sizeof wrong - 1, 0) == sizeof wrong - 1);
    REFUSED(halftone_read_sites(h, path), HALFTONE_SITE);
    assert_true(strncmp(halftone_last_detail(h), path, strlen(path)) == 0 && strstr(halftone_last_detail(h), ":3: a library has no original"));
    assert_true(ftruncate(file, 17) == 0 && pwrite(file, "m=x scheme=half\n", 16, 16) == 16);
    REFUSED_FOR(halftone_read_sites(h, path), HALFTONE_SITE,
                ":2: 'm=x' is wrong, given twice or out of place");
    OK(halftone_get_site(h, 2, &text, &products));
    assert_null(text);
    assert_site(h, 'N', 'N', 4, 30, 30, "wide", 2);
    OK(halftone_set_site(h, NULL));
    write_long_lines(file, "#");
    OK(halftone_read_sites(h, path));
    assert_site(h, 'N', 'N', 5, 30, 30, "half", 1);
    assert_site(h, 'N', 'N', 7, 30, 30, "wide", 2);
    write_long_lines(file, "");
    REFUSED_FOR(halftone_read_sites(h, path), HALFTONE_SITE, ":1: 'a line of this length' is wrong");
    close(file);
    unlink(path);
    REFUSED_FOR(halftone_read_sites(h, path), HALFTONE_SITE, "cannot be read: No such file");
}
