/* report_page: the error report as one HTML page. See report_page.h. Everything is drawn from the rows of the largest size. */
#include "report_page.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "html.h"
#include "outfile.h"

enum {
    LEFT = 100,
    TOP = 14,
    WIDTH = 560,
    SPAN_HEIGHT = 330,
    LINE = 18,
    LEGEND_X = LEFT + WIDTH + 22,
    CELL = 42
};

struct scale {
    double low, high; /* log10 */
};

static double place(const struct scale *s, double value, double length) {
    const double at = log10(fmax(value, pow(10, s->low)));
    return (fmin(at, s->high) - s->low) / (s->high - s->low) * length;
}

/* The row of a family and contender at the largest size; NULL: there is none. */
static const struct report_row *row_of(const struct report_sheet *s, const char *family,
                                       const char *contender) {
    const struct report_row *found = NULL;
    for (int i = 0; i < s->rows; i++) {
        const struct report_row *r = &s->row[i];
        if (strcmp(r->family, family) == 0 && strcmp(r->contender, contender) == 0 &&
            (found == NULL || r->n * r->k > found->n * found->k))
            found = r;
    }
    return found;
}

static int is_outside(const struct report_row *r) {
    return r->misplaced > 0 || (r->bound > 0 && r->grade > r->bound);
}

static void write_legend(FILE *out, const struct report_sheet *s) {
    for (int i = 0; i < s->contenders; i++)
        fprintf(out, "<circle cx=\"%d\" cy=\"%d\" r=\"4\" fill=\"%s\"/><text x=\"%d\" y=\"%d\">%s</text>\n",
                LEGEND_X, TOP + 4 + LINE * i, html_colour(i), LEGEND_X + 10, TOP + 8 + LINE * i,
                s->contender[i]);
}

static void begin_svg(FILE *out, int height, const char *label) {
    fprintf(out, "<svg viewBox=\"0 0 800 %d\" width=800 role=img aria-label=\"%s\">\n", height, label);
}

/* ---- grade against the span of exponents */

static int is_span(const char *family) {
    return strncmp(family, "phi", 3) == 0;
}

static double span_x(const char *family) {
    return LEFT + atof(family + 3) / 4.2 * WIDTH;
}

static double span_y(const struct scale *y, double grade) {
    return TOP + SPAN_HEIGHT - place(y, grade, SPAN_HEIGHT);
}

static void write_span_axes(FILE *out, const struct scale *y) {
    for (double e = y->low; e <= y->high; e++)
        fprintf(out,
                "<path class=grid d=\"M%d %.1fh%d\"/><text x=\"%d\" y=\"%.1f\" text-anchor=end>1e%g</text>\n",
                LEFT, span_y(y, pow(10, e)), WIDTH, LEFT - 8, span_y(y, pow(10, e)) + 4, e);
    for (int phi = 0; phi <= 4; phi++)
        fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=middle>%d</text>\n", LEFT + phi / 4.2 * WIDTH,
                TOP + SPAN_HEIGHT + 16, phi);
    fprintf(
        out,
        "<text x=\"%d\" y=\"%d\" text-anchor=middle>exponent span phi: (rand - 0.5) exp(phi randn)</text>"
        "<text transform=\"translate(40 %d) rotate(-90)\" text-anchor=middle>grade, 2^-24 |A||B|</text>\n",
        LEFT + WIDTH / 2, TOP + SPAN_HEIGHT + 34, TOP + SPAN_HEIGHT / 2);
}

static void write_span_line(FILE *out, const struct report_sheet *s, int contender, const struct scale *y) {
    const char *name = s->contender[contender], *move = "M";
    char path[512] = "";
    for (int i = 0; i < s->families; i++) {
        const struct report_row *r = is_span(s->family[i]) ? row_of(s, s->family[i], name) : NULL;
        const size_t used = strlen(path);
        if (r == NULL || isnan(r->grade) || used + 40 > sizeof path)
            continue;
        const double px = span_x(s->family[i]), py = span_y(y, r->grade);
        snprintf(path + used, sizeof path - used, "%s%.1f %.1f", move, px, py);
        move = "L";
        fprintf(out,
                "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%s\" fill=\"%s\" stroke=\"%s\"><title>%s: "
                "%.4g</title></circle>\n",
                px, py, is_outside(r) ? "4.5" : "3", is_outside(r) ? "#fff" : html_colour(contender),
                html_colour(contender), name, r->grade);
    }
    fprintf(out, "<path d=\"%s\" fill=none stroke=\"%s\" stroke-width=\"%s\"/>\n", path,
            html_colour(contender),
            strcmp(name, s->native) == 0 || strcmp(name, "auto") == 0 ? "2.4" : "1.1");
}

static void write_spans(FILE *out, const struct report_sheet *s) {
    const struct scale y = {-2, 8};
    begin_svg(out, TOP + SPAN_HEIGHT + 44, "grade against exponent span");
    write_span_axes(out, &y);
    for (int i = 0; i < s->contenders; i++)
        write_span_line(out, s, i, &y);
    write_legend(out, s);
    fputs("</svg>\n", out);
}

/* ---- grade over bound, family by family */

static void write_share_axes(FILE *out, const struct report_sheet *s, const struct scale *x) {
    const int bottom = TOP + LINE * s->families;
    for (double e = x->low; e <= x->high; e++) {
        const double at = LEFT + place(x, pow(10, e), WIDTH);
        fprintf(out,
                "<path class=grid d=\"M%.1f %dV%d\"%s/><text x=\"%.1f\" y=\"%d\" "
                "text-anchor=middle>1e%g</text>\n",
                at, TOP, bottom, e == 0 ? " style=\"stroke:#1b1b19\"" : "", at, bottom + 15, e);
    }
    for (int i = 0; i < s->families; i++)
        fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=end>%s</text>\n", LEFT - 8,
                TOP + LINE * i + LINE / 2 + 4, s->family[i]);
}

static void write_shares(FILE *out, const struct report_sheet *s) {
    const struct scale x = {-4, 6};
    const int lines = s->families > s->contenders ? s->families : s->contenders;
    begin_svg(out, TOP + LINE * lines + 28, "grade over bound");
    write_share_axes(out, s, &x);
    for (int c = 0; c < s->contenders; c++)
        for (int i = 0; i < s->families; i++) {
            const struct report_row *r = row_of(s, s->family[i], s->contender[c]);
            if (r == NULL || r->bound <= 0)
                continue;
            const double share = r->misplaced > 0 ? 1e99 : r->grade / r->bound;
            const int outside = is_outside(r);
            fprintf(out,
                    "<circle cx=\"%.1f\" cy=\"%d\" r=\"%s\" fill=\"%s\" stroke=\"%s\" "
                    "stroke-width=\"%s\"><title>%s, "
                    "%s: %.3g</title></circle>\n",
                    LEFT + place(&x, share, WIDTH), TOP + LINE * i + LINE / 2, outside ? "5" : "3",
                    outside ? "#fff" : html_colour(c), html_colour(c), outside ? "2" : "1", s->contender[c],
                    s->family[i], share);
        }
    write_legend(out, s);
    fputs("</svg>\n", out);
}

/* ---- every grade */

/* "12.3", "4e7": at most five characters. */
static void compact(char out[16], double value) {
    const double e = value > 0 ? floor(log10(value)) : 0;
    if (value < 9999.5 && (value == 0 || value >= 0.001))
        snprintf(out, 16, value < 999.5 ? "%.3g" : "%.0f", value);
    else
        snprintf(out, 16, "%.0fe%.0f", value / pow(10, e), e);
}

static void write_cell(FILE *out, const struct report_row *r, int x, int y) {
    char text[16] = "";
    const char *fill = "#f4f4f1";
    if (r == NULL)
        return;
    if (r->misplaced > 0) {
        snprintf(text, sizeof text, "places");
        fill = "#e9a3a0";
    } else {
        compact(text, r->grade);
        fill = r->bound <= 0 ? "#f4f4f1" : is_outside(r) ? "#f6cf9c" : "#d8ebda";
    }
    fprintf(out,
            "<rect x=\"%d\" y=\"%d\" width=%d height=%d fill=\"%s\"/><text x=\"%d\" y=\"%d\" "
            "text-anchor=middle>%s</text>\n",
            x, y, CELL - 1, LINE - 1, fill, x + CELL / 2, y + 13, text);
}

static void write_grades(FILE *out, const struct report_sheet *s) {
    const int top = 62;
    fprintf(out, "<svg viewBox=\"0 0 %d %d\" width=%d role=img aria-label=\"grades\">\n",
            LEFT + CELL * s->contenders + 40, top + LINE * s->families, LEFT + CELL * s->contenders + 40);
    for (int c = 0; c < s->contenders; c++)
        fprintf(out, "<text transform=\"translate(%d %d) rotate(-40)\">%s</text>\n",
                LEFT + CELL * c + CELL / 2, top - 6, s->contender[c]);
    for (int i = 0; i < s->families; i++) {
        fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=end>%s</text>\n", LEFT - 8, top + LINE * i + 13,
                s->family[i]);
        for (int c = 0; c < s->contenders; c++)
            write_cell(out, row_of(s, s->family[i], s->contender[c]), LEFT + CELL * c, top + LINE * i);
    }
    fputs("</svg>\n", out);
}

/* ---- the default beside native FP32 */

static void write_ratio(FILE *out, double ours, double native) {
    const double ratio = ours == 0 ? 0 : ours / native;
    fprintf(out, "<td>%.3g</td><td>%.3g</td><td%s>%.3g</td>", ours, native, !(ratio <= 2) ? " class=bad" : "",
            ratio);
}

static void write_default(FILE *out, const struct report_sheet *s) {
    fprintf(out,
            "<table><tr><th class=t>family</th><th>frob, auto</th><th>%s</th><th>ratio</th><th>grade, "
            "auto</th><th>%s"
            "</th><th>ratio</th><th class=t>data</th></tr>\n",
            s->native, s->native);
    for (int i = 0; i < s->families; i++) {
        const struct report_row *ours = row_of(s, s->family[i], "auto"),
                                *native = row_of(s, s->family[i], s->native);
        if (ours == NULL || native == NULL)
            continue;
        fprintf(out, "<tr><td class=\"t n\">%s</td>", s->family[i]);
        write_ratio(out, ours->frob, native->frob);
        write_ratio(out, ours->grade, native->grade);
        fputs("<td class=t>", out);
        html_escaped(out, s->family_text[i]);
        fputs("</td></tr>\n", out);
    }
    fputs("</table>\n", out);
}

static void write_ranges(FILE *out, const struct report_sheet *s) {
    fputs("<table><tr><th class=t>scheme</th><th class=t>documented range</th></tr>\n", out);
    for (int c = 0; c < s->contenders; c++) {
        if (s->range[c][0] == '\0')
            continue;
        fprintf(out, "<tr><td class=\"t n\">%s</td><td class=t>", s->contender[c]);
        html_escaped(out, s->range[c]);
        fputs("</td></tr>\n", out);
    }
    fputs("</table>\n", out);
}

static void write_page(FILE *out, const struct report_sheet *s) {
    html_begin(out, "halftone report");
    fputs("<h1>How wrong every scheme is, and where its guarantee ends</h1>\n<pre>", out);
    html_escaped(out, s->head);
    fputs("</pre>\n<p>grade: the largest |C - R| in units of 2<sup>-24</sup> |A||B|, R the FP64 product. "
          "Shown are the "
          "results of the largest size; the table beside this page has all. ",
          out);
    html_escaped(out, s->note);
    fputs("</p>\n<h2>Grade against the span of exponents</h2>\n<p class=quiet>Hollow: above the scheme's own "
          "bound, so "
          "outside its documented range.</p>\n",
          out);
    write_spans(out, s);
    fputs("<h2>Grade over the scheme's bound</h2>\n<p class=quiet>Left of the black line the bound holds. "
          "Hollow: outside "
          "the documented range; at the right edge: NaN or Inf at wrong places, or more than 1e6 bounds. "
          "Native FP32 and "
          "fixed point have no bound of this kind.</p>\n",
          out);
    write_shares(out, s);
    fputs("<h2>Every grade</h2>\n<p class=quiet>Green: within the bound. Orange: above it. Red: NaN or Inf "
          "where the FP64 "
          "product has none, or the reverse. Grey: no bound of this kind.</p>\n",
          out);
    write_grades(out, s);
    fputs("<h2>The default beside native FP32</h2>\n<p class=quiet>Marked: more than twice as wrong, which "
          "the accuracy "
          "contract forbids.</p>\n",
          out);
    write_default(out, s);
    fputs("<h2>Ranges</h2>\n", out);
    write_ranges(out, s);
    html_end(out);
}

int report_page(const struct report_sheet *s, const char *path, struct fault *f) {
    struct outfile o;
    if (outfile_open(&o, path, f) != 0)
        return -1;
    write_page(o.stream, s);
    return outfile_commit(&o, f);
}
