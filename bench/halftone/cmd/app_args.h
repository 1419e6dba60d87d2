/* app_args: the options that `halftone app` and `halftone tune-app` share, and lists of levels. */
#ifndef BENCH_APP_ARGS_H
#define BENCH_APP_ARGS_H

#include "apps/app.h"
#include "apps/lowering.h"

struct app_texts {
    const char *n, *block, *data, *diagonal, *repeats;
};
/* For the table of options of args_parse. */
#define APP_OPTIONS(t)                                                                                                   \
    {"--n", &(t).n, NULL}, {"--block", &(t).block, NULL}, {"--data", &(t).data, NULL}, {"--diagonal", &(t).diagonal, NULL}, \
        {"--repeats", &(t).repeats, NULL}

int app_options_take(const struct app_texts *t, struct app_options *out, int *repeats, struct cli_error *f);
/* Lines for a fault where no program is called so. */
const struct app *app_named(const char *name, struct cli_error *f);

/* An open program and its products. */
struct app_session {
    const struct app *app;
    void *state;
    struct products products;
    char text[APP_TEXT];
};
int app_session_open(struct app_session *s, const struct app *app, struct cli_error *f);
int app_session_load(struct app_session *s, const struct app_options *o, struct cli_error *f); /* its data */
void app_session_close(struct app_session *s);

struct level_list {
    int count;
    char name[LOWERING_LEVELS][LEVEL_BYTES];
};
/* "mixpert", "all" (of both those that this library has), or names, the highest first. p NULL: no device is asked. */
int level_list_read(struct level_list *l, const char *text, struct products *p, struct cli_error *f);
/* The names with `between` between them. */
void level_list_print(const struct level_list *l, const char *between, char *out, size_t bytes);

#endif
