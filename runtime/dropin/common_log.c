/* common_log.c: HALFTONE_LOG=FILE, a table of one line for calls that are alike, of every call with HALFTONE=record; several
 * processes write into one file, each line by one write. Columns: `columns` below. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "common_state.h"

static const char columns[] = "pid\tsite\tapi\top\tm\tn\tk\tbatch\tordinal\tasked\tserved\tscheme\tkernel\tbo"
                              "und_units\tpredicted_ns\twhy\n";

void dropin_open_log(struct dropin_state *s) {
    if (s->settings.file[DROPIN_FILE_LOG][0] == '\0')
        return;
    s->log = open(s->settings.file[DROPIN_FILE_LOG], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    s->has_log = s->log >= 0;
    if (!s->has_log)
        dropin_say("HALFTONE_LOG=%.200s: %s; goes on without a log", s->settings.file[DROPIN_FILE_LOG], strerror(errno));
    else if (lseek(s->log, 0, SEEK_END) == 0 &&
             write(s->log, columns, sizeof columns - 1) < 0)
        s->has_log = false;
}

void dropin_log(const struct dropin_call *c, const struct dropin_policy *policy, enum dropin_reason why,
                const char *detail, const struct halftone_plan *plan) {
    char site[DROPIN_TEXT * 2], line[DROPIN_LINE], numbers[64] = "\t\t\t";
    dropin_site(c->caller, site, sizeof site);
    if (plan != NULL)
        snprintf(numbers, sizeof numbers, "%lld\t%lld", (long long)plan->bound_units,
                 (long long)plan->predicted_ns);
    const int length =
        snprintf(line, sizeof line - 1,
                 "%ld\t%s\t%s\t%c%c\t%lld\t%lld\t%lld\t%lld\t%lld\t%s\t%d\t%s\t%s\t%s\t%s%s%.400s",
                 (long)getpid(), site, dropin_api_name(c->api), c->op_a, c->op_b, (long long)c->m,
                 (long long)c->n, (long long)c->k, (long long)c->batch, (long long)policy->ordinal,
                 policy->accuracy != NULL ? policy->accuracy
                 : policy->scheme != NULL ? policy->scheme
                                          : "",
                 why == DROPIN_SERVED, plan != NULL ? plan->scheme : "", plan != NULL ? plan->kernel : "",
                 plan != NULL ? numbers : "\t", why == DROPIN_SERVED ? "" : dropin_reason_text(why),
                 detail != NULL ? ": " : "", detail != NULL ? detail : "");
    if (length < 0)
        return;
    size_t bytes = (size_t)length < sizeof line - 1 ? (size_t)length : sizeof line - 2;
    for (size_t i = 0; i < bytes; i++)
        if (line[i] == '\n')
            line[i] = ' ';
    line[bytes++] = '\n';
    const int before = errno;
    if (write(halftone_dropin_state.log, line, bytes) < 0)
        errno = before; /* a full disk does not stop a program */
}
