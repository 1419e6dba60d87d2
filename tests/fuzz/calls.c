/* calls: see calls.h. */
#include "calls.h"

#include <fenv.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __SSE2__
#include <xmmintrin.h>
#endif

#include "../../runtime/ht_dev.h"
#include "../../runtime/sim/sim_api.h"

void check_code(halftone *h, int code, const char *what) {
    FUZZ_CHECK(code == HALFTONE_OK, "%s: %s: %s", what, halftone_strerror(code), halftone_last_detail(h));
}

struct scalars scalars_make(halftone *h, struct fuzz_rng *r, const struct problem *p, int64_t on_device_one_in) {
    struct scalars s = {fuzz_one_in(r, on_device_one_in), {{0}}, device_make(2 * (int64_t)p->c.size)};
    if (p->is_fp64) {
        s.host.fp64[0] = p->alpha;
        s.host.fp64[1] = p->beta;
    } else {
        s.host.fp32[0] = (float)p->alpha;
        s.host.fp32[1] = (float)p->beta;
    }
    FUZZ_CHECK(ht_dev_upload(s.device, &s.host, 2 * p->c.size) == HT_DEV_OK, "upload");
    check_code(h, halftone_set_pointer_mode(h, s.on_device ? HALFTONE_DEVICE : HALFTONE_HOST), "pointer mode");
    return s;
}

const void *scalar(const struct problem *p, const struct scalars *s, int i) {
    return (const char *)(s->on_device ? s->device : (const void *)&s->host) + (size_t)i * p->c.size;
}

int multiply(halftone *h, const struct problem *p, const struct scalars *s) {
    const void *const alpha = scalar(p, s, 0), *const beta = scalar(p, s, 1), *const a = matrix_data(&p->a), *const b = matrix_data(&p->b);
    void *const c = matrix_data(&p->c);
    if (p->batch == 1)
        return p->is_fp64 ? halftone_dgemm(h, p->ta, p->tb, p->m, p->n, p->k, alpha, a, p->a.ld, b, p->b.ld, beta, c, p->c.ld)
                          : halftone_sgemm(h, p->ta, p->tb, p->m, p->n, p->k, alpha, a, p->a.ld, b, p->b.ld, beta, c, p->c.ld);
    return p->is_fp64 ? halftone_dgemm_strided_batched(h, p->ta, p->tb, p->m, p->n, p->k, alpha, a, p->a.ld, p->a.stride, b, p->b.ld,
                                                       p->b.stride, beta, c, p->c.ld, p->c.stride, p->batch)
                      : halftone_sgemm_strided_batched(h, p->ta, p->tb, p->m, p->n, p->k, alpha, a, p->a.ld, p->a.stride, b, p->b.ld,
                                                       p->b.stride, beta, c, p->c.ld, p->c.stride, p->batch);
}

void check_bits(const struct problem *p, const void *now, const void *want, const char *what) {
    void *const read = now == NULL ? problem_read_c(p) : NULL;
    const char *const found = now == NULL ? read : now;
    for (int64_t i = 0; i < p->c.elements; i++) {
        const double x = matrix_value(&p->c, found, i), y = matrix_value(&p->c, want, i);
        const size_t at = (size_t)i * p->c.size;
        FUZZ_CHECK(memcmp(found + at, (const char *)want + at, p->c.size) == 0 || (p->is_fp64 && isnan(x) && isnan(y)),
                   "%s: element %lld of C is %a, before %a", what, (long long)(i - p->c.lead), x, y);
    }
    free(read);
}

struct packed packed_make(size_t bytes_a, size_t bytes_b) {
    return (struct packed){device_make_guarded(bytes_a), device_make_guarded(bytes_b), bytes_a, bytes_b};
}

void packed_free(const struct packed *x) {
    device_check_guard(x->a, x->bytes_a, "a packed operand");
    device_check_guard(x->b, x->bytes_b, "a packed operand");
    device_free(x->a);
    device_free(x->b);
}

void set_schedule(int64_t seed) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)seed);
    setenv("HALFTONE_SIM_SEED", text, 1);
}

/* ---- once more */

struct again {
    halftone *h;
    const struct problem *p;
    const struct scalars *s;
    const void *want;
};

static void multiply_again(const struct again *x, const char *what) {
    matrix_upload(&x->p->c);
    check_code(x->h, multiply(x->h, x->p, x->s), what);
}

/* As a graph that is run twice: with whatever the handle keeps for the stream, or has not yet. */
static void run_captured(const struct again *x) {
    void *stream = NULL;
    FUZZ_CHECK(halftone_get_stream(x->h, &stream) == HALFTONE_OK && ht_sim_capture_begin(stream) == 0, "capture");
    const int code = multiply(x->h, x->p, x->s);
    void *const graph = ht_sim_capture_end(stream);
    check_code(x->h, code, "captured product");
    for (int replay = 0; replay < 2; replay++) {
        matrix_upload(&x->p->c);
        FUZZ_CHECK(ht_sim_graph_run(graph, stream) == 0 && ht_sim_error()[0] == '\0', "replay: %s", ht_sim_error());
        check_bits(x->p, NULL, x->want, "replay");
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
    matrix_upload(&x->p->c);
    environment_set(&other);
    int code = halftone_get_workspace_limit(x->h, &limit);
    if (code == HALFTONE_OK)
        code = halftone_set_workspace_limit(x->h, limit);
    if (code == HALFTONE_OK)
        code = multiply(x->h, x->p, x->s);
    const struct environment after = environment_now();
    environment_set(&usual);
    check_code(x->h, code, "in another floating-point environment");
#ifdef __SSE2__
    FUZZ_CHECK(after.flushes == other.flushes, "MXCSR's FTZ and DAZ were %#x, after the product %#x", other.flushes, after.flushes);
#endif
    FUZZ_CHECK(after.rounding == other.rounding, "the rounding mode was %d, after the product %d", other.rounding, after.rounding);
    check_bits(x->p, NULL, x->want, "in another floating-point environment");
}

/* ---- a child */

static void run_forked(const struct again *x) {
    int status = 0;
    const pid_t child = fork();
    if (child == 0) {
        alarm(120); /* a hang fails the case */
        multiply_again(x, "in a child");
        check_bits(x->p, NULL, x->want, "in a child");
        _exit(0);
    }
    FUZZ_CHECK(child > 0 && waitpid(child, &status, 0) == child, "no child process");
    if (WIFEXITED(status) && WEXITSTATUS(status) != 0)
        _exit(WEXITSTATUS(status)); /* it said why */
    FUZZ_CHECK(status == 0, "a child with the product ends by signal %d", WTERMSIG(status));
}

void again_run(halftone *h, struct fuzz_rng *r, const struct problem *p, const struct scalars *s, const void *want, struct again_totals *t) {
    const struct again call = {h, p, s, want}, *const x = &call;
    if (fuzz_one_in(r, 4)) {
        set_schedule(fuzz_from(r, 0, 1000000));
        multiply_again(x, "again");
        check_bits(x->p, NULL, x->want, "again, by another schedule");
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
