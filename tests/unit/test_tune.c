/* test_tune: the table of `halftone tune` on disk, interrupted and continued, and what it says of the picks. */

#include <math.h>
#include <unistd.h>

#include "../../bench/halftone/cmd/tune.h"
#include "../test.h"

static const char head[] = "# halftone tune: 1, set a800 (sm_80)\n# device: fiction\n";
static char path[64];

static int set_up(void **state) {
    (void)state;
    snprintf(path, sizeof path, "/tmp/test_tune.%ld.tsv", (long)getpid());
    unlink(path);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    unlink(path);
    return 0;
}

static struct tune_row row_of(int64_t n, const char *kernel, const char *variant, int is_pick, double us) {
    struct tune_row r = {.shape = {n, n, n},
                         .splits = 1,
                         .is_pick = is_pick,
                         .predicted_us = 10,
                         .measured_us = us,
                         .least_us = us,
                         .most_us = us,
                         .clock_mhz = -1};
    snprintf(r.scheme, sizeof r.scheme, "f16x3");
    snprintf(r.kernel, sizeof r.kernel, "%s", kernel);
    snprintf(r.variant, sizeof r.variant, "%s", variant);
    return r;
}

static void append(struct tune_log *log, int64_t n, const char *kernel, const char *variant, int is_pick,
                   double us) {
    struct cli_error f = {EXIT_OK, ""};
    const struct tune_row r = row_of(n, kernel, variant, is_pick, us);
    assert_int_equal(tune_append(log, &r, &f), 0);
}

static long file_bytes(void) {
    FILE *in = fopen(path, "rb");
    assert_non_null(in);
    fseek(in, 0, SEEK_END);
    const long bytes = ftell(in);
    fclose(in);
    return bytes;
}

static void add_text(const char *text) {
    FILE *out = fopen(path, "ab");
    assert_non_null(out);
    fputs(text, out);
    fclose(out);
}

TEST(test_rows_come_back) {
    struct tune_log log;
    struct cli_error f = {EXIT_OK, ""};
    assert_int_equal(tune_open(&log, path, head, &f), 0);
    append(&log, 64, "k1", "-", 1, 12.25);
    append(&log, 64, "k2", "plain", 0, 11);
    tune_close(&log);
    assert_int_equal(tune_open(&log, path, head, &f), 0);
    assert_int_equal(log.rows, 2);
    const struct shape shape = {64, 64, 64}, other = {64, 64, 65};
    const struct tune_row *r = tune_find(&log, &shape, "k1", 0);
    assert_non_null(r);
    assert_true(r->measured_us == 12.25 && r->is_pick == 1 && r->clock_mhz == -1);
    assert_string_equal(tune_find(&log, &shape, "k2", 0)->variant, "plain");
    assert_null(tune_find(&log, &other, "k1", 0));
    assert_null(tune_find(&log, &shape, "k3", 0));
    tune_close(&log);
}

/* Killed inside a row, at every byte: what was whole stays, the rest is cut off, and the next row lands on its own line. */
TEST(test_a_torn_row_is_cut_off) {
    struct tune_log log;
    struct cli_error f = {EXIT_OK, ""};
    assert_int_equal(tune_open(&log, path, head, &f), 0);
    append(&log, 64, "k1", "-", 1, 12);
    const long first = file_bytes();
    append(&log, 64, "k2", "-", 0, 11);
    const long second = file_bytes();
    tune_close(&log);
    for (long bytes = second - 1; bytes >= first; bytes--) {
        assert_int_equal(truncate(path, bytes), 0);
        assert_int_equal(tune_open(&log, path, head, &f), 0);
        assert_int_equal(log.rows, 1);
        tune_close(&log);
        assert_int_equal(file_bytes(), first);
        add_text("64\t64\t64\tf16x3\tk2\t-\t1\t0\t10\t11\t11\t11\tn/a");
    }
    for (long bytes = first - 1; bytes >= 0;
         bytes--) { /* killed while it began: as if it were new, rows then gone */
        assert_int_equal(truncate(path, bytes), 0);
        assert_int_equal(tune_open(&log, path, head, &f), 0);
        assert_int_equal(log.rows, 0);
        append(&log, 64, "k1", "-", 1, 12);
        tune_close(&log);
        assert_int_equal(file_bytes(), first);
    }
}

TEST(test_other_files_stay_as_they_are) {
    static const char *const foreign[] = {"my notes\n",
                                          "# halftone tune: 1, set t4 (sm_75)\n# device: fiction\n"};
    struct tune_log log;
    for (int i = 0; i < 2; i++) {
        struct cli_error f = {EXIT_OK, ""};
        unlink(path);
        add_text(foreign[i]);
        const long before = file_bytes();
        assert_int_equal(tune_open(&log, path, head, &f), -1);
        assert_non_null(strstr(f.text, "not continued"));
        assert_int_equal(file_bytes(), before);
    }
    unlink(path);
    struct cli_error f = {EXIT_OK, ""};
    add_text(head);
    add_text(tune_columns);
    add_text("64\t64\t64\tf16x3\tk1\t-\t1\t0\t10\tfast\t11\t11\tn/a\n");
    assert_int_equal(tune_open(&log, path, head, &f), -1);
    assert_non_null(strstr(f.text, ":4: not a row"));
    assert_int_equal(tune_open(&log, "/no/such/folder/t.tsv", head, &f), -1);
    assert_non_null(strstr(f.text, "cannot write here"));
}

/* Two shapes: the pick is best at 64 (the faster ablation does not count), and 0.8 of the best at 128; a third has no
 * pick yet. Geometric mean: sqrt(0.8). */
TEST(test_summary_worked_line) {
    struct tune_log log;
    struct cli_error f = {EXIT_OK, ""};
    int count = 0;
    assert_int_equal(tune_open(&log, path, head, &f), 0);
    append(&log, 64, "k1", "-", 1, 12);
    append(&log, 64, "k2", "-", 0, 15);
    append(&log, 64, "k3", "plain", 0, 3);
    append(&log, 128, "k1", "-", 0, 80);
    append(&log, 128, "k2", "-", 1, 100);
    append(&log, 256, "k1", "-", 0, 500);
    struct tune_case *cases = tune_cases(&log, &count);
    assert_non_null(cases);
    assert_int_equal(count, 2);
    assert_true(cases[0].speed == 1 && cases[0].kernels == 2);
    struct tune_summary s = tune_summarise(cases, count, NULL);
    assert_int_equal(s.cases, 2);
    assert_true(fabs(s.geometric_mean - sqrt(0.8)) < 1e-12 && s.worst == 0.8);
    assert_string_equal(s.worst_case.best->kernel, "k1");
    assert_int_equal(tune_summarise(cases, count, "half").cases, 0);
    free(cases);
    tune_close(&log);
}

FOR_EACH(set_up, tear_down)
