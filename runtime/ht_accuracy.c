/* ht_accuracy.c: accuracy texts and the choice of a scheme; see ht_accuracy.h. C11 that is also C++17, for
 * amalgamations. */
#include "ht_accuracy.h"
#include "ht_bound.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define RANGE(name) (1u << HT_RANGE_##name)
#define ANY 1e300 /* units: no limit */

#define ROW(...) {__VA_ARGS__},
static const struct ht_accuracy classes[] = {HT_ACCURACY_CLASSES(ROW)};
enum { CLASSES = sizeof classes / sizeof classes[0] };
static const char *const numbered[] = {"bits=N", "bound=X", "relative=X:rho=Y"}; /* for either type */

const char *ht_accuracy_form(unsigned of, int index) {
    if (index < 0 || of == 0)
        return NULL;
    for (int i = 0; i < CLASSES; i++)
        if ((classes[i].of & of) != 0 && index-- == 0)
            return classes[i].text;
    return index < (int)(sizeof numbered / sizeof *numbered) ? numbered[index] : NULL;
}

/* ---- what is asked for ---- */

int ht_accuracy_parse(const char *text, struct ht_accuracy *accuracy) {
    for (int i = 0; i < CLASSES; i++) {
        if (strcmp(classes[i].text, text) == 0) {
            *accuracy = classes[i];
            return 0;
        }
    }
    const double bound = ht_site_bound(text);
    if (bound == 0)
        return -1;
    memset(accuracy, 0, sizeof *accuracy);
    memcpy(accuracy->text, text, strlen(text) + 1);
    accuracy->of = HT_OF_BOTH;
    accuracy->bound = bound;
    accuracy->units =
        bound * 0x1p24 * (1 + 0x1p-40); /* twelve decimals of a bound that query told are that bound */
    accuracy->most_split = INT_MAX;
    accuracy->ranges = RANGE(ALL) | RANGE(FP32);
    return 0;
}

double ht_accuracy_limit(const struct ht_accuracy *accuracy, int64_t k) {
    return accuracy->units + accuracy->units_per_k * (double)k;
}

/* ---- the choice */

static int is_in_range(const struct ht_accuracy *a, const struct ht_scheme_desc *s) {
    return (a->ranges >> s->range & 1) != 0 && (a->products == 0 || s->products == a->products);
}

bool ht_accuracy_meets(const struct ht_accuracy *accuracy, const struct ht_scheme_desc *s, int64_t k) {
    return is_in_range(accuracy, s) && s->split_units <= accuracy->most_split &&
           (double)ht_bound_units(s, k) <= ht_accuracy_limit(accuracy, k);
}

/* Places a candidate that is in range. */
static void consider(struct ht_accuracy_choice *c, const struct ht_accuracy_candidate *x, bool meets) {
    if (c->best.scheme == NULL || x->units < c->best.units)
        c->best = *x;
    if (!meets)
        return;
    c->meeting++;
    if (c->first.scheme == NULL || x->ns < c->first.ns) {
        c->second = c->first;
        c->first = *x;
    } else if (c->second.scheme == NULL || x->ns < c->second.ns) {
        c->second = *x;
    }
}

struct ht_accuracy_choice ht_accuracy_choose(const struct ht_set_desc *set, const struct ht_accuracy *accuracy,
                                             struct ht_shape x, int64_t partial_bytes,
                                             const struct ht_accuracy_candidate *also) {
    struct ht_accuracy_choice c = HT_ZERO;
    for (int i = 0; i < set->schemes; i++) {
        const struct ht_scheme_desc *s = &set->scheme[i];
        if (!is_in_range(accuracy, s))
            continue;
        const struct ht_choice kernel = ht_pick(set, s->name, x, partial_bytes);
        if (kernel.kernel < 0)
            continue;
        const struct ht_accuracy_candidate one = {s->name, s, ht_bound_units(s, x.k), ht_total_ns(set, &kernel, x)};
        consider(&c, &one, ht_accuracy_meets(accuracy, s, x.k));
    }
    if (also != NULL && also->scheme != NULL && (accuracy->ranges & RANGE(ALL)) != 0)
        consider(&c, also, (double)also->units <= ht_accuracy_limit(accuracy, x.k));
    return c;
}

/* ---- in words */

/* Like snprintf, behind what the line has already. */
static void add(char *line, size_t bytes, const char *format, ...) __attribute__((format(printf, 3, 4)));
static void add(char *line, size_t bytes, const char *format, ...) {
    const size_t used = strlen(line);
    va_list list;
    va_start(list, format);
    vsnprintf(line + used, bytes - used, format, list);
    va_end(list);
}

/* As "%.*g" in the C locale: what is in a number beside these letters is the decimal point of another. */
struct decimal {
    char text[40];
};
static struct decimal decimal_of(int digits, double value) {
    struct decimal d;
    char *to = d.text;
    snprintf(d.text, sizeof d.text, "%.*g", digits, value);
    for (const char *at = d.text; *at != '\0'; at++) {
        if (strchr("0123456789+-einfa", *at) != NULL)
            *to++ = *at;
        else if (to == d.text || to[-1] != '.')
            *to++ = '.';
    }
    *to = '\0';
    return d;
}

static void add_candidate(char *line, size_t bytes, const struct ht_accuracy_candidate *x) {
    add(line, bytes, "%s (%lld units, %s; %s us)", x->name, (long long)x->units, decimal_of(3, (double)x->units * 0x1p-24).text,
        decimal_of(4, (double)x->ns / 1000).text);
}

static void explain_miss(const struct ht_accuracy *a, const struct ht_accuracy_candidate *best, int64_t k,
                         char *line, size_t bytes) {
    if (best->scheme != NULL)
        add(line, bytes,
            "%s is at most %s units of 2^-24 |A||B|; at k = %lld the best in range here is %s with %lld (%s)",
            a->text, decimal_of(6, ht_accuracy_limit(a, k)).text, (long long)k, best->name, (long long)best->units,
            decimal_of(3, (double)best->units * 0x1p-24).text);
    else if (a->products > 0)
        add(line, bytes, "%s needs the fixed-point scheme of %d products, which this library lacks", a->text,
            a->products);
    else
        add(line, bytes, "%s needs a scheme for %s, which this library lacks", a->text,
            (a->ranges & RANGE(ROW)) != 0 ? "FP32 input" : "all of FP32's exponents");
}

void ht_accuracy_explain(const struct ht_accuracy *accuracy, const struct ht_accuracy_choice *choice,
                         int64_t k, char *line, size_t bytes) {
    line[0] = '\0';
    if (choice->first.scheme == NULL) {
        explain_miss(accuracy, &choice->best, k, line, bytes);
        return;
    }
    add(line, bytes, "%s: at most %s units; cheapest of %d: ", accuracy->text, decimal_of(6, ht_accuracy_limit(accuracy, k)).text,
        choice->meeting);
    add_candidate(line, bytes, &choice->first);
    if (choice->second.scheme != NULL) {
        add(line, bytes, ", then ");
        add_candidate(line, bytes, &choice->second);
    } else {
        add(line, bytes, ", no other");
    }
}
