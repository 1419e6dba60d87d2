/* dtype: the number formats that matrix units multiply, and those of matrices and sums. Knows nothing of
 * schemes or instruction sets. */
#ifndef HT_DTYPE_H
#define HT_DTYPE_H

enum slice_type { SLICE_F16, SLICE_BF16, SLICE_TF32, SLICE_S8, SLICE_TYPES };

static inline const char *slice_title(enum slice_type t) {
    static const char *const titles[SLICE_TYPES] = {"FP16", "BF16", "TF32", "INT8"};
    return titles[t];
}

static inline int slice_bytes(enum slice_type t) {
    static const int bytes[SLICE_TYPES] = {2, 2, 4, 1};
    return bytes[t];
}

enum number_type { NUMBER_F32, NUMBER_F64, NUMBER_S32, NUMBER_TYPES };

static inline const char *number_title(enum number_type t) {
    static const char *const titles[NUMBER_TYPES] = {"FP32", "FP64", "INT32"};
    return titles[t];
}

static inline int number_bytes(enum number_type t) {
    static const int bytes[NUMBER_TYPES] = {4, 8, 4};
    return bytes[t];
}

#endif
