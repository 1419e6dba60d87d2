/* common_state.h: the one object of a process that the files common_*.c keep their state in; faces use common.h. */
#ifndef DROPIN_COMMON_STATE_H
#define DROPIN_COMMON_STATE_H

#include <pthread.h>

#include "common.h"

/* What is remembered of calls that are alike: site, api, operations, sizes. */
struct dropin_key {
    uint64_t hash; /* 0: free */
    uint64_t step;
    int64_t ordinal;
    uint64_t logged;                   /* bit of each reason that the log has */
    int64_t predicted_ns, bound_units; /* 0: not asked yet; the second also of fixed point, whose bounds are of other units */
};

enum { DROPIN_KEYS = 1024 };

/* What a call that is handed on reads comes first: two or three lines of memory. */
struct dropin_state {
    pthread_once_t once, fork_once;
    int sites;
    bool is_read; /* the settings are */
    bool sites_ask_ordinal;
    bool forked; /* a child of a process that had begun to load the library */
    bool has_log;
    struct dropin_counts *shared;
    struct dropin_settings settings;
    pthread_mutex_t lock[DROPIN_LOCKS]; /* all below but the counters is of DROPIN_LOCK_STATE */
    bool loaded, load_failed;
    struct dropin_library library;
    struct dropin_slot *idle[DROPIN_DEVICES];
    int handles[DROPIN_DEVICES]; /* made so far; -1: none can be */
    struct ht_site_line *site;
    uint64_t step;
    struct dropin_key key[DROPIN_KEYS];
    int log; /* its file descriptor */
    struct dropin_counts counts;
};

extern DROPIN_EXPORT struct dropin_state halftone_dropin_state;

/* common_sites.c: false after it said which line is wrong. */
bool dropin_read_sites(struct dropin_state *s);
/* The first line that holds for the call, or NULL. */
const struct ht_site_line *dropin_match_site(const struct dropin_call *call, int64_t ordinal);

/* common_log.c: the two files that a process adds to. */
void dropin_open_counts(struct dropin_state *s);
void dropin_open_log(struct dropin_state *s);
/* To a counter of the state's `counts`, and to the file's. */
void dropin_add(uint64_t *counter, uint64_t count);
/* Of the file's alone, without one of the state's. */
void dropin_raise_to(uint64_t *counter, uint64_t value);
void dropin_log(const struct dropin_call *call, const struct dropin_policy *policy, enum dropin_reason why,
                const char *detail, const struct halftone_plan *plan);

#endif
