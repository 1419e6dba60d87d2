/* site_table: see site_table.h. */
#include "apps/site_table.h"

#include <string.h>

#include "../../../runtime/ht_site_line.h"
#include "io/outfile.h"

struct reading {
    const char *path, *const *name;
    int sites, is_set[PRODUCTS_SITES];
    char (*level)[LEVEL_BYTES];
    struct cli_error *f;
};

/* Conditions that a program with names of its own cannot tell. */
static int asks_more(const struct ht_site_line *line) {
    int more = line->api[0] != '\0' || line->op[0] != '\0' || line->site[0] == '\0';
    for (int i = 0; i < HT_SITE_RANGES; i++)
        more = more || ht_site_line_asks_range(line, (enum ht_site_range)i);
    return more;
}

static void wrong_line(const struct reading *r, const struct ht_site_line *line) {
    char list[256] = "";
    for (int i = 0; i < r->sites; i++)
        if (strlen(list) + strlen(r->name[i]) + 3 < sizeof list) {
            strcat(list, i > 0 ? ", " : "");
            strcat(list, r->name[i]);
        }
    if (line->verb == 'o')
        cli_error_set(r->f, "%s:%d: this program has no original to leave a product to; say accuracy= or scheme=", r->path,
                             line->number);
    else if (asks_more(line))
        cli_error_set(r->f, "%s:%d: this program tells its products apart by site= alone: %s", r->path, line->number, list);
    else
        cli_error_set(r->f, "%s:%d: no site is called '%s': this program has %s; take the table of this program", r->path, line->number,
                         line->site, list);
}

static int take_line(void *context, const struct ht_site_line *line, const char *text) {
    (void)text;
    struct reading *const r = context;
    int matched = 0;
    for (int i = 0; i < r->sites && line->verb != 'o' && !asks_more(line); i++) {
        if (!ht_site_line_names(line, r->name[i]))
            continue;
        matched = 1;
        if (!r->is_set[i])
            snprintf(r->level[i], LEVEL_BYTES, "%s%s",
                     line->verb == 's' && strcmp(level_kind(line->text), "accuracy") == 0 ? LEVEL_SCHEME : "", line->text);
        r->is_set[i] = 1;
    }
    if (matched)
        return 0;
    wrong_line(r, line);
    return 1;
}

int site_table_read(const char *path, const char *const *name, int sites, char level[][LEVEL_BYTES], struct cli_error *f) {
    struct reading r = {.path = path, .name = name, .sites = sites, .level = level, .f = f};
    char fault[HT_SITE_LINE];
    for (int i = 0; i < sites; i++)
        strcpy(level[i], SITE_DEFAULT);
    const int status = ht_site_file_read(path, take_line, &r, fault);
    return status < 0 ? cli_error_set(f, "%s", fault) : status > 0 ? -1 : 0;
}

int site_table_write(const char *path, const char *comments, const char *const *name, int sites, const char *const *level,
                     struct cli_error *f) {
    struct outfile o;
    if (outfile_open(&o, path, f) != 0)
        return -1;
    fputs(comments, o.stream);
    for (int i = 0; i < sites; i++)
        fprintf(o.stream, "%s%s %s=%s\n", strchr(name[i], '=') != NULL ? "" : "site=", name[i], level_kind(level[i]), level_name(level[i]));
    return outfile_commit(&o, f);
}
