/* common_sites.c: the site table, HALFTONE_SITES=FILE, whose lines common_site_line.h tells: of those that hold the first counts. */
#include <errno.h>
#include <fnmatch.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common_state.h"

enum { ORDINAL = 4 };

static bool add_line(struct dropin_state *s, const struct dropin_site_line *line) {
    struct dropin_site_line *const grown =
        (struct dropin_site_line *)realloc(s->site, ((size_t)s->sites + 1) * sizeof *grown);
    if (grown == NULL)
        return false;
    s->site = grown;
    s->site[s->sites++] = *line;
    s->sites_ask_ordinal =
        s->sites_ask_ordinal || line->least[ORDINAL] > 0 || line->most[ORDINAL] < INT64_MAX;
    return true;
}

bool dropin_read_sites(struct dropin_state *s) {
    if (s->settings.sites[0] == '\0')
        return true;
    FILE *const file = fopen(s->settings.sites, "re");
    if (file == NULL) {
        dropin_say("HALFTONE_SITES=%.200s: %s; nothing is served in this process", s->settings.sites,
                   strerror(errno));
        return false;
    }
    char text[DROPIN_LINE], wrong[DROPIN_TEXT];
    bool good = true;
    for (int number = 1; good && fgets(text, sizeof text, file) != NULL; number++) {
        struct dropin_site_line line;
        const int found = strlen(text) == sizeof text - 1 ? -1 : dropin_read_site_line(text, &line, wrong);
        good = found >= 0 && (found == 0 || add_line(s, &line));
        if (!good)
            dropin_say("%.200s:%d: '%s' " DROPIN_SITE_LINE_CURE "; nothing is served in this process",
                       s->settings.sites, number, found < 0 ? wrong : "out of memory");
    }
    (void)fclose(file);
    return good;
}

static bool holds(const struct dropin_site_line *line, const struct dropin_call *call, int64_t ordinal) {
    const struct dropin_site_call asked = {dropin_api_name(call->api), call->op_a, call->op_b,
                                           {call->m, call->n, call->k, call->batch, ordinal}};
    if (!dropin_site_line_is_of(line, call->kind != DROPIN_KIND_FP32) || !dropin_site_line_holds(line, &asked))
        return false;
    if (line->site[0] == '\0')
        return true;
    char site[DROPIN_LINE];
    dropin_site(call->caller, site, sizeof site);
    return fnmatch(line->site, site, 0) == 0;
}

const struct dropin_site_line *dropin_match_site(const struct dropin_call *call, int64_t ordinal) {
    const struct dropin_state *const s = &halftone_dropin_state;
    for (int i = 0; i < s->sites; i++)
        if (holds(&s->site[i], call, ordinal))
            return &s->site[i];
    return NULL;
}
