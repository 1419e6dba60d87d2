/* again: see again.h. */
#include "again.h"

#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include "../../runtime/sim/sim_api.h"

void again_set_schedule(int64_t seed) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)seed);
    setenv("HALFTONE_SIM_SEED", text, 1);
}

static void multiply_again(const struct again *x, const char *what) {
    matrix_upload(x->c);
    const int code = x->multiply(x->problem, x->scalars);
    FUZZ_CHECK(code == HALFTONE_OK, "%s: %s: %s", what, halftone_strerror(code), halftone_last_detail(x->h));
}

/* As a graph that is run twice: with whatever the handle keeps for the stream, or has not yet. */
static void run_captured(const struct again *x) {
    void *stream = NULL;
    FUZZ_CHECK(halftone_get_stream(x->h, &stream) == HALFTONE_OK && ht_sim_capture_begin(stream) == 0, "capture");
    const int code = x->multiply(x->problem, x->scalars);
    void *const graph = ht_sim_capture_end(stream);
    FUZZ_CHECK(code == HALFTONE_OK, "captured product: %s: %s", halftone_strerror(code), halftone_last_detail(x->h));
    for (int replay = 0; replay < 2; replay++) {
        matrix_upload(x->c);
        FUZZ_CHECK(ht_sim_graph_run(graph, stream) == 0 && ht_sim_error()[0] == '\0', "replay: %s", ht_sim_error());
        x->check(x->problem, x->want, "replay");
    }
    ht_sim_graph_free(graph);
}

/* ---- another floating-point environment */

/* What other code may have left: a rounding mode and, where there are such bits, subnormal numbers that are taken as zero. */
struct environment {
    int rounding;
    unsigned flushes;
};

enum { FLUSH_BITS = 0x8040 }; /* of MXCSR: FTZ, DAZ */

static struct environment environment_now(void) {
    struct environment now = {fegetround(), 0};
#ifdef __SSE2__
    now.flushes = _mm_getcsr() & FLUSH_BITS;
#endif
    return now;
}

static void environment_set(const struct environment *e) {
    fesetround(e->rounding);
#ifdef __SSE2__
    _mm_setcsr((_mm_getcsr() & ~(unsigned)FLUSH_BITS) | e->flushes);
#endif
}

/* Plans are made anew there, so that what the library predicts counts, too. */
static void run_elsewhere(struct fuzz_rng *r, const struct again *x) {
    static const int modes[] = {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO, FE_TONEAREST};
    const struct environment usual = environment_now(), other = {FUZZ_PICK(r, modes), fuzz_one_in(r, 2) ? FLUSH_BITS & ~0u : 0};
    size_t limit = 0;
    matrix_upload(x->c);
    environment_set(&other);
    int code = halftone_get_workspace_limit(x->h, &limit);
    if (code == HALFTONE_OK)
        code = halftone_set_workspace_limit(x->h, limit);
    if (code == HALFTONE_OK)
        code = x->multiply(x->problem, x->scalars);
    const struct environment after = environment_now();
    environment_set(&usual);
    FUZZ_CHECK(code == HALFTONE_OK, "in another floating-point environment: %s: %s", halftone_strerror(code), halftone_last_detail(x->h));
#ifdef __SSE2__
    FUZZ_CHECK(after.flushes == other.flushes, "MXCSR's FTZ and DAZ were %#x, after the product %#x", other.flushes, after.flushes);
#endif
    FUZZ_CHECK(after.rounding == other.rounding, "the rounding mode was %d, after the product %d", other.rounding, after.rounding);
    x->check(x->problem, x->want, "in another floating-point environment");
}

/* ---- a child */

static void run_forked(const struct again *x) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        alarm(120); /* a hang fails the case */
        multiply_again(x, "in a child");
        x->check(x->problem, x->want, "in a child");
        _exit(0);
    }
    FUZZ_CHECK(child > 0 && waitpid(child, &status, 0) == child, "no child process");
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        _exit(WEXITSTATUS(status)); /* it said why */
    FUZZ_CHECK(status == 0, "a child with the product ends by signal %d", WTERMSIG(status));
}

void again_run(struct fuzz_rng *r, const struct again *x, struct again_totals *t) {
    if (fuzz_one_in(r, 4)) {
        again_set_schedule(fuzz_from(r, 0, 1000000));
        multiply_again(x, "again");
        x->check(x->problem, x->want, "again, by another schedule");
        t->repeated++;
    }
    if (fuzz_one_in(r, 6)) {
        run_captured(x);
        t->captured++;
    }
    if (fuzz_one_in(r, 6)) {
        run_elsewhere(r, x);
        t->elsewhere++;
    }
    if (fuzz_one_in(r, 12)) {
        run_forked(x);
        t->forked++;
    }
}

void again_report(const struct again_totals *t) {
    printf("  once more: %lld by another schedule, %lld captured, %lld in another floating-point environment, %lld in a child\n",
           (long long)t->repeated, (long long)t->captured, (long long)t->elsewhere, (long long)t->forked);
}
