/* baseline_fp32: the plain FP32 product. See baseline_fp32.h. */
#include "measure/baseline_fp32.h"

#include <string.h>

const char *baseline_fp32_name(const struct baseline *y) {
    return y != NULL ? baseline_names[BASELINE_SGEMM] : "cpu-fp32";
}

int baseline_fp32_sample(struct baseline *y, const struct session_problem *p, const struct reference *r,
                  float *whole, float *out, struct cli_error *f) {
    if (y == NULL) {
        memcpy(out, r->single, (size_t)(r->rows * r->cols) * sizeof *out);
        return 0;
    }
    int status = baseline_multiply(y, BASELINE_SGEMM, p->trans_a, p->trans_b, p->m, p->n, p->k, p->a,
                                    p->lda, p->b, p->ldb, p->c);
    if (status != 0)
        return cli_error_set(f, "cuBLAS SGEMM failed with status %d; check that this cuBLAS fits the driver",
                         status);
    if (session_problem_result(p, whole, f) != 0)
        return -1;
    reference_sample(r, whole, p->m, out);
    return 0;
}
