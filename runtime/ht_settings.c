/* ht_settings.c: schemes and accuracies: what a handle, or a line of its site table, asks FP32 and FP64
 * products for; the lists of both. Meaning of every public function: halftone.h. */
#include "ht_call.h"

/* ---- what a text means ---- */

/* `auto` of FP64 is accuracy fp64, by no name. */
static int ask_scheme(const halftone *h, bool is_fp64, const char *name, struct ht_demand *d) {
    const char *const with_modes = h->half[0].set->role[HT_ROLE_MODES];
    struct ht_demand asked = HT_ZERO;
    asked.is_auto = strcmp(name, "auto") == 0;
    const bool is_mode = ht_read_ozaki(with_modes, name, &asked.ozaki);
    if (is_mode && asked.ozaki.of_floats == is_fp64)
        return HALFTONE_UNKNOWN_SCHEME;
    const struct ht_set_desc *const set = h->half[is_fp64 || is_mode].set; /* modes run by kernels of FP64 */
    const char *const wanted = asked.is_auto && !is_fp64 ? ht_auto_scheme(set) : is_mode ? with_modes : name;
    const struct ht_scheme_desc *const scheme = set != NULL ? ht_find_scheme(set, wanted) : NULL;
    if (scheme == NULL && !(asked.is_auto && is_fp64))
        return HALFTONE_UNKNOWN_SCHEME;
    asked.scheme = scheme != NULL ? scheme->name : NULL;
    *d = asked;
    return HALFTONE_OK;
}

/* On HALFTONE_ACCURACY products are asked for what they cannot have, and say so. */
static int ask_accuracy(halftone *h, bool is_fp64, const struct ht_accuracy *accuracy, struct ht_demand *d) {
    const struct ht_set_desc *const set = h->half[0].set;
    struct call smallest = call_of(h, is_fp64, 'N', 'N', 1, 1, 1, 1);
    smallest.asked = d;
    memset(d, 0, sizeof *d);
    d->accuracy = *accuracy;
    d->is_auto = accuracy->is_auto;
    if (is_fp64) {
        const struct ht_scheme_desc *scheme;
        const char *const fixed = ht_fixed_scheme(&smallest, false), *const wanted =
                                                                         fixed != NULL
                                                                             ? fixed
                                                                             : set->role[HT_ROLE_NATIVE];
        int code = ht_scheme_named(&smallest, wanted, HALFTONE_ACCURACY, &scheme);
        return AND_THEN(code, ht_check_bound64(&smallest));
    }
    if (accuracy->is_auto) {
        d->scheme = ht_auto_scheme(set);
        return ht_auto_takes_all(set)
                   ? HALFTONE_OK
                   : ht_fail(h, HALFTONE_ACCURACY, "%s needs scheme %s, which this library lacks",
                             accuracy->text, set->role[HT_ROLE_FALLBACK]);
    }
    const struct ht_accuracy_choice least = ht_choose_scheme(&smallest, accuracy);
    if (least.first.scheme == NULL) /* no bound is smaller than at k = 1 */
        return ht_fail_accuracy(h, accuracy, &least, 1);
    d->scheme = accuracy->products > 0 ? least.first.scheme->name : NULL;
    return HALFTONE_OK;
}

/* One type's answer to a text; UNKNOWN_SCHEME, UNKNOWN_ACCURACY: it is none of this type, and the demand
 * stays. */
static int ask_type(halftone *h, bool is_fp64, char verb, const char *text, struct ht_demand *d) {
    struct ht_accuracy accuracy;
    if (verb == 's')
        return ask_scheme(h, is_fp64, text, d);
    if (ht_accuracy_parse(text, &accuracy) != 0 || (accuracy.of >> is_fp64 & 1) == 0)
        return HALFTONE_UNKNOWN_ACCURACY;
    return ask_accuracy(h, is_fp64, &accuracy, d);
}

/* ---- what is said of a text that is none ---- */

/* Behind what the detail has already; a name that does not fit is left out. */
static void add_name(halftone *h, const char *before, const char *name) {
    char *const end = h->detail + strlen(h->detail);
    const size_t first = strlen(before), second = strlen(name);
    if (first + second >= sizeof h->detail - (size_t)(end - h->detail))
        return;
    memcpy(end, before, first);
    memcpy(end + first, name, second + 1);
}

static void add_schemes(halftone *h, int type, const char *before) {
    const char *name;
    add_name(h, before, "auto");
    for (int i = 0; (name = halftone_schemes(h, type, i)) != NULL; i++)
        add_name(h, ", ", name);
}

static const char *for_products(unsigned of) {
    return of == HT_OF_FP32 ? " for FP32 products" : of == HT_OF_FP64 ? " for FP64 products" : "";
}

static int fail_scheme_text(halftone *h, const char *text, unsigned of) {
    struct ht_accuracy accuracy;
    if (ht_accuracy_parse(text, &accuracy) == 0 && (accuracy.of & of) != 0)
        return ht_fail(h, HALFTONE_UNKNOWN_SCHEME, "'%.40s' is an accuracy: halftone_set_accuracy, --accuracy", text);
    ht_fail(h, HALFTONE_UNKNOWN_SCHEME, "no scheme '%.40s'%s; this library has", text, for_products(of));
    if ((of & HT_OF_FP32) != 0)
        add_schemes(h, HALFTONE_FP32, " for FP32 ");
    if ((of & HT_OF_FP64) != 0 && (h->half[1].set != NULL || of == HT_OF_FP64))
        add_schemes(h, HALFTONE_FP64, of == HT_OF_BOTH ? "; for FP64 " : " for FP64 ");
    return HALFTONE_UNKNOWN_SCHEME;
}

static int fail_accuracy_text(halftone *h, const char *text, unsigned of) {
    struct ht_demand asked;
    if (((of & HT_OF_FP32) != 0 && ask_scheme(h, false, text, &asked) == HALFTONE_OK) ||
        ((of & HT_OF_FP64) != 0 && ask_scheme(h, true, text, &asked) == HALFTONE_OK))
        return ht_fail(h, HALFTONE_UNKNOWN_ACCURACY, "'%.40s' is a scheme: halftone_set_scheme, --scheme", text);
    ht_fail(h, HALFTONE_UNKNOWN_ACCURACY, "'%.40s'%s is none of", text, for_products(of));
    for (int i = 0; ht_accuracy_form(of, i) != NULL; i++)
        add_name(h, i > 0 ? ", " : " ", ht_accuracy_form(of, i));
    add_name(h, "; N from 1 to 999, X above 0 and at most 1, Y from 1 on", "");
    return HALFTONE_UNKNOWN_ACCURACY;
}

/* ---- both types ---- */

/* Behind what the detail says of FP32. */
static void say_of_both(halftone *h, const char *of_fp64) {
    char of_fp32[DETAIL_MAX];
    memcpy(of_fp32, h->detail, sizeof of_fp32);
    ht_fail(h, HALFTONE_OK, "%.*s; for FP64 %.*s", DETAIL_MAX / 2, of_fp32, DETAIL_MAX / 3, of_fp64);
}

struct asking {
    halftone *h;
    char verb;
    const char *text;
    unsigned of, *is_of;
    struct ht_demand *const *to;
};

HT_IN_OWN_FENV static int ask(void *of) {
    const struct asking *const a = (const struct asking *)of;
    halftone *const h = a->h;
    struct ht_demand asked[2] = {*a->to[0], *a->to[1]};
    char of_fp64[DETAIL_MAX] = "";
    int code = HALFTONE_OK;
    bool any = false;
    *a->is_of = 0;
    for (int type = 1; type >= 0 && a->text != NULL; type--) {
        const int answer = (a->of >> type & 1) != 0 ? ask_type(h, type == 1, a->verb, a->text, &asked[type])
                                                    : HALFTONE_UNKNOWN_SCHEME;
        if (answer == HALFTONE_UNKNOWN_SCHEME || answer == HALFTONE_UNKNOWN_ACCURACY)
            continue;
        *a->is_of |= 1u << type;
        any = any || answer == HALFTONE_OK;
        if (answer != HALFTONE_OK && code != HALFTONE_OK && h->half[1].set != NULL)
            say_of_both(h, of_fp64);
        else if (answer != HALFTONE_OK && type == 1)
            memcpy(of_fp64, h->detail, sizeof of_fp64);
        code = answer != HALFTONE_OK ? answer : code;
    }
    if (*a->is_of == 0)
        return (a->verb == 's' ? fail_scheme_text
                               : fail_accuracy_text)(h, a->text != NULL ? a->text : "(NULL)", a->of);
    if (!any)
        return code;
    h->detail[0] = '\0';
    *a->to[0] = asked[0];
    *a->to[1] = asked[1];
    if (a->verb == 'a' || asked[0].ozaki.text[0] != '\0' || asked[1].ozaki.text[0] != '\0')
        h->epoch++; /* plans of another accuracy or mode are others */
    return HALFTONE_OK;
}

int ht_ask(halftone *h, char verb, const char *text, unsigned of, struct ht_demand *const to[2],
           unsigned *is_of) {
    struct asking a = {h, verb, text, of, is_of, to};
    return ht_in_own_fenv(ask, &a);
}

static int set(halftone *h, char verb, const char *text) {
    const int code = ht_begin(h);
    unsigned is_of;
    if (code != HALFTONE_OK)
        return code;
    const unsigned of = text != NULL ? ht_site_types(&text) : (unsigned)HT_OF_BOTH;
    struct ht_demand *const own[2] = {&h->half[0].own, &h->half[1].own};
    return ht_ask(h, verb, text, of, own, &is_of);
}

int halftone_set_scheme(halftone *handle, const char *name) {
    return set(handle, 's', name);
}

int halftone_set_accuracy(halftone *handle, const char *text) {
    return set(handle, 'a', text);
}

/* ---- what is set ---- */

/* Of what products of this type are asked for, the scheme or the accuracy. */
static int get_text(halftone *h, int type, bool is_scheme, const char **result) {
    const int code = ht_begin(h);
    if (code == HALFTONE_OK && type != HALFTONE_FP32 && type != HALFTONE_FP64)
        return ht_fail(h, -18, "type %d is neither HALFTONE_FP32 nor HALFTONE_FP64", type);
    if (code == HALFTONE_OK && result == NULL)
        return ht_fail(h, -18, "the result is NULL");
    if (code != HALFTONE_OK)
        return code;
    const struct ht_demand *const d = &h->half[type == HALFTONE_FP64].own;
    const char *const scheme = d->ozaki.text[0] != '\0' ? d->ozaki.text : d->scheme;
    const char *const accuracy = d->accuracy.text[0] != '\0' ? d->accuracy.text : NULL;
    *result = !is_scheme ? accuracy : d->is_auto ? "auto" : scheme;
    return HALFTONE_OK;
}

int halftone_get_scheme(halftone *handle, int type, const char **name) {
    return get_text(handle, type, true, name);
}

int halftone_get_accuracy(halftone *handle, int type, const char **text) {
    return get_text(handle, type, false, text);
}

/* ---- what the library has ---- */

const char *halftone_schemes(const halftone *handle, int type, int index) {
    const struct ht_set_desc *const single = handle != NULL ? handle->half[0].set : ht_sets[0],
                                    *const wide = handle != NULL ? handle->half[1].set : ht_sets[0]->fp64;
    const int singles = type == HALFTONE_FP64 ? 0 : single->schemes,
              wides = type == HALFTONE_FP32 || wide == NULL ? 0 : wide->schemes;
    if (index < 0 || index - singles >= wides ||
        (type != 0 && type != HALFTONE_FP32 && type != HALFTONE_FP64))
        return NULL;
    return index < singles ? single->scheme[index].name : wide->scheme[index - singles].name;
}

const char *halftone_accuracies(int type, int index) {
    unsigned of = type == 0 || type == HALFTONE_FP32 ? (unsigned)HT_OF_FP32 : 0;
    if (type == 0 || type == HALFTONE_FP64)
        of |= (unsigned)HT_OF_FP64;
    return ht_accuracy_form(of, index);
}
