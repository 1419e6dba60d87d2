/* methods: names checked against the library. See methods.h. */
#include "cmd/methods.h"

#include <stdio.h>
#include <string.h>

static int add(struct methods *c, const char *name, struct cli_error *f) {
    if (c->count == METHODS_MOST)
        return cli_error_usage(f, "--schemes, --accuracy: more than %d names", (int)METHODS_MOST);
    c->name[c->count++] = name;
    return 0;
}

static int add_schemes(struct methods *c, const struct session *e, const char *text, struct cli_error *f) {
    int status = args_names("--schemes", text, &c->schemes, f);
    for (int i = 0; i < c->schemes.count && status == 0; i++) {
        status = session_scheme_known(e, &c->schemes.name[i], f);
        if (status == 0)
            status = add(c, c->schemes.name[i], f);
    }
    return status;
}

static int add_accuracies(struct methods *c, const struct session *e, const char *text, struct cli_error *f) {
    struct name_list list = {NULL, NULL, 0};
    int status = args_names("--accuracy", text, &list, f);
    for (int i = 0; i < list.count && status == 0; i++) {
        status = session_accuracy_known(e, list.name[i], f);
        if (status == 0)
            status = add(c, "", f);
        if (status == 0) {
            snprintf(c->accuracy[i], sizeof c->accuracy[i], SESSION_ACCURACY "%s", list.name[i]);
            c->name[c->count - 1] = c->accuracy[i];
        }
    }
    args_names_free(&list);
    return status;
}

int methods_choose(struct methods *c, const struct session *e, bool also_auto,
                      const char *schemes, const char *accuracies, struct cli_error *f) {
    memset(c, 0, sizeof *c);
    int status = schemes != NULL ? add_schemes(c, e, schemes, f) : 0;
    if (status == 0 && accuracies != NULL)
        status = add_accuracies(c, e, accuracies, f);
    if (schemes != NULL || accuracies != NULL)
        return status;
    if (also_auto && halftone_set_scheme(e->handle, "auto") == HALFTONE_OK)
        status = add(c, "auto", f);
    for (int i = 0; halftone_schemes(e->handle, i) != NULL && status == 0; i++)
        status = add(c, halftone_schemes(e->handle, i), f);
    return status;
}

void methods_free(struct methods *c) {
    args_names_free(&c->schemes);
}
