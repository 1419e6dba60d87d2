/* ht_site.c: the site table of a handle: which products ask for something else than the handle does
 * (MANUAL.md, section 10). Lines are walked once for a product; what they came to is remembered under its
 * name, transposes and sizes. */
#include "ht_call.h"

#include <stdlib.h>

enum { SITES_REMEMBERED = 64, SITE_KEY_IS_SET = 1 << 24, PLACE_MAX = 512 };

/* All that decides which line holds; without padding. */
struct ht_site_key {
    char name[HT_SITE_TEXT];
    int64_t m, n, k, batch, kind; /* transposes, type, whether operands are packed; SITE_KEY_IS_SET */
};

struct ht_site {
    struct ht_site_line line;
    char *text;                /* as it was given */
    char *path;                /* of the file that it stands in; NULL: it was given by itself */
    unsigned of;               /* HT_OF_FP32, HT_OF_FP64: the products that it is for */
    struct ht_demand asked[2]; /* by FP32 products, by FP64 products */
    int64_t products;
};

struct ht_sites {
    struct ht_site *site;
    int count;
    struct {
        struct ht_site_key key;
        int site; /* from 1; 0: no line holds */
    } remembered[SITES_REMEMBERED];
};

/* Puts it before what was said of a failure. */
static int begin_detail(halftone *h, int code, const char *place) {
    char said[DETAIL_MAX];
    memcpy(said, h->detail, sizeof said);
    return ht_fail(h, code, "%s: %.*s", place, DETAIL_MAX - PLACE_MAX, said);
}

/* ---- the table ---- */

/* Forgets lines from `count` on, and what is remembered. */
static void cut_sites(halftone *h, int count) {
    struct ht_sites *const t = h->sites;
    if (t == NULL)
        return;
    while (t->count > count) {
        free(t->site[--t->count].text);
        free(t->site[t->count].path);
    }
    memset(t->remembered, 0, sizeof t->remembered);
    h->epoch++; /* plans were made for other lines */
}

void ht_free_sites(halftone *h) {
    cut_sites(h, 0);
    if (h->sites != NULL)
        free(h->sites->site);
    free(h->sites);
    h->sites = NULL;
}

/* Room for one more line. */
static bool reserve_site(halftone *h) {
    if (h->sites == NULL)
        h->sites = (struct ht_sites *)calloc(1, sizeof *h->sites);
    struct ht_sites *const t = h->sites;
    struct ht_site *const longer =
        t != NULL ? (struct ht_site *)realloc(t->site, ((size_t)t->count + 1) * sizeof *longer) : NULL;
    if (longer != NULL)
        t->site = longer;
    return longer != NULL;
}

/* path NULL: of no file. */
static int add_site(halftone *h, const struct ht_site_line *line, const char *text, const char *path) {
    struct ht_site made = HT_ZERO;
    made.line = *line;
    made.text = strndup(text, strcspn(text, "\n"));
    made.path = path != NULL ? strndup(path, strcspn(path, "\n")) : NULL;
    struct ht_demand *const asked[2] = {&made.asked[0], &made.asked[1]};
    int code = HALFTONE_OK;
    if (made.text == NULL || (path != NULL && made.path == NULL) || !reserve_site(h))
        code = ht_fail(h, HALFTONE_OUT_OF_HOST_MEMORY, "no memory for a line of the site table");
    else if (line->verb == 'o')
        code = ht_fail(h, HALFTONE_SITE,
                       "a library has no original to leave a product to; say accuracy= or scheme=");
    else if (line->api[0] != '\0' || ht_site_line_asks_range(line, HT_SITE_ORDINAL))
        code = ht_fail(
            h, HALFTONE_SITE,
            "api= and ordinal= are a drop-in's; a library tells products apart by site= op= m= n= k= batch=");
    AND_THEN(code, ht_ask(h, line->verb, line->text, line->of, asked, &made.of));
    if (code != HALFTONE_OK) {
        free(made.text);
        free(made.path);
        return code;
    }
    h->sites->site[h->sites->count] = made;
    cut_sites(h, ++h->sites->count);
    return HALFTONE_OK;
}

int halftone_set_site(halftone *handle, const char *line) {
    char text[HT_SITE_LINE], wrong[HT_SITE_TEXT];
    struct ht_site_line read;
    if (ht_begin(handle) != HALFTONE_OK)
        return HALFTONE_NULL_HANDLE;
    if (line == NULL) {
        cut_sites(handle, 0);
        return HALFTONE_OK;
    }
    if (strlen(line) >= sizeof text)
        return ht_fail(handle, HALFTONE_SITE, "a line has %zu characters; %d is the most", strlen(line),
                       HT_SITE_LINE - 1);
    const char *const second = line + strcspn(line, "\n");
    if (second[strspn(second, " \t\r\n")] != '\0')
        return ht_fail(
            handle, HALFTONE_SITE,
            "more than one line: add each by a call of its own, or a file of them by halftone_read_sites");
    strcpy(text, line);
    const int found = ht_site_line_read(text, &read, wrong);
    if (found < 0)
        return ht_fail(handle, HALFTONE_SITE, "'%s' " HT_SITE_LINE_CURE, wrong);
    return found == 0 ? HALFTONE_OK : add_site(handle, &read, line, NULL);
}

struct site_file {
    halftone *h;
    const char *path;
    int code;
};

static int take_site(void *context, const struct ht_site_line *line, const char *text) {
    struct site_file *const f = (struct site_file *)context;
    f->code = add_site(f->h, line, text, f->path);
    if (f->code == HALFTONE_OK)
        return 0;
    char place[PLACE_MAX];
    snprintf(place, sizeof place, "%.200s:%d", f->path, line->number);
    (void)begin_detail(f->h, f->code, place);
    return 1;
}

int halftone_read_sites(halftone *handle, const char *path) {
    char fault[HT_SITE_LINE];
    struct site_file f = {handle, path, HALFTONE_OK};
    const int code = ht_begin(handle);
    if (code != HALFTONE_OK)
        return code;
    if (path == NULL)
        return ht_fail(handle, -18, "the path is NULL");
    const int before = handle->sites != NULL ? handle->sites->count : 0;
    if (ht_site_file_read(path, take_site, &f, fault) < 0)
        f.code = ht_fail(handle, HALFTONE_SITE, "%s", fault);
    if (f.code != HALFTONE_OK)
        cut_sites(handle, before);
    return f.code;
}

/* ---- products ---- */

int halftone_at_site(halftone *handle, const char *name) {
    if (ht_begin(handle) != HALFTONE_OK)
        return HALFTONE_NULL_HANDLE;
    const size_t length = name != NULL ? strlen(name) : 0;
    if (length >= HT_SITE_TEXT)
        return ht_fail(handle, HALFTONE_SITE, "the name of a site has %zu characters; %d are the most",
                       length, HT_SITE_TEXT - 1);
    memset(handle->site_name, 0, sizeof handle->site_name);
    if (length > 0)
        memcpy(handle->site_name, name, length);
    return HALFTONE_OK;
}

/* Who packs one side knows k and the name. */
static struct ht_site_key site_key(const struct call *c, bool knows_k_alone) {
    const int transposed = is_trans(c->of[0].trans) | is_trans(c->of[1].trans) << 1;
    struct ht_site_key key = {{0}, c->m, c->n, c->k, c->batch, transposed};
    if (knows_k_alone) {
        key.m = key.n = 0;
        key.batch = 1;
        key.kind = 1 << 3;
    }
    key.kind |= SITE_KEY_IS_SET | (int)c->is_fp64 << 2;
    memcpy(key.name, c->h->site_name, sizeof key.name);
    return key;
}

static bool is_for_packed(const struct ht_site_line *line) {
    bool asks_more = line->op[0] != '\0';
    for (int i = 0; i < HT_SITE_RANGES; i++)
        asks_more = asks_more || (i != HT_SITE_K && ht_site_line_asks_range(line, (enum ht_site_range)i));
    return !asks_more;
}

static int walk_sites(const struct call *c, bool knows_k_alone) {
    const struct ht_sites *const t = c->h->sites;
    const struct ht_site_call call = {
        "", is_trans(c->of[0].trans) ? 'T' : 'N', is_trans(c->of[1].trans) ? 'T' : 'N', {SIZES_OF(c), 0}};
    for (int i = 0; i < t->count; i++) {
        const struct ht_site *const s = &t->site[i];
        if ((s->of >> c->is_fp64 & 1) != 0 && (!knows_k_alone || is_for_packed(&s->line)) &&
            ht_site_line_holds(&s->line, &call) && ht_site_line_names(&s->line, c->h->site_name))
            return i + 1;
    }
    return 0;
}

static int site_of_call(const struct call *c, bool knows_k_alone) {
    struct ht_sites *const t = c->h->sites;
    const struct ht_site_key key = site_key(c, knows_k_alone);
    const int slot = slot_of(&key, sizeof key, SITES_REMEMBERED);
    if (memcmp(&key, &t->remembered[slot].key, sizeof key) != 0) {
        t->remembered[slot].key = key;
        t->remembered[slot].site = walk_sites(c, knows_k_alone);
    }
    return t->remembered[slot].site;
}

void ht_enter_site(struct call *c, bool is_packing) {
    const struct ht_sites *const t = c->h->sites;
    if (c->is_inner || t == NULL || t->count == 0 || (!c->is_fp64 && c->half->forced != NO_KERNEL))
        return;
    c->site = site_of_call(c, is_packing || c->is_packed);
    if (c->site > 0)
        c->asked = &t->site[c->site - 1].asked[c->is_fp64];
}

/* Of a call that fails for what its line asks for, the line is said. */
static int blame_line(const struct call *c, int code) {
    const struct ht_site *const s = &c->h->sites->site[c->site - 1];
    char place[PLACE_MAX];
    if (s->path != NULL)
        snprintf(place, sizeof place, "%.200s:%d, '%.200s'", s->path, s->line.number, s->text);
    else
        snprintf(place, sizeof place, "line %d of the site table, '%.200s'", c->site, s->text);
    return begin_detail(c->h, code, place);
}

static bool is_asked_too_much(int code) {
    return code == HALFTONE_ACCURACY || code == HALFTONE_NOT_SUPPORTED || code == HALFTONE_TOO_LARGE ||
           code == HALFTONE_UNKNOWN_SCHEME || code == HALFTONE_UNKNOWN_ACCURACY;
}

int ht_leave_site(const struct call *c, bool is_product, int code) {
    if (c->is_inner)
        return code;
    if (c->site > 0 && is_asked_too_much(code))
        code = blame_line(c, code);
    if (is_product)
        c->h->last_site = code == HALFTONE_OK ? c->site : 0;
    if (is_product && c->h->last_site > 0)
        c->h->sites->site[c->site - 1].products++;
    return code;
}

int halftone_last_site(const halftone *handle) {
    return handle != NULL ? handle->last_site : 0;
}

int halftone_get_site(halftone *handle, int index, const char **line, int64_t *products) {
    if (ht_begin(handle) != HALFTONE_OK)
        return HALFTONE_NULL_HANDLE;
    if (line == NULL || products == NULL)
        return ht_fail(handle, -18, "the result is NULL");
    const struct ht_sites *const t = handle->sites;
    const bool is_there = t != NULL && index >= 0 && index < t->count;
    *line = is_there ? t->site[index].text : NULL;
    *products = is_there ? t->site[index].products : 0;
    return HALFTONE_OK;
}
