/* tune_page: the page of a tuning table: predicted against measured, and what the analytic pick loses. No scripts, nothing
 * fetched. See tune.h. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "html.h"
#include "outfile.h"
#include "tune.h"

enum { PLOT_X = 64, PLOT_Y = 12, PLOT_W = 460, PLOT_H = 360, SCHEMES_MOST = 64 };

static const char *colour_of(const char *const *schemes, int count, const char *scheme) {
    for (int i = 0; i < count; i++)
        if (strcmp(schemes[i], scheme) == 0)
            return html_colour(i);
    return "#1b1b19";
}

static int list_schemes(const struct tune_log *log, const char **schemes) {
    int count = 0;
    for (int i = 0; i < log->rows && count < SCHEMES_MOST; i++) {
        int known = 0;
        while (known < count && strcmp(schemes[known], log->row[i].scheme) != 0)
            known++;
        if (known == count)
            schemes[count++] = log->row[i].scheme;
    }
    return count;
}

static void write_summary(FILE *out, const struct tune_case *cases, int count, const char *const *schemes,
                          int schemes_count) {
    fputs("<table><tr><th class=t>scheme</th><th>shapes</th><th>geometric mean, %</th><th>worst, %</th><th "
          "class=t>there</th>"
          "</tr>\n",
          out);
    for (int i = -1; i < schemes_count; i++) {
        const struct tune_summary s = tune_summarise(cases, count, i < 0 ? NULL : schemes[i]);
        if (s.cases == 0)
            continue;
        const struct shape *at = &s.worst_case.pick->shape;
        fprintf(out,
                "<tr><td class=t>%s</td><td>%d</td><td>%.1f</td><td>%.1f</td><td class=\"t n\">%lld x %lld x "
                "%lld, %s</td></tr>\n",
                i < 0 ? "all" : schemes[i], s.cases, 100 * s.geometric_mean, 100 * s.worst, (long long)at->m,
                (long long)at->n, (long long)at->k, s.worst_case.pick->scheme);
    }
    fputs("</table>\n", out);
}

struct range {
    double low, high; /* log10 of microseconds */
};

static double place(const struct range *r, double us, double length) {
    return (log10(us) - r->low) / (r->high - r->low) * length;
}

static void write_grid(FILE *out, const struct range *r) {
    for (double e = ceil(r->low); e <= r->high; e++) {
        const double at = (e - r->low) / (r->high - r->low);
        fprintf(out, "<path class=grid d=\"M%.1f %dv%dM%d %.1fh%d\"/>\n", PLOT_X + at * PLOT_W, PLOT_Y,
                PLOT_H, PLOT_X, PLOT_Y + PLOT_H * (1 - at), PLOT_W);
        fprintf(out,
                "<text x=\"%.1f\" y=\"%d\" text-anchor=middle>%g</text><text x=\"%d\" y=\"%.1f\" "
                "text-anchor=end>%g</text>\n",
                PLOT_X + at * PLOT_W, PLOT_Y + PLOT_H + 15, pow(10, e), PLOT_X - 6,
                PLOT_Y + PLOT_H * (1 - at) + 4, pow(10, e));
    }
}

static void write_scatter(FILE *out, const struct tune_log *log, const char *const *schemes,
                          int schemes_count) {
    struct range r = {1e9, -1e9};
    for (int i = 0; i < log->rows; i++) {
        const double a = log10(log->row[i].measured_us), b = log10(fmax(log->row[i].predicted_us, 1e-3));
        r.low = fmin(r.low, fmin(a, b));
        r.high = fmax(r.high, fmax(a, b));
    }
    r.low -= 0.1;
    r.high += 0.1;
    fprintf(out,
            "<svg viewBox=\"0 0 700 %d\" width=700 role=img aria-label=\"measured against predicted\">\n",
            PLOT_Y + PLOT_H + 40);
    write_grid(out, &r);
    fprintf(out, "<path d=\"M%d %dL%d %d\" stroke=\"#1b1b19\" stroke-dasharray=\"5 4\"/>\n", PLOT_X,
            PLOT_Y + PLOT_H, PLOT_X + PLOT_W, PLOT_Y);
    for (int i = 0; i < log->rows; i++) {
        const struct tune_row *w = &log->row[i];
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\" fill=\"%s\" fill-opacity=\".55\"><title>",
                PLOT_X + place(&r, fmax(w->predicted_us, 1e-3), PLOT_W),
                PLOT_Y + PLOT_H - place(&r, w->measured_us, PLOT_H),
                colour_of(schemes, schemes_count, w->scheme));
        fprintf(out, "%lld x %lld x %lld %s</title></circle>\n", (long long)w->shape.m, (long long)w->shape.n,
                (long long)w->shape.k, w->kernel);
    }
    for (int i = 0; i < schemes_count; i++)
        fprintf(out, "<circle cx=\"%d\" cy=\"%d\" r=\"4\" fill=\"%s\"/><text x=\"%d\" y=\"%d\">%s</text>\n",
                PLOT_X + PLOT_W + 24, 24 + 18 * i, colour_of(schemes, schemes_count, schemes[i]),
                PLOT_X + PLOT_W + 34, 28 + 18 * i, schemes[i]);
    fprintf(
        out,
        "<text x=\"%d\" y=\"%d\" text-anchor=middle>predicted, us</text><text transform=\"translate(14 %d) "
        "rotate(-90)\" text-anchor=middle>measured, us</text>\n</svg>\n",
        PLOT_X + PLOT_W / 2, PLOT_Y + PLOT_H + 34, PLOT_Y + PLOT_H / 2);
}

static int slower_first(const void *a, const void *b) {
    const struct tune_case *x = a, *y = b;
    return (x->speed > y->speed) - (x->speed < y->speed);
}

/* Every shape and scheme, the largest loss first, with a bar from 0 to 100 %. */
static void write_cases(FILE *out, const struct tune_case *cases, int count) {
    fputs("<table><tr><th class=t>m x n x k</th><th class=t>scheme</th><th class=t>pick / best, "
          "%</th><th></th><th>pick, "
          "us</th><th>best, us</th><th>predicted / measured</th><th class=t>best, where it is "
          "another</th></tr>\n",
          out);
    for (int i = 0; i < count; i++) {
        const struct tune_case *c = &cases[i];
        fprintf(out, "<tr><td class=\"t n\">%lld x %lld x %lld</td><td class=t>%s</td>",
                (long long)c->pick->shape.m, (long long)c->pick->shape.n, (long long)c->pick->shape.k,
                c->pick->scheme);
        fprintf(out,
                "<td class=t><svg width=82 height=12><rect width=80 height=12 fill=\"#eeeeea\"/><rect "
                "width=\"%.1f\" height=12 "
                "fill=\"%s\"/></svg></td><td>%.1f</td>",
                80 * c->speed, c->speed < 0.85 ? "#d9600a" : "#12447a", 100 * c->speed);
        fprintf(out, "<td>%.5g</td><td>%.5g</td><td>%.2f</td><td class=t>%s</td></tr>\n",
                c->pick->measured_us, c->best->measured_us, c->pick->predicted_us / c->pick->measured_us,
                c->pick == c->best ? "" : c->best->kernel);
    }
    fputs("</table>\n", out);
}

static void write_page(FILE *out, const struct tune_log *log, const char *head, struct tune_case *cases,
                       int count) {
    const char *schemes[SCHEMES_MOST];
    const int schemes_count = list_schemes(log, schemes);
    html_begin(out, "halftone tune");
    fputs("<h1>The analytic pick against every kernel</h1>\n<pre>", out);
    html_escaped(out, head);
    fputs("</pre>\n<p>Kernel only, from packed operands. pick / best: time of the fastest kernel that the "
          "library could pick, over "
          "that of the one it picks; 100 % is no loss.</p>\n",
          out);
    write_summary(out, cases, count, schemes, schemes_count);
    fputs("<h2>Measured against predicted</h2>\n<p class=quiet>Every kernel and shape, ablation variants "
          "too; on the dashed "
          "line the model is right.</p>\n",
          out);
    if (log->rows > 0)
        write_scatter(out, log, schemes, schemes_count);
    fputs("<h2>Every shape, the largest loss first</h2>\n", out);
    write_cases(out, cases, count);
    html_end(out);
}

int tune_page(const struct tune_log *log, const char *head, const char *path, struct fault *f) {
    struct outfile o;
    int count = 0;
    struct tune_case *cases = tune_cases(log, &count);
    if (cases == NULL)
        return fault_memory(f, (double)log->rows * (double)sizeof *cases, "a page");
    int status = outfile_open(&o, path, f);
    if (status == 0) {
        qsort(cases, (size_t)count, sizeof *cases, slower_first);
        write_page(o.stream, log, head, cases, count);
        status = outfile_commit(&o, f);
    }
    free(cases);
    return status;
}
