/* profile_cases: the inputs of `halftone profile`: directed tiles, each made to tell some candidates apart, then random ones
 * of several kinds; all from a fixed seed. Knows the formats of inputs, nothing of models. */
#ifndef BENCH_PROFILE_CASES_H
#define BENCH_PROFILE_CASES_H

#include <stddef.h>
#include <stdint.h>

#include "io/cli_error.h"
#include "profile/profile.h"

/* Inputs and results of a unit's tiles, tile after tile: A row-major, B column-major, C and D row-major. */
struct profile_tiles {
    const struct profile_unit *unit;
    int directed, random, count;
    size_t a_bytes, b_bytes, values; /* of one tile */
    unsigned char *a, *b;
    uint32_t *c, *d; /* d: filled by whoever runs them */
    struct profile_case {
        char name[48];
        int period; /* of its results */
    } * name;       /* of the directed ones */
};

/* overflow: also sums of integers beyond 32 bits, which the simulator refuses. */
int profile_tiles_make(struct profile_tiles *t, const struct profile_unit *unit, int random, uint64_t seed,
                       int overflow, struct cli_error *f);
void profile_tiles_free(struct profile_tiles *t);
/* Result i of the tile, row by row, repeats result i - period: same inputs. A whole tile's, where none do. */
int profile_tile_period(const struct profile_tiles *t, int tile);
void profile_tile_name(const struct profile_tiles *t, int tile, char *text, size_t size);
/* The dot's nonzero inputs in hex: "c=3f800000 k0:3c00*0c00 k7:..." */
void profile_tile_dot(const struct profile_tiles *t, int tile, int row, int column, char *text, size_t size);

int profile_run(struct profile_tiles *t, struct cli_error *f); /* profile_run.c: fills t->d by the device */

#endif
