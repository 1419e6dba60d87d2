/* page.c: the words and tables of the page; drawings are chart's, comparisons contrast's. */
#include "cli/page.h"

#include <inttypes.h>
#include <string.h>

static const char style[] =
    "body{font:15px/1.45 system-ui,sans-serif;color:#1b1b19;background:#fff;max-width:880px;margin:24px auto;"
    "padding:0 16px}\n"
    "h1{font-size:22px;margin:0 0 2px}h2{font-size:17px;margin:30px 0 6px;border-bottom:1px solid #d6d6d0}\n"
    "p{margin:6px "
    "0}.lead{fill:none;stroke:#a9a9a2}table{border-collapse:collapse;font-size:13.5px;margin:8px 0}\n"
    "th,td{padding:3px 7px 3px 0;text-align:right;font-variant-numeric:tabular-nums;vertical-align:top}\n"
    "th{font-weight:600;border-bottom:1px solid "
    "#a9a9a2}td.t,th.t{text-align:left}.n{white-space:nowrap}tr.pick "
    "td{font-weight:600}\n"
    "tr.part td{border-top:1px solid "
    "#d6d6d0}code{font-size:13px}svg{display:block;max-width:100%;height:auto;"
    "margin:8px 0}\n"
    "svg text{font-family:system-ui,sans-serif;fill:#1b1b19}.axis{font-size:13px;font-weight:600}"
    ".label{font-size:12.5px}.small{font-size:11.5px}.off{font-size:10px}svg .off{fill:#8a8a84}"
    ".rank{font-size:10.5px;font-weight:600}svg .light{fill:#fff}\n"
    ".grid{stroke:#e6e6e1;fill:none}.roof{stroke:#1b1b19;fill:none;stroke-width:1.5}"
    ".native{stroke:#1b1b19;fill:none;stroke-dasharray:5 4}\n"
    "@media(max-width:700px){table{display:block;max-width:100%;overflow-x:auto}body{margin:12px auto;padding:0 10px}}\n"
    ".facts td{padding-right:18px}.quiet{color:#55554f}\n"
    "@page{margin:14mm}@media print{body{margin:0;max-width:none;font-size:12px}section{break-inside:avoid}"
    "svg *,tr{print-color-adjust:exact;-webkit-print-color-adjust:exact}}\n";

static void add(struct text *out, const char *text) {
    chart_escape(out, text, strlen(text));
}

static void section(struct text *out, const char *title) {
    text_addf(out, "<section>\n<h2>%s</h2>\n", title);
}

static void page_head(struct text *out, const struct page *p) {
    const struct listing *l = p->main;
    const struct gpu *g = l->g;
    text_addf(
        out,
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
        "content=\"width=device-width\">\n<title>%s, %s</title>\n<style>\n%s</style>\n</head>\n<body>\n",
        g->name, l->s->name, style);
    text_add(out, "<h1>");
    add(out, g->title);
    text_addf(out,
              ": %s</h1>\n<p class=\"quiet\">C = A B of %" PRId64 " x %" PRId64 " x %" PRId64
              " (m x n x k), %s, model %s; kernel only, without packing and split-K. Written by "
              "halftone-gen explain from the budget %s.gpu.</p>\n",
              l->s->name, l->shape.m, l->shape.n, l->shape.k, l->isa->name, model_name(l->kind), g->name);
    text_addf(out,
              "<p>%s: %d %s slice%s, %d product%s. Ceiling: ",
              l->s->name, l->s->slices, slice_title(l->s->slice), l->s->slices > 1 ? "s" : "", l->s->products,
              l->s->products > 1 ? "s" : "");
    explain_add_ceiling(out, l);
    text_add(out, " ");
    explain_add_kernels(out, l);
    if (l->isa->warpgroup && !l->seen.warpgroup && !scheme_is_direct(l->s))
        text_addf(out, " %s", explain_seen_note);
    text_add(out, "</p>\n");
}

static void page_rejections(struct text *out, const struct listing *l) {
    if (l->fits == l->count)
        return;
    text_add(
        out,
        "<table><tr><th class=\"t\"></th><th class=\"t\">rejected by</th><th>tiles</th><th class=\"t\">such "
        "as</th></tr>\n");
    for (int i = l->fits; i < l->count; i++) {
        const char *reason = l->item[i].cost.reason;
        const size_t length = explain_kind_length(reason);
        if (!explain_is_first_of_kind(l, i))
            continue;
        text_addf(out, "<tr><td class=\"t\">%c</td><td class=\"t n\">%.*s</td><td>%d</td><td class=\"t\">",
                  chart_letter(l, reason), (int)length, reason, explain_count_kind(l, reason));
        explain_add_tile(out, l, &l->item[i].tile);
        add(out, reason + length);
        text_add(out, "</td></tr>\n");
    }
    text_add(out, "</table>\n");
}

static void page_pick(struct text *out, const struct listing *l) {
    const struct candidate *c = &l->item[0];
    const int64_t rate = explain_milli_tflops(&l->shape, c->cost.predicted_ns);
    section(out, "The pick");
    text_add(out, "<p><b>");
    explain_add_tile(out, l, &c->tile);
    text_addf(out, "</b>%s%s: ", l->seen.warpgroup ? ", warpgroups" : "", c->tile.cluster > 1 ? ", panels shared by two blocks" : "");
    explain_add_milli(out, "", c->cost.predicted_ns, " us, ");
    explain_add_milli(out, "", rate, " TFLOPS, ");
    text_addf(out, "%" PRId64 " %% of the ceiling; bound by <b>%s</b>. %d block%s per SM, ",
              rate * 100 / explain_ceiling_gflops(l->g, l->s), c->cost.binding, c->cost.blocks_per_sm,
              c->cost.blocks_per_sm == 1 ? "" : "s");
    explain_add_milli(out, "", c->cost.waves_milli, " waves.</p>\n<p>");
    explain_add_verdict(out, l);
    text_add(out, "</p>\n<p class=\"quiet\">");
    explain_add_estimates(out, l->g);
    text_add(out, "</p>\n");
    chart_budget(out, l);
    if (l->kind == MODEL_HALFTONE)
        chart_time(out, l, contrast_other_tile(l));
    text_add(out, "</section>\n");
}

static void page_map(struct text *out, const struct listing *l, const char *of) {
    text_add(out, "<section>\n<h2>Tile map");
    if (of) {
        text_add(out, ": ");
        add(out, of);
    }
    text_add(out, "</h2>\n");
    text_addf(out,
              "<p>Every candidate: %d, of which %d fit. A block is a tile bm x bn; in it rows are warp tiles "
              "wm x wn, "
              "columns bk and stages. Darker is faster; numbers are ranks, the pick is framed.</p>\n",
              l->count, l->fits);
    chart_tile_map(out, l);
    page_rejections(out, l);
    text_add(out, "</section>\n");
}

static void page_best(struct text *out, const struct listing *l) {
    section(out, "The ten best tiles");
    text_add(out,
             "<table><tr><th></th><th class=\"t\">tile, as TILES= takes it</th><th>threads</th><th>registers</th>"
             "<th>shared memory</th><th>blocks/SM</th><th>waves</th><th>us</th><th>TFLOPS</th><th>speed, "
             "%</th><th "
             "class=\"t\">bound by</th></tr>\n");
    for (int i = 0; i < l->fits && i < 10; i++) {
        const struct candidate *c = &l->item[i];
        const int64_t speed = ht_mul(l->item[0].cost.predicted_ns, 1000) / c->cost.predicted_ns;
        text_addf(out, "<tr%s><td>%d</td><td class=\"t n\">", i == 0 ? " class=\"pick\"" : "", i + 1);
        explain_add_tile(out, l, &c->tile);
        text_addf(out, "</td><td>%d</td><td>%d</td><td>%d</td><td>%d</td><td>", c->cost.threads,
                  c->cost.regs_per_thread, c->cost.smem_bytes, c->cost.blocks_per_sm);
        explain_add_milli(out, "", c->cost.waves_milli, "</td><td>");
        explain_add_milli(out, "", c->cost.predicted_ns, "</td><td>");
        explain_add_milli(out, "", explain_milli_tflops(&l->shape, c->cost.predicted_ns), "</td><td>");
        text_addf(out, "%" PRId64 ".%d</td><td class=\"t\">%s</td></tr>\n", speed / 10, (int)(speed % 10),
                  c->cost.binding);
    }
    text_add(out, "</table>\n</section>\n");
}

/* Every scheme ranked on this GPU and shape; those without a fitting tile are left out. */
static void page_roofline(struct text *out, const struct listing *l) {
    struct listing point[CHART_POINTS_MAX] = {{0}};
    int count = 0;
    bool ok = true;
    section(out, "All schemes under the roof");
    text_add(out, "<p>Each scheme's own pick: predicted TFLOPS, share of the scheme's ceiling, and what "
                  "binds it.</p>\n");
    for (int i = -1; i < scheme_count && count < CHART_POINTS_MAX; i++) { /* the page's own scheme first */
        struct listing *at = &point[count];
        *at = (struct listing){.g = l->g, .isa = l->isa, .kind = l->kind, .shape = l->shape};
        at->s = i < 0 ? l->s : &scheme_table[i];
        if (i >= 0 && (at->s == l->s || at->s != scheme_for(at->s->name, l->isa->flushes_subnormals)))
            continue;
        ok = ok && explain_rank(at);
        if (at->fits > 0)
            count++;
        else
            explain_free(at);
    }
    chart_roofline(out, point, count);
    for (int i = 0; i < count; i++)
        explain_free(&point[i]);
    out->failed = out->failed || !ok;
    text_add(out, "</section>\n");
}

static void turning_table(struct text *out, const struct listing *l, int rival) {
    struct turning turning[TURNINGS_MAX];
    const int count = contrast_turnings(l, rival, turning);
    text_addf(out, "<p>For rank %d, ", rival + 1);
    explain_add_tile(out, l, &l->item[rival].tile);
    if (count <= 0) {
        out->failed = out->failed || count < 0;
        text_add(out, ": no single budget value within a factor of four makes it win.</p>\n");
        return;
    }
    text_add(out, ", to beat the pick, one of these alone:</p>\n<table><tr><th class=\"t\">budget "
                  "value</th><th>now</th>"
                  "<th></th><th>then</th><th>factor</th><th class=\"t\">pick there</th></tr>\n");
    for (int i = 0; i < count && i < 10; i++) {
        const struct turning *t = &turning[i];
        const bool up = t->then > t->now;
        text_addf(out,
                  "<tr><td class=\"t\"><code>%s</code></td><td>%" PRId64 "</td><td>%s</td><td>%" PRId64
                  "</td><td>%s ",
                  t->key, t->now, up ? "at least" : "at most", t->then, up ? "x" : "/");
        explain_add_milli(out, "", t->factor_milli, "</td><td class=\"t\">");
        if (t->rival_wins)
            text_add(out, "this tile");
        else
            explain_add_tile(out, l, &t->winner);
        text_add(out, "</td></tr>\n");
    }
    text_add(out, "</table>\n");
}

static void page_turnings(struct text *out, const struct listing *l) {
    const int second = explain_runner_up(l), other = contrast_other_tile(l);
    if (second == 0 && other == 0)
        return;
    section(out, "What would have to change");
    if (second > 0)
        turning_table(out, l, second);
    if (other > 0 && other != second)
        turning_table(out, l, other);
    text_add(out, "</section>\n");
}

static void page_contrast(struct text *out, const struct page *p) {
    struct contrast_row rows[CONTRAST_ROWS_MAX];
    const int count = contrast_rows(p->main, p->other, rows);
    section(out, "Side by side");
    text_add(out, "<table><tr><th class=\"t\"></th><th class=\"t\">");
    add(out, p->main_name);
    text_add(out, "</th><th class=\"t\">");
    add(out, p->other_name);
    text_add(out, "</th><th>ratio</th></tr>\n");
    for (int i = 0; i < count; i++) {
        text_addf(out, "<tr%s><td class=\"t\">%s%s%s</td><td class=\"t\">",
                  rows[i].is_budget && i > 0 && !rows[i - 1].is_budget ? " class=\"part\"" : "",
                  rows[i].is_budget ? "<code>" : "", rows[i].what, rows[i].is_budget ? "</code>" : "");
        add(out, rows[i].left);
        text_add(out, "</td><td class=\"t\">");
        add(out, rows[i].right);
        text_addf(out, "</td><td>%s</td></tr>\n", rows[i].ratio);
    }
    text_add(out, "</table>\n</section>\n");
}

void page_write(struct text *out, const struct page *p) {
    const struct listing *l = p->main;
    page_head(out, p);
    if (l->fits > 0) {
        page_pick(out, l);
    } else {
        section(out, "No pick");
        text_add(
            out,
            "<p>The model accepts no tile on this budget; the reasons are below the map.</p>\n</section>\n");
    }
    if (p->other)
        page_contrast(out, p);
    page_map(out, l, p->other ? p->main_name : NULL);
    if (p->other)
        page_map(out, p->other, p->other_name);
    if (l->fits > 0) {
        page_best(out, l);
        page_turnings(out, l);
        page_roofline(out, l);
    }
    text_add(out, "</body>\n</html>\n");
}
