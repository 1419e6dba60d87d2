/* ht_call.h: what the runtime's files share: the handle, a call, its plan, and the functions through which they
 * call each other, never in a circle. They know the device only through ht_dev.h, kernels only by the
 * descriptors of ht_abi.h. C11 that is also C++17. */
#ifndef HT_CALL_H
#define HT_CALL_H

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "halftone.h"
#include "ht_accuracy.h"
#include "ht_site_line.h"
#include "ht_abi.h"
#include "ht_abi64.h"
#include "ht_crt.h"
#include "ht_fenv.h"
#include "ht_pick.h"
#include "ht_dev.h"

enum {
    WS_ALIGNMENT = 1024, /* of each region of the workspace and of a packed operand */
    FLAG_BYTES = 64,     /* before the certificate's sums: ht_packed, any_flag */
    DETAIL_MAX = 1024,
    PLANS = 16,    /* that a handle remembers */
    CONTEXTS = 32, /* streams for which it keeps memory at once */
    NO_KERNEL = -1
};

/* ---- what a handle is asked for ---- */

/* "NAME", "NAME-cr", "NAME-sp" of the scheme that has modes, with or without ":d=N". */
struct ht_ozaki_mode_name {
    char text[24];
    int mode, most; /* enum ht_ozaki_mode; slices */
    bool of_floats; /* it is one of FP32 products */
};

/* What products of one type are asked for. */
struct ht_demand {
    const char *scheme; /* name in the set; NULL: `accuracy` chooses */
    bool is_auto; /* `auto`, or the accuracy that is the same; of FP32 `scheme` is what it starts from */
    struct ht_accuracy accuracy;     /* text "": the scheme was set by name */
    struct ht_ozaki_mode_name ozaki; /* where scheme is ozaki; else text "" */
};

/* The handle's half for products of one type. */
struct ht_half {
    const struct ht_set_desc *set; /* the kernels that suit the device; NULL: the library has none */
    void *fitted;                  /* the set's memory where it is a copy: ht_fit_set */
    unsigned char *ready;          /* per kernel, then per scheme for its packing: init was called */
    int forced;                    /* the kernel that was set by name, or NO_KERNEL */
    struct ht_demand own;          /* what the handle is set to */
};

/* ---- a call's plan ---- */

/* All that decides how a call runs. */
struct plan_key {
    bool is_fp64, of_floats, is_narrow;
    int64_t m, n, k, batch, a_entries, b_entries; /* 0 entries: packed */
    const char *scheme;                           /* these as in the call and its handle */
    int forced, is_auto, epoch, recompute, site;
    int lines[2]; /* lies_along_k of A and B */
};

/* Bytes and strides of one packed operand of `entries` matrices. */
struct packed_layout {
    int64_t rows, k, entries;
    int64_t absmax_stride, panel_stride; /* elements and bytes from entry to entry */
    int64_t exchange_ints;               /* of one entry; they follow its rows' absmax */
    int64_t sums_stride, copy_stride;    /* elements; 0 without the certificate */
    int64_t copy_ld;
    int64_t norms_at;     /* of correctly rounded products: behind an entry's first measure */
    int64_t abs_at; /* of their sums: behind an entry's first exponent; 0: none */
    int64_t count_stride; /* of a certificate of residues */
    /* of all entries, rounded up to WS_ALIGNMENT; INT64_MAX: too many */
    int64_t absmax_bytes, panel_bytes, sums_bytes, copy_bytes, count_bytes;
};

/* Regions of the workspace, in its order. Those of A and B are neighbours. The flags come first: a new block of the
 * handle's has its beginning written (ht_context.c). */
enum ws_region {
    WS_FLAGS, /* of the certificate, FLAG_BYTES each: those of A and of B, failed_count, the sample */
    WS_ABSMAX,
    WS_PANELS = WS_ABSMAX + 2,
    WS_SUMS = WS_PANELS + 2, /* the certificate's, of rows */
    WS_COUNTS = WS_SUMS + 2, /* of elements, where residues are certified: ht_crt_counts */
    /* a bit for each element of C, and the list; slices of the batch use them one after the other */
    WS_FAILED = WS_COUNTS + 2,
    WS_PARTIALS, /* of split-K; as those */
    WS_WIDE,     /* A and B as floats, where they are not */
    WS_REGIONS = WS_WIDE + 2
};

struct call;
struct step;

/* What a step of a plan does: each recipe has its own. */
struct step_kind {
    int (*launch)(struct call *c, const struct step *s);
    int (*ready)(const struct call *c); /* before any launch; NULL: the init of its kernel, if it has one */
    bool sliced;  /* once for each slice of the batch that a grid can hold; the others come before these */
    bool reduces; /* brings split-K partials to C */
};

struct step {
    const struct step_kind *kind;
    int kernel;                /* or NO_KERNEL */
    int64_t needs[WS_REGIONS]; /* bytes, multiples of WS_ALIGNMENT */
};

enum { STEPS_MAX = 6 };

/* Slices of an FP64 product by slices, and the blocks of C whose sums of pairs are kept at once. */
struct ozaki_plan {
    int mode, most, bits; /* enum ht_ozaki_mode; as in ht_ozaki_pack_args */
    bool of_floats;
    int64_t block_m, block_n;
    int64_t plane_stride; /* floats, from pair to pair */
};

/* Of FP64 by residues under a bound of |A||B|: the scheme that computes what has too few counts, and what a plan of its
 * own would have in the places of these names. */
struct second_plan {
    const struct ht_scheme_desc *scheme; /* NULL: FP64 arithmetic does */
    int kernel;
    int64_t plane_stride, plane_entries;
    struct packed_layout layout[2];
    int64_t most; /* elements of C left to FP64 arithmetic, above which that computes all */
    float factor; /* of ht_crt_failed */
};

struct plan {
    const struct ht_set_desc *set; /* that its kernels are of */
    const struct ht_scheme_desc *scheme;
    int kernel, splits;
    bool checked; /* results are tested by the certificate */
    int fallback; /* then: the kernel that computes those that are not cleared; NO_KERNEL: the product does */
    /* then: the kernel that computes blocks that have many of them first, or NO_KERNEL */
    int before_fallback;
    int64_t failed_blocks, failed_bytes; /* 64 x 64 of C that have bits; of these and their list */
    bool fma_only;                       /* of unpacked kernels */
    int64_t few_rows; /* > 0: the scheme's few_rows computes the product, not `kernel`, so many rows at once, */
    int packed_splits; /* which has so many splits where operands are packed */
    bool is_one_row;  /* the scheme's one_row does */
    bool is_auto;                        /* scheme is what `auto` starts from, then what it takes */
    int64_t kernel_ns;
    int64_t pack_ns;      /* FP64 by residues: packing and putting together; of few rows; else 0 */
    int64_t plane_stride; /* and bytes of an entry's residues, of so many entries at once */
    int64_t plane_entries;
    struct ozaki_plan ozaki;
    bool is_exact;                     /* correctly rounded */
    struct ht_certificate certificate; /* of FP64 by residues; needed 0: none */
    struct packed_layout layout[2];    /* of A and B */
    struct second_plan second;
    bool is_second;
    bool is_sampled; /* packing begins with a sample (ht_crt_sample), or of FP32 has one beside it (ht_pack_args) */
    int sample_most; /* ht_gemm_args */
    int k_blocks;
    int64_t k_part; /* of residues, whose panels hold so much k at once; 0: the scheme cannot cut k */
    struct step step[STEPS_MAX];
    int steps;
    int64_t blocks; /* 1, or calls of these sizes that the limit of the workspace makes of this one */
    int64_t block_m, block_n, block_batch;
    int64_t at[WS_REGIONS]; /* bytes into the workspace */
    int64_t bytes;          /* of the workspace */
};

/* ---- a call ---- */

/* Whose memory a call's workspace is. */
enum ws_source {
    SOURCE_HANDLE, /* of the stream's context; grows and is kept */
    SOURCE_POOL,   /* allocated on the stream for the call, and given back behind it */
    SOURCE_CALLER  /* halftone_set_workspace */
};

struct workspace {
    enum ws_source source;
    char *at;
    bool is_shared; /* with the other blocks of a call, which closes it */
};

/* Where the parts of a packed operand lie. */
struct packed_place {
    char *absmax, *panels;
    char *flag, *row_sums; /* NULL: no certificate */
    char *counts;          /* of FP64's certificate */
    char *copy;            /* NULL, unless the caller keeps the operand and it is checked */
};

/* A (side 0) or B (side 1). */
struct call_operand {
    char trans;
    const void *src;
    int64_t ld, stride;
    bool packs;                /* packing is asked for */
    const char *packed;        /* instead of src, or where packing writes */
    int64_t packed_bytes;      /* that a product reads there */
    struct packed_place place; /* of its packed form */
    int *absmax;               /* of a product over ranks: its rows' (B: columns') */
};

/* What a call can be seen to need on the host: nothing, nothing but the sign of C's zeros (beta is 1), only
 * beta * C, or the product. */
enum call_effect { EFFECT_NONE, EFFECT_ZEROS, EFFECT_SCALE, EFFECT_PRODUCT };

/* Of a product whose k ranks divide: how a rank's operands are measured, its sums made, and C of all sums. */
enum rank_step { RANKS_NONE, RANKS_MAXIMA, RANKS_PARTIAL, RANKS_FINISH };

/* One call of any of the products, of packing or of a question, and how far it is; what a function lacks
 * is 0. */
struct call {
    halftone *h;
    bool is_fp64;   /* it runs by kernels of FP64: matrices and scalars are doubles, else floats */
    bool of_floats; /* floats by kernels of FP64 */
    bool is_packed; /* operands are */
    int narrow;     /* HALFTONE_BF16 or HALFTONE_FP16 where A and B are not floats, else 0 */
    int64_t m, n, k, batch;
    struct call_operand of[2];
    const void *alpha, *beta;
    void *c;
    int64_t ldc, stride_c;
    enum call_effect effect;
    bool adds_zero; /* where only C is scaled: C = beta C + 0, as exact sums have it, so that -0 becomes 0 */
    void *answer; /* of a question: where the answer goes */
    enum rank_step ranks;
    int64_t *partial; /* of a product over ranks: sums, and what tells their scales */
    /* What it asks for. */
    const struct ht_half *half;
    const struct ht_demand *asked; /* the handle's own, or what its site has */
    int site;                      /* its line of the site table, from 1; 0: none */
    bool is_inner;                 /* part of another call, which has a site or none */
    /* How it is planned. */
    int64_t k_part;         /* of residues: k that are packed at once; 0: all */
    bool without_workspace; /* the plan may need none */
    /* Under way. */
    const struct plan *plan;
    const struct workspace *outer; /* of the call of which this is a block; NULL: none */
    struct workspace workspace;
    int64_t entry, entries; /* the present slice of the batch */
};

/* ---- the handle ---- */

/* A block of the handle's, used by one call of a stream after another. */
struct own_block {
    char *at;
    size_t bytes;
    size_t outgrown; /* bytes of those before it that are kept for graphs */
    bool in_graph;   /* one may hold the address: not freed before halftone_trim or halftone_destroy */
    bool is_reset;   /* it holds what its users expect at their beginning */
};

/* What calls may use again because the order of one stream is theirs: a workspace, and what packing blocks
 * exchange their rows' absmax through. */
enum own_kind { OWN_WORKSPACE, OWN_EXCHANGE, OWN_BLOCKS };
struct context {
    void *stream;
    struct own_block block[OWN_BLOCKS];
    uint64_t last_use; /* halftone.uses then */
};

/* Whether the stream is being captured, as far as the call has asked. Elsewhere: see ht_dev_is_capturing. */
enum capture { CAPTURE_NOT_ASKED, CAPTURE_NONE, CAPTURE_ACTIVE, CAPTURE_ELSEWHERE };

/* Tiles of a C on the host, from one on; see ht_host.c. m = 0: none. */
struct ht_host_tiles {
    int64_t m, n, tile_m, tile_n;
    int64_t span;            /* rows of a span */
    int64_t first, row, col; /* of the present span; of the next tile */
    char uplo;               /* 'A': all of C is computed, 'L', 'U': this triangle and the diagonal */
};

struct halftone {
    struct ht_half half[2]; /* of FP32 products, of FP64 products */
    void *stream;
    char *user; /* the caller's workspace; it wins when has_user */
    size_t user_bytes;
    bool has_user;
    enum ws_source own_source; /* without it: SOURCE_HANDLE or SOURCE_POOL */
    void *pool;                /* of SOURCE_POOL; NULL: the device's */
    struct context context[CONTEXTS];
    int contexts;
    uint64_t uses;
    void **retired; /* blocks that were outgrown and that a graph may hold */
    size_t retired_count, retired_bytes;
    enum capture capture;
    int pack_epoch;                         /* so far: ht_pack_args, epoch */
    struct ht_host *host;                   /* of products of host memory; NULL: none so far */
    void (*close_host)(struct halftone *h); /* frees it: who makes no such product does not link ht_host.c */
    int64_t host_tile;                      /* 0: the default; as host_bytes */
    size_t host_bytes;
    int host_threads; /* 0: by size */
    struct ht_host_tiles left;              /* what halftone_host_left tells */
    int64_t workspace_limit; /* bytes of a call; 0: none */
    bool changed_c;          /* something was launched that writes C: halftone_changed_c */
    int pointer_mode;
    int epoch;        /* of settings that plans were made for, besides those that plan_key has */
    int recompute;    /* enum halftone_recompute */
    void *recomputed; /* on the device, as ht_gemm_args has it; NULL: halftone_last_check was not called */
    struct ht_sites *sites; /* the site table: ht_site.c; NULL: none */
    char site_name[HT_SITE_TEXT]; /* of the products that follow; zeros behind it: it is compared by bytes */
    int last_site;          /* line, from 1, of the last product; 0: none */
    /* Comparing kernels and splits takes 2 us of the host, for `auto` 7, comparing schemes 10; laying out
     * 0.4. */
    struct {
        struct plan_key key; /* m 0: none */
        struct plan plan;
    } remembered[PLANS];
    struct packed_operand *packed; /* that it knows: ht_packed.c */
    int packed_count, packed_capacity;
    struct ht_dev_info device;
    char detail[DETAIL_MAX];
};

/* ---- small things ---- */

/* code = next, unless something failed before. */
#define AND_THEN(code, next) ((code) = (code) == HALFTONE_OK ? (next) : (code))

/* A call of these sizes; the rest is 0. h NULL: ht_begin says so. */
static inline struct call call_of(halftone *h, bool is_fp64, char transa, char transb, int64_t m, int64_t n,
                                  int64_t k, int64_t batch) {
    struct call c;
    memset(&c, 0, sizeof c);
    c.h = h;
    c.half = h != NULL ? &h->half[is_fp64] : NULL;
    c.asked = h != NULL ? &c.half->own : NULL;
    c.is_fp64 = is_fp64;
    c.of[0].trans = transa;
    c.of[1].trans = transb;
    c.m = m;
    c.n = n;
    c.k = k;
    c.batch = batch;
    return c;
}

/* Of these matrices. */
static inline struct call with_operands(struct call c, const void *a, int64_t lda, int64_t stride_a,
                                        const void *b, int64_t ldb, int64_t stride_b) {
    c.of[0].src = a;
    c.of[0].ld = lda;
    c.of[0].stride = stride_a;
    c.of[1].src = b;
    c.of[1].ld = ldb;
    c.of[1].stride = stride_b;
    return c;
}

/* As an argument list. */
#define SIZES_OF(c) (c)->m, (c)->n, (c)->k, (c)->batch

static inline struct ht_shape shape_of(const struct call *c) {
    const struct ht_shape x = {SIZES_OF(c), 1};
    return x;
}

static inline bool is_trans(char t) {
    return t == 'T' || t == 't' || t == 'C' || t == 'c';
}

/* Rows of A, or columns of B. */
static inline int64_t rows_of(const struct call *c, int side) {
    return side == 0 ? c->m : c->n;
}

/* That which few_rows leaves as it is. */
static inline int large_side(const struct call *c) {
    return c->m < c->n;
}

static inline bool k_contiguous(const struct call *c, int side) {
    return is_trans(c->of[side].trans) == (side == 0);
}

/* How k lies in a matrix. 1: contiguous; 2: contiguous if there is one row, by a leading dimension of 1; 0: not. A question has no leading
 * dimensions, and a widened matrix another. */
static inline int lies_along_k(const struct call *c, int side) {
    return k_contiguous(c, side) ? 1 : c->of[side].ld == 1 && c->narrow == 0 ? 2 : 0;
}

/* Whether op(A) op(B) is X X^T of one matrix; sums of slices depend on which operand comes first. */
static inline bool is_gram(const struct call *c) {
    const struct call_operand *const a = &c->of[0], *const b = &c->of[1];
    return c->m == c->n && a->src == b->src && a->ld == b->ld && a->stride == b->stride &&
           is_trans(a->trans) != is_trans(b->trans);
}

/* Of an operand as it is stored; rows are contiguous. */
static inline int64_t stored_rows(const struct call *c, int side) {
    return k_contiguous(c, side) ? c->k : rows_of(c, side);
}

static inline int64_t stored_cols(const struct call *c, int side) {
    return k_contiguous(c, side) ? rows_of(c, side) : c->k;
}

/* Matrices that the call packs of this side. */
static inline int64_t entries_of(const struct call *c, int side) {
    return c->is_packed ? 0 : c->of[side].stride == 0 ? 1 : c->batch;
}

static inline bool has_doubles(const struct call *c) {
    return c->is_fp64 && !c->of_floats;
}

static inline size_t element_bytes(const struct call *c) {
    return has_doubles(c) ? sizeof(double) : sizeof(float);
}

/* Of A and B. */
static inline size_t operand_bytes(const struct call *c) {
    return c->narrow != 0 ? 2 : element_bytes(c);
}

/* Elements from column to column of an operand that is widened. */
static inline int64_t wide_ld(const struct call *c, int side) {
    return ht_ceil_div(stored_rows(c, side), 8) * 8;
}

/* alpha or beta of a call, read on the host. */
static inline double scalar_of(const struct call *c, const void *scalar) {
    return has_doubles(c) ? *(const double *)scalar : (double)*(const float *)scalar;
}

static inline bool is_aligned(const void *p, size_t alignment) {
    return (uintptr_t)p % alignment == 0;
}

static inline int64_t least_of(int64_t x, int64_t y) {
    return x < y ? x : y;
}

static inline int64_t at_least_one(int64_t size) { /* questions may have zeros */
    return size > 0 ? size : 1;
}

static inline int64_t round_up(int64_t value, int64_t unit) {
    return value > INT64_MAX - unit ? INT64_MAX : ht_ceil_div(value, unit) * unit;
}

/* Bytes of so many elements, as a region of the workspace or a packed operand has them. */
static inline int64_t region_bytes(int64_t elements, size_t each) {
    return round_up(ht_mul(elements, (int64_t)each), WS_ALIGNMENT);
}

/* Newton's square root: from above, and never below the true one by more than rounding. The runtime links
 * no libm. */
static inline double root_of(double square) {
    double root = square;
    for (int i = 0; i < 64; i++)
        root = 0.5 * (root + square / root);
    return root;
}

/* Which of so many places is a key's, zeros where it has padding. */
static inline int slot_of(const void *key, size_t bytes, int slots) {
    uint64_t mixed = 0, word;
    for (size_t at = 0; at + sizeof word <= bytes; at += sizeof word) {
        memcpy(&word, (const char *)key + at, sizeof word);
        mixed = mixed * 31 + word;
    }
    return (int)((mixed ^ mixed >> 8) % (uint64_t)slots);
}

/* Elements from the first of a batch of matrices to the last; none of the counts is 0. */
static inline int64_t ht_extent_of(int64_t ld, int64_t rows, int64_t cols, int64_t stride, int64_t batch) {
    return ht_add(ht_add(ht_mul(cols - 1, ld), rows), ht_mul(batch - 1, stride));
}

/* Entries of a batch that one launch takes. */
static inline int64_t grid_batch(int64_t entries) {
    return least_of(entries, HT_GRID_BATCH);
}

/* Where a region of the call's workspace begins. */
static inline char *region_of(const struct call *c, int region) {
    return c->workspace.at + c->plan->at[region];
}

/* ---- ht_error.c: what every public call begins and fails with ---- */

/* Opens every public call on a handle. */
HT_LOCAL int ht_begin(halftone *h);
/* Returns `code` and keeps the words for halftone_last_detail. */
HT_LOCAL int ht_fail(halftone *h, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same of a code of ht_dev.h, with the backend's words, and of what a launcher returned. */
HT_LOCAL int ht_fail_device(halftone *h, int dev_code);
HT_LOCAL int ht_launched(halftone *h, int backend_code);
/* Calls init unless it was called. */
HT_LOCAL int ht_make_ready(halftone *h, int (*init)(void), unsigned char *ready);
/* The rest of a public call, in the library's own floating-point environment; `rest` is HT_IN_OWN_FENV. */
HT_LOCAL int ht_in_own_fenv(int (*rest)(void *of), void *of);

/* ---- ht_check.c: arguments ---- */

/* In the order of their numbers, and what the call needs. A and B may be anything when they are not read. */
HT_LOCAL int ht_check_gemm(struct call *c);
/* Whether the last of all matrices still ends at an address that could exist. */
HT_LOCAL int ht_check_extents(const struct call *c);
/* The same of a step of a product over ranks. */
HT_LOCAL int ht_check_ranks(struct call *c);
/* Arguments of questions about a call: sizes, batch, and where the answer goes. */
HT_LOCAL int ht_check_question(const struct call *c);
HT_LOCAL int ht_check_sizes(const struct call *c);
HT_LOCAL int ht_check_limits(const struct call *c);
/* The matrix that is packed, and its block of memory; empty: neither is read or written. */
HT_LOCAL int ht_check_pack(const struct call *c, int side, bool empty);
/* Whether an address can count so many bytes of packed operands or of a workspace. */
HT_LOCAL int ht_check_bytes(halftone *h, int64_t bytes);

/* ---- ht_context.c: the handle's own device memory ---- */

struct pack_side;
/* Fills in halftone.capture. */
HT_LOCAL int ht_ask_capture(halftone *h);
/* Writes memory that is to hold flags. A product reads flags that packing may not have raised: any value
 * will do, but a sanitizer asks for one. */
HT_LOCAL int ht_begin_flags(halftone *h, char *at, size_t bytes);
/* The block of the present stream; *at NULL with success: it would have to grow, which a capture forbids. */
HT_LOCAL int ht_own_workspace(halftone *h, size_t bytes, char **at);
/* Lets the operands of one packing launch use the present stream's block for the exchange of absmax, if there
 * is one and they fit: then it is returned. */
HT_LOCAL struct own_block *ht_attach_exchange(halftone *h, const struct pack_side *x, struct ht_pack_args *args,
                                            int count);
/* Frees all of the handle's own device memory; the first failure's code. */
HT_LOCAL int ht_free_memory(halftone *h);

/* ---- ht_workspace.c: of a call ---- */

HT_LOCAL struct step *ht_add_step(struct plan *p, const struct step_kind *kind, int kernel);
/* With what p's layouts take. */
HT_LOCAL struct step *ht_add_packing(struct plan *p, const struct step_kind *kind, int kernel);
/* Puts the regions that a plan's steps need behind each other. */
HT_LOCAL int ht_lay_out_workspace(halftone *h, struct plan *p);
HT_LOCAL int64_t ht_layout_bytes(const struct packed_layout *o);
/* Where its parts lie in the caller's block. */
HT_LOCAL struct packed_place ht_place_in_block(const struct packed_layout *o, char *block);
/* What kernels' arguments have of an operand and of C, from `entry` on. */
HT_LOCAL struct ht_view ht_view_of(const struct call *c, int side, int64_t entry);
HT_LOCAL struct ht_result ht_result_of(const struct call *c, int64_t entry);
/* Where the counts of entries from `entry` on are; a NULL: none. */
HT_LOCAL struct ht_crt_counts ht_counts_of(const struct call *c, int64_t entry);
/* Which of their elements residues of the second scheme leave; all NULL: there is none. */
HT_LOCAL struct ht_crt_failed ht_failed_of(const struct call *c, int64_t entry);
/* Of an entry's bits: blocks of 64 x 64 elements, words. */
HT_LOCAL int64_t ht_failed_blocks(const struct call *c);
HT_LOCAL int64_t ht_failed_words(const struct call *c);
/* From the source that the handle is set to; in a capture the pool stands in for a block of the handle's
 * that may not grow. Closed when all has been launched: returns `code`, or if that is success what went
 * wrong here. */
HT_LOCAL int ht_open_workspace(struct call *c);
HT_LOCAL int ht_close_workspace(struct call *c, int code);
HT_LOCAL enum ws_source ht_workspace_source(const halftone *h);

/* ---- ht_lend.c ---- */

/* Lends the device what a call touches, or takes it back; where the device is not the process's: nothing. */
HT_LOCAL int ht_lend_call(const struct call *c, bool back);
/* The same of packing; 0 bytes: the side is not packed. */
HT_LOCAL int ht_lend_packing(const struct call *c, const int64_t bytes[2], bool back);

/* ---- ht_recipe_slices.c: FP32 products, of packed slices or of unpacked matrices ---- */

/* One operand that is packed. */
struct pack_side {
    int side;
    const struct packed_layout *layout;
    struct packed_place to;
    int tiles;         /* of a packing block; 0: the launcher chooses */
    int *failed_count; /* NULL, but for one operand of a call with the certificate */
    int *sample;       /* ht_pack_args */
};

HT_LOCAL int ht_lay_out_slices(const struct call *c, struct plan *p);
/* The step before all others of a call whose operands have 16 bits, which those read as floats (ht_view_of). */
HT_LOCAL void ht_add_widening(const struct call *c, struct plan *p);
/* C = beta * C. */
HT_LOCAL void ht_lay_out_scaling(struct plan *p);
/* A step of a product over ranks, by a scheme of exact sums. */
HT_LOCAL int ht_lay_out_ranks(const struct call *c, struct plan *p);
/* A packed operand of the caller's: rows' absmax, panels, and for `auto` the certificate's sums and the
 * matrix. */
HT_LOCAL struct packed_layout ht_slices_layout(const struct call *c, const struct ht_scheme_desc *s,
                                               int64_t rows, int64_t k);
/* Packs one or two operands: together in one launch where a grid can hold all their entries. memory: where
 * that of the call comes from. */
HT_LOCAL int ht_pack_slices(const struct call *c, const struct ht_scheme_desc *scheme,
                            const struct pack_side *x, int count, enum ws_source memory);
/* Whether packed operands are for `auto`, of which some shapes read the matrix: untested too
 * (halftone_set_recompute). */
static inline bool ht_has_check(const struct call *c, const struct ht_scheme_desc *s) {
    return ht_checks_data(c->half->set, s, c->asked->is_auto);
}

/* ---- ht_recipe_ozaki.c: FP64, or FP32, by FP16 slices ---- */

/* Reads a mode's name; false: it is none. */
HT_LOCAL bool ht_read_ozaki(const char *scheme, const char *name, struct ht_ozaki_mode_name *mode);
/* A call of FP32 that asks for a mode of FP32 goes on by the kernels of FP64. */
HT_LOCAL void ht_settle_floats(struct call *c);
/* Products of slices that a call is expected to need. */
HT_LOCAL int64_t ht_ozaki_products(const struct ht_ozaki_mode_name *mode, int64_t k);
HT_LOCAL int ht_lay_out_ozaki(const struct call *c, struct plan *p);
/* |C - AB| in 2^-53, of floats 2^-24, of k max|a| max|b| of a row and a column. */
HT_LOCAL int64_t ht_ozaki_bound_units(const struct plan *p);

/* ---- ht_recipe_residues.c: FP64 by residues or digits ---- */

/* The first kernel of a scheme of residues or digits; NULL: it is another. */
HT_LOCAL const struct ht_kernel_desc *ht_residues_of(const struct ht_set_desc *set,
                                                     const struct ht_scheme_desc *s);
/* Moduli of a scheme of residues; 1 of the others. */
HT_LOCAL int ht_moduli_of(const struct ht_set_desc *set, const struct ht_scheme_desc *s);
/* ns of packing and putting together. */
HT_LOCAL int64_t ht_residues_ns(const struct call *c, const struct ht_kernel_desc *by);
HT_LOCAL int ht_lay_out_residues(const struct call *c, struct plan *p);
/* An operand of the caller's that was packed, with counts where `certificate` needs some, and with the
 * matrix where has_copy. */
HT_LOCAL struct packed_layout ht_residues_layout(int moduli, const struct ht_certificate *certificate,
                                                 bool has_copy, int64_t rows, int64_t k);
/* By a plan that only packs: 0 rows of an operand leave it out. */
HT_LOCAL int ht_pack_residues(const struct call *c);
/* |C - AB| beside k max|a| max|b| of a row and a column, by residues. */
HT_LOCAL double ht_moduli_bound(int moduli, int64_t k);

/* ---- ht_recipe_native64.c: FP64 by FP64 arithmetic ---- */

HT_LOCAL int ht_lay_out_native64(const struct call *c, struct plan *p);
/* The step behind residues, for what their certificate leaves: p->fallback. */
HT_LOCAL void ht_add_rest(struct plan *p);

/* ---- ht_select.c: schemes, kernels, splits, certificate ---- */

#define HT_FP64 "fp64" /* the default accuracy */
/* Longer sums are not certified in FP32: what a row loses is an int (pack/row_sums). */
enum { HT_CHECKED_K_MAX = 1 << 21 };
/* What `auto` starts from in this set, and whether that is the fallback alone, because the set lacks the
 * first. */
HT_LOCAL const char *ht_auto_scheme(const struct ht_set_desc *set);
HT_LOCAL bool ht_auto_is_fallback(const struct ht_set_desc *set);
/* Whether `auto` is for every input: it checks the data, or starts from a scheme that need not. */
HT_LOCAL bool ht_auto_takes_all(const struct ht_set_desc *set);
/* Whether `auto` may take s, if it is the fastest; the same of accuracies that choose an FP64 scheme by shape:
 * then how s is certified, and the ns of a product, packing and putting together included. */
HT_LOCAL bool ht_auto_weighs(const struct call *c, const struct ht_scheme_desc *s);
HT_LOCAL bool ht_weighs64(const struct call *c, const struct ht_scheme_desc *s,
                          struct ht_certificate *certificate, int64_t *ns);
/* ns of an FP64 product without a certificate; false: no kernel fits this GPU, or k is too long for s. */
HT_LOCAL bool ht_predict64(const struct call *c, const struct ht_scheme_desc *s, int64_t *ns);
HT_LOCAL struct ht_accuracy_choice ht_choose_scheme(const struct call *c, const struct ht_accuracy *accuracy);
HT_LOCAL int ht_fail_accuracy(halftone *h, const struct ht_accuracy *accuracy,
                              const struct ht_accuracy_choice *choice, int64_t k);
/* A scheme by name; of FP64 `code` where the library lacks it. */
HT_LOCAL int ht_scheme_named(const struct call *c, const char *name, int code,
                             const struct ht_scheme_desc **scheme);
/* That which no shape changes, of products or of packed operands; NULL: there is none. */
HT_LOCAL const char *ht_fixed_scheme(const struct call *c, bool is_packed);
/* Whether products are to be rounded correctly. */
HT_LOCAL bool ht_is_exact(const struct call *c);
/* HALFTONE_ACCURACY where a bound is less than that of FP64 arithmetic at this k. */
HT_LOCAL int ht_check_bound64(const struct call *c);
/* Units of 2^-53 |A||B| that the call's accuracy allows; 0: none is asked for. */
HT_LOCAL double ht_units64(const struct call *c);
/* A plan with the scheme alone of a call, or of packed operands, each of which knows one size and k of the
 * product: how it is certified, and whether it is `auto` that takes it. */
HT_LOCAL int ht_scheme_of_call(const struct call *c, struct plan *p);
HT_LOCAL int ht_packing_scheme(const struct call *c, struct plan *p);
/* Scheme, kernel, splits, certificate and fallback of a plan. */
HT_LOCAL int ht_select(const struct call *c, struct plan *p);
/* The a-priori bound of a plan, in units of 2^-24 |A||B|; of FP64 that of its scheme. */
HT_LOCAL int64_t ht_plan_bound_units(const struct plan *p, int64_t k);
/* Of a call at its site: whether it adds a zero, and so whether EFFECT_ZEROS is to scale C or nothing. */
HT_LOCAL void ht_settle_zeros(struct call *c);

/* ---- ht_plan.c ---- */

/* The plan of a call; what a handle is asked again it knows. */
HT_LOCAL int ht_plan_call(const struct call *c, const struct plan **plan);

/* ---- ht_settings.c ---- */

/* What halftone_set_scheme (verb 's') and halftone_set_accuracy ('a') do for the types `of`, to demands of
 * either; on failure they stay. *is_of: the types that have a scheme or an accuracy of that name; one of
 * them may be unable to have it. */
HT_LOCAL int ht_ask(halftone *h, char verb, const char *text, unsigned of, struct ht_demand *const to[2],
                    unsigned *is_of);

/* ---- ht_site.c ---- */

/* From here on the call asks for what the handle's site table says of it. Operands that are packed, or are
 * to be (is_packing), know k alone. */
HT_LOCAL void ht_enter_site(struct call *c, bool is_packing);
/* Returns `code`, after saying whose line it is where a line asked for too much. Products that succeed are
 * counted. */
HT_LOCAL int ht_leave_site(const struct call *c, bool is_product, int code);
HT_LOCAL void ht_free_sites(halftone *h);

/* ---- ht_packed.c: operands that are packed once ---- */

/* An operand that a handle packed, or that a call asks for. */
struct packed_operand {
    const char *at;
    int64_t bytes, rows, k;
    const struct ht_scheme_desc *scheme;
    struct ht_certificate certificate; /* of FP64 */
    bool is_fp64;
    int side;
    bool checked;  /* with what the certificate of its type needs */
    bool has_copy; /* of FP64: with the matrix */
    struct packed_layout layout;
};

/* Packs one side, or both, as a public call. */
HT_LOCAL int ht_pack(struct call *c);
/* Whether the packed operands of a product are what it asks for; where their parts lie, and the matrices
 * that they hold. */
HT_LOCAL int ht_check_packed(struct call *c);
/* Bytes of an operand of so many rows that a product of the call's setting takes packed; 0: there is none. */
HT_LOCAL int64_t ht_packed_operand_bytes(const struct call *c, int64_t rows);
/* Forgets what was packed where something else will lie. */
HT_LOCAL void ht_forget_packed(halftone *h, const char *at, int64_t bytes);
/* Forgets the operands of FP32, which products may use unknown. */
HT_LOCAL void ht_forget_packed32(halftone *h);

/* ---- ht_product.c ---- */

/* A product whose call has begun. */
HT_LOCAL int ht_run_gemm(struct call *c);

#endif
