/* fuzz: see fuzz.h. */
#include "fuzz.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CASE_SECONDS = 600, TEXT_BYTES = 2048, FAILED_EXIT = 3 };

/* Shared by the runner and its children. */
struct shared {
    int64_t at; /* the case that runs */
    char note[TEXT_BYTES], why[TEXT_BYTES];
};

struct options {
    uint64_t seed;
    int64_t first, count, failures;
    double seconds;
    int one; /* --case */
};

static struct shared *shared;
static int talks;

/* ---- random numbers: splitmix64 */

uint64_t fuzz_next(struct fuzz_rng *r) {
    uint64_t z = r->state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

int64_t fuzz_below(struct fuzz_rng *r, int64_t n) {
    return (int64_t)(fuzz_next(r) >> 1) % n;
}

int64_t fuzz_from(struct fuzz_rng *r, int64_t low, int64_t high) {
    return low + fuzz_below(r, high - low + 1);
}

int fuzz_one_in(struct fuzz_rng *r, int64_t n) {
    return fuzz_below(r, n) == 0;
}

static struct fuzz_rng rng_of(uint64_t seed, int64_t index) {
    struct fuzz_rng r = {seed};
    r.state = fuzz_next(&r) ^ (uint64_t)index;
    r.state = fuzz_next(&r);
    return r;
}

/* ---- what a case says */

void fuzz_fail(const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(shared->why, sizeof shared->why, format, list);
    va_end(list);
    _exit(FAILED_EXIT);
}

void fuzz_note(const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(shared->note, sizeof shared->note, format, list);
    va_end(list);
    if (talks) {
        printf("  %s\n", shared->note);
        fflush(stdout);
    }
}

/* ---- the runner */

static double clock_seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int read_options(struct options *o, int argc, char **argv) {
    for (int i = 1; i < argc; i += 2) {
        char *end = NULL;
        const char *value = i + 1 < argc ? argv[i + 1] : "";
        const unsigned long long number = strtoull(value, &end, 10);
        if (strcmp(argv[i], "--seconds") == 0) {
            o->seconds = strtod(value, &end);
        } else if (strcmp(argv[i], "--seed") == 0) {
            o->seed = number;
        } else if (strcmp(argv[i], "--case") == 0) {
            o->first = (int64_t)number;
            o->count = o->one = 1;
        } else {
            int64_t *const at = strcmp(argv[i], "--count") == 0      ? &o->count
                                : strcmp(argv[i], "--first") == 0    ? &o->first
                                : strcmp(argv[i], "--failures") == 0 ? &o->failures
                                                                     : NULL;
            if (at == NULL)
                return -1;
            *at = (int64_t)number;
        }
        if (end == value || *end != '\0')
            return -1;
    }
    return 0;
}

static void run_cases(const struct fuzz *f, const struct options *o, void *totals, double end) {
    for (int64_t i = shared->at; i < o->first + o->count && (o->one || clock_seconds() < end); i++) {
        struct fuzz_rng r = rng_of(o->seed, i);
        shared->at = i;
        shared->note[0] = shared->why[0] = '\0';
        alarm(CASE_SECONDS);
        f->run(totals, &r, i);
        shared->at = i + 1;
    }
    _exit(0);
}

static void report_failure(const struct options *o, const char *program, int status) {
    char how[64] = "";
    if (WIFSIGNALED(status))
        snprintf(how, sizeof how, "%s (signal %d)", WTERMSIG(status) == 14 ? "takes too long" : "crashes", WTERMSIG(status));
    else if (WEXITSTATUS(status) != FAILED_EXIT)
        snprintf(how, sizeof how, "ends the process with %d", WEXITSTATUS(status));
    printf("FAILED %s%s\n    in %s\n    again: %s --seed %llu --case %lld\n", how, shared->why, shared->note, program,
           (unsigned long long)o->seed, (long long)shared->at);
    fflush(stdout);
    shared->at++;
}

/* Failures; children go on until all cases ran, time is over or too many failed. */
static int64_t run_children(const struct fuzz *f, const struct options *o, const char *program, void *totals) {
    const double end = clock_seconds() + o->seconds;
    int64_t failures = 0;
    for (shared->at = o->first; shared->at < o->first + o->count && failures < o->failures && (o->one || clock_seconds() < end);) {
        int status = 0;
        const pid_t child = fork();
        if (child == 0)
            run_cases(f, o, totals, end);
        if (child < 0 || waitpid(child, &status, 0) != child) {
            perror("fuzz: no child process");
            return failures + 1;
        }
        if (status != 0) {
            report_failure(o, program, status);
            failures++;
        }
    }
    return failures;
}

static void *shared_bytes(size_t bytes) {
    void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (p != MAP_FAILED)
        return p;
    perror("fuzz: no shared memory");
    exit(2);
}

int fuzz_main(const struct fuzz *f, int argc, char **argv) {
    struct options o = {1, 0, INT64_MAX / 2, 20, 1e9, 0};
    if (read_options(&o, argc, argv) != 0) {
        fprintf(stderr, "usage: %s [--seed S] [--count N] [--first I] [--seconds T] [--failures N] | --seed S --case I\n", argv[0]);
        return 2;
    }
    shared = shared_bytes(sizeof *shared);
    void *totals = shared_bytes(f->totals_bytes + 1);
    talks = o.one;
    const double start = clock_seconds();
    const int64_t failures = run_children(f, &o, argv[0], totals);
    printf("fuzz %s: seed %llu, cases %lld to %lld, %.1f s, %lld failed\n", f->name, (unsigned long long)o.seed, (long long)o.first,
           (long long)shared->at - 1, clock_seconds() - start, (long long)failures);
    if (f->report != NULL)
        f->report(totals);
    return failures > 0;
}
