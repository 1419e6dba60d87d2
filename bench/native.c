/* native: the plain FP32 product. See native.h. */
#include "native.h"

#include <string.h>

const char *native_name(const struct yardstick *y) {
    return y != NULL ? yardstick_names[YARDSTICK_SGEMM] : "cpu-fp32";
}

int native_sample(struct yardstick *y, const struct engine_problem *p, const struct reference *r,
                  float *whole, float *out, struct fault *f) {
    if (y == NULL) {
        memcpy(out, r->single, (size_t)(r->rows * r->cols) * sizeof *out);
        return 0;
    }
    int status = yardstick_multiply(y, YARDSTICK_SGEMM, p->trans_a, p->trans_b, p->m, p->n, p->k, p->a,
                                    p->lda, p->b, p->ldb, p->c);
    if (status != 0)
        return fault_set(f, "cuBLAS SGEMM failed with status %d; check that this cuBLAS fits the driver",
                         status);
    if (engine_problem_result(p, whole, f) != 0)
        return -1;
    reference_sample(r, whole, p->m, out);
    return 0;
}
