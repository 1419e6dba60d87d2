/* lowering: the search of lowering.h. */
#include "apps/lowering.h"

#include <string.h>

struct state {
    int level[LOWERING_SITES];
    struct lowering_run run;
};

struct search {
    const struct lowering_program *p;
    struct lowering_result *result;
    int frozen[LOWERING_SITES];
    struct state now;
    double timed[LOWERING_SITES][LOWERING_LEVELS]; /* in the last run that had it; 0: none had */
};

double lowering_seconds(const struct lowering_run *r, int sites) {
    double sum = 0;
    for (int i = 0; i < sites; i++)
        sum += r->seconds[i];
    return sum;
}

static int run(struct search *s, struct state *at, struct cli_error *f) {
    memset(&at->run, 0, sizeof at->run);
    if (s->p->run(s->p->context, at->level, &at->run, f) != 0)
        return -1;
    s->result->runs++;
    for (int i = 0; i < s->p->sites; i++)
        s->timed[i][at->level[i]] = at->run.seconds[i];
    return 0;
}

static int is_within(const struct search *s, const struct state *at) {
    return at->run.error <= s->p->tau;
}

static double seconds_of(const struct search *s, const struct state *at) {
    return lowering_seconds(&at->run, s->p->sites);
}

/* `tried` beside `before`. */
static void tell(const struct search *s, enum lowering_outcome outcome, int site, int raised, const struct state *tried,
                 const struct state *before) {
    const struct lowering_step step = {outcome,          site,
                                       raised,           tried->level,
                                       tried->run.error, before->run.error,
                                       seconds_of(s, tried), seconds_of(s, before)};
    if (s->p->tell != NULL)
        s->p->tell(s->p->context, &step);
}

/* Step 1. */
static int start(struct search *s, struct cli_error *f) {
    struct state again = s->now;
    if (run(s, &s->now, f) != 0 || run(s, &again, f) != 0)
        return -1;
    if (memcmp(&again.run.error, &s->now.run.error, sizeof again.run.error) != 0)
        return cli_error_set(f,
                             "two runs with the same levels print error %.17g and %.17g; take what is random or "
                             "depends on time out of the command",
                             s->now.run.error, again.run.error);
    s->now = again; /* its times: the first run's are those of a cold device */
    s->result->start = s->now.run;
    s->result->meets_tau = is_within(s, &s->now);
    tell(s, LOWERING_START, -1, -1, &s->now, &s->now);
    return 0;
}

/* Step 2; -1: none. */
static int longest(const struct search *s) {
    const double *const seconds = s->now.run.seconds;
    int site = -1;
    for (int i = 0; i < s->p->sites; i++)
        if (!s->frozen[i] && seconds[i] > 0 && s->now.level[i] + 1 < s->p->levels && (site < 0 || seconds[i] > seconds[site]))
            site = i;
    return site;
}

/* Whom step 3 raises for `site`; -1: nobody. */
static int helper_of(const struct search *s, const struct state *at, int site) {
    const int before = s->p->before[site];
    const double *const seconds = at->run.seconds;
    return before >= 0 && seconds[before] < seconds[site] && at->level[before] > 0 ? before : -1;
}

/* One level of step 3. 1: `at` is there, 0: it stays, and nothing helps. */
static int lower(struct search *s, struct state *at, int site, int *raised, struct cli_error *f) {
    struct state tried = *at;
    tried.level[site]++;
    *raised = -1;
    if (run(s, &tried, f) != 0)
        return -1;
    if (!is_within(s, &tried) && (*raised = helper_of(s, at, site)) >= 0) {
        tried.level[*raised]--;
        if (run(s, &tried, f) != 0)
            return -1;
    }
    const int is_kept = is_within(s, &tried);
    tell(s, !is_kept ? LOWERING_UNDONE : *raised >= 0 ? LOWERING_RAISED : LOWERING_KEPT, site, *raised, &tried, at);
    if (is_kept)
        *at = tried;
    return is_kept;
}

/* Steps 3 and 4. */
static int move(struct search *s, int site, struct cli_error *f) {
    struct state at = s->now;
    int was_raised[LOWERING_SITES] = {0}, raised;
    while (at.level[site] + 1 < s->p->levels) {
        const int kept = lower(s, &at, site, &raised, f);
        if (kept < 0)
            return -1;
        if (!kept)
            break;
        if (raised >= 0)
            was_raised[raised] = 1;
        if (seconds_of(s, &at) < seconds_of(s, &s->now)) {
            for (int i = 0; i < s->p->sites; i++)
                s->frozen[i] = s->frozen[i] || was_raised[i];
            s->now = at;
            return 0;
        }
    }
    s->frozen[site] = 1;
    tell(s, LOWERING_FROZEN, site, -1, &s->now, &at);
    return 0;
}

/* ---- step 5 ---- */

struct exchange {
    int lowered, level, raised;
};

/* Of a site at a level: as in the last run that had it; where none had, what the level gained over level 0 at the sites that were timed
 * there, in the mean; 0: at none. */
static double time_of(const struct search *s, int site, int level) {
    double sum = 0;
    int count = 0;
    if (s->timed[site][level] > 0)
        return s->timed[site][level];
    for (int i = 0; i < s->p->sites; i++)
        if (s->timed[i][level] > 0 && s->timed[i][0] > 0) {
            sum += s->timed[i][level] / s->timed[i][0];
            count++;
        }
    return count > 0 ? s->timed[site][0] * sum / count : 0;
}

/* What it would gain. */
static double gain_of(const struct search *s, const struct exchange *e) {
    const double *const seconds = s->now.run.seconds;
    if (e->lowered == e->raised || e->level <= s->now.level[e->lowered] || s->now.level[e->raised] == 0)
        return 0;
    const double then = time_of(s, e->lowered, e->level);
    return then > 0 ? seconds[e->lowered] - then - (s->timed[e->raised][0] - seconds[e->raised]) : 0;
}

/* The one of largest gain that is not tried yet; lowered -1: none. */
static struct exchange best_exchange(const struct search *s, const struct exchange *tried, int count) {
    struct exchange best = {-1, 0, -1}, e;
    double most = 0;
    for (e.lowered = 0; e.lowered < s->p->sites; e.lowered++)
        for (e.level = 1; e.level < s->p->levels; e.level++)
            for (e.raised = 0; e.raised < s->p->sites; e.raised++) {
                int is_tried = 0;
                for (int i = 0; i < count; i++)
                    is_tried = is_tried || memcmp(&tried[i], &e, sizeof e) == 0;
                if (!is_tried && gain_of(s, &e) > most) {
                    most = gain_of(s, &e);
                    best = e;
                }
            }
    return best;
}

static int exchange(struct search *s, struct cli_error *f) {
    enum { TRIES = 2 * LOWERING_SITES * LOWERING_LEVELS };
    struct exchange tried[TRIES]; /* since the last that was kept */
    const int runs = 2 * (s->p->levels - 1) * s->p->sites + 2;
    for (int count = 0; s->result->runs < runs && count < TRIES;) {
        struct state at = s->now;
        const struct exchange e = best_exchange(s, tried, count);
        if (e.lowered < 0)
            return 0;
        at.level[e.lowered] = e.level;
        at.level[e.raised] = 0;
        if (run(s, &at, f) != 0)
            return -1;
        const int is_kept = is_within(s, &at) && seconds_of(s, &at) < seconds_of(s, &s->now);
        tell(s, is_kept ? LOWERING_RAISED : LOWERING_UNDONE, e.lowered, e.raised, &at, &s->now);
        tried[count] = e;
        count = is_kept ? 0 : count + 1;
        s->now = is_kept ? at : s->now;
    }
    return 0;
}

int lowering_search(const struct lowering_program *p, struct lowering_result *out, struct cli_error *f) {
    struct search s;
    memset(&s, 0, sizeof s);
    memset(out, 0, sizeof *out);
    s.p = p;
    s.result = out;
    if (start(&s, f) != 0)
        return -1;
    for (int site; out->meets_tau && (site = longest(&s)) >= 0;)
        if (move(&s, site, f) != 0)
            return -1;
    if (out->meets_tau && exchange(&s, f) != 0)
        return -1;
    memcpy(out->level, s.now.level, sizeof out->level);
    out->last = s.now.run;
    return 0;
}
