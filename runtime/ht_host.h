/* ht_host.h: what ht_host.c and ht_host_copy.c share: products of matrices in host memory. */
#ifndef HT_HOST_H
#define HT_HOST_H

#include "ht_call.h"

enum {
    HOST_TILE = 4096,
    HOST_TILE_LEAST = 64,
    HOST_TILE_STEP = 64,
    HOST_TURNS = 2,
    HOST_MIRRORED = 16, /* elements of 64 bytes of FP32 */
    HOST_ATTEMPTS = 6,
    HOST_THREADS_MOST = 64
};
static const size_t HOST_STAGE_BYTES = (size_t)32 << 20;

/* Threads that share work with the caller: ht_host_copy.c. */
struct ht_team;

/* A block of a column-major matrix: rows and columns from (row, col) on. */
struct host_block {
    int64_t row, col, rows, cols;
};

enum { HOST_IN, HOST_OUT, HOST_STREAMS };
/* Those of operands, stages and results by turns. */
enum {
    HOST_FULL,                                        /* on `in`: what was copied last is there */
    HOST_PRODUCT,                                     /* on the handle's stream: the last tile is computed */
    HOST_RESIDENT_FREE,                               /* and: nobody reads the row blocks of A any more */
    HOST_OPERAND_FREE,                                /* and: blocks on which it works */
    HOST_STAGE_FREE = HOST_OPERAND_FREE + HOST_TURNS, /* on `in` */
    HOST_RESULT_FULL = HOST_STAGE_FREE + HOST_TURNS,  /* on `out`: the tile is in result[] */
    HOST_EVENTS = HOST_RESULT_FULL + HOST_TURNS
};

/* What a handle keeps for such calls until halftone_trim. */
struct ht_host {
    void *stream[HOST_STREAMS], *event[HOST_EVENTS];
    char *stage[HOST_TURNS];  /* pinned, HOST_STAGE_BYTES each */
    char *result[HOST_TURNS]; /* pinned */
    size_t stage_bytes, result_bytes;
    char *device;
    size_t device_bytes;
};

/* One call. */
struct host_job {
    struct call x;            /* pointers into host memory */
    struct ht_team *team;     /* who copies between the caller's memory and pinned memory */
    bool packs;               /* operands are packed once; else products read them as they were copied */
    struct ht_host_tiles all; /* of C */
    bool mirrors;             /* one triangle is computed, and copied to the other */
    int64_t a_bytes, b_bytes, operand_bytes, c_bytes; /* of one block on the device */
    int64_t resident_bytes;                           /* of row blocks of A that stay there */
    char *resident, *panels, *operand[HOST_TURNS], *c[HOST_TURNS];
    int operand_turn, stage_turn;
    int64_t tiles, taken; /* given to the device; of these, those that C holds */
    struct host_block given[HOST_TURNS];
};

/* The element at (row, col) of a matrix of the call's type. */
static inline char *host_at(const struct host_job *j, const void *matrix, int64_t ld, int64_t row,
                            int64_t col) {
    return (char *)(uintptr_t)matrix + (col * ld + row) * (int64_t)element_bytes(&j->x);
}

/* The rows of a tile's column that belong to C's triangle, [*first, *last) within the tile. */
static inline void host_rows_of_column(const struct host_job *j, const struct host_block *t, int64_t col,
                                       int64_t *first, int64_t *last) {
    const int64_t diagonal = t->col + col - t->row;
    *first = j->all.uplo == 'L' && diagonal > 0 ? least_of(diagonal, t->rows) : 0;
    *last = j->all.uplo == 'U' ? least_of(diagonal + 1, t->rows) : t->rows;
}

HT_LOCAL int ht_host_open(halftone *h);
/* Runs it with so many threads, the caller's among them; fewer where the system has no more. */
HT_LOCAL int ht_host_with_team(halftone *h, struct host_job *j, int threads,
                               int (*run)(halftone *h, struct host_job *j));
/* Whatever went wrong before, nobody reads or writes the host's memory any more. */
HT_LOCAL void ht_host_wait_all(halftone *h);
/* At least so many bytes in each of two pinned buffers. */
HT_LOCAL int ht_host_pin(halftone *h, char *memory[HOST_TURNS], size_t *bytes, size_t wanted);
/* A block of host memory to `to` on the device, without gaps; what the handle's stream gets next finds it. */
HT_LOCAL int ht_host_copy_in(halftone *h, struct host_job *j, char *to, const void *block, int64_t ld,
                             int64_t rows, int64_t cols);
/* The oldest tile that C does not hold yet. */
HT_LOCAL int ht_host_take(halftone *h, struct host_job *j);

#endif
