/* chart.c: SVG by hand. Colours are those of a light page that is printed too: one blue for time, greys for what is
 * rejected, one orange for the pick. */
#include "cli/chart.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"

void chart_escape(struct text *out, const char *text, size_t len) {
    for (size_t i = 0; i < len; i++) {
        switch (text[i]) {
        case '&':
            text_add(out, "&amp;");
            break;
        case '<':
            text_add(out, "&lt;");
            break;
        case '>':
            text_add(out, "&gt;");
            break;
        case '"':
            text_add(out, "&quot;");
            break;
        default:
            text_add_bytes(out, &text[i], 1);
        }
    }
}

static void svg_open(struct text *out, int width, int height, const char *label) {
    text_addf(out, "<svg viewBox=\"0 0 %d %d\" width=\"%d\" height=\"%d\" role=\"img\" aria-label=\"%s\">\n",
              width, height, width, height, label);
}

/* anchor: start, middle or end. */
static void svg_text(struct text *out, int x, int y, const char *anchor, const char *class,
                     const char *text) {
    text_addf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"%s\" class=\"%s\">", x, y, anchor, class);
    chart_escape(out, text, strlen(text));
    text_add(out, "</text>\n");
}

static void svg_rect(struct text *out, int x, int y, int width, int height, const char *fill) {
    text_addf(out, "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"%s\"/>\n", x, y, width, height,
              fill);
}

/* ---- tile map ---- */

enum { CELL_W = 23, CELL_H = 16, BLOCK_GAP = 10, LEFT = 172, TOP = 56, AXIS_MAX = 32, LEGEND_RIGHT = 850 };

/* Distinct values of the search space, ascending; two numbers to a value. */
struct axis {
    int count;
    int value[AXIS_MAX][2];
};

static int axis_find(const struct axis *a, int x, int y) {
    int at = 0;
    while (at < a->count && (a->value[at][0] != x || a->value[at][1] != y))
        at++;
    return at;
}

static void axis_add(struct axis *a, int x, int y) {
    if (axis_find(a, x, y) < a->count)
        return;
    if (a->count == AXIS_MAX)
        err_bug("the search space has more values on an axis than AXIS_MAX");
    int at = a->count++;
    for (; at > 0 && (a->value[at - 1][0] > x || (a->value[at - 1][0] == x && a->value[at - 1][1] > y)); at--)
        memcpy(a->value[at], a->value[at - 1], sizeof a->value[0]);
    a->value[at][0] = x;
    a->value[at][1] = y;
}

struct map {
    const struct listing *l;
    struct axis bm, bn, depth;  /* depth: bk stages */
    struct axis warp[AXIS_MAX]; /* wm and row_key of each bm */
    int block_w;
};

/* What rows of one wm are told apart by: wn and cluster. */
static int row_key(const struct tile *t) {
    return t->wn * (TILE_CLUSTER_MAX + 1) + t->cluster;
}

static void map_measure(struct map *m, const struct listing *l) {
    memset(m, 0, sizeof *m);
    m->l = l;
    for (int i = 0; i < l->count; i++) {
        const struct tile *t = &l->item[i].tile;
        axis_add(&m->bm, t->bm, 0);
        axis_add(&m->bn, t->bn, 0);
        axis_add(&m->depth, t->bk, t->stages);
    }
    for (int i = 0; i < l->count; i++) { /* only when bm is complete do its values keep their places */
        const struct tile *t = &l->item[i].tile;
        axis_add(&m->warp[axis_find(&m->bm, t->bm, 0)], t->wm, row_key(t));
    }
    m->block_w = m->depth.count * CELL_W;
}

static int block_x(const struct map *m, int at) {
    return LEFT + at * (m->block_w + BLOCK_GAP);
}

static int block_h(const struct map *m, int at) {
    return m->warp[at].count * CELL_H;
}

static int block_y(const struct map *m, int at) {
    int y = TOP;
    for (int i = 0; i < at; i++)
        y += block_h(m, i) + BLOCK_GAP;
    return y;
}

char chart_letter(const struct listing *l, const char *reason) {
    char letter = 'A';
    for (int i = l->fits; i < l->count; i++) {
        if (!explain_is_first_of_kind(l, i))
            continue;
        const char *other = l->item[i].cost.reason;
        const size_t length = explain_kind_length(other);
        if (length == explain_kind_length(reason) && memcmp(other, reason, length) == 0)
            return letter;
        letter++;
    }
    return '?';
}

/* Speed against the pick's in thousandths, at most 1000. */
static int speed_milli(const struct listing *l, const struct candidate *c) {
    const int64_t best = l->item[0].cost.predicted_ns, own = c->cost.predicted_ns;
    return own <= best || own <= 0 ? 1000 : (int)(ht_mul(best, 1000) / own);
}

/* From pale at 400 and less to dark blue at 1000. */
static void add_shade(struct text *out, int milli) {
    static const int pale[3] = {226, 236, 246}, dark[3] = {12, 60, 120};
    const int at = milli < 400 ? 0 : milli - 400;
    text_addf(out, "#%02x%02x%02x", (unsigned)(pale[0] + (dark[0] - pale[0]) * at / 600),
              (unsigned)(pale[1] + (dark[1] - pale[1]) * at / 600),
              (unsigned)(pale[2] + (dark[2] - pale[2]) * at / 600));
}

static void map_cell(struct text *out, const struct map *m, int item) {
    const struct candidate *c = &m->l->item[item];
    const struct tile *t = &c->tile;
    const int x = block_x(m, axis_find(&m->bn, t->bn, 0)) + axis_find(&m->depth, t->bk, t->stages) * CELL_W;
    const int row = axis_find(&m->bm, t->bm, 0);
    const int y = block_y(m, row) + axis_find(&m->warp[row], t->wm, row_key(t)) * CELL_H;
    const int milli = c->cost.fits ? speed_milli(m->l, c) : 0;
    char mark[16] = "";
    text_add(out, "<g><title>");
    explain_add_tile(out, m->l, t);
    text_add(out, t->cluster > 1 ? ", two blocks share panels: " : ": ");
    if (c->cost.fits)
        explain_add_milli(out, "", c->cost.predicted_ns, " us, bound by ");
    chart_escape(out, c->cost.fits ? c->cost.binding : c->cost.reason,
                 strlen(c->cost.fits ? c->cost.binding : c->cost.reason));
    text_addf(out, "</title><rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"", x + 1, y + 1,
              CELL_W - 2, CELL_H - 2);
    if (c->cost.fits)
        add_shade(out, milli);
    text_add(out, c->cost.fits ? "\"/>" : "#eeeeea\"/>");
    if (!c->cost.fits)
        mark[0] = chart_letter(m->l, c->cost.reason);
    else if (item < 10)
        snprintf(mark, sizeof mark, "%d", item + 1);
    if (mark[0])
        svg_text(out, x + CELL_W / 2, y + 12, "middle",
                 !c->cost.fits ? "off"
                 : milli > 700 ? "rank light"
                               : "rank",
                 mark);
    if (c->cost.fits && item == 0)
        text_addf(out,
                  "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#d9600a\" "
                  "stroke-width=\"3\"/>",
                  x, y, CELL_W, CELL_H);
    text_add(out, "</g>\n");
}

static void map_columns(struct text *out, const struct map *m) {
    char label[48];
    for (int b = 0; b < m->bn.count; b++) {
        const int x = block_x(m, b);
        snprintf(label, sizeof label, "bn = %d", m->bn.value[b][0]);
        svg_text(out, x + m->block_w / 2, 14, "middle", "axis", label);
        for (int d = 0; d < m->depth.count; d++) {
            const int bk = m->depth.value[d][0];
            snprintf(label, sizeof label, "s%d", m->depth.value[d][1]);
            svg_text(out, x + d * CELL_W + CELL_W / 2, TOP - 6, "middle", "small", label);
            int same = d; /* bk stands over the middle of its columns */
            while (same < m->depth.count && m->depth.value[same][0] == bk)
                same++;
            if (d > 0 && m->depth.value[d - 1][0] == bk)
                continue;
            snprintf(label, sizeof label, "bk %d", bk);
            svg_text(out, x + (d + same) * CELL_W / 2, TOP - 22, "middle", "small", label);
        }
    }
}

static void map_rows(struct text *out, const struct map *m) {
    char label[48];
    for (int b = 0; b < m->bm.count; b++) {
        snprintf(label, sizeof label, "bm = %d", m->bm.value[b][0]);
        svg_text(out, 4, block_y(m, b) + block_h(m, b) / 2 + 4, "start", "axis", label);
        for (int w = 0; w < m->warp[b].count; w++) {
            const int key = m->warp[b].value[w][1], cluster = key % (TILE_CLUSTER_MAX + 1);
            snprintf(label, sizeof label, "%d x %d%s", m->warp[b].value[w][0], key / (TILE_CLUSTER_MAX + 1),
                     cluster > 1 ? " c2" : "");
            svg_text(out, LEFT - 6, block_y(m, b) + w * CELL_H + 12, "end", "small", label);
        }
        for (int n = 0; n < m->bn.count; n++)
            text_addf(
                out,
                "<rect x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" fill=\"none\" stroke=\"#c8c8c2\"/>\n",
                block_x(m, n), block_y(m, b), m->block_w, block_h(m, b));
    }
}

static void map_legend(struct text *out, int y) {
    static const struct {
        int milli;
        const char *text;
    } steps[] = {
        {1000, "as fast as the pick"}, {850, "85 %"}, {700, "70 %"}, {550, "55 %"}, {400, "40 % or less"}};
    int x = LEFT;
    for (size_t i = 0; i < sizeof steps / sizeof *steps; i++) {
        text_addf(out, "<rect x=\"%d\" y=\"%d\" width=\"21\" height=\"14\" fill=\"", x, y);
        add_shade(out, steps[i].milli);
        text_add(out, "\"/>\n");
        svg_text(out, x + 27, y + 11, "start", "small", steps[i].text);
        x += i == 0 ? 150 : 70;
    }
    svg_rect(out, x + 30, y, 21, 14, "#eeeeea");
    svg_text(out, x + 57, y + 11, "start", "small", "rejected: letter of the reason");
}

void chart_tile_map(struct text *out, const struct listing *l) {
    struct map m;
    map_measure(&m, l);
    int width = block_x(&m, m.bn.count), bottom = block_y(&m, m.bm.count);
    svg_open(out, width > LEGEND_RIGHT ? width : LEGEND_RIGHT, bottom + 20, "tile map");
    map_columns(out, &m);
    map_rows(out, &m);
    for (int i = l->count; i-- > 0;) /* better tiles last: on top where two share a cell */
        map_cell(out, &m, i);
    map_legend(out, bottom + 2);
    text_add(out, "</svg>\n");
}

/* ---- bars ---- */

enum { BAR_X = 250, BAR_W = 350, BAR_STEP = 28, BAR_H = 18 };

/* Where `sum` of `limit` ends in a bar. Predictions of absurd sizes are as large as 64 bits hold, or stop before their parts do. */
static int bar_end(int64_t sum, int64_t limit) {
    if (sum >= limit)
        return BAR_W;
    for (; sum > INT64_MAX / BAR_W; sum /= 2)
        limit /= 2;
    return (int)(sum * BAR_W / limit);
}

/* One row: label, parts (fills) of `limit`, text behind. */
static void bar(struct text *out, int y, const char *label, const int64_t *part, const char *const *fill,
                int parts, int64_t limit, const char *text) {
    int64_t sum = 0;
    svg_text(out, BAR_X - 8, y + 13, "end", "label", label);
    svg_rect(out, BAR_X, y, BAR_W, BAR_H, "#eeeeea");
    for (int i = 0; i < parts; i++) {
        const int from = bar_end(sum, limit);
        sum = ht_add(sum, part[i] > 0 ? part[i] : 0);
        const int to = bar_end(sum, limit);
        if (to > from)
            svg_rect(out, BAR_X + from, y, to - from, BAR_H, fill[i]);
    }
    svg_text(out, BAR_X + BAR_W + 8, y + 13, "start", "label", text);
}

static void swatches(struct text *out, int x, int y, const char *const *fill, const char *const *name,
                     int count) {
    for (int i = 0; i < count; i++) {
        svg_rect(out, x, y, 12, 12, fill[i]);
        svg_text(out, x + 17, y + 10, "start", "small", name[i]);
        x += 34 + 6 * (int)strlen(name[i]);
    }
}

void chart_budget(struct text *out, const struct listing *l) {
    static const char *const fill[] = {"#12447a", "#5b8fc0", "#b7cde0"};
    static const char *const names[] = {"accumulators", "fragments", "other"};
    const struct cost *c = &l->item[0].cost;
    struct explain_use use[EXPLAIN_USES];
    char text[64];
    explain_uses(l, &l->item[0], use);
    svg_open(out, 800, 22 + (EXPLAIN_USES + 1) * BAR_STEP, "budget of the pick");
    swatches(out, BAR_X, 2, fill, names, 3);
    for (int i = 0; i < EXPLAIN_USES; i++) {
        const int64_t registers[] = {c->regs_accumulators, c->regs_fragments, c->regs_other};
        const int parts = i == 0 ? 3 : 1;
        snprintf(text, sizeof text, "%" PRId64 " of %" PRId64 ", %" PRId64 " %%", use[i].used, use[i].limit,
                 use[i].used * 100 / use[i].limit);
        bar(out, 22 + i * BAR_STEP, use[i].what, parts == 3 ? registers : &use[i].used,
            parts == 3 ? fill : &fill[1], parts, use[i].limit, text);
    }
    text_add(out, "</svg>\n");
}

void chart_time(struct text *out, const struct listing *l, int rival) {
    static const char *const fill[EXPLAIN_PARTS] = {"#12447a", "#5b8fc0", "#9cbcd8",
                                                    "#d9600a", "#eba667", "#a9a9a2"};
    enum { TOP_Y = 46, LINE_W = 780 };
    const int64_t clock = model_clock_mhz(l->g);
    const int rows = rival > 0 ? 2 : 1;
    const int64_t most_ns = l->item[rival].cost.predicted_ns;
    int64_t part[2][EXPLAIN_PARTS];
    int x = 20, y = 2;
    for (int i = 0; i < rows; i++)
        explain_take_apart(l, &l->item[i == 0 ? 0 : rival], part[i]);
    svg_open(out, 800, TOP_Y + 2 + rows * BAR_STEP, "where the time goes");
    for (int i = 0; i < EXPLAIN_PARTS; i++) { /* of warpgroup kernels all of a step is one pipe */
        const int width = 34 + 6 * (int)strlen(explain_part_names[i]);
        if (part[0][i] <= 0 && part[rows - 1][i] <= 0)
            continue;
        if (x + width > LINE_W) {
            x = 20;
            y += 18;
        }
        swatches(out, x, y, &fill[i], &explain_part_names[i], 1);
        x += width;
    }
    for (int i = 0; i < rows; i++) {
        const struct candidate *c = &l->item[i == 0 ? 0 : rival];
        struct text label = {0}, time = {0};
        explain_add_tile(&label, l, &c->tile);
        explain_add_milli(&time, "", c->cost.predicted_ns, " us");
        bar(out, TOP_Y + i * BAR_STEP, label.data ? label.data : "", part[i], fill, EXPLAIN_PARTS,
            (most_ns < INT64_MAX / clock ? most_ns * clock / 1000 : ht_mul(most_ns / 1000, clock)) + 1, time.data ? time.data : "");
        text_free(&label);
        text_free(&time);
    }
    text_add(out, "</svg>\n");
}

/* ---- roofline ---- */

enum {
    PLOT_X = 60,
    PLOT_Y = 26,
    PLOT_W = 440,
    PLOT_H = 300,
    LABEL_X = PLOT_X + PLOT_W + 26,
    ROOF_WORDS_W = 136, ROOF_WORDS_H = 13, LABEL_STEP = 17
};

/* log2 in 1024ths, of x >= 1. */
static int log2_x1024(int64_t x) {
    int result = 0;
    uint64_t v = (uint64_t)(x < 1 ? 1 : x);
    while (v >= (UINT64_C(1) << 31)) {
        v >>= 1;
        result += 1024;
    }
    while (v < (UINT64_C(1) << 30)) {
        v <<= 1;
        result -= 1024;
    }
    result += 30 * 1024;
    for (int bit = 512; bit > 0; bit /= 2) { /* v in [2^30, 2^31) */
        v = v * v >> 30;
        if (v >= (UINT64_C(1) << 31)) {
            v >>= 1;
            result += bit;
        }
    }
    return result;
}

struct plot {
    int x_low, x_high, y_low, y_high; /* log2_x1024 of thousandths of FLOP per byte, and of GFLOPS */
};

static int plot_x(const struct plot *p, int64_t milli_intensity) {
    return PLOT_X + (log2_x1024(milli_intensity) - p->x_low) * PLOT_W / (p->x_high - p->x_low);
}

static int plot_y(const struct plot *p, int64_t gflops) {
    return PLOT_Y + PLOT_H - (log2_x1024(gflops) - p->y_low) * PLOT_H / (p->y_high - p->y_low);
}

/* Thousandths of a FLOP per byte that the pick moves to and from device memory. */
static int64_t intensity_milli(const struct listing *l) {
    const struct candidate *c = &l->item[0];
    const int blocks = c->cost.blocks_per_sm > 0 ? c->cost.blocks_per_sm : 1;
    const int64_t ns = model_halftone_dram_ns(l->g, l->s, &c->tile, &l->shape, blocks);
    const int64_t flops = ht_mul(2, ht_mul(ht_mul(l->shape.m, l->shape.n), l->shape.k));
    const int64_t bytes = ht_mul(ns > 0 ? ns : 1, l->g->dram_gbps);
    return flops > INT64_MAX / 1000 ? ht_mul(flops / bytes, 1000) : flops * 1000 / bytes;
}

static int64_t point_gflops(const struct listing *l) {
    return explain_milli_tflops(&l->shape, l->item[0].cost.predicted_ns);
}

static void plot_range(struct plot *p, const struct listing *points, int count) {
    const struct gpu *g = points->g;
    int64_t low_x = INT64_MAX, high_x = 1, low_y = g->native_fp32_gflops, high_y = 1;
    for (int i = 0; i < count; i++) {
        const int64_t x = intensity_milli(&points[i]), y = point_gflops(&points[i]);
        const int64_t ceiling = explain_ceiling_gflops(g, points[i].s),
                      ridge = ht_mul(ceiling, 1000) / g->dram_gbps;
        low_x = x < low_x ? x : low_x;
        low_x = ridge < low_x ? ridge : low_x;
        high_x = x > high_x ? x : high_x;
        high_x = ridge > high_x ? ridge : high_x;
        low_y = y < low_y ? y : low_y;
        high_y = ceiling > high_y ? ceiling : high_y;
    }
    enum { AIR = ROOF_WORDS_W + 24 }; /* on the left, for the words of the roofs; an octave on the right */
    p->x_high = log2_x1024(high_x) + 1024;
    p->x_low = log2_x1024(low_x) - (p->x_high - log2_x1024(low_x)) * AIR / (PLOT_W - AIR);
    p->y_low = log2_x1024(low_y) - 1024;
    p->y_high = log2_x1024(high_y) + 512;
}

/* Powers of two (four where they are many) as grid lines. */
static void plot_grid(struct text *out, const struct plot *p) {
    char label[32];
    const int x_step = (p->x_high - p->x_low) / 1024 > 9 ? 4 : 2;
    for (int64_t x = 1; x <= 1 << 20; x *= x_step) {
        const int at = plot_x(p, x * 1000);
        if (at < PLOT_X || at > PLOT_X + PLOT_W)
            continue;
        text_addf(out, "<path d=\"M%d %dV%d\" class=\"grid\"/>\n", at, PLOT_Y, PLOT_Y + PLOT_H);
        snprintf(label, sizeof label, "%" PRId64, x);
        svg_text(out, at, PLOT_Y + PLOT_H + 15, "middle", "small", label);
    }
    for (int64_t y = 1; y <= 1 << 16; y *= 2) {
        const int at = plot_y(p, y * 1000);
        if (at < PLOT_Y || at > PLOT_Y + PLOT_H)
            continue;
        text_addf(out, "<path d=\"M%d %dH%d\" class=\"grid\"/>\n", PLOT_X, at, PLOT_X + PLOT_W);
        snprintf(label, sizeof label, "%" PRId64, y);
        svg_text(out, PLOT_X - 6, at + 4, "end", "small", label);
    }
    svg_text(out, PLOT_X + PLOT_W / 2, PLOT_Y + PLOT_H + 32, "middle", "label",
             "2mnk per byte to and from device memory, log scale");
    svg_text(out, PLOT_X - 46, PLOT_Y - 12, "start", "label", "TFLOPS");
}

/* The words of the roofs, in a column at the left edge, where no points are; a thin line joins each to its roof. */
struct roof_words {
    struct {
        int x, y; /* where the roof begins */
        char text[64];
    } roof[CHART_POINTS_MAX + 2];
    int count;
};

static void roof_add(struct roof_words *w, int x, int y, const char *text) {
    int at = w->count++;
    for (; at > 0 && w->roof[at - 1].y < y; at--) /* the lowest first */
        w->roof[at] = w->roof[at - 1];
    w->roof[at].x = x;
    w->roof[at].y = y;
    snprintf(w->roof[at].text, sizeof w->roof[at].text, "%s", text);
}

static void roof_texts(struct text *out, const struct roof_words *w) {
    int y = PLOT_Y + PLOT_H;
    for (int i = 0; i < w->count; i++) {
        y = w->roof[i].y < y - ROOF_WORDS_H ? w->roof[i].y : y - ROOF_WORDS_H;
        text_addf(out, "<path d=\"M%d %dL%d %d\" class=\"lead\"/>\n", PLOT_X + ROOF_WORDS_W, y, w->roof[i].x, w->roof[i].y);
        svg_text(out, PLOT_X + 6, y + 4, "start", "small", w->roof[i].text);
    }
}

/* A ceiling for each number of products, native FP32, then the memory roof. */
static void plot_roofs(struct text *out, const struct plot *p, const struct listing *points, int count) {
    const struct gpu *g = points->g;
    struct roof_words words = {.count = 0};
    int64_t top = 0;
    char label[64];
    for (int i = 0; i < count; i++) {
        const int64_t ceiling = explain_ceiling_gflops(g, points[i].s);
        bool again = false;
        for (int j = 0; j < i; j++)
            again = again || explain_ceiling_gflops(g, points[j].s) == ceiling;
        top = ceiling > top ? ceiling : top;
        if (again)
            continue;
        const int y = plot_y(p, ceiling), x = plot_x(p, ht_mul(ceiling, 1000) / g->dram_gbps);
        text_addf(out, "<path d=\"M%d %dH%d\" class=\"roof\"/>\n", x, y, PLOT_X + PLOT_W);
        snprintf(label, sizeof label, "%s, %d product%s: %" PRId64, slice_title(points[i].s->slice),
                 points[i].s->products, points[i].s->products > 1 ? "s" : "", ceiling / 1000);
        roof_add(&words, x, y, label);
    }
    const int y_native = plot_y(p, g->native_fp32_gflops), x_native = PLOT_X + ROOF_WORDS_W + 12;
    text_addf(out, "<path d=\"M%d %dH%d\" class=\"native\"/>\n", x_native, y_native, PLOT_X + PLOT_W);
    snprintf(label, sizeof label, "native FP32: %" PRId64, g->native_fp32_gflops / 1000);
    roof_add(&words, x_native, y_native, label);
    /* slope one in log-log: the same number of octaves to the left as down */
    const int x_top = log2_x1024(ht_mul(top, 1000) / g->dram_gbps);
    int x_from = x_top - (log2_x1024(top) - p->y_low), y_from = PLOT_Y + PLOT_H;
    if (x_from < p->x_low) {
        y_from -= (p->x_low - x_from) * PLOT_H / (p->y_high - p->y_low);
        x_from = p->x_low;
    }
    x_from = PLOT_X + (x_from - p->x_low) * PLOT_W / (p->x_high - p->x_low);
    const int x_to = plot_x(p, ht_mul(top, 1000) / g->dram_gbps), y_to = plot_y(p, top);
    text_addf(out, "<path d=\"M%d %dL%d %d\" class=\"roof\"/>\n", x_from, y_from, x_to, y_to);
    snprintf(label, sizeof label, "memory: %" PRId64 " GB/s", g->dram_gbps);
    const int x_words = x_from > x_native ? x_from : x_native; /* where the slope is right of the words */
    roof_add(&words, x_words, y_from + (y_to - y_from) * (x_words - x_from) / (x_to - x_from), label);
    roof_texts(out, &words);
}

static void plot_circle(struct text *out, const struct plot *p, const struct listing *l, const char *colour) {
    text_addf(out, "<circle cx=\"%d\" cy=\"%d\" r=\"4.5\" fill=\"%s\"/>\n", plot_x(p, intensity_milli(l)),
              plot_y(p, point_gflops(l)), colour);
}

/* Points with their words in a column beside the plot, fastest first, joined by thin lines. */
static void plot_points(struct text *out, const struct plot *p, const struct listing *points, int count) {
    int order[CHART_POINTS_MAX], y_label = PLOT_Y;
    for (int i = 0; i < count; i++) {
        int at = i;
        for (; at > 0 && point_gflops(&points[order[at - 1]]) < point_gflops(&points[i]); at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (int i = 0; i < count; i++) {
        const struct listing *l = &points[order[i]];
        const int64_t gflops = point_gflops(l), share = gflops * 100 / explain_ceiling_gflops(l->g, l->s);
        const int x = plot_x(p, intensity_milli(l)), y = plot_y(p, gflops);
        const int wanted = y + 4, room = PLOT_Y + PLOT_H - (count - 1 - i) * LABEL_STEP;
        y_label = i == 0 || y_label + LABEL_STEP < wanted ? wanted : y_label + LABEL_STEP;
        y_label = y_label > room ? room : y_label;
        char label[96];
        snprintf(label, sizeof label, "%s: %" PRId64 ".%d, %" PRId64 " %% of its ceiling, %s", l->s->name,
                 gflops / 1000, (int)(gflops / 100 % 10), share, l->item[0].cost.binding);
        text_addf(out, "<path d=\"M%d %dL%d %d\" class=\"lead\"/>\n", x + 5, y, LABEL_X - 4, y_label - 4);
        plot_circle(out, p, l, "#12447a");
        svg_text(out, LABEL_X, y_label, "start", "label", label);
    }
    plot_circle(out, p, points, "#d9600a"); /* the page's own scheme: not under others at its place */
}

void chart_roofline(struct text *out, const struct listing *points, int count) {
    struct plot p;
    if (count == 0)
        return;
    plot_range(&p, points, count);
    svg_open(out, 800, PLOT_Y + PLOT_H + 40, "roofline");
    plot_grid(out, &p);
    plot_roofs(out, &p, points, count);
    plot_points(out, &p, points, count);
    text_add(out, "</svg>\n");
}
