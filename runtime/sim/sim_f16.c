/* sim_f16: see the header. Integer arithmetic only, so that the host's rounding mode plays no part. */
#include "sim_f16.h"

#include <stdbool.h>
#include <string.h>

enum {
    F16_INFINITY = 0x7c00,
    F16_MAX_FINITE = 0x7bff,
    F16_NAN = 0x7fff,
    F16_MIN_EXPONENT = -14,
    DROPPED_BITS = 23 - 10 /* fraction bits of FP32 that FP16 does not have */
};

static uint16_t narrow(float x, bool nearest) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint32_t sign = (bits >> 16) & 0x8000u;
    int biased = (int)((bits >> 23) & 0xffu);
    uint32_t fraction = bits & 0x7fffffu;
    if (biased == 255)
        return fraction != 0 ? (uint16_t)F16_NAN : (uint16_t)(sign | F16_INFINITY);
    int exponent = biased - 127;
    uint32_t significand = biased != 0 ? fraction | 0x800000u : fraction;
    int drop = exponent >= F16_MIN_EXPONENT ? DROPPED_BITS : DROPPED_BITS + F16_MIN_EXPONENT - exponent;
    if (drop > 31)
        drop = 31; /* everything is below half of the smallest subnormal already at 26 */
    uint32_t kept = significand >> drop;
    uint32_t rest = significand & ((1u << drop) - 1u);
    uint32_t half = 1u << (drop - 1);
    if (nearest && (rest > half || (rest == half && (kept & 1u) != 0)))
        kept++;
    /* `kept` still has the leading one, which adds 1 to the exponent field; a carry of the rounding does so
     * too. */
    uint32_t field = exponent >= F16_MIN_EXPONENT ? (uint32_t)(exponent - F16_MIN_EXPONENT) : 0u;
    uint32_t result = (field << 10) + kept;
    if (result >= F16_INFINITY)
        result = nearest ? F16_INFINITY : F16_MAX_FINITE;
    return (uint16_t)(sign | result);
}

uint16_t sim_f16_rn(float x) {
    return narrow(x, true);
}

uint16_t sim_f16_rz(float x) {
    return narrow(x, false);
}

float sim_f16_value(uint16_t half) {
    uint32_t sign = (uint32_t)(half & 0x8000u) << 16;
    uint32_t biased = (half >> 10) & 0x1fu;
    uint32_t fraction = half & 0x3ffu;
    uint32_t bits;
    if (biased == 31) {
        bits = fraction != 0 ? 0x7fffffffu : sign | 0x7f800000u;
    } else if (biased != 0) {
        bits = sign | ((biased + 127 - 15) << 23) | (fraction << 13);
    } else if (fraction == 0) {
        bits = sign;
    } else {
        uint32_t exponent = 127 - 14;
        while ((fraction & 0x400u) == 0) {
            fraction <<= 1;
            exponent--;
        }
        bits = sign | (exponent << 23) | ((fraction & 0x3ffu) << 13);
    }
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}
