/* html: style, escaping and colours of pages. See html.h. */
#include "html.h"

static const char style[] =
    "body{font:15px/1.45 system-ui,sans-serif;color:#1b1b19;background:#fff;max-width:900px;margin:24px "
    "auto;padding:0 "
    "16px}\nh1{font-size:22px;margin:0}h2{font-size:17px;margin:28px 0 6px;border-bottom:1px solid #d6d6d0}\n"
    "pre,.quiet{color:#55554f}pre{white-space:pre-wrap;font-size:12px}table{border-collapse:collapse;font-"
    "size:13px}\n"
    "th,td{padding:2px 10px 2px 0;text-align:right;font-variant-numeric:tabular-nums}th{border-bottom:1px "
    "solid #a9a9a2}"
    ".t{text-align:left}.n{white-space:nowrap}\nsvg{display:block;max-width:100%;height:auto}svg "
    "text{font:11.5px system-ui,sans-serif;"
    "fill:#1b1b19}.grid{stroke:#e6e6e1}\n.bad{color:#b3400a;font-weight:600}\n@page{margin:14mm}@media "
    "print{body{margin:0;max-width:none}tr,svg{break-inside:"
    "avoid}svg *{print-color-adjust:exact;-webkit-print-color-adjust:exact}}\n";

void html_begin(FILE *out, const char *title) {
    fprintf(out,
            "<!doctype html>\n<html lang=en>\n<head><meta "
            "charset=utf-8><title>%s</title><style>\n%s</style></head>\n"
            "<body>\n",
            title, style);
}

void html_end(FILE *out) {
    fputs("</body>\n</html>\n", out);
}

void html_escaped(FILE *out, const char *text) {
    for (; *text != '\0'; text++)
        fputs(*text == '<'   ? "&lt;"
              : *text == '&' ? "&amp;"
              : *text == '>' ? "&gt;"
                             : (char[]){*text, '\0'},
              out);
}

const char *html_colour(int index) {
    static const char *const colours[] = {"#12447a", "#d9600a", "#3a7d44", "#8a4f9e", "#b8860b", "#5b8fc0",
                                          "#a33b3b", "#2a8c8c", "#c06090", "#50602a", "#6a5acd", "#7a7a74",
                                          "#000000", "#e0a030", "#78b050", "#d08070", "#4070d0", "#a0a040"};
    return colours[index % (int)(sizeof colours / sizeof *colours)];
}
