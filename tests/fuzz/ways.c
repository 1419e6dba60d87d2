/* ways: see calls.h. */
#include "calls.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/ht_abi.h"
#include "../../runtime/ht_pick.h"

/* ---- where results are computed again */

enum place { AS_THE_LIBRARY, INSIDE, BEHIND, IN_TWO_LAUNCHES };
static enum place place;
static struct ways_totals *plans;

int __real_ht_fallback_in_kernel(const struct ht_set_desc *set, const struct ht_choice *choice, struct ht_shape x);
int __real_ht_pick_blocks(const struct ht_set_desc *set, const char *scheme, const struct ht_choice *choice, struct ht_shape x, bool is_sampled);
int __wrap_ht_fallback_in_kernel(const struct ht_set_desc *set, const struct ht_choice *choice, struct ht_shape x);
int __wrap_ht_pick_blocks(const struct ht_set_desc *set, const char *scheme, const struct ht_choice *choice, struct ht_shape x, bool is_sampled);

/* The set of a GPU on which a launch costs all of a call, or nothing. */
static struct ht_set_desc with_launches(const struct ht_set_desc *set, int cost_all) {
    struct ht_set_desc other = *set;
    other.launch_ns = cost_all ? INT64_C(1) << 40 : 0;
    return other;
}

int __wrap_ht_fallback_in_kernel(const struct ht_set_desc *set, const struct ht_choice *choice, struct ht_shape x) {
    const struct ht_set_desc other = with_launches(set, place == INSIDE);
    const int inside = __real_ht_fallback_in_kernel(place == AS_THE_LIBRARY ? set : &other, choice, x);
    plans->inside += inside;
    return inside;
}

int __wrap_ht_pick_blocks(const struct ht_set_desc *set, const char *scheme, const struct ht_choice *choice, struct ht_shape x, bool is_sampled) {
    const struct ht_set_desc other = with_launches(set, place != IN_TWO_LAUNCHES);
    const int kernel = __real_ht_pick_blocks(place == AS_THE_LIBRARY ? set : &other, scheme, choice, x, is_sampled);
    plans->blocks += kernel >= 0;
    return kernel;
}

void ways_choose_fallback(struct fuzz_rng *r, struct ways_totals *t) {
    plans = t;
    static const enum place places[] = {AS_THE_LIBRARY, INSIDE, BEHIND, IN_TWO_LAUNCHES, IN_TWO_LAUNCHES};
    place = FUZZ_PICK(r, places);
}

void ways_put_fallback_in_two_launches(struct ways_totals *t) {
    plans = t;
    place = IN_TWO_LAUNCHES;
}

/* ---- what several ways share */

static float *product_anew(halftone *h, const struct problem *p, const struct scalars *s, const char *what) {
    problem_reset_c(p);
    check_code(h, multiply(h, p, s), what);
    return problem_read_c(p);
}

static int64_t differing(const float *x, const float *y, int64_t count) {
    int64_t differ = 0;
    for (int64_t i = 0; i < count; i++)
        differ += memcmp(&x[i], &y[i], sizeof *x) != 0;
    return differ;
}

/* ---- how many were computed again */

void ways_check_counted(halftone *h, const struct problem *p, const struct scalars *s, const float *want, struct ways_totals *t) {
    struct halftone_checked *const counted = device_make(sizeof *counted), none = {-1, -1};
    check_code(h, halftone_last_check(h, NULL), "begin to count");
    float *checked = product_anew(h, p, s, "counted product");
    check_code(h, halftone_last_check(h, counted), "counts");
    struct halftone_checked found = *counted;
    FUZZ_CHECK(differing(checked, want, p->c.elements) == 0, "bits depend on counting");
    size_t tested = 0, need = 0;
    check_code(h, halftone_workspace_bytes(h, p->ta, p->tb, p->m, p->n, p->k, p->batch, &tested), "bytes");
    check_code(h, halftone_set_recompute(h, HALFTONE_RECOMPUTE_NOTHING), "recompute nothing");
    check_code(h, halftone_workspace_bytes(h, p->ta, p->tb, p->m, p->n, p->k, p->batch, &need), "bytes");
    if (need > tested) { /* another plan, for which a workspace of the fuzzer's may be too small */
        check_code(h, halftone_set_recompute(h, HALFTONE_RECOMPUTE_ALL), "recompute all");
        device_free(counted);
        free(checked);
        return;
    }
    float *untested = product_anew(h, p, s, "untested product");
    check_code(h, halftone_set_recompute(h, HALFTONE_RECOMPUTE_ALL), "recompute all");
    check_code(h, halftone_last_check(h, counted), "counts");
    none = *counted;
    const int64_t differ = differing(untested, want, p->c.elements), again = found.alone + found.in_blocks;
    FUZZ_CHECK(none.alone == 0 && none.in_blocks == 0, "untested, %lld and %lld are counted", (long long)none.alone, (long long)none.in_blocks);
    FUZZ_CHECK(found.alone >= 0 && found.in_blocks >= 0 && again >= differ && again <= p->m * p->n * p->batch,
               "%lld results differ from untested ones, counted are %lld and %lld of %lld", (long long)differ, (long long)found.alone,
               (long long)found.in_blocks, (long long)(p->m * p->n * p->batch));
    t->counted++;
    t->again += again;
    device_free(counted);
    free(checked);
    free(untested);
}

/* ---- sites */

/* A line that does not hold for the call, for one reason. */
static void other_line(struct fuzz_rng *r, const struct problem *p, char *line, size_t bytes) {
    static const char *const ranges[] = {"m", "n", "k", "batch"};
    const int64_t sizes[] = {p->m, p->n, p->k, p->batch}, kind = fuzz_below(r, 6), size = sizes[kind % 4];
    const char is_a = strchr("Nn", p->ta) != NULL ? 'N' : 'T', is_b = strchr("Nn", p->tb) != NULL ? 'N' : 'T';
    if (kind == 4)
        snprintf(line, bytes, "site=another scheme=bf16x6u");
    else if (kind == 5)
        snprintf(line, bytes, "op=%c%c scheme=bf16x6u", is_a, is_b == 'N' ? 'T' : 'N');
    else if (fuzz_one_in(r, 2))
        snprintf(line, bytes, "%s=%lld- scheme=bf16x6u", ranges[kind], (long long)size + 1);
    else
        snprintf(line, bytes, "%s=-%lld scheme=bf16x6u", ranges[kind], (long long)size - 1);
}

void ways_check_site(halftone *h, struct fuzz_rng *r, const struct problem *p, const char *asks, const struct scalars *s, const float *want,
                     struct ways_totals *t) {
    char line[256];
    const char *text = NULL, *kept = NULL;
    int64_t products = -1;
    const int first = (int)fuzz_below(r, 2);
    check_code(h, halftone_get_scheme(h, HALFTONE_FP32, &kept), "scheme");
    if (first) {
        other_line(r, p, line, sizeof line);
        check_code(h, halftone_set_site(h, line), line);
    }
    snprintf(line, sizeof line, "site=a*c m=%lld n=%lld-%lld k=-%lld batch=%lld %s", (long long)p->m, (long long)p->n / 2, (long long)p->n,
             (long long)p->k, (long long)p->batch, asks);
    check_code(h, halftone_set_site(h, line), line);
    check_code(h, halftone_at_site(h, "abc"), "name");
    if (kept != NULL)
        check_code(h, halftone_set_scheme(h, fuzz_one_in(r, 2) ? "bf16x6u" : "auto"), "another scheme");
    float *now = product_anew(h, p, s, line);
    FUZZ_CHECK(differing(now, want, p->c.elements) == 0, "other bits by '%s'", line);
    FUZZ_CHECK(halftone_last_site(h) == first + 1, "line %d decided, not %d: '%s'", halftone_last_site(h), first + 1, line);
    check_code(h, halftone_get_site(h, first, &text, &products), "get_site");
    FUZZ_CHECK(text != NULL && strcmp(text, line) == 0 && products == 1, "line '%s' has decided %lld", text != NULL ? text : "(none)", (long long)products);
    check_code(h, halftone_set_site(h, NULL), "no sites");
    check_code(h, halftone_at_site(h, NULL), "no name");
    if (kept != NULL)
        check_code(h, halftone_set_scheme(h, kept), "scheme");
    t->sited++;
    free(now);
}

/* ---- matrices in host memory */

void ways_check_host(halftone *h, struct fuzz_rng *r, const struct problem *p, const struct promise *promise, int64_t index, struct worst worst[TRUTH_SCHEMES],
                     struct ways_totals *t) {
    const size_t bytes = matrix_bytes(&p->c);
    float *c = host_make(bytes), *twice = host_make(bytes);
    memcpy(c, p->c.host, bytes);
    memcpy(twice, p->c.host, bytes);
    const int64_t tile = fuzz_from(r, 64, fuzz_one_in(r, 2) ? 64 : 200), least = 4 * tile * (4 * tile + 3 * p->k) + 32 * (tile + 64) * (p->k + 128) + (1 << 16); /* one block of rows of A stays, packed */
    const float alpha = (float)p->alpha, beta = (float)p->beta;
    check_code(h, halftone_set_host_tiles(h, tile, fuzz_one_in(r, 2) ? 0 : (size_t)fuzz_from(r, least, 2 * least)), "tiles");
    check_code(h, halftone_set_host_threads(h, (int)fuzz_from(r, 1, 3)), "threads");
    for (int again = 0; again < 2; again++)
        check_code(h, halftone_sgemm_host(h, p->ta, p->tb, p->m, p->n, p->k, &alpha, matrix_host(&p->a), p->a.ld, matrix_host(&p->b), p->b.ld,
                                          &beta, (again ? twice : c) + p->c.lead, p->c.ld), "in host memory");
    FUZZ_CHECK(memcmp(c, twice, bytes) == 0, "in host memory, again: other bits");
    matrix_check_outside(&p->c, c);
    truth_check(p, promise, c, index, worst);
    t->hosted++;
    free(c);
    free(twice);
}
