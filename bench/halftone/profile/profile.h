/* profile: which arithmetic a GPU's matrix unit has (EGEMM-TC, section 3.1, "precision profiling"): the unit's results on
 * random and directed inputs, bit by bit beside those of candidate models on the CPU. This header: the units, their tiles,
 * and the search. Knows no vendor: profile_kernels.cu runs the tiles. */
#ifndef BENCH_PROFILE_H
#define BENCH_PROFILE_H

#include <stdint.h>

#include "io/cli_error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum profile_type { PROFILE_F16, PROFILE_BF16, PROFILE_TF32, PROFILE_S8 };

/* One instruction: D(rows x 8) = A(rows x k) B(k x 8) + C. */
struct profile_unit {
    const char *name;
    enum profile_type type;
    int rows, k;
    int capability, exactly; /* least compute capability x 100, or the only one */
};
enum { PROFILE_UNITS = 10, PROFILE_COLUMNS = 8, PROFILE_MOST_ROWS = 64, PROFILE_MOST_K = 32 };
extern const struct profile_unit profile_units[PROFILE_UNITS];

int profile_unit_runs(const struct profile_unit *unit, int capability);
int profile_element_bytes(enum profile_type type);

/* Where a unit's tiles lie for the device: A as rows of k elements, B as 8 columns of k elements, C and D row-major. A wgmma
 * block instead reads an image of four tiles: 8 columns of B, then 64 rows of A, each 128 bytes (four times 32) under
 * the 128-byte swizzle. */
enum {
    PROFILE_IMAGE_TILES = 4,
    PROFILE_IMAGE_ROW = 128,
    PROFILE_IMAGE_BYTES = (PROFILE_COLUMNS + PROFILE_MOST_ROWS) * PROFILE_IMAGE_ROW
};
struct profile_args {
    const int *a, *b; /* a: also the images */
    const int *c;
    int *d;
};

/* In builds with NVIDIA's or the simulator's kernels; NULL address elsewhere. Unit by place in profile_units; a wgmma unit
 * wants a multiple of PROFILE_IMAGE_TILES. What it returns is for ht_dev_check. */
int profile_launch(int unit, const struct profile_args *args, int tiles) __attribute__((weak));

#ifdef __cplusplus
}
#endif
#endif
