/* session: the project's own products for the command. See session.h. */
#include "measure/session.h"
#include "../../../runtime/ht_pick.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { METHOD_OPTION_BYTES = 128 };

static const char *cure_of(int code) {
    switch (code) {
    case HALFTONE_NO_GPU:
        return "; run it on a machine with a GPU and its driver, or use the simulator build of this command";
    case HALFTONE_WRONG_GPU:
        return "; build the set for this GPU: `make GPU=...` (plain `make` prints the list)";
    case HALFTONE_OUT_OF_DEVICE_MEMORY:
    case HALFTONE_OUT_OF_HOST_MEMORY:
        return "; use smaller sizes or close other programs";
    default:
        return "";
    }
}

int session_check(const struct session *e, int code, const char *what, struct cli_error *f) {
    if (code == HALFTONE_OK)
        return 0;
    const char *detail = halftone_last_detail(e->handle), *text = halftone_strerror(code);
    const char *see = strstr(text, "; see halftone_"); /* advice for programs: a user of the command reads the detail here */
    cli_error_set(f, "%s: %.*s%s%s%s%s", what, (int)(see != NULL ? (size_t)(see - text) : strlen(text)), text, detail[0] ? " (" : "",
              detail, detail[0] ? ")" : "", cure_of(code));
    if (code == HALFTONE_NO_GPU || code == HALFTONE_WRONG_GPU)
        f->code = EXIT_NO_DEVICE;
    if (code == HALFTONE_UNKNOWN_ACCURACY || code == HALFTONE_UNKNOWN_SCHEME)
        f->code = EXIT_USAGE;
    return -1;
}

int session_device_check(int code, const char *what, struct cli_error *f) {
    if (code == HT_DEV_OK)
        return 0;
    const char *detail = ht_dev_detail();
    return cli_error_set(f, "%s: %s%s", what,
                     detail[0]               ? detail
                     : code == HT_DEV_MEMORY ? "out of device memory"
                                             : "the device reported an error",
                     code == HT_DEV_MEMORY ? "; use smaller sizes or close other programs" : "");
}

int session_open(struct session *e, struct cli_error *f) {
    memset(e, 0, sizeof *e);
    if (session_check(e, halftone_create(&e->handle), "no device to compute on", f) != 0)
        return -1;
    if (session_device_check(ht_dev_open(ht_sets[0], &e->device), "no device to compute on", f) == 0) {
        e->set = ht_pick_set(ht_sets, e->device.capability, e->device.sms);
        return 0;
    }
    session_close(e);
    return -1;
}

void session_close(struct session *e) {
    (void)halftone_destroy(e->handle);
    e->handle = NULL;
}

static int allocate(void *out, size_t bytes, struct cli_error *f) {
    void *memory = NULL;
    int status = session_device_check(ht_dev_alloc(&memory, bytes > 0 ? bytes : 4), "device memory", f);
    memcpy(out, &memory, sizeof memory);
    return status;
}

/* Elements as the problem's type stores them. */
static size_t bytes_of(const struct session_problem *p, int64_t elements) {
    return (size_t)elements * (p->type == HALFTONE_FP64 ? sizeof(double) : sizeof(float));
}

static int allocate_and_fill(void **out, const void *host, size_t bytes, struct cli_error *f) {
    if (allocate(out, bytes, f) != 0)
        return -1;
    return bytes == 0 || host == NULL ? 0 : session_device_check(ht_dev_upload(*out, host, bytes), "copy to the device", f);
}

static int64_t batch_of(const struct session_problem *p) {
    return p->batch > 1 ? p->batch : 1;
}

int session_problem_open(struct session_problem *p, const void *a, const void *b, struct cli_error *f) {
    const int64_t batch = batch_of(p), a_columns = p->trans_a == 'N' ? p->k : p->m, b_columns = p->trans_b == 'N' ? p->n : p->k;
    p->alpha = 1;
    if (allocate_and_fill(&p->a, a, bytes_of(p, batch * p->lda * a_columns), f) == 0 &&
        allocate_and_fill(&p->b, b, bytes_of(p, batch * p->ldb * b_columns), f) == 0 &&
        allocate_and_fill(&p->c, NULL, bytes_of(p, batch * p->m * p->n), f) == 0)
        return 0;
    session_problem_close(p);
    return -1;
}

void session_problem_close(struct session_problem *p) {
    void *memory[5] = {p->a, p->b, p->c, p->packed_a, p->packed_b};
    for (int i = 0; i < 5; i++)
        (void)ht_dev_free(memory[i]);
    memset(p, 0, sizeof *p);
}

int session_problem_result(const struct session_problem *p, void *c, struct cli_error *f) {
    const size_t bytes = bytes_of(p, batch_of(p) * p->m * p->n);
    if (session_wait(f) != 0)
        return -1;
    return bytes == 0 ? 0 : session_device_check(ht_dev_download(c, p->c, bytes), "copy from the device", f);
}

void session_add_name(char *list, size_t bytes, const char *name, const char *before) {
    const size_t used = strlen(list);
    if (used + strlen(before) + strlen(name) < bytes)
        strcat(strcat(list, before), name);
}

/* Of a mode, which is in no list: whether FP32 has it is asked. Nothing is packed for one. */
static int is_mode(const struct session *e, const char *name) {
    const char *const modes = e->set->role[HT_ROLE_MODES];
    return strncmp(name, modes, strlen(modes)) == 0 && session_ask(e, HALFTONE_FP32, name) == HALFTONE_OK;
}

int session_scheme_known(const struct session *e, const char *name, struct cli_error *f) {
    char list[400] = "auto";
    const char *known;
    if (strcmp(name, "auto") == 0 || is_mode(e, name))
        return 0;
    for (int i = 0; (known = halftone_schemes(e->handle, HALFTONE_FP32, i)) != NULL; i++) {
        if (strcmp(name, known) == 0)
            return 0;
        session_add_name(list, sizeof list, known, ", ");
    }
    for (int i = 0; (known = halftone_schemes(e->handle, HALFTONE_FP64, i)) != NULL; i++)
        session_add_name(list, sizeof list, known, i == 0 ? "; for FP64 products: " : ", ");
    return cli_error_usage(f, "unknown scheme '%s'; this build has %s", name, list);
}

const char *session_accuracy_of(const char *method) {
    const size_t length = strlen(SESSION_ACCURACY);
    return strncmp(method, SESSION_ACCURACY, length) == 0 ? method + length : NULL;
}

int session_ask(const struct session *e, int type, const char *method) {
    const char *const accuracy = session_accuracy_of(method), *const name = accuracy != NULL ? accuracy : method;
    const char *const prefix = type == HALFTONE_FP32 ? "fp32:" : type == HALFTONE_FP64 ? "fp64:" : "";
    char text[128];
    snprintf(text, sizeof text, "%s%.100s", strncmp(name, prefix, strlen(prefix)) == 0 ? "" : prefix, name);
    return (accuracy != NULL ? halftone_set_accuracy : halftone_set_scheme)(e->handle, text);
}

/* The method as the user gave it. */
static const char *option_of(const char *method, char text[METHOD_OPTION_BYTES]) {
    const char *const accuracy = session_accuracy_of(method);
    snprintf(text, METHOD_OPTION_BYTES, "%s %.100s", accuracy != NULL ? "--accuracy" : "scheme", accuracy != NULL ? accuracy : method);
    return text;
}

int session_ask_or_say(const struct session *e, int type, const char *method, struct cli_error *f) {
    char text[METHOD_OPTION_BYTES];
    return session_check(e, session_ask(e, type, method), option_of(method, text), f);
}

static int is_known(int code) {
    return code != HALFTONE_UNKNOWN_ACCURACY && code != HALFTONE_UNKNOWN_SCHEME;
}

int session_kinds(struct session *e, const char *method) {
    const int single = session_ask(e, HALFTONE_FP32, method), wide = session_ask(e, HALFTONE_FP64, method);
    if ((single == HALFTONE_OK) != (wide == HALFTONE_OK)) /* bits=40 */
        return single == HALFTONE_OK ? SESSION_FP32 : SESSION_FP64;
    return (is_known(single) ? SESSION_FP32 : 0) | (is_known(wide) ? SESSION_FP64 : 0);
}

int session_select(struct session *e, int type, const char *method, const char *kernel, struct cli_error *f) {
    if (session_ask_or_say(e, type, method, f) != 0)
        return -1;
    e->packs = type == HALFTONE_FP32 && !is_mode(e, method);
    for (int i = 0; i < e->set->schemes && e->packs; i++)
        if (strcmp(e->set->scheme[i].name, method) == 0)
            e->packs = e->set->scheme[i].pack != NULL;
    return session_check(e, halftone_set_kernel(e->handle, kernel), kernel != NULL ? kernel : method, f);
}

int session_accuracy_known(const struct session *e, int type, const char *text, struct cli_error *f) {
    char method[128];
    snprintf(method, sizeof method, SESSION_ACCURACY "%.100s", text);
    if (session_ask(e, type, method) == HALFTONE_UNKNOWN_ACCURACY)
        return cli_error_usage(f, "--accuracy: %s", halftone_last_detail(e->handle));
    return 0; /* whether a scheme has it is for the call to say */
}

int session_query(struct session *e, const struct session_problem *p, struct halftone_plan *plan, struct cli_error *f) {
    *plan = (struct halftone_plan)HALFTONE_PLAN_INIT;
    return session_check(e, (p->type == HALFTONE_FP64 ? halftone_dquery : halftone_query)(e->handle, p->trans_a, p->trans_b, p->m, p->n, p->k, batch_of(p), plan),
                         "this product", f);
}

int session_workspace(struct session *e, const struct session_problem *p, size_t *bytes, struct cli_error *f) {
    return session_check(e, (p->type == HALFTONE_FP64 ? halftone_dworkspace_bytes : halftone_workspace_bytes)(e->handle, p->trans_a, p->trans_b, p->m, p->n, p->k, batch_of(p), bytes),
                         "workspace", f);
}

static const struct ht_scheme_desc *scheme_of(const struct session *e, const struct halftone_plan *plan) {
    return ht_find_scheme(plan->unit_exponent == -53 ? e->set->fp64 : e->set, plan->scheme);
}

/* The plan of such a call has another range than its scheme. */
static int has_scheme_range(const struct session *e, const struct halftone_plan *plan) {
    const struct ht_scheme_desc *const s = scheme_of(e, plan);
    return s == NULL || strcmp(plan->range, s->range_text) == 0;
}

int session_is_one_row(const struct session *e, const struct halftone_plan *plan) {
    const struct ht_scheme_desc *const s = scheme_of(e, plan);
    return s != NULL && s->one_row != NULL && strcmp(plan->kernel, s->one_row_name) == 0;
}

int session_is_exact(const struct halftone_plan *plan) {
    return plan->unit_exponent == -53 && plan->bound_units == 1;
}

int session_is_invariant(const struct session *e, const struct halftone_plan *plan) {
    const struct ht_scheme_desc *const s = scheme_of(e, plan);
    return session_is_exact(plan) || (has_scheme_range(e, plan) && s != NULL && s->range == HT_RANGE_FIXED);
}

int session_is_checked(const struct session *e, const struct halftone_plan *plan) {
    return !has_scheme_range(e, plan) && !session_is_exact(plan);
}

int session_takes_all(const struct session *e, const struct halftone_plan *plan) {
    const struct ht_scheme_desc *const s = scheme_of(e, plan);
    return !has_scheme_range(e, plan) || (s != NULL && s->range == HT_RANGE_ALL);
}

int session_count_again(struct session *e, struct cli_error *f) {
    return session_check(e, halftone_last_check(e->handle, NULL), "counting", f);
}

int session_counted_again(struct session *e, int64_t *results, struct cli_error *f) {
    struct halftone_checked counted = {0, 0};
    const int code = halftone_last_check(e->handle, &counted);
    if (session_check(e, code, "counting", f) != 0 || session_wait(f) != 0)
        return -1;
    *results = counted.alone + counted.in_blocks;
    return 0;
}

/* BLAS wants leading dimensions of at least 1, also for empty matrices. */
static int64_t at_least_one(int64_t ld) {
    return ld > 0 ? ld : 1;
}

int session_multiply(struct session *e, const struct session_problem *p, struct cli_error *f) {
    const int64_t lda = at_least_one(p->lda), ldb = at_least_one(p->ldb), ldc = at_least_one(p->m);
    const double alpha = (double)p->alpha, beta = (double)p->beta;
    if (p->type == HALFTONE_FP64)
        return session_check(e, halftone_dgemm(e->handle, p->trans_a, p->trans_b, p->m, p->n, p->k, &alpha, p->a, lda, p->b, ldb, &beta, p->c, ldc),
                             "FP64 product", f);
    if (batch_of(p) > 1)
        return session_multiply_batch(e, p, p->batch, f);
    return session_check(e, halftone_sgemm(e->handle, p->trans_a, p->trans_b, p->m, p->n, p->k, &p->alpha, p->a, lda, p->b, ldb, &p->beta, p->c, ldc),
                         "product", f);
}

int session_multiply_16(struct session *e, const struct session_problem *p, const void *a, const void *b, int type, struct cli_error *f) {
    const int code = halftone_gemm_ex(e->handle, p->trans_a, p->trans_b, p->m, p->n, p->k, &p->alpha, a, at_least_one(p->lda), 0, b,
                                      at_least_one(p->ldb), 0, &p->beta, p->c, at_least_one(p->m), 0, 1, type);
    return session_check(e, code, "product of 16-bit operands", f);
}

int session_multiply_batch(struct session *e, const struct session_problem *p, int64_t batch, struct cli_error *f) {
    const int code = halftone_sgemm_strided_batched(
        e->handle, p->trans_a, p->trans_b, p->m, p->n, p->k, &p->alpha, p->a, p->lda, p->m * p->k, p->b,
        p->ldb, p->k * p->n, &p->beta, p->c, at_least_one(p->m), p->m * p->n, batch);
    return session_check(e, code, "batched product", f);
}

static int grow(void **memory, size_t *have, size_t wanted, struct cli_error *f) {
    if (*memory != NULL && *have >= wanted)
        return 0;
    (void)ht_dev_free(*memory);
    *memory = NULL;
    *have = wanted;
    return allocate(memory, wanted, f);
}

int session_pack_prepare(struct session *e, struct session_problem *p, struct cli_error *f) {
    size_t bytes_a = 0, bytes_b = 0;
    if (!e->packs)
        return 0;
    if (session_check(e, halftone_packed_bytes(e->handle, 'A', p->m, p->k, 1, &bytes_a), "packed size", f) !=
            0 ||
        session_check(e, halftone_packed_bytes(e->handle, 'B', p->n, p->k, 1, &bytes_b), "packed size", f) !=
            0 ||
        grow(&p->packed_a, &p->packed_a_bytes, bytes_a, f) != 0 ||
        grow(&p->packed_b, &p->packed_b_bytes, bytes_b, f) != 0)
        return -1;
    p->packed_a_bytes = bytes_a; /* what the scheme needs; a larger old block is kept as it is */
    p->packed_b_bytes = bytes_b;
    return 0;
}

int session_pack(struct session *e, const struct session_problem *p, struct cli_error *f) {
    if (!e->packs)
        return 0;
    return session_check(e,
                        halftone_pack_ab(e->handle, p->trans_a, p->trans_b, p->m, p->n, p->k, p->a,
                                         at_least_one(p->lda), p->b, at_least_one(p->ldb), p->packed_a,
                                         p->packed_b),
                        "packing", f);
}

int session_multiply_packed(struct session *e, const struct session_problem *p, struct cli_error *f) {
    if (!e->packs)
        return session_multiply(e, p, f);
    return session_check(e,
                        halftone_sgemm_packed(e->handle, p->m, p->n, p->k, &p->alpha, p->packed_a, p->packed_b,
                                              &p->beta, p->c, at_least_one(p->m)),
                        "packed product", f);
}

/* ---- ranks: their arrays on the device, and what they come to on the host */

struct ranks {
    int64_t *partial, *sum, *one, words;
    float *maxima; /* of rows, then of columns */
    int32_t *most, *own;
    size_t lines;
};

static int open_ranks(struct ranks *x, const struct session_problem *p, struct cli_error *f) {
    void *memory[2] = {NULL, NULL};
    *x = (struct ranks){.words = HALFTONE_PARTIAL_WORDS(p->m, p->n), .lines = (size_t)(p->m + p->n)};
    x->sum = calloc((size_t)x->words, 2 * sizeof *x->sum);
    x->most = calloc(x->lines, 2 * sizeof *x->most);
    if (x->sum == NULL || x->most == NULL)
        return cli_error_memory(f, (double)x->words * 16, "sums of ranks");
    x->one = x->sum + x->words;
    x->own = x->most + x->lines;
    const int status = allocate(&memory[0], (size_t)x->words * sizeof *x->sum, f) != 0 ? -1 : allocate(&memory[1], x->lines * sizeof(float), f);
    x->partial = memory[0];
    x->maxima = memory[1];
    return status;
}

static void close_ranks(const struct ranks *x) {
    (void)ht_dev_free(x->partial);
    (void)ht_dev_free(x->maxima);
    free(x->sum);
    free(x->most);
}

/* Of one rank: its maxima, or with them all-reduced its sums, join those before. */
static int join(const struct session *e, const struct session_problem *p, const struct ranks *x, int64_t k0, int64_t k, int sums, struct cli_error *f) {
    const float *const a = (const float *)p->a + (p->trans_a == 'N' ? k0 * p->lda : k0), *const b = (const float *)p->b + (p->trans_b == 'N' ? k0 : k0 * p->ldb);
    const int code = sums ? halftone_sgemm_partial(e->handle, p->trans_a, p->trans_b, p->m, p->n, k, a, p->lda, b, p->ldb, x->maxima, x->maxima + p->m, x->partial)
                          : halftone_sgemm_maxima(e->handle, p->trans_a, p->trans_b, p->m, p->n, k, a, p->lda, b, p->ldb, x->maxima, x->maxima + p->m);
    if (session_check(e, code, "a rank's part", f) != 0 || session_wait(f) != 0 ||
        session_device_check(sums ? ht_dev_download(x->one, x->partial, (size_t)x->words * sizeof *x->one) : ht_dev_download(x->own, x->maxima, x->lines * sizeof *x->own),
                             "a rank's part", f) != 0)
        return -1;
    for (int64_t i = 0; sums && i < x->words; i++)
        x->sum[i] += x->one[i];
    for (size_t i = 0; !sums && i < x->lines; i++)
        x->most[i] = x->own[i] > x->most[i] ? x->own[i] : x->most[i];
    return 0;
}

int session_multiply_ranks(struct session *e, const struct session_problem *p, const int64_t *cut, int ranks, int *done, struct cli_error *f) {
    const float one = 1, zero = 0;
    struct ranks x;
    int status = open_ranks(&x, p, f);
    *done = status != 0 || halftone_sgemm_maxima(e->handle, 'N', 'N', 0, 0, 0, NULL, 1, NULL, 1, x.maxima, x.maxima) != HALFTONE_NOT_SUPPORTED;
    for (int sums = 0; sums < 2 && *done; sums++) {
        for (int i = 0; i < ranks && status == 0; i++)
            status = join(e, p, &x, cut[i], cut[i + 1] - cut[i], sums, f);
        if (status == 0)
            status = session_device_check(sums ? ht_dev_upload(x.partial, x.sum, (size_t)x.words * sizeof *x.sum) : ht_dev_upload(x.maxima, x.most, x.lines * sizeof *x.most),
                                          "all-reduction", f);
    }
    if (status == 0 && *done)
        status = session_check(e, halftone_sgemm_finish(e->handle, p->m, p->n, &one, x.partial, x.maxima, x.maxima + p->m, &zero, p->c, p->m), "all ranks' sums", f);
    AND_THEN(status, session_wait(f));
    close_ranks(&x);
    return status;
}

int session_wait(struct cli_error *f) {
    return session_device_check(ht_dev_stream_sync(NULL), "waiting for the device", f);
}
