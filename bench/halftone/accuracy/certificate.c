/* certificate: the arithmetic of the a-posteriori certificate. See certificate.h. */
#include "accuracy/certificate.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "../../../runtime/sim/sim_f16.h"

/* Scaled: below SMALL the error of an element is no longer relative. */
#define SMALL 0x1p-2f
#define NORMAL 0x1p-14f
enum {
    LOST_EXPONENT = 34,
    LOST_MOST = 1 << (34 - 25),
    LOST_ALIGNMENT = 1,
    SCALE_LOW = 14,
    EXPONENT_LEAST = -126
};

int certificate_exponent(float most) {
    uint32_t bits;
    memcpy(&bits, &most, sizeof bits);
    const int e = (int)(bits >> 23) - 127 - SCALE_LOW;
    return e < EXPONENT_LEAST ? EXPONENT_LEAST : e;
}

void certificate_split(float y, float slice[2]) {
    slice[0] = sim_f16_value(sim_f16_rn(y));
    const float rest = y - slice[0];
    slice[1] = sim_f16_value(sim_f16_rn(rest != 0 ? fmaf(y, 0x1p-36f, rest) : rest)); /* ties away from zero */
}

static float scaled(float x, int exponent) {
    return x * ldexpf(1.0f, -exponent);
}

int certificate_lost(float x, int exponent, enum certificate_unit unit) {
    const float y = scaled(x, exponent);
    float slice[2];
    if (x == 0.0f || fabsf(y) >= SMALL)
        return 0;
    if (unit == CERTIFICATE_FLUSHES)
        return LOST_MOST + LOST_ALIGNMENT;
    certificate_split(y, slice);
    const float error = fabsf(y - slice[0] - slice[1]); /* exact */
    const float excess = fmaf(-0x1p-23f, fabsf(y), error);
    return (excess > 0 ? (int)ceilf(excess * 0x1p34f) : 0) + LOST_ALIGNMENT;
}

float certificate_threshold(int64_t lost, int is_zero, int is_finite, double tau) {
    if (!is_finite)
        return NAN;
    if (is_zero)
        return -FLT_MAX;
    const double exact = (double)lost * 32.0 / tau;
    const float near = (float)exact;
    return (double)near < exact ? nextafterf(near, FLT_MAX) : near;
}

int certificate_is_sparse(int64_t normal, int64_t live_rows) {
    return normal < CERTIFICATE_FEW * live_rows;
}

int certificate_passes(float acc, float a_threshold, float b_threshold) {
    return fabsf(acc) >= a_threshold + b_threshold;
}

struct certificate_row certificate_of_row(const float *x, int64_t k, int64_t step,
                                          enum certificate_unit unit) {
    struct certificate_row r = {.is_zero = 1, .is_finite = 1};
    for (int64_t i = 0; i < k; i++) {
        const float value = x[i * step];
        r.nonzero += value != 0.0f;
        if (!isfinite(value))
            r.is_finite = 0;
        else if (fabsf(value) > r.most)
            r.most = fabsf(value);
    }
    r.is_zero = r.nonzero == 0;
    r.exponent = certificate_exponent(r.most);
    for (int64_t i = 0; i < k; i++) {
        const float value = x[i * step], y = scaled(value, r.exponent);
        const float high = fabsf(sim_f16_value(sim_f16_rn(y)));
        r.normal += high >= NORMAL && (unit == CERTIFICATE_KEEPS || fabsf(y) >= NORMAL); /* where it flushes, high is cut */
        if (!isfinite(value))
            continue;
        r.lost += certificate_lost(value, r.exponent, unit);
        r.small += value != 0.0f && fabsf(y) < SMALL;
    }
    return r;
}
