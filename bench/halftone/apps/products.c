/* products: a line of the site table for each site, events around each call. See products.h. */
#include "apps/products.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../../runtime/ht_site_line.h"

enum { SITE_LINE_BYTES = 128 }; /* of a line but for its level */

int products_open(struct products *p, const char *const *name, int sites, struct cli_error *f) {
    memset(p, 0, sizeof *p);
    p->name = name;
    p->sites = sites;
    if (session_open(&p->session, f) != 0)
        return -1;
    p->simulated = p->session.device.simulated;
    return 0;
}

void products_close(struct products *p) {
    for (int i = 0; i < 2 * p->capacity; i++)
        (void)ht_dev_event_destroy(p->event[i]);
    session_close(&p->session);
    baseline_close(p->baseline);
    free(p->event);
    free(p->event_site);
    memset(p, 0, sizeof *p);
}

const char *level_kind(const char *level) {
    return ht_site_is_accuracy(level) ? "accuracy" : "scheme";
}

const char *level_name(const char *level) {
    const size_t length = sizeof LEVEL_SCHEME - 1;
    return strncmp(level, LEVEL_SCHEME, length) == 0 ? level + length : level;
}

static int is_baseline(const char *level) {
    return strcmp(level_name(level), LEVEL_BASELINE) == 0;
}

static int has_baseline(struct products *p) {
    const char *why;
    if (p->baseline == NULL && !p->simulated)
        p->baseline = baseline_open(&why);
    return p->baseline != NULL;
}

int level_is_known(struct products *p, const char *level) {
    halftone *const h = p != NULL ? p->session.handle : NULL;
    const char *known;
    if (is_baseline(level))
        return p == NULL || has_baseline(p);
    if (ht_site_is_accuracy(level))
        return h == NULL || halftone_set_accuracy(h, level) == HALFTONE_OK;
    for (int i = 0; (known = halftone_schemes(h, HALFTONE_FP32, i)) != NULL; i++)
        if (strcmp(known, level_name(level)) == 0)
            return 1;
    return 0;
}

int products_start(struct products *p, const char *const *level, struct cli_error *f) {
    char line[LEVEL_BYTES + SITE_LINE_BYTES];
    p->pairs = 0;
    for (int i = 0; i < p->sites; i++)
        if (!level_is_known(p, level[i]))
            return cli_error_usage(f, "%s: %s '%s'; `halftone info` lists what there is", p->name[i],
                                   is_baseline(level[i]) ? "no libcublas.so was found, or this is the simulator: no"
                                                         : "this library has neither an accuracy nor a scheme",
                                   level_name(level[i]));
    if (session_check(&p->session, halftone_set_site(p->session.handle, NULL), "sites", f) != 0)
        return -1;
    for (int i = 0; i < p->sites; i++) {
        p->seconds[i] = 0;
        p->calls[i] = 0;
        p->is_baseline[i] = is_baseline(level[i]);
        snprintf(line, sizeof line, "site=%s %s=%s", p->name[i], level_kind(level[i]), level_name(level[i]));
        if (!p->is_baseline[i] && session_check(&p->session, halftone_set_site(p->session.handle, line), line, f) != 0)
            return -1;
    }
    return 0;
}

/* The next pair of events, made where there is none yet. */
static int next_pair(struct products *p, int site, void ***pair, struct cli_error *f) {
    if (p->pairs == p->capacity) {
        const int capacity = p->capacity > 0 ? 2 * p->capacity : 64;
        void **const event = realloc(p->event, 2 * (size_t)capacity * sizeof *event);
        int *const event_site = event == NULL ? NULL : realloc(p->event_site, (size_t)capacity * sizeof *event_site);
        p->event = event != NULL ? event : p->event;
        if (event_site == NULL)
            return cli_error_memory(f, (double)capacity * 2 * (double)sizeof *event, "events");
        p->event_site = event_site;
        for (; p->capacity < capacity; p->capacity++)
            for (int i = 0; i < 2; i++) {
                p->event[2 * p->capacity + i] = NULL;
                if (session_device_check(ht_dev_event_create(&p->event[2 * p->capacity + i]), "timing", f) != 0)
                    return -1;
            }
    }
    p->event_site[p->pairs] = site;
    *pair = &p->event[2 * p->pairs++];
    return 0;
}

static int multiply(struct products *p, int site, const struct product *x, struct cli_error *f) {
    if (p->is_baseline[site]) {
        const int status = baseline_sgemm(p->baseline, x->op_a, x->op_b, x->m, x->n, x->k, x->alpha, x->a, x->lda, x->b, x->ldb, x->beta,
                                          x->c, x->ldc);
        return status == 0 ? 0 : cli_error_set(f, "%s: cuBLAS returned status %d", p->name[site], status);
    }
    return session_check(&p->session,
                         halftone_sgemm(p->session.handle, x->op_a, x->op_b, x->m, x->n, x->k, &x->alpha, x->a, x->lda, x->b, x->ldb,
                                        &x->beta, x->c, x->ldc),
                         p->name[site], f);
}

static int predict(struct products *p, int site, const struct product *x, struct cli_error *f) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    if (session_check(&p->session, halftone_query(p->session.handle, x->op_a, x->op_b, x->m, x->n, x->k, 1, &plan),
                      p->name[site], f) != 0)
        return -1;
    p->seconds[site] += 1e-9 * (double)plan.predicted_ns;
    return 0;
}

int products_call(struct products *p, int site, const struct product *x, struct cli_error *f) {
    void **pair = NULL;
    if (x->m == 0 || x->n == 0)
        return 0;
    p->calls[site]++;
    if (session_check(&p->session, halftone_at_site(p->session.handle, p->name[site]), p->name[site], f) != 0)
        return -1;
    if (p->simulated)
        return predict(p, site, x, f) == 0 ? multiply(p, site, x, f) : -1;
    if (next_pair(p, site, &pair, f) != 0 || session_device_check(ht_dev_event_record(pair[0], NULL), "timing", f) != 0 ||
        multiply(p, site, x, f) != 0)
        return -1;
    return session_device_check(ht_dev_event_record(pair[1], NULL), "timing", f);
}

int products_finish(struct products *p, struct cli_error *f) {
    if (session_wait(f) != 0)
        return -1;
    for (int i = 0; i < p->pairs; i++) {
        double ms = 0;
        if (session_device_check(ht_dev_event_elapsed_ms(p->event[2 * i], p->event[2 * i + 1], &ms), "timing", f) != 0)
            return -1;
        p->seconds[p->event_site[i]] += ms / 1000;
    }
    return 0;
}
