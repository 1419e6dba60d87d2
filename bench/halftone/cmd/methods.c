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

/* e NULL: they are known. */
static int add_schemes(struct methods *c, const struct session *e, const char *text, struct cli_error *f) {
    int status = args_names("--schemes", text, &c->schemes, f);
    for (int i = 0; i < c->schemes.count && status == 0; i++) {
        if (e != NULL)
            status = session_scheme_known(e, c->schemes.name[i], f);
        AND_THEN(status, add(c, c->schemes.name[i], f));
    }
    return status;
}

static int add_accuracies(struct methods *c, const struct session *e, const char *text, struct cli_error *f) {
    struct name_list list = {NULL, NULL, 0};
    int status = args_names("--accuracy", text, &list, f);
    for (int i = 0; i < list.count && status == 0; i++) {
        if (e != NULL)
            status = session_accuracy_known(e, 0, list.name[i], f);
        AND_THEN(status, add(c, "", f));
        if (status == 0) {
            snprintf(c->accuracy[i], sizeof c->accuracy[i], SESSION_ACCURACY "%s", list.name[i]);
            c->name[c->count - 1] = c->accuracy[i];
        }
    }
    args_names_free(&list);
    return status;
}

/* Calls `tell` for each name of both texts, as session_kinds takes it, until it does not return 0. */
static int each_name(const char *schemes, const char *accuracies, int (*tell)(void *, const char *, struct cli_error *), void *context,
                     struct cli_error *f) {
    const char *const text[] = {schemes, accuracies}, *const option[] = {"--schemes", "--accuracy"};
    int status = 0;
    for (int i = 0; i < 2; i++) {
        struct name_list list = {NULL, NULL, 0};
        if (status == 0 && text[i] != NULL)
            status = args_names(option[i], text[i], &list, f);
        for (int j = 0; j < list.count && status == 0; j++) {
            char method[METHOD_NAME_BYTES];
            snprintf(method, sizeof method, "%s%s", i == 0 ? "" : SESSION_ACCURACY, list.name[j]);
            status = tell(context, method, f);
        }
        args_names_free(&list);
    }
    return status;
}

struct type_question {
    struct session *session;
    int some[2]; /* names that FP32, FP64 alone have */
    int asked;   /* for FP64, by --fp64 */
};

static int ask_type(void *context, const char *method, struct cli_error *f) {
    struct type_question *const q = context;
    const int kinds = session_kinds(q->session, method);
    q->some[0] = q->some[0] || kinds == SESSION_FP32;
    q->some[1] = q->some[1] || kinds == SESSION_FP64;
    if (q->some[0] && q->asked)
        return cli_error_usage(f, "--fp64: this build has '%s' for FP32 alone", method);
    if (q->some[0] && q->some[1])
        return cli_error_usage(f, "'%s' and a name before it are FP32's and FP64's together: give one kind", method);
    return 0;
}

int methods_type(struct session *e, int asked, const char *schemes, const char *accuracies, int *is_fp64, struct cli_error *f) {
    struct type_question q = {e, {0, asked}, asked};
    if (each_name(schemes, accuracies, ask_type, &q, f) != 0)
        return -1;
    *is_fp64 = q.some[1];
    return 0;
}

static int ask_fp64(void *context, const char *method, struct cli_error *f) {
    struct session *const e = context;
    if ((session_kinds(e, method) & SESSION_FP64) != 0)
        return 0;
    return session_accuracy_of(method) != NULL ? session_select(e, HALFTONE_FP64, method, NULL, f) : session_scheme_known(e, method, f);
}

int methods_choose(struct methods *c, struct session *e, int type, bool also_auto, const char *schemes, const char *accuracies,
                   struct cli_error *f) {
    const bool is_wide = type == HALFTONE_FP64;
    memset(c, 0, sizeof *c);
    int status = is_wide ? each_name(schemes, accuracies, ask_fp64, e, f) : 0;
    if (status == 0 && schemes != NULL)
        status = add_schemes(c, is_wide ? NULL : e, schemes, f);
    if (status == 0 && accuracies != NULL)
        status = add_accuracies(c, is_wide ? NULL : e, accuracies, f);
    if (schemes != NULL || accuracies != NULL)
        return status;
    if (also_auto && !is_wide && halftone_set_scheme(e->handle, "auto") == HALFTONE_OK)
        status = add(c, "auto", f);
    for (int i = 0; halftone_schemes(e->handle, type, i) != NULL && status == 0; i++)
        status = add(c, halftone_schemes(e->handle, type, i), f);
    if (status == 0 && c->count == 0)
        status = cli_error_set(f, "this library has no scheme for FP64 products; build the set with SCHEMES=...,native64,crt15");
    return status;
}

void methods_free(struct methods *c) {
    args_names_free(&c->schemes);
}
