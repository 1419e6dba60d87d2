/* families64: families in FP64. See families64.h. */
#include "accuracy/families64.h"

#include <math.h>
#include <stdlib.h>

#include "io/threads.h"

enum { STREAM_LOW_BITS = 200, COST = 8 };

struct job {
    uint64_t seed, stream;
    int64_t rows, ld;
    const float *from; /* dense */
    double *to;
};

/* Up to half a unit in FP32's last place more or less. */
static double widened(float x, uint64_t bits) {
    if (!isfinite(x) || (fabsf(x) <= 65536.0f && x == rintf(x)))
        return (double)x;
    return (double)x * (1 + 0x1p-24 * (2 * family_uniform(bits) - 1));
}

static int columns(void *context, int64_t first, int64_t last) {
    const struct job *const w = context;
    for (int64_t j = first; j < last; j++)
        for (int64_t i = 0; i < w->rows; i++)
            w->to[i + j * w->ld] = widened(w->from[i + j * w->rows], family_bits(w->seed, w->stream, (uint64_t)i, (uint64_t)j));
    return 0;
}

int family64_fill_op(const struct family *family, uint64_t seed, char side, char trans, int64_t m, int64_t n, int64_t k, double *out, int64_t ld) {
    const int64_t op_rows = side == 'A' ? m : k, op_cols = side == 'A' ? k : n;
    const int64_t rows = trans == 'N' ? op_rows : op_cols, cols = trans == 'N' ? op_cols : op_rows;
    float *const single = malloc(((size_t)(rows * cols) + 1) * sizeof *single);
    if (single == NULL)
        return -1;
    family_fill_op(family, seed, side, trans, m, n, k, single, rows > 0 ? rows : 1);
    struct job w = {seed, (uint64_t)STREAM_LOW_BITS + (side == 'A' ? 0 : 1), rows, ld, single, out};
    const int status = threads_run(threads_count(0, cols, rows * cols * COST), cols, columns, &w);
    free(single);
    return status;
}
