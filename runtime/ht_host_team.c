/* ht_host_team.c: threads that share work with the caller. One core moves about 10 GB/s between pageable
 * and pinned memory, a fifth of what a PCIe 5 bus takes; a few move all of it. */
#include "ht_host.h"

#include <signal.h>

static void *team_thread(void *data) {
    struct ht_team_thread *const own = (struct ht_team_thread *)data;
    struct ht_team *const t = own->team;
    (void)pthread_mutex_lock(&t->lock);
    for (unsigned seen = 0;;) {
        while (t->round == seen && !t->is_over)
            (void)pthread_cond_wait(&t->begun, &t->lock);
        if (t->is_over)
            break;
        seen = t->round;
        ht_team_work *const function = t->function;
        void *const work = t->work;
        const int parts = t->parts;
        (void)pthread_mutex_unlock(&t->lock);
        function(work, own->part, parts);
        (void)pthread_mutex_lock(&t->lock);
        if (--t->busy == 0)
            (void)pthread_cond_signal(&t->ended);
    }
    (void)pthread_mutex_unlock(&t->lock);
    return NULL;
}

void ht_team_open(struct ht_team *team, int threads) {
    sigset_t all, before;
    memset(team, 0, sizeof *team);
    team->parts = 1;
    (void)pthread_mutex_init(&team->lock, NULL);
    (void)pthread_cond_init(&team->begun, NULL);
    (void)pthread_cond_init(&team->ended, NULL);
    (void)sigfillset(&all);
    const bool is_masked = pthread_sigmask(SIG_SETMASK, &all, &before) == 0; /* which the threads inherit */
    while (is_masked && team->parts < threads && team->parts < HOST_THREADS_MOST) {
        struct ht_team_thread *const next = &team->thread[team->parts];
        next->team = team;
        next->part = team->parts;
        if (pthread_create(&next->thread, NULL, team_thread, next) != 0)
            break;
        team->parts++;
    }
    if (is_masked)
        (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void ht_team_run(struct ht_team *team, ht_team_work *function, void *work) {
    (void)pthread_mutex_lock(&team->lock);
    team->function = function;
    team->work = work;
    team->busy = team->parts - 1;
    team->round++;
    (void)pthread_cond_broadcast(&team->begun);
    (void)pthread_mutex_unlock(&team->lock);
    function(work, 0, team->parts);
    (void)pthread_mutex_lock(&team->lock);
    while (team->busy > 0)
        (void)pthread_cond_wait(&team->ended, &team->lock);
    (void)pthread_mutex_unlock(&team->lock);
}

void ht_team_close(struct ht_team *team) {
    (void)pthread_mutex_lock(&team->lock);
    team->is_over = true;
    (void)pthread_cond_broadcast(&team->begun);
    (void)pthread_mutex_unlock(&team->lock);
    for (int i = 1; i < team->parts; i++)
        (void)pthread_join(team->thread[i].thread, NULL);
    (void)pthread_cond_destroy(&team->ended);
    (void)pthread_cond_destroy(&team->begun);
    (void)pthread_mutex_destroy(&team->lock);
}
