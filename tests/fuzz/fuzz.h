/* fuzz: what the fuzzers share: random numbers, and the runner. A case is a function of (seed, index) alone, so that each one can be
 * repeated by itself. Cases run in a child process: one that fails, crashes or hangs is reported with the line that repeats it, and
 * the next child goes on behind it. */
#ifndef TESTS_FUZZ_H
#define TESTS_FUZZ_H

#include <stddef.h>
#include <stdint.h>

struct fuzz_rng {
    uint64_t state;
};
uint64_t fuzz_next(struct fuzz_rng *r);
int64_t fuzz_below(struct fuzz_rng *r, int64_t n);                /* 0 to n - 1 */
int64_t fuzz_from(struct fuzz_rng *r, int64_t low, int64_t high); /* both may come */
int fuzz_one_in(struct fuzz_rng *r, int64_t n);
#define FUZZ_PICK(r, table) ((table)[fuzz_below(r, (int64_t)(sizeof(table) / sizeof *(table)))])

/* Ends the case as failed. */
_Noreturn void fuzz_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define FUZZ_CHECK(condition, ...)                                                                                      \
    do {                                                                                                                \
        if (!(condition))                                                                                               \
            fuzz_fail(__VA_ARGS__);                                                                                     \
    } while (0)

/* What the case does next: printed if it fails, and always with --case. */
void fuzz_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

struct fuzz {
    const char *name;
    size_t totals_bytes;                                            /* of what all cases add up; starts as zeros */
    void (*run)(void *totals, struct fuzz_rng *r, int64_t index);
    void (*report)(const void *totals);                             /* the lines of totals at the end; may be NULL */
};

/* --seed S --count N --first I --seconds T --failures N, or --seed S --case I. Exit 0: no case failed; 1: some did; 2: bad words. */
int fuzz_main(const struct fuzz *f, int argc, char **argv);

#endif
