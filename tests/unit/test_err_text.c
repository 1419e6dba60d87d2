/* test_err_text: the two rooms of level 0: messages of err, and the buffer and file functions of text. */
#define _POSIX_C_SOURCE 200809L /* fork, mkdtemp */

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../../gen/base/err.h"
#include "cases.h"

TEST(err_places_and_counts) {
    TEXT lines = {0};
    err_keep(&lines);
    err_reset();
    assert_int_equal(err_count(), 0);
    err_user("a.gpu", 7, "%s is %d", "x", 3);
    err_user("a.gpu", 0, "whole file");
    err_user(NULL, 0, "no file");
    err_user(NULL, 9, "no file, line ignored");
    err_keep(NULL);
    assert_int_equal(err_count(), 4);
    assert_string_equal(lines.data, "a.gpu:7: x is 3\na.gpu: whole file\nhalftone-gen: no file\n"
                                    "halftone-gen: no file, line ignored\n");
    err_reset();
    assert_int_equal(err_count(), 0);
}

/* Messages longer than the fixed buffer arrive whole, at every length around its edge. */
TEST(err_long_lines) {
    char word[3001], expected[3100];
    for (int len = 990; len <= 3000; len += len < 1050 ? 1 : 650) {
        TEXT lines = {0};
        memset(word, 'w', (size_t)len);
        word[len] = '\0';
        snprintf(expected, sizeof expected, "p:1: %s!\n", word);
        err_keep(&lines);
        err_user("p", 1, "%s!", word);
        err_user(word, 0, "!");
        err_keep(NULL);
        assert_true(strncmp(lines.data, expected, strlen(expected)) == 0);
        assert_int_equal(lines.len, strlen(expected) + (size_t)len + 4);
    }
    err_reset();
}

/* Runs `act` in a child with stderr in a pipe; returns the wait status. */
static int child_stderr(void (*act)(void), char *out, size_t size) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    if (child == 0) {
        signal(SIGABRT, SIG_DFL); /* cmocka's handler would report the child as a failed test */
        dup2(ends[1], STDERR_FILENO);
        act();
        _exit(0);
    }
    close(ends[1]);
    size_t len = 0;
    for (ssize_t got = 1; got > 0 && len < size - 1; len += (size_t)(got > 0 ? got : 0))
        got = read(ends[0], out + len, size - 1 - len);
    out[len] = '\0';
    close(ends[0]);
    int status = 0;
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void act_user(void) {
    err_user("f", 2, "to stderr");
}

static void act_bug(void) {
    err_bug_at("room.c", 12, "promise broken");
}

TEST(err_stderr_and_bug) {
    char out[256];
    assert_int_equal(child_stderr(act_user, out, sizeof out), 0);
    assert_string_equal(out, "f:2: to stderr\n");
    int status = child_stderr(act_bug, out, sizeof out);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    assert_string_equal(out, "room.c:12: bug in halftone-gen: promise broken\n");
}

TEST(text_grows) {
    TEXT t = {0};
    assert_null(t.data);
    for (int i = 0; i < 20000; i++) {
        text_add(&t, "ab");
        text_add_bytes(&t, "\0c", 2);
        text_addf(&t, "%03d", i % 1000);
        assert_int_equal(t.data[t.len], 0);
    }
    assert_int_equal(t.len, 20000 * 7);
    assert_true(t.len < t.cap);
    for (size_t i = 0; i < 20000; i++) {
        char piece[8];
        snprintf(piece, sizeof piece, "%03d", (int)(i % 1000));
        assert_memory_equal(t.data + i * 7, "ab\0c", 4);
        assert_memory_equal(t.data + i * 7 + 4, piece, 3);
    }
    text_free(&t);
    assert_null(t.data);
    assert_int_equal(t.len + t.cap, 0);
    text_add(&t, "");
    assert_string_equal(t.data, ""); /* terminated once anything, even nothing, was added */
}

/* One piece of every length around the first capacity, so that an off-by-one meets the sanitizer. */
TEST(text_grows_at_edges) {
    char piece[1025];
    for (size_t len = 200; len <= 1024; len++) {
        TEXT t = {0};
        memset(piece, 'x', len);
        piece[len] = '\0';
        text_addf(&t, "%s", piece);
        text_add(&t, piece);
        assert_int_equal(t.len, 2 * len);
        assert_int_equal(strlen(t.data), 2 * len);
    }
}

static void act_out_of_memory(void) {
    volatile size_t too_much = SIZE_MAX / 2; /* volatile: the compiler would rightly warn */
    text_memory(NULL, too_much);
}

TEST(memory_that_runs_out_ends_the_program) {
    char out[256];
    const int status = child_stderr(act_out_of_memory, out, sizeof out);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 1);
    assert_string_equal(out, "halftone-gen: out of memory\n");
}

TEST(text_checksum_vectors) {
    /* Known values of FNV-1a, 64 bits (Fowler, Noll, Vo: test vectors of the reference page). */
    assert_true(text_checksum(TEXT_CHECKSUM_SEED, "", 0) == UINT64_C(0xcbf29ce484222325));
    assert_true(text_checksum(TEXT_CHECKSUM_SEED, "a", 1) == UINT64_C(0xaf63dc4c8601ec8c));
    assert_true(text_checksum(TEXT_CHECKSUM_SEED, "foobar", 6) == UINT64_C(0x85944171f73967e8));
    uint64_t half = text_checksum(TEXT_CHECKSUM_SEED, "foo", 3); /* pieces chain */
    assert_true(text_checksum(half, "bar", 3) == UINT64_C(0x85944171f73967e8));
    assert_true(text_checksum(TEXT_CHECKSUM_SEED, "\xff", 1) != text_checksum(TEXT_CHECKSUM_SEED, "\x7f", 1));
}

TEST(text_files) {
    char folder[] = "/tmp/ht_text_XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/file", folder);
    TEXT out = {0}, in = {0};

    assert_true(text_write_file(&out, path)); /* empty */
    assert_true(text_read_file(&in, path));
    assert_int_equal(in.len, 0);
    for (int i = 0; i < 70000; i++) { /* longer than one read, every byte value */
        char byte = (char)(unsigned char)(i * 7);
        text_add_bytes(&out, &byte, 1);
    }
    assert_true(text_write_file(&out, path));
    text_add(&in, "head");
    assert_true(text_read_file(&in, path));
    assert_int_equal(in.len, 70004);
    assert_memory_equal(in.data, "head", 4);
    assert_memory_equal(in.data + 4, out.data, 70000);
    assert_int_equal(in.data[in.len], 0);

    assert_false(text_read_file(&in, folder)); /* a folder opens but cannot be read */
    assert_int_equal(in.len, 70004);
    assert_int_equal(in.data[in.len], 0);
    unlink(path);
    assert_false(text_read_file(&in, path));
    assert_int_equal(in.len, 70004);
    assert_false(text_write_file(&out, folder));
    assert_false(text_write_file(&out, "/nonexistent/file"));
    rmdir(folder);
}

TEST(text_full_disk) {
    TEXT t = {0};
    if (access("/dev/full", W_OK) != 0)
        skip();
    text_add(&t, "a few bytes: they fit the stdio buffer, only fclose can notice");
    assert_false(text_write_file(&t, "/dev/full"));
    for (int i = 0; i < 10000; i++)
        text_add(&t, "many bytes");
    assert_false(text_write_file(&t, "/dev/full"));
}
