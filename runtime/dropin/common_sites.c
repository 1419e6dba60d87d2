/* common_sites.c: the site table, HALFTONE_SITES=FILE, whose lines ht_site_line.h tells: of those that hold the first counts. */
#include <stdlib.h>

#include "common_state.h"

static int add_line(void *state, const struct ht_site_line *line, const char *text) {
    (void)text;
    struct dropin_state *const s = (struct dropin_state *)state;
    struct ht_site_line *const grown = (struct ht_site_line *)realloc(s->site, ((size_t)s->sites + 1) * sizeof *grown);
    if (grown == NULL)
        return 1;
    s->site = grown;
    s->site[s->sites++] = *line;
    s->sites_ask_ordinal = s->sites_ask_ordinal || ht_site_line_asks_range(line, HT_SITE_ORDINAL);
    return 0;
}

bool dropin_read_sites(struct dropin_state *s) {
    char fault[HT_SITE_LINE] = "out of memory";
    const bool good = s->settings.file[DROPIN_FILE_SITES][0] == '\0' || ht_site_file_read(s->settings.file[DROPIN_FILE_SITES], add_line, s, fault) == 0;
    if (!good)
        dropin_say("HALFTONE_SITES: %s%s", fault, dropin_nothing);
    return good;
}

static bool holds(const struct ht_site_line *line, const struct dropin_call *call, int64_t ordinal) {
    const struct ht_site_call asked = {call->name, call->op_a, call->op_b,
                                       {call->m, call->n, call->k, call->batch, ordinal}};
    if (!ht_site_line_is_of(line, call->kind != DROPIN_KIND_FP32) || !ht_site_line_holds(line, &asked))
        return false;
    char site[DROPIN_LINE] = "";
    if (line->site[0] != '\0')
        dropin_site(call->caller, site, sizeof site);
    return ht_site_line_names(line, site);
}

const struct ht_site_line *dropin_match_site(const struct dropin_call *call, int64_t ordinal) {
    const struct dropin_state *const s = &halftone_dropin_state;
    for (int i = 0; i < s->sites; i++)
        if (holds(&s->site[i], call, ordinal))
            return &s->site[i];
    return NULL;
}
