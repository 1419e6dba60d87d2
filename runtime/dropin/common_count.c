/* common_count.c: what is decided before a call and counted after it, and what a program asks and sets of both. */
#include <string.h>

#include "common_state.h"

/* ---- calls that are alike ---- */

static uint64_t mix(uint64_t hash, uint64_t word) {
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

/* With the lock held; NULL: the table is full. */
static struct dropin_key *key_of(const struct dropin_call *c) {
    struct dropin_state *const s = &halftone_dropin_state;
    uint64_t hash =
        mix((uint64_t)c->api << 16 | (uint64_t)(unsigned char)c->op_a << 8 | (unsigned char)c->op_b,
            (uintptr_t)c->caller);
    hash = mix(mix(mix(mix(hash, (uint64_t)c->m), (uint64_t)c->n), (uint64_t)c->k), (uint64_t)c->batch) | 1;
    for (int i = 0; i < DROPIN_KEYS; i++) {
        struct dropin_key *const key = &s->key[(hash / 2 + (uint64_t)i) % DROPIN_KEYS];
        if (key->hash == 0)
            key->hash = hash;
        if (key->hash == hash)
            return key;
    }
    return NULL;
}

static int64_t next_ordinal(const struct dropin_call *call) {
    struct dropin_state *const s = &halftone_dropin_state;
    int64_t ordinal = 0;
    dropin_lock(DROPIN_LOCK_STATE);
    struct dropin_key *const key = key_of(call);
    if (key != NULL) {
        if (key->step != s->step)
            key->ordinal = 0;
        key->step = s->step;
        ordinal = ++key->ordinal;
    }
    dropin_unlock(DROPIN_LOCK_STATE);
    return ordinal;
}

/* ---- before a call ---- */

static bool is_below(const struct dropin_settings *settings, double work, double least) {
    return !settings->eager && work < (settings->least_is_set ? settings->min_work : least);
}

static double work_of_sizes(int64_t m, int64_t n, int64_t k, int64_t batch) {
    return (double)m * (double)n * (double)k * (double)batch;
}

static double work_of(const struct dropin_call *call) {
    return work_of_sizes(call->m, call->n, call->k, call->batch);
}

bool dropin_hand_small_on(enum dropin_api api, bool nested, int64_t m, int64_t n, int64_t k, int64_t batch, double least) {
    const struct dropin_settings *const settings = dropin_settings();
    struct dropin_state *const s = &halftone_dropin_state;
    if (nested || settings->mode == DROPIN_MODE_OFF || s->sites > 0 || s->has_log ||
        !is_below(settings, work_of_sizes(m, n, k, batch), least))
        return false;
    dropin_add(&s->counts.calls[api][DROPIN_SMALL], 1);
    return true;
}

bool dropin_is_surely_small(const struct dropin_call *call) {
    return halftone_dropin_state.sites == 0 && is_below(dropin_settings(), work_of(call), call->least_work);
}

/* Residues for what the data certify, FP64 arithmetic for the rest. */
static const char FP64[] = "fp64";

/* What a call runs about which the site table says nothing; neither accuracy nor scheme: the original. */
static void set_default(const struct dropin_call *call, const struct dropin_settings *settings, struct dropin_policy *policy) {
    const char *const of_thread = halftone_dropin_thread.accuracy;
    memset(policy, 0, sizeof *policy);
    policy->fp64 = call->kind != DROPIN_KIND_FP32;
    if (!policy->fp64)
        policy->accuracy = of_thread[0] != '\0' ? of_thread : settings->accuracy;
    else if (settings->fp64[0] != '\0')
        policy->accuracy = settings->fp64;
    else if (call->kind == DROPIN_KIND_FP64_HOST && settings->fp64_mode != DROPIN_FP64_EMULATED) {
        policy->accuracy = settings->fp64_mode != DROPIN_FP64_ORIGINAL ? FP64 : NULL;
        policy->native = true;
    } else if (call->kind == DROPIN_KIND_FP64_EMULATED || settings->fp64_mode >= DROPIN_FP64_EMULATED_CUBLAS) {
        policy->accuracy = FP64;
        policy->if_it_pays = !settings->eager;
    }
}

enum dropin_reason dropin_decide(const struct dropin_call *call, struct dropin_policy *policy) {
    const struct dropin_settings *const settings = dropin_settings();
    const struct dropin_state *const s = &halftone_dropin_state;
    set_default(call, settings, policy);
    if (settings->mode == DROPIN_MODE_OFF)
        return DROPIN_OFF;
    if (s->forked)
        return DROPIN_FORKED;
    if (s->sites_ask_ordinal)
        policy->ordinal = next_ordinal(call);
    const struct ht_site_line *const line =
        s->sites > 0 ? dropin_match_site(call, policy->ordinal) : NULL;
    policy->line = line != NULL ? (int)(line - s->site) + 1 : 0;
    if (line != NULL && line->verb == 'o')
        return DROPIN_SITE;
    if (line != NULL) {
        policy->accuracy = line->verb == 'a' ? line->text : NULL;
        policy->scheme = line->verb == 's' ? line->text : NULL;
        policy->if_it_pays = policy->native = false;
    }
    if (policy->accuracy == NULL && policy->scheme == NULL)
        return DROPIN_FP64;
    return line == NULL && is_below(settings, work_of(call), call->least_work) ? DROPIN_SMALL : DROPIN_SERVED;
}

/* ---- behind it ---- */

/* The plan of a call that was served; asked for once for calls that are alike, since it takes microseconds. */
static bool ask_plan(const struct dropin_call *c, halftone *handle, struct halftone_plan *plan) {
    const struct dropin_library *const library = dropin_library();
    const struct halftone_plan empty = HALFTONE_PLAN_INIT;
    *plan = empty;
    const bool has_plan = handle != NULL && library != NULL &&
                          (c->kind == DROPIN_KIND_FP32 ? library->query : library->dquery)(handle, c->op_a, c->op_b, c->m, c->n, c->k, c->batch,
                                                                                           plan) == HALFTONE_OK;
    if (has_plan && c->triangle)
        plan->predicted_ns /= 2;
    return has_plan;
}

static void note_details(const struct dropin_call *call, const struct dropin_policy *policy,
                         enum dropin_reason why, const char *detail, halftone *handle) {
    struct dropin_state *const s = &halftone_dropin_state;
    const uint64_t bit = UINT64_C(1) << why;
    struct dropin_key seen = {0};
    dropin_lock(DROPIN_LOCK_STATE);
    struct dropin_key *const key = key_of(call);
    if (key != NULL) {
        seen = *key;
        key->logged |= bit;
    }
    dropin_unlock(DROPIN_LOCK_STATE);
    const bool logs =
        s->has_log && (key == NULL || !(seen.logged & bit) || s->settings.mode == DROPIN_MODE_RECORD);
    struct halftone_plan plan;
    bool has_plan = false;
    if (handle != NULL && (logs || seen.predicted_ns == 0)) {
        has_plan = ask_plan(call, handle, &plan);
        seen.predicted_ns = has_plan ? plan.predicted_ns : 0;
        seen.bound_units = has_plan && !plan.fixed_point ? plan.bound_units : 0;
        if (key != NULL) { /* equal words, whoever writes them */
            __atomic_store_n(&key->predicted_ns, seen.predicted_ns, __ATOMIC_RELAXED);
            __atomic_store_n(&key->bound_units, seen.bound_units, __ATOMIC_RELAXED);
        }
    }
    if (handle != NULL && seen.predicted_ns > 0) {
        dropin_add(&s->counts.predicted_ns, (uint64_t)seen.predicted_ns);
        dropin_add(&s->counts.predicted, 1);
        dropin_add(&s->counts.fixed_point, seen.bound_units == 0);
        dropin_raise_to(&s->counts.bound_units[call->kind != DROPIN_KIND_FP32], (uint64_t)seen.bound_units);
    }
    if (logs)
        dropin_log(call, policy, why, detail, has_plan ? &plan : NULL);
}

void dropin_note(const struct dropin_call *call, const struct dropin_policy *policy, enum dropin_reason why,
                 const char *detail, halftone *handle) {
    struct dropin_state *const s = &halftone_dropin_state;
    dropin_add(&s->counts.calls[call->api][why], 1);
    if (policy->line > 0 && policy->line <= DROPIN_SITES_COUNTED)
        dropin_add(&s->counts.sites[policy->line - 1][why != DROPIN_SERVED], 1);
    if (why == DROPIN_SERVED)
        dropin_add(&s->counts.served_flop, (uint64_t)((call->triangle ? 1.0 : 2.0) * work_of(call)));
    if (!s->forked && (s->has_log || (s->shared != NULL && handle != NULL)))
        note_details(call, policy, why, detail, handle);
}

/* ---- for the program that runs under a face, in any language that can call C; prototypes: README.md ---- */

DROPIN_EXPORT const char *halftone_dropin_version(void) {
    return HALFTONE_VERSION_TEXT;
}

/* Of the calling thread, from its next product on; NULL or "": the settings' again. 0, or -1: no accuracy is called that. */
DROPIN_EXPORT int halftone_dropin_accuracy(const char *text) {
    char *const to = halftone_dropin_thread.accuracy;
    if (text == NULL || text[0] == '\0') {
        to[0] = '\0';
        return 0;
    }
    if (!ht_site_is_accuracy(text))
        return -1;
    strcpy(to, text);
    return 0;
}

/* A new step begins: ordinals of the site table count from 1 again. */
DROPIN_EXPORT void halftone_dropin_step(void) {
    __atomic_fetch_add(&halftone_dropin_state.step, 1, __ATOMIC_RELAXED);
}

/* Calls of this process since its start or the last reset. Either may be NULL. 1 if the faces are on, else 0. */
DROPIN_EXPORT int halftone_dropin_counters(uint64_t *served, uint64_t *original) {
    uint64_t sums[2] = {0, 0};
    for (int api = 0; api < DROPIN_API_COUNT; api++)
        for (int why = 0; why < DROPIN_REASON_COUNT; why++)
            if (why != DROPIN_NESTED)
                sums[why != DROPIN_SERVED] +=
                    __atomic_load_n(&halftone_dropin_state.counts.calls[api][why], __ATOMIC_RELAXED);
    if (served != NULL)
        *served = sums[0];
    if (original != NULL)
        *original = sums[1];
    return dropin_settings()->mode != DROPIN_MODE_OFF;
}

DROPIN_EXPORT void halftone_dropin_reset(void) {
    struct dropin_counts *const c = &halftone_dropin_state.counts;
    for (int api = 0; api < DROPIN_API_COUNT; api++)
        for (int why = 0; why < DROPIN_REASON_COUNT; why++)
            __atomic_store_n(&c->calls[api][why], 0, __ATOMIC_RELAXED);
}
