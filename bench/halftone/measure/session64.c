/* session64: FP64 products for the command. See session64.h. */
#include "measure/session64.h"

#include <string.h>

static int allocate_and_fill(double **out, const double *host, int64_t elements, struct cli_error *f) {
    const size_t bytes = (size_t)elements * sizeof *host;
    void *memory = NULL;
    if (session_device_check(ht_dev_alloc(&memory, bytes > 0 ? bytes : 8), "device memory", f) != 0)
        return -1;
    *out = memory;
    return bytes == 0 || host == NULL ? 0 : session_device_check(ht_dev_upload(memory, host, bytes), "copy to the device", f);
}

int session64_problem_open(struct session64_problem *p, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, const double *a,
                           int64_t lda, const double *b, int64_t ldb, struct cli_error *f) {
    const int64_t a_columns = trans_a == 'N' ? k : m, b_columns = trans_b == 'N' ? n : k;
    *p = (struct session64_problem){trans_a, trans_b, m, n, k, lda, ldb, NULL, NULL, NULL};
    if (allocate_and_fill(&p->a, a, lda * a_columns, f) == 0 && allocate_and_fill(&p->b, b, ldb * b_columns, f) == 0 &&
        allocate_and_fill(&p->c, NULL, m * n, f) == 0)
        return 0;
    session64_problem_close(p);
    return -1;
}

void session64_problem_close(struct session64_problem *p) {
    double *const memory[] = {p->a, p->b, p->c};
    for (int i = 0; i < 3; i++)
        (void)ht_dev_free(memory[i]);
    memset(p, 0, sizeof *p);
}

int session64_problem_result(const struct session64_problem *p, double *c, struct cli_error *f) {
    const size_t bytes = (size_t)(p->m * p->n) * sizeof *c;
    if (session_wait(f) != 0)
        return -1;
    return bytes == 0 ? 0 : session_device_check(ht_dev_download(c, p->c, bytes), "copy from the device", f);
}

int session64_select(struct session *e, const char *method, struct cli_error *f) {
    return session_ask_or_say(e, HALFTONE_FP64, method, f);
}

int session64_select_kernel(struct session *e, const char *scheme, const char *kernel, struct cli_error *f) {
    return session64_select(e, scheme, f) == 0 ? session_check(e, halftone_set_kernel(e->handle, kernel), kernel != NULL ? kernel : scheme, f) : -1;
}

int session64_query(struct session *e, const struct session64_problem *p, struct halftone_plan *plan, struct cli_error *f) {
    *plan = (struct halftone_plan)HALFTONE_PLAN_INIT;
    return session_check(e, halftone_dquery(e->handle, p->trans_a, p->trans_b, p->m, p->n, p->k, 1, plan), "query", f);
}

int session64_workspace(struct session *e, const struct session64_problem *p, size_t *bytes, struct cli_error *f) {
    return session_check(e, halftone_dworkspace_bytes(e->handle, p->trans_a, p->trans_b, p->m, p->n, p->k, 1, bytes), "workspace", f);
}

/* BLAS wants leading dimensions of at least 1, also for empty matrices. */
static int64_t at_least_one(int64_t ld) {
    return ld > 0 ? ld : 1;
}

int session64_multiply(struct session *e, const struct session64_problem *p, struct cli_error *f) {
    const double one = 1, zero = 0;
    return session_check(e,
                         halftone_dgemm(e->handle, p->trans_a, p->trans_b, p->m, p->n, p->k, &one, p->a, at_least_one(p->lda), p->b,
                                        at_least_one(p->ldb), &zero, p->c, at_least_one(p->m)),
                         "FP64 product", f);
}

/* ---- names ---- */

static int is_known(int code) {
    return code != HALFTONE_UNKNOWN_ACCURACY && code != HALFTONE_UNKNOWN_SCHEME;
}

int session_kinds(struct session *e, const char *method) {
    const int single = session_ask(e, HALFTONE_FP32, method), wide = session_ask(e, HALFTONE_FP64, method);
    if ((single == HALFTONE_OK) != (wide == HALFTONE_OK)) /* bits=40 */
        return single == HALFTONE_OK ? SESSION_FP32 : SESSION_FP64;
    return (is_known(single) ? SESSION_FP32 : 0) | (is_known(wide) ? SESSION_FP64 : 0);
}
