/* common_log.c: the two files that processes of a program add to together. HALFTONE_COUNTS=FILE has counters, added to without a
 * lock, which `halftone run` shows. HALFTONE_LOG=FILE is a table of one line for calls that are alike, of every call with
 * HALFTONE=record; each line comes by one write. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common_state.h"

/* ---- counters ---- */

/* The file is there already: `halftone run` has made it of this size. A file of another build is left alone. */
void dropin_open_counts(struct dropin_state *s) {
    if (s->settings.file[DROPIN_FILE_COUNTS][0] == '\0')
        return;
    const int file = open(s->settings.file[DROPIN_FILE_COUNTS], O_RDWR | O_CLOEXEC);
    if (file < 0)
        return;
    if (lseek(file, 0, SEEK_END) == (off_t)sizeof(struct dropin_counts)) {
        struct dropin_counts *const at =
            (struct dropin_counts *)mmap(NULL, sizeof *at, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
        if (at != MAP_FAILED && at->layout == sizeof *at) { /* else it stays mapped, and nothing is done with it */
            s->shared = at;
            __atomic_fetch_add(&at->processes, 1, __ATOMIC_RELAXED);
        }
    }
    (void)close(file);
    s->counts.processes = 1;
}

/* The file's counter where the process's own is `at`; without a file that itself. */
static uint64_t *in_file(uint64_t *at) {
    const struct dropin_state *const s = &halftone_dropin_state;
    return s->shared != NULL ? (uint64_t *)(void *)((char *)s->shared + ((char *)at - (char *)&s->counts)) : at;
}

void dropin_add(uint64_t *at, uint64_t count) {
    __atomic_fetch_add(at, count, __ATOMIC_RELAXED);
    if (in_file(at) != at)
        __atomic_fetch_add(in_file(at), count, __ATOMIC_RELAXED);
}

void dropin_raise_to(uint64_t *own, uint64_t value) {
    uint64_t *const at = in_file(own);
    uint64_t is = __atomic_load_n(at, __ATOMIC_RELAXED);
    while (is < value &&
           !__atomic_compare_exchange_n(at, &is, value, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

/* ---- the log ---- */

const char *dropin_reason_text(enum dropin_reason why) {
#define TEXT(name, text) text "\0"
    static const char texts[] = DROPIN_REASONS(TEXT);
#undef TEXT
    return why < DROPIN_REASON_COUNT ? dropin_text_at(texts, (int)why) : "?";
}

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
                 (long)getpid(), site, c->name, c->op_a, c->op_b, (long long)c->m,
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
