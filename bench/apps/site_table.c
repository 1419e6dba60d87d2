/* site_table: see site_table.h. */
#include "apps/site_table.h"

#include <errno.h>
#include <fnmatch.h>
#include <string.h>

#include "../../dropin/common_site_line.h"
#include "io/outfile.h"

/* Conditions that a program with names of its own cannot tell. */
static int asks_more(const struct dropin_site_line *line) {
    int more = line->api[0] != '\0' || line->op[0] != '\0' || line->site[0] == '\0';
    for (int i = 0; i < DROPIN_RANGES; i++)
        more = more || line->least[i] > 0 || line->most[i] < INT64_MAX;
    return more;
}

static int take_line(const struct dropin_site_line *line, const char *const *name, int sites, char level[][LEVEL_BYTES], int *is_set) {
    int matched = 0;
    for (int i = 0; i < sites; i++) {
        if (fnmatch(line->site, name[i], 0) != 0)
            continue;
        matched = 1;
        if (!is_set[i])
            snprintf(level[i], LEVEL_BYTES, "%s%s", line->verb == 's' && strcmp(level_kind(line->text), "accuracy") == 0 ? LEVEL_SCHEME : "",
                     line->text);
        is_set[i] = 1;
    }
    return matched;
}

static int list_sites(char *list, size_t bytes, const char *const *name, int sites) {
    list[0] = '\0';
    for (int i = 0; i < sites; i++)
        if (strlen(list) + strlen(name[i]) + 3 < bytes) {
            strcat(list, i > 0 ? ", " : "");
            strcat(list, name[i]);
        }
    return 0;
}

static int wrong_line(const char *path, int number, const char *name_list, const struct dropin_site_line *line, struct cli_error *f) {
    if (line->verb == 'o')
        return cli_error_set(f, "%s:%d: this program has no original to leave a product to; say accuracy= or scheme=", path, number);
    if (asks_more(line))
        return cli_error_set(f, "%s:%d: this program tells its products apart by site= alone: %s", path, number, name_list);
    return cli_error_set(f, "%s:%d: no site is called '%s': this program has %s; take the table of this program", path, number, line->site,
                         name_list);
}

int site_table_read(const char *path, const char *const *name, int sites, char level[][LEVEL_BYTES], struct cli_error *f) {
    char text[DROPIN_LINE], wrong[DROPIN_TEXT], list[256];
    int is_set[PRODUCTS_SITES] = {0}, status = 0;
    FILE *const in = fopen(path, "r");
    if (in == NULL)
        return cli_error_set(f, "%s: cannot be read: %s", path, strerror(errno));
    for (int i = 0; i < sites; i++)
        strcpy(level[i], SITE_DEFAULT);
    list_sites(list, sizeof list, name, sites);
    for (int number = 1; status == 0 && fgets(text, sizeof text, in) != NULL; number++) {
        struct dropin_site_line line;
        wrong[0] = '\0';
        const int found = strlen(text) == sizeof text - 1 ? -1 : dropin_read_site_line(text, &line, wrong);
        if (found < 0)
            status = cli_error_set(f, "%s:%d: '%s' " DROPIN_SITE_LINE_CURE, path, number, wrong);
        else if (found > 0 && (line.verb == 'o' || asks_more(&line) || !take_line(&line, name, sites, level, is_set)))
            status = wrong_line(path, number, list, &line, f);
    }
    if (status == 0 && ferror(in))
        status = cli_error_set(f, "%s: cannot be read: %s", path, strerror(errno));
    fclose(in);
    return status;
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
