/* page.c: what the page shows, as tables under their names; bench/pages.py draws them. Decides nothing. */
#include "cli/explain.h"

#include <errno.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/err.h"
#include "base/files.h"

/* ---- turning points, found by trying values; verdicts are model_better's on a changed copy of the budget */

/* The smallest change of one budget value after which a rival beats the pick. */
struct turning {
    const char *key;
    int64_t now, then;
    int64_t factor_milli; /* how far: the larger of the two over the smaller, in thousandths */
    struct tile winner;   /* the pick there; may be a third tile */
    bool rival_wins;
};

struct duel {
    const struct listing *l;
    const struct candidate *pick, *rival;
    struct gpu gpu; /* the changed copy */
};

static bool wins_at(struct duel *d, enum gpu_key key, int64_t value) {
    const struct listing *l = d->l;
    struct cost x, y;
    d->gpu = *l->g;
    if (!gpu_number_set(&d->gpu, key, value))
        return false;
    struct target pick = d->pick->on, rival = d->rival->on;
    pick.g = rival.g = &d->gpu;
    model_cost(l->kind, &pick, &d->pick->tile, &l->shape, &x);
    model_cost(l->kind, &rival, &d->rival->tile, &l->shape, &y);
    return y.fits && (!x.fits || model_better(l->kind, &y, &d->rival->tile, &x, &d->pick->tile));
}

/* Nearest value in one direction (up: true) at which the rival wins; 0: none within a factor of four. Sixteen
 * steps first, since the answer need not change only once, then bisection inside the step. */
static int64_t nearest(struct duel *d, enum gpu_key key, bool up) {
    enum { STEPS = 16, REACH = 4 };
    const int64_t now = gpu_number(d->l->g, key);
    const int64_t range = up ? now * (REACH - 1) : now - now / REACH;
    int64_t keeps = now;
    for (int i = 1; i <= STEPS; i++) {
        int64_t wins = up ? now + range * i / STEPS : now - range * i / STEPS;
        if (wins == keeps || wins < 1)
            continue;
        if (!wins_at(d, key, wins)) {
            keeps = wins;
            continue;
        }
        while (wins - keeps > 1 || keeps - wins > 1) {
            const int64_t middle = keeps + (wins - keeps) / 2;
            *(wins_at(d, key, middle) ? &wins : &keeps) = middle;
        }
        return wins;
    }
    return 0;
}

/* The nearer of both directions, and who is the pick there by a full ranking; key NULL: there is none. */
static struct turning find_turning(struct duel *d, enum gpu_key key) {
    const int64_t now = gpu_number(d->l->g, key), down = nearest(d, key, false), up = nearest(d, key, true);
    const int64_t factor_down = down > 0 ? ht_mul(now, 1000) / down : INT64_MAX,
                  factor_up = up > 0 ? ht_mul(up, 1000) / now : INT64_MAX;
    struct turning t = {.now = now, .then = factor_up < factor_down ? up : down};
    if (t.then == 0)
        return t;
    t.key = gpu_number_name(key);
    t.factor_milli = factor_up < factor_down ? factor_up : factor_down;
    struct listing there = explain_beside(d->l, &d->gpu, d->l->s);
    d->gpu = *d->l->g;
    gpu_number_set(&d->gpu, key, t.then);
    explain_rank(&there);
    t.winner = there.fits > 0 ? there.item[0].tile : d->rival->tile;
    t.rival_wins = tile_compare(&t.winner, &d->rival->tile) == 0;
    explain_free(&there);
    return t;
}

/* Of `rival`, an index into the ranking: keys within a factor of four, the smallest first; how many. */
static int find_turnings(const struct listing *l, int rival, struct turning out[GPU_NUMBERS]) {
    struct duel d = {.l = l, .pick = &l->item[0], .rival = &l->item[rival]};
    int count = 0;
    for (enum gpu_key key = 0; key < GPU_NUMBERS; key++) {
        const struct turning t = find_turning(&d, key);
        if (!t.key)
            continue;
        int at = count++;
        for (; at > 0 && out[at - 1].factor_milli > t.factor_milli; at--)
            out[at] = out[at - 1];
        out[at] = t;
    }
    return count;
}

/* Rank of the best tile with another bm, bn or bk than the pick; 0: none. */
static int other_tile(const struct listing *l) {
    const struct tile *p = &l->item[0].tile;
    for (int i = 1; i < l->fits; i++) {
        const struct tile *t = &l->item[i].tile;
        if (t->bm != p->bm || t->bn != p->bn || t->bk != p->bk)
            return i;
    }
    return 0;
}

/* ---- tables: names of the columns in the first line */

static void sentence(struct text *out, const char *key,
                     void (*add)(struct text *out, const struct listing *l), const struct listing *l) {
    text_addf(out, "%s\t", key);
    add(out, l);
    text_add(out, "\n");
}

static void write_facts(struct text *out, const struct listing *l, const struct listing *other) {
    const struct gpu *g = l->g;
    const char *const note = explain_seen_note(l);
    const struct {
        const char *key;
        int64_t value;
    } numbers[] = {{"m", l->shape.m},
                   {"n", l->shape.n},
                   {"k", l->shape.k},
                   {"slices", l->s->slices * scheme_alike(l->s)},
                   {"products", l->s->products * scheme_alike(l->s)},
                   {"ceiling_gflops", explain_ceiling_gflops(l)},
                   {"native_gflops", g->native_fp32_gflops},
                   {"dram_gbps", g->dram_gbps},
                   {"clock_mhz", model_clock_mhz(g)},
                   {"warpgroup", l->on.family->persistent}};
    text_addf(out, "# facts\nkey\tvalue\ngpu\t%s\ntitle\t%s\nscheme\t%s\nisa\t%s\nmodel\t%s\nslice\t%s\n",
              g->name, g->title, l->s->name, l->isa->name, model_name(l->kind), scheme_operands(l->s));
    text_addf(out, "left\t%s\nright\t%s\n", l->name, other ? other->name : "");
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        text_addf(out, "%s\t" I64 "\n", numbers[i].key, numbers[i].value);
    sentence(out, "ceiling", explain_add_ceiling, l);
    sentence(out, "kernels", explain_add_kernels, l);
    if (l->fits > 0)
        sentence(out, "verdict", explain_add_verdict, l);
    text_add(out, "estimates\t");
    explain_add_estimates(out, g);
    text_addf(out, "\nnote\t%s", *note ? note : "\n");
}

static void write_budget(struct text *out, const struct listing *l) {
    const struct cost *c = &l->item[0].cost;
    struct explain_use use[EXPLAIN_USES];
    explain_uses(l, &l->item[0], use);
    text_addf(out, "# registers\nof\tregisters\naccumulators\t%d\nfragments\t%d\nother\t%d\n",
              c->regs_accumulators, c->regs_fragments, c->regs_other);
    text_add(out, "# budget\nwhat\tused\tlimit\n");
    for (int i = 0; i < EXPLAIN_USES; i++)
        text_addf(out, "%s\t" I64 "\t" I64 "\n", use[i].what, use[i].used, use[i].limit);
}

/* Clocks of the pick, and of the best tile with another block where there is one. */
static void write_time(struct text *out, const struct listing *l) {
    const int rival = other_tile(l);
    text_add(out, "# time\nrank");
    for (int i = 0; i < EXPLAIN_PARTS; i++)
        text_addf(out, "\t%s", explain_part_names[i]);
    for (int at = 0; at <= rival; at += rival > 0 ? rival : 1) {
        int64_t part[EXPLAIN_PARTS];
        explain_take_apart(l, &l->item[at], part);
        text_addf(out, "\n%d", at + 1);
        for (int i = 0; i < EXPLAIN_PARTS; i++)
            text_addf(out, "\t" I64, part[i]);
    }
    text_add(out, "\n");
}

/* What one budget value would have to be for the second tile, and for the best with another block, to win. */
static void write_turnings(struct text *out, const struct listing *l) {
    const int second = explain_runner_up(l), other = other_tile(l);
    const int rival[] = {second, other == second ? 0 : other};
    text_add(out, "# rivals\nrank\n");
    for (int r = 0; r < 2; r++) {
        if (rival[r] > 0)
            text_addf(out, "%d\n", rival[r] + 1);
    }
    text_add(out, "# turnings\nrank\tkey\tnow\tthen\tfactor\twins\twinner\n");
    for (int r = 0; r < 2; r++) {
        struct turning turning[GPU_NUMBERS];
        const int count = rival[r] > 0 ? find_turnings(l, rival[r], turning) : 0;
        for (int i = 0; i < count; i++) {
            const struct turning *t = &turning[i];
            text_addf(out, "%d\t%s\t" I64 "\t" I64 "\t" MILLI "\t%d\t", rival[r] + 1, t->key, t->now, t->then,
                      AS_MILLI(t->factor_milli), t->rival_wins);
            explain_add_tile(out, l, &t->winner);
            text_add(out, "\n");
        }
    }
}

/* Thousandths of a FLOP per byte that the pick moves to and from device memory. */
static int64_t intensity_milli(const struct listing *l) {
    const struct candidate *c = &l->item[0];
    const int blocks = c->cost.blocks_per_sm > 0 ? c->cost.blocks_per_sm : 1;
    const int64_t ns = model_mma_dram_ns(&c->on, &c->tile, &l->shape, blocks);
    const int64_t flops = shape_flops(&l->shape);
    const int64_t bytes = ht_mul(ns > 0 ? ns : 1, l->g->dram_gbps);
    return flops > INT64_MAX / 1000 ? ht_mul(flops / bytes, 1000) : flops * 1000 / bytes;
}

/* Every scheme's pick on this GPU and shape, the page's own first; those without a fitting tile are left
 * out. */
static void write_schemes(struct text *out, const struct listing *l) {
    text_add(out, "# schemes\nscheme\tslice\tproducts\tceiling_gflops\tgflops\tintensity_milli\tbinding\n");
    for (int i = -1; i < scheme_count; i++) {
        struct listing at = explain_beside(l, l->g, i < 0 ? l->s : &scheme_table[i]);
        if (i >= 0 && (at.s == l->s || at.s->in != l->s->in ||
                       at.s != scheme_for(at.s->name, l->isa->flushes_subnormals)))
            continue;
        explain_rank(&at);
        if (at.fits > 0)
            text_addf(out, "%s\t%s\t%d\t" I64 "\t" I64 "\t" I64 "\t%s\n", at.s->name, scheme_operands(at.s),
                      at.s->products * scheme_alike(at.s), explain_ceiling_gflops(&at),
                      explain_pick_gflops(&at), intensity_milli(&at), at.item[0].cost.binding);
        explain_free(&at);
    }
}

static void write_tables(struct text *out, const struct listing *l, const struct listing *other) {
    write_facts(out, l, other);
    text_add(out, "# candidates\n");
    explain_table(out, l);
    if (other) {
        text_add(out, "# other candidates\n");
        explain_table(out, other);
        text_add(out, "# contrast\nwhat\tbudget\tratio\tleft\tright\n");
        compare_rows(out, l, other);
    }
    if (l->fits == 0)
        return;
    write_budget(out, l);
    if (l->kind == MODEL_HALFTONE)
        write_time(out, l);
    write_turnings(out, l);
    write_schemes(out, l);
}

/* ---- drawing */

extern char **environ;
enum { NOT_FOUND = 127 };

/* The script's output for the tables, all of which it reads before it writes; what it exits with, -1: it was
 * not started or was killed. -I, -B: neither the environment, nor the current folder, nor files beside the
 * script have a say, and none is left there. */
static int run_script(char *script, const struct text *tables, struct text *page) {
    enum { OURS, ITS, ENDS };
    char *const words[] = {"python3", "-I", "-B", script, "explain", NULL};
    int end[ENDS], status = -1;
    char bytes[4096];
    posix_spawn_file_actions_t moves;
    pid_t python;
    signal(SIGCHLD, SIG_DFL); /* where that was ignored, nothing could be waited for */
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, end) != 0 ||
        posix_spawn_file_actions_init(&moves) != 0)
        return -1; /* the program ends */
    posix_spawn_file_actions_adddup2(&moves, end[ITS], STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&moves, end[ITS], STDOUT_FILENO);
    const bool found = posix_spawnp(&python, words[0], &moves, NULL, words, environ) == 0;
    posix_spawn_file_actions_destroy(&moves);
    close(end[ITS]);
    ssize_t n = 1; /* a script that reads no more says why by its exit */
    for (size_t at = 0; found && at < tables->len && n > 0; at += n > 0 ? (size_t)n : 0)
        n = send(end[OURS], tables->data + at, tables->len - at, MSG_NOSIGNAL);
    shutdown(end[OURS], SHUT_WR);
    while ((n = read(end[OURS], bytes, sizeof bytes)) > 0)
        text_add_bytes(page, bytes, (size_t)n);
    close(end[OURS]);
    if (!found)
        return NOT_FOUND;
    return waitpid(python, &status, 0) == python && WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

bool page_write(const struct listing *l, const struct listing *other, const char *root, const char *path) {
    struct text script = {0}, tables = {0}, page = {0};
    if (!files_check_one(path))
        return false;
    text_addf(&script, "%s/bench/pages.py", root);
    write_tables(&tables, l, other);
    const bool drawable = access(script.data, R_OK) == 0;
    const int code = drawable ? run_script(script.data, &tables, &page) : -1;
    bool ok = false;
    if (!drawable)
        err_user(script.data, 0, "cannot read this script, which draws the page: %s; --tsv needs none",
                 strerror(errno));
    else if (code == NOT_FOUND)
        err_user(NULL, 0, "--html needs python3: apt-get install python3, or --tsv");
    else if (code != 0)
        err_user(script.data, 0,
                 "python3 did not draw the page, which stays unwritten; --tsv needs no script");
    else
        ok = files_write_one(&page, path);
    text_free_all(&script, &tables, &page);
    return ok;
}
