/* sim_f16: conversions between FP16 and FP32 in software, as PTX `cvt` does them: subnormals are kept, NaN
 * becomes the canonical NaN (0x7fff, 0x7fffffff). Knows nothing of kernels or threads. */
#ifndef HT_SIM_F16_H
#define HT_SIM_F16_H

#include <stdint.h>

#include "../ht_ieee.h"

#if defined(__cplusplus) && !defined(HT_SIM_LOCAL)
extern "C" {
#endif

uint16_t sim_f16_rn(float x); /* nearest, ties to even; overflow gives infinity */
uint16_t sim_f16_rz(float x); /* toward zero; overflow gives the largest finite number */
float sim_f16_value(uint16_t bits);

#if defined(__cplusplus) && !defined(HT_SIM_LOCAL)
}
#endif
#endif
