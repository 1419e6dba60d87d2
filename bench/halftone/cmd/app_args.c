/* app_args: see app_args.h. */
#include "cmd/app_args.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/args.h"

int app_options_take(const struct app_texts *t, struct app_options *out, int *repeats, struct cli_error *f) {
    int64_t times = 1;
    memset(out, 0, sizeof *out);
    out->data = t->data;
    if ((t->n != NULL && args_number("--n", t->n, 1, 65536, &out->n, f) != 0) ||
        (t->block != NULL && args_number("--block", t->block, 1, 65536, &out->block, f) != 0) ||
        (t->repeats != NULL && args_number("--repeats", t->repeats, 1, 1000, &times, f) != 0))
        return -1;
    *repeats = (int)times;
    if (t->diagonal == NULL)
        return 0;
    if (args_real(t->diagonal, &out->diagonal) != 0 || !(out->diagonal > 0) || isinf(out->diagonal))
        return cli_error_usage(f, "--diagonal takes a positive number, not '%s'", t->diagonal);
    return 0;
}

const struct app *app_named(const char *name, struct cli_error *f) {
    static const struct app *const apps[] = {&app_cholesky, &app_mlp};
    for (size_t i = 0; i < sizeof apps / sizeof apps[0]; i++)
        if (strcmp(apps[i]->name, name) == 0)
            return apps[i];
    cli_error_usage(f, "no program is called '%s'; there are cholesky and mlp", name);
    return NULL;
}

int app_session_open(struct app_session *s, const struct app *app, struct cli_error *f) {
    memset(s, 0, sizeof *s);
    if (products_open(&s->products, app->site, app->sites, f) != 0)
        return -1;
    s->app = app;
    return 0;
}

int app_session_load(struct app_session *s, const struct app_options *o, struct cli_error *f) {
    return s->app->open(o, &s->state, s->text, f);
}

void app_session_close(struct app_session *s) {
    if (s->app == NULL)
        return;
    if (s->state != NULL)
        s->app->close(s->state);
    products_close(&s->products);
}

/* ---- levels ---- */

/* By their errors in both programs (bench/decisions/055): a search that freezes a site at the first level beyond tau does not see what
 * is behind it. */
static const char mixpert_levels[] = "mixpert4,mixpert3,mixpert2,mixpert1";
static const char all_levels[] = "fp32,fp32-fast,i8x6,mixpert4,i8x3,mixpert3,mixpert2,tf32,half,mixpert1";

static int take_level(struct level_list *l, const char *level, int must, struct products *p, struct cli_error *f) {
    for (int i = 0; i < l->count; i++)
        if (strcmp(l->name[i], level) == 0)
            return cli_error_usage(f, "--levels names '%s' twice", level);
    if (!level_is_known(p, level))
        return must ? cli_error_usage(f, "--levels: this library has neither an accuracy nor a scheme '%s'; `halftone info` lists them", level)
                    : 0;
    if (l->count == LOWERING_LEVELS || strlen(level) >= LEVEL_BYTES)
        return cli_error_usage(f, "--levels takes %d names of less than %d letters", LOWERING_LEVELS, LEVEL_BYTES);
    strcpy(l->name[l->count++], level);
    return 0;
}

int level_list_read(struct level_list *l, const char *text, struct products *p, struct cli_error *f) {
    const char *const list = strcmp(text, "mixpert") == 0 ? mixpert_levels : strcmp(text, "all") == 0 ? all_levels : text;
    struct name_list names;
    memset(l, 0, sizeof *l);
    if (args_names("--levels", list, &names, f) != 0)
        return -1;
    int status = 0;
    for (int i = 0; i < names.count && status == 0; i++)
        status = take_level(l, names.name[i], list == text, p, f);
    args_names_free(&names);
    if (status == 0 && l->count < 2)
        status = cli_error_usage(f, "--levels %s: this library has %d of them, and two are needed to choose from; give names of your own, or "
                                    "build the set with SCHEMES=... of them",
                                 text, l->count);
    return status;
}

void level_list_print(const struct level_list *l, const char *between, char *out, size_t bytes) {
    size_t used = 0;
    out[0] = '\0';
    for (int i = 0; i < l->count && used < bytes; i++)
        used += (size_t)snprintf(out + used, bytes - used, "%s%s", i > 0 ? between : "", l->name[i]);
}
