/* ht_call.h: what the runtime's files share and nobody else sees: the handle, a call, its plan, and the
 * functions through which its files call each other, never in a circle. They know the device only through ht_dev.h,
 * kernels only by the descriptors of ht_abi.h; the layout of a panel's atoms is none of their business. C11 that is
 * also C++17. */
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
    FLAG_BYTES = 64,     /* before the certificate's sums: ht_pack_args, any_flag */
    DETAIL_MAX = 1024,
    PLANS = 16,    /* that a handle remembers */
    CONTEXTS = 32, /* streams for which it keeps memory at once */
    NO_KERNEL = -1
};

/* ---- a call ---- */

/* One call of any of the products, and the arguments of packing; fields that a function lacks stay
 * harmless. */
struct gemm_call {
    bool is_fp64; /* matrices and scalars are doubles, else floats */
    char transa, transb;
    int64_t m, n, k;
    const void *alpha;
    const void *a;
    int64_t lda, stride_a;
    const void *b;
    int64_t ldb, stride_b;
    const void *beta;
    void *c;
    int64_t ldc, stride_c;
    int64_t batch;
    const char *packed_a, *packed_b; /* instead of a and b */
    int64_t packed_bytes[2];         /* of both, as ht_check_packed finds them */
    bool adds_zero; /* where only C is scaled: C = beta C + 0, as exact sums have it, so that -0 becomes 0 */
};

/* A call of these sizes; the rest is 0. */
static inline struct gemm_call gemm_call_of(char transa, char transb, int64_t m, int64_t n, int64_t k,
                                            int64_t batch) {
    struct gemm_call x;
    memset(&x, 0, sizeof x);
    x.transa = transa;
    x.transb = transb;
    x.m = m;
    x.n = n;
    x.k = k;
    x.batch = batch;
    return x;
}

/* What the call can be seen to need on the host: nothing, nothing but the sign of C's zeros (beta is 1), only beta * C, or the
 * product. */
enum call_effect { EFFECT_NONE, EFFECT_ZEROS, EFFECT_SCALE, EFFECT_PRODUCT };

/* ---- its plan ---- */

/* All that decides how a call runs. */
struct plan_key {
    bool is_fp64;
    int64_t m, n, k, batch, a_entries, b_entries;
    int64_t k_part; /* of residues: k that are packed at once; 0: all */
    const char *scheme; /* these as in the handle */
    int forced, is_auto, accuracies, recompute, site;
};

/* Bytes and strides of one packed operand of `entries` matrices. */
struct packed_layout {
    int64_t rows, k, entries;
    int64_t absmax_stride, panel_stride; /* elements and bytes from entry to entry */
    int64_t exchange_ints;               /* of one entry; they follow its rows' absmax */
    int64_t sums_stride, copy_stride;    /* elements; 0 without the certificate */
    int64_t norms_at;                    /* of correctly rounded products: behind an entry's first measure */
    int64_t count_stride;                /* of a certificate of residues */
    /* of all entries, rounded up to WS_ALIGNMENT; INT64_MAX: too many */
    int64_t absmax_bytes, panel_bytes, sums_bytes, copy_bytes, count_bytes;
};

/* What a call launches. A further kind is a row of the table in ht_steps.c. */
enum step_kind {
    STEP_PACK,     /* A and B into panels; the only one that takes all entries of the batch at once */
    STEP_GEMM,
    STEP_REDUCE,     /* split-K partials into C; without partials C = beta * C */
    STEP_FALLBACK,   /* the results that the certificate has not cleared */
    STEP_NATIVE64,   /* FP64 product of the caller's matrices */
    STEP_CRT_PACK,   /* A and B as residues, all entries at once */
    STEP_CRT_PRODUCT, /* INT8 products of all moduli, and what they come to in C */
    STEP_OZAKI, /* FP64 by FP16 slices: splits, products and sums, one entry of the batch after the other */
    STEP_REDUCE64 /* split-K partials of STEP_NATIVE64 into C */
};

/* Regions of the workspace, in its order. The flags come first: grow_own. */
enum ws_region {
    WS_FLAGS, /* of the certificate: FLAG_BYTES for each operand, and failed_count */
    WS_A_ABSMAX,
    WS_B_ABSMAX,
    WS_A_PANELS,
    WS_B_PANELS,
    WS_A_SUMS, /* the certificate's, of rows of A */
    WS_B_SUMS,
    WS_A_COUNTS, /* of elements, where residues are certified: ht_crt_counts */
    WS_B_COUNTS,
    WS_FAILED, /* a bit for each element of C, and the list; slices of the batch use them one after the other */
    WS_PARTIALS, /* of split-K; slices of the batch use them one after the other */
    WS_REGIONS
};

struct step {
    enum step_kind kind;
    int kernel;                /* of STEP_FALLBACK, of which a plan may have two, and STEP_GEMM */
    int64_t needs[WS_REGIONS]; /* bytes, multiples of WS_ALIGNMENT */
};

enum { STEPS_MAX = 5 };

/* Slices of an FP64 product by slices, and the blocks of C whose sums of pairs are kept at once. */
struct ozaki_plan {
    int mode, most, bits; /* enum ht_ozaki_mode; as in ht_ozaki_pack_args */
    int64_t block_m, block_n;
    int64_t a_slice_stride, b_slice_stride; /* bytes, of panels */
    int64_t plane_stride;                   /* floats, from pair to pair */
};

struct plan {
    const struct ht_set_desc *set; /* that its kernels are of: the handle's, or its FP64 half */
    const struct ht_scheme_desc *scheme;
    int kernel, splits;
    bool checked;  /* results are tested by the certificate */
    int fallback;  /* then: the kernel that computes those that are not cleared; NO_KERNEL: the product does */
    int before_fallback; /* then: the kernel that computes blocks that have many of them first, or NO_KERNEL */
    int64_t failed_blocks, failed_bytes; /* 64 x 64 of C that have bits; of these and their list */
    bool fma_only; /* of unpacked kernels */
    bool is_auto;  /* scheme is what `auto` starts from, then what it takes */
    int64_t kernel_ns;
    int64_t pack_ns;      /* FP64 by residues: packing and putting together */
    int64_t plane_stride; /* and bytes of an entry's residues, of so many entries at once */
    int64_t plane_entries;
    struct ozaki_plan ozaki;
    bool is_exact; /* correctly rounded: ht_exact.c */
    struct ht_certificate certificate; /* of FP64 by residues; needed 0: none */
    struct packed_layout a, b;
    int k_blocks;
    int64_t k_part; /* of residues, whose panels hold so much k at once; 0: the scheme cannot cut k */
    struct step step[STEPS_MAX];
    int steps;
    int64_t blocks, block_m, block_n, block_batch; /* 1, or calls that the limit of the workspace makes of this one */
    int64_t at[WS_REGIONS]; /* bytes into the workspace */
    int64_t bytes;          /* of the workspace */
};

/* ---- what packing reads and writes ---- */

/* Where the parts of a packed operand lie. */
struct packed_place {
    char *absmax, *panels;
    char *flag, *row_sums;     /* NULL: no certificate */
    char *counts;              /* of FP64's certificate */
    char *copy;                /* NULL, unless the caller keeps the operand and it is checked */
};

/* One operand as a call has it, and where its packed form goes. */
struct pack_source {
    const struct packed_layout *layout;
    const void *src;
    int64_t ld, stride;
    bool k_contiguous;
    struct packed_place to;
    int tiles; /* of a packing block; 0: the launcher chooses */
    bool is_b;
    int *failed_count; /* NULL, but for one operand of a call with the certificate */
};

/* ---- the handle's memory ---- */

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

/* A block of the handle's, used by one call of a stream after another. */
struct own_block {
    char *at;
    size_t bytes;
    size_t outgrown; /* bytes of those before it that are kept for graphs */
    bool in_graph;   /* one may hold the address: not freed before halftone_trim or halftone_destroy */
};

/* What calls may use again because the order of one stream is theirs. */
struct context {
    void *stream;
    struct own_block workspace;
    struct own_block exchange; /* through which packing blocks exchange their rows' absmax */
    bool exchange_is_reset;
    uint64_t last_use; /* halftone.uses then */
};

/* Whether the stream is being captured, as far as the call has asked. Elsewhere: see ht_dev_is_capturing. */
enum capture { CAPTURE_NOT_ASKED, CAPTURE_NONE, CAPTURE_ACTIVE, CAPTURE_ELSEWHERE };

/* ---- the handle ---- */

/* "ozaki", "ozaki-cr", with or without ":d=N". */
struct ht_ozaki_mode_name {
    char text[24];
    int mode, most; /* enum ht_ozaki_mode; slices */
};

/* What products of one type are asked for. */
struct ht_demand {
    const char *scheme;              /* name in the set; NULL: `accuracy` chooses */
    bool is_auto;                    /* `auto`, or the accuracy that is the same; of FP32 `scheme` is what it starts from */
    struct ht_accuracy accuracy;     /* text "": the scheme was set by name */
    struct ht_ozaki_mode_name ozaki; /* where scheme is ozaki; else text "" */
};

/* By the handle, or by a line of its site table: FP32 products, FP64 products. */
struct ht_setting {
    struct ht_demand of[2];
};

/* Zeros behind the text: it is compared by bytes. */
struct ht_site_name {
    char text[HT_SITE_TEXT];
    uint64_t hash;
};

/* An operand that a handle packed, or that a call asks for. */
struct packed_operand {
    const char *at;
    int64_t bytes, rows, k;
    const struct ht_scheme_desc *scheme;
    struct ht_certificate certificate; /* of FP64 */
    bool is_fp64, is_b;
    bool checked;  /* with what the certificate of its type needs */
    bool has_copy; /* of FP64: with the matrix */
};

/* What halftone_host_left goes through: see ht_host.c. m = 0: nothing. */
struct ht_host_left {
    int64_t m, n, tile_m, tile_n, step, first, row, col;
    char uplo;
};

struct halftone {
    const struct ht_set_desc *set; /* the kernels that suit the device */
    void *fitted;                  /* the set's memory where it is a copy: ht_fit_set */
    const struct ht_set_desc *set64; /* the same of FP64 products; NULL: the library has none */
    void *fitted64;
    void *stream;
    char *user; /* the caller's workspace; it wins when has_user */
    size_t user_bytes;
    bool has_user;
    enum ws_source own_source; /* without it: SOURCE_HANDLE or SOURCE_POOL */
    void *pool;                /* of SOURCE_POOL; NULL: the device's */
    struct context context[CONTEXTS];
    struct context *current; /* the one used last */
    int contexts;
    uint64_t uses;
    void **retired; /* blocks that were outgrown and that a graph may hold */
    size_t retired_count, retired_bytes;
    enum capture capture;
    int pack_epoch; /* so far: ht_pack_args, epoch */
    struct ht_host *host; /* of products of host memory; NULL: none so far */
    void (*close_host)(struct halftone *h); /* frees it: who makes no such product does not link ht_host.c */
    int64_t host_tile;                      /* 0: the default; as host_bytes */
    size_t host_bytes;
    int host_threads; /* 0: by size */
    struct ht_host_left left;
    int64_t workspace_limit; /* bytes of a call; 0: none */
    bool without_workspace;  /* while a plan is made that may need none */
    struct workspace of_blocks; /* of a call that is cut into blocks, which use it one after the other; at NULL: none */
    bool changed_c;             /* something was launched that writes C: halftone_changed_c */
    int pointer_mode;
    struct ht_setting own;          /* what the handle is set to */
    const struct ht_setting *asked; /* what the present call asks for: `own`, or what its site has */
    int accuracies;                 /* that were set so far */
    int recompute;                  /* enum halftone_recompute */
    void *recomputed;               /* on the device, as ht_gemm_args has it; NULL: halftone_last_check was not called */
    struct ht_sites *sites;         /* the site table: ht_site.c; NULL: none */
    struct ht_site_name at;         /* of the products that follow */
    int site, last_site;            /* lines, from 1, of the present call and of the last product; 0: none */
    int site_depth;                 /* of calls within a call: the outermost has a site */
    /* Comparing kernels and splits takes 2 us of the host, for `auto` 7, comparing schemes 10; laying out
     * 0.4. */
    struct {
        struct plan_key key; /* m 0: none */
        struct plan plan;
    } remembered[PLANS];
    int forced_kernel, forced_kernel64; /* or NO_KERNEL; the second of FP64 products of its scheme */
    unsigned char *ready; /* per kernel, then per scheme for its packing: init was called */
    unsigned char *ready64;
    struct packed_operand *packed; /* that it knows: ht_packed.c */
    int packed_count, packed_capacity;
    struct ht_dev_info device;
    char detail[DETAIL_MAX];
};

/* ---- small things ---- */

static inline bool is_trans(char t) {
    return t == 'T' || t == 't' || t == 'C' || t == 'c';
}

static inline size_t element_bytes(const struct gemm_call *x) {
    return x->is_fp64 ? sizeof(double) : sizeof(float);
}

/* alpha or beta of a call, read on the host. */
static inline double scalar_of(const struct gemm_call *x, const void *scalar) {
    return x->is_fp64 ? *(const double *)scalar : (double)*(const float *)scalar;
}

static inline bool is_aligned(const void *p, size_t alignment) {
    return (uintptr_t)p % alignment == 0;
}

static inline int64_t at_least_one(int64_t size) { /* questions may have zeros */
    return size > 0 ? size : 1;
}

static inline int64_t round_up(int64_t value, int64_t unit) {
    return value > INT64_MAX - unit ? INT64_MAX : ht_ceil_div(value, unit) * unit;
}

/* Newton's square root: from above, and never below the true one by more than rounding. The runtime links no libm. */
static inline double root_of(double square) {
    double root = square;
    for (int i = 0; i < 64; i++)
        root = 0.5 * (root + square / root);
    return root;
}

/* Elements from the first of a batch of matrices to the last; none of the counts is 0. */
static inline int64_t ht_extent_of(int64_t ld, int64_t rows, int64_t cols, int64_t stride, int64_t batch) {
    return ht_add(ht_add(ht_mul(cols - 1, ld), rows), ht_mul(batch - 1, stride));
}

static inline int64_t least_of(int64_t x, int64_t y) {
    return x < y ? x : y;
}

/* Matrices of a batch whose operand has this stride. */
static inline int64_t entries_of(const struct gemm_call *x, int64_t stride) {
    return stride == 0 ? 1 : x->batch;
}

/* Entries of a batch that one launch takes. */
static inline int64_t grid_batch(int64_t entries) {
    return entries < HT_GRID_BATCH ? entries : (int64_t)HT_GRID_BATCH;
}

/* ---- ht_error.c: what every public call begins and fails with ---- */

/* Opens every public call on a handle. */
HT_LOCAL int ht_begin(halftone *h);
/* The same of a product: what halftone_last_site says of the last one is forgotten. */
HT_LOCAL int ht_begin_product(halftone *h);
/* Returns `code` and keeps the words for halftone_last_detail. */
HT_LOCAL int ht_fail(halftone *h, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* The same of a code of ht_dev.h, with the backend's words. */
HT_LOCAL int ht_fail_device(halftone *h, int dev_code);

/* ---- ht_settings.c ---- */

/* What halftone_set_scheme (verb 's') and halftone_set_accuracy ('a') do for the types `of`, to any setting; on failure it stays.
 * *is_of: the types that have a scheme or an accuracy of that name; one of them may be unable to have it. */
HT_LOCAL int ht_ask(halftone *h, char verb, const char *text, unsigned of, struct ht_setting *s, unsigned *is_of);
/* What the present call asks for. */
static inline const struct ht_demand *ht_asked(const halftone *h, bool is_fp64) {
    return &h->asked->of[is_fp64];
}
/* Whether packed operands are for `auto`, of which some shapes read the matrix: untested too (halftone_set_recompute). */
static inline bool ht_has_check(const halftone *h, const struct ht_scheme_desc *s) {
    return ht_checks_data(h->set, s, ht_asked(h, false)->is_auto);
}

/* ---- ht_site.c ---- */

/* From here on the handle asks for what its site table says of the call, until ht_leave_site. Of calls within calls the outermost
 * decides. is_packed: operands are, or are packed: the type and
 * k of *x count alone. */
HT_LOCAL void ht_enter_site(halftone *h, const struct gemm_call *x, bool is_packed);
/* Returns `code`, after saying whose line it is where a line asked for too much. Products that succeed are counted. */
HT_LOCAL int ht_leave_site(halftone *h, bool is_product, int code);
HT_LOCAL void ht_free_sites(halftone *h);

/* ---- ht_check.c ---- */

/* Arguments in the order of their numbers, and what the call needs. A and B may be anything when they are
 * not read. */
HT_LOCAL int ht_check_gemm(halftone *h, const struct gemm_call *x, bool is_packed, enum call_effect *effect);
/* Whether the last of all matrices still ends at an address that could exist. */
HT_LOCAL int ht_check_extents(halftone *h, const struct gemm_call *x, bool is_packed,
                              enum call_effect effect);
/* Arguments of questions about a call: sizes, batch, and where the answer goes. */
HT_LOCAL int ht_check_question(halftone *h, const struct gemm_call *x, const void *result);
HT_LOCAL int ht_check_sizes(halftone *h, const struct gemm_call *x);
HT_LOCAL int ht_check_limits(halftone *h, const struct gemm_call *x);
/* The matrix that is packed in the place of A or of B, and its block of memory; empty: neither is read or
 * written. */
HT_LOCAL int ht_check_pack(halftone *h, const struct gemm_call *x, bool is_a, bool empty, const void *packed);
/* Whether packed operands or a workspace have no more bytes than an address can count. */
HT_LOCAL int ht_check_bytes(halftone *h, int64_t bytes);
/* Whether the caller has given its struct halftone_plan a size. */
HT_LOCAL int ht_check_plan(halftone *h, const struct halftone_plan *plan);

/* ---- ht_select.c ---- */

/* What `auto` starts from in this set, and whether that is the fallback alone, because the set lacks the
 * first. */
HT_LOCAL const char *ht_auto_scheme(const struct ht_set_desc *set);
HT_LOCAL bool ht_auto_is_fallback(const struct ht_set_desc *set);
/* Whether `auto` is for every input: it checks the data, or starts from a scheme that need not. */
HT_LOCAL bool ht_auto_takes_all(const struct ht_set_desc *set);
/* The scheme of a product of this shape, and whether it is `auto` that takes it. */
HT_LOCAL int ht_scheme_of_call(halftone *h, int64_t m, int64_t n, int64_t k, int64_t batch,
                               const struct ht_scheme_desc **scheme, bool *is_auto);
/* The scheme of calls about packed operands, each of which knows one size of the product only. */
HT_LOCAL int ht_packing_scheme(halftone *h, const struct ht_scheme_desc **scheme);
HT_LOCAL int ht_make_plan(halftone *h, const struct plan_key *key, struct plan *p);
HT_LOCAL struct ht_accuracy_choice ht_choose_scheme(const halftone *h, const struct ht_accuracy *accuracy,
                                                    int64_t m, int64_t n, int64_t k, int64_t batch);
HT_LOCAL int ht_fail_accuracy(halftone *h, const struct ht_accuracy *accuracy,
                              const struct ht_accuracy_choice *choice, int64_t k);
/* The a-priori bound of a plan, in units of 2^-24 |A||B|. */
HT_LOCAL int64_t ht_plan_bound_units(const halftone *h, const struct plan *p, int64_t k);
/* Of a call at its site: whether it adds a zero, and so whether EFFECT_ZEROS is to scale C or nothing. */
HT_LOCAL void ht_settle_zeros(const halftone *h, struct gemm_call *x, bool is_packed, enum call_effect *effect);

/* ---- ht_workspace.c ---- */

/* The layouts of a plan's packed operands. */
HT_LOCAL void ht_lay_out_operands(const halftone *h, const struct plan_key *key, struct plan *p);
HT_LOCAL struct step *ht_add_step(struct plan *p, enum step_kind kind, int kernel);
/* With what p's layouts take. */
HT_LOCAL struct step *ht_add_packing(struct plan *p, enum step_kind kind);
/* Puts the regions that a plan's steps need behind each other. */
HT_LOCAL int ht_lay_out_workspace(halftone *h, struct plan *p);
/* A packed operand of the caller's: rows' absmax, panels, and for `auto` the certificate's sums and the
 * matrix. */
HT_LOCAL struct packed_layout ht_operand_layout(const halftone *h, const struct ht_scheme_desc *s,
                                                int64_t rows, int64_t k);
HT_LOCAL int64_t ht_layout_bytes(const struct packed_layout *o);
/* Where its parts lie in the caller's block. */
HT_LOCAL struct packed_place ht_place_in_block(const struct packed_layout *o, char *block);
/* Where those of A (side 0) or B (1) lie in a call's workspace. */
HT_LOCAL struct packed_place ht_place_in_workspace(const struct plan *p, char *workspace, int side);
/* The workspace of a call, from the source that the handle is set to; in a capture the pool stands in for a
 * block of the handle's that may not grow. Closed when all has been launched: returns `code`, or if that is
 * success what went wrong here. */
HT_LOCAL int ht_open_workspace(halftone *h, size_t bytes, struct workspace *w);
HT_LOCAL int ht_close_workspace(halftone *h, struct workspace *w, int code);
HT_LOCAL enum ws_source ht_workspace_source(const halftone *h);

/* ---- ht_plan.c ---- */

/* The plan of a call; what a handle is asked again it knows. a_entries, b_entries: matrices to be packed
 * into the workspace; 0: the operand comes packed. */
HT_LOCAL int ht_plan_call(halftone *h, const struct gemm_call *x, int64_t a_entries, int64_t b_entries,
                          const struct plan **plan);

/* ---- ht_blocks.c ---- */

/* Runs the blocks of a call that has more than one, whose kernels and workspace are there before the first is launched. */
HT_LOCAL int ht_run_blocks(halftone *h, const struct gemm_call *x, const struct plan *plan,
                           int (*run)(halftone *h, const struct gemm_call *x));

/* ---- ht_context.c ---- */

/* Fills in halftone.capture. */
HT_LOCAL int ht_ask_capture(halftone *h);
/* Writes memory that is to hold flags. A product reads flags that packing may not have raised: any value will do, but a sanitizer asks for one. */
HT_LOCAL int ht_begin_flags(halftone *h, char *at, size_t bytes);
/* The block of the present stream; *at NULL with success: it would have to grow, which a capture forbids. */
HT_LOCAL int ht_own_workspace(halftone *h, size_t bytes, char **at);
/* Lets the operands of one packing launch use the present stream's block for the exchange of absmax, if there
 * is one and they fit: then its context is returned. */
HT_LOCAL struct context *ht_attach_exchange(halftone *h, const struct pack_source *x,
                                            struct ht_pack_args *args, int count);
/* Frees all of the handle's own device memory; the first failure's code. */
HT_LOCAL int ht_free_memory(halftone *h);

/* ---- ht_steps.c ---- */

/* Packs one or two operands: together in one launch where a grid can hold all their entries. memory: where
 * that of the call comes from. */
HT_LOCAL int ht_pack_operands(halftone *h, const struct ht_scheme_desc *scheme, const struct pack_source *x,
                              int count, enum ws_source memory);
/* A call in progress. */
struct gemm_run {
    const struct plan *plan;
    const struct gemm_call *call;
    struct workspace workspace;
    struct packed_place a, b;
    int64_t entry;            /* first of the present slice of the batch, */
    struct ht_gemm_args args; /* and arguments for it */
};

/* What the plan's kernels need once on a device, before anything is launched. */
HT_LOCAL int ht_ready_plan(halftone *h, const struct plan *p);
/* Launches the plan's steps in the workspace that is open, and closes it. */
HT_LOCAL int ht_run_plan(halftone *h, struct gemm_run *r);

/* ---- ht_packed.c: operands that are packed once ---- */

/* Whether the packed operands of a product are what it asks for, and the scheme of both. */
HT_LOCAL int ht_check_packed(halftone *h, struct gemm_call *x, const struct ht_scheme_desc **scheme);
/* Where those of an FP64 product that were checked lie, and the call of the matrices that they hold, if they do. */
HT_LOCAL struct gemm_call ht_place_packed64(const halftone *h, struct gemm_run *r);
/* Forgets what was packed where something else will lie. */
HT_LOCAL void ht_forget_packed(halftone *h, const char *at, int64_t bytes);
/* Forgets the operands of FP32, which products may use unknown. */
HT_LOCAL void ht_forget_packed32(halftone *h);

/* ---- ht_product.c ---- */

/* A product whose call has begun, of packed operands or not. */
HT_LOCAL int ht_run_gemm(halftone *h, struct gemm_call *x, bool is_packed);

/* ---- ht_lend.c ---- */

/* Lends the device what a call touches, or takes it back; where the device is not the process's: nothing. */
HT_LOCAL int ht_lend_call(halftone *h, const struct gemm_call *x, bool is_packed, enum call_effect effect, bool back);
/* The same of packing; 0 bytes: the side is not packed. */
HT_LOCAL int ht_lend_packing(halftone *h, const struct gemm_call *x, int64_t a_bytes, int64_t b_bytes, bool back);

/* ---- ht_predict64.c ---- */

/* The first kernel of a scheme of residues or digits; NO_KERNEL: it is another. */
HT_LOCAL int ht_residues_kernel(const struct ht_set_desc *set, const struct ht_scheme_desc *s);
/* Moduli of a scheme of residues; 1 of the others. */
HT_LOCAL int ht_moduli_of(const struct ht_set_desc *set, const struct ht_scheme_desc *s);
/* Its kernel for a shape; all moduli are products of one launch. */
HT_LOCAL struct ht_choice ht_pick64(const halftone *h, const struct gemm_call *x, const struct ht_scheme_desc *s);
/* Whether the kernel that was set by name is of this scheme. */
HT_LOCAL bool ht_is_forced64(const halftone *h, const struct ht_scheme_desc *s);
/* ns of a product, packing and putting together included; false: no kernel fits this GPU, or k is too long for the scheme. */
HT_LOCAL bool ht_predict64(const halftone *h, const struct gemm_call *x, const struct ht_scheme_desc *s, int64_t *ns);
/* ns of packing and putting together. */
HT_LOCAL int64_t ht_residues_ns(const struct ht_set_desc *set, const struct ht_crt_launch *by, int64_t m,
                                int64_t n, int64_t k, int64_t batch);

/* ---- ht_dgemm.c ---- */

HT_LOCAL int ht_make_plan64(halftone *h, const struct plan_key *key, struct plan *p);
/* The scheme of an FP64 product, and the plan of its call. */
HT_LOCAL int ht_scheme_of_call64(halftone *h, const struct gemm_call *x, const struct ht_scheme_desc **scheme);
/* The scheme of packed operands, which know k alone of a product, and how it is certified. */
HT_LOCAL int ht_packing_scheme64(halftone *h, int64_t k, const struct ht_scheme_desc **scheme,
                                 struct ht_certificate *certificate);
#define HT_FP64 "fp64" /* the default accuracy */
#define HT_NATIVE64 "native64"
/* Whether a scheme's integer sums, whose k FP64 products do not split, could overflow. */
static inline bool ht_exceeds_exact_k(const struct ht_scheme_desc *s, int64_t k) {
    return s->exact_k > 0 && k > s->exact_k;
}
/* Whether products are to be rounded correctly. */
HT_LOCAL bool ht_is_exact64(const halftone *h);
/* A scheme by name; `code` where the library lacks it. */
HT_LOCAL int ht_scheme64_named(halftone *h, const char *name, int code, const struct ht_scheme_desc **scheme);
/* That which no shape changes, of products or of packed operands; NULL: there is none. */
HT_LOCAL const char *ht_fixed_scheme64(const struct ht_demand *d, bool is_packed);
/* HALFTONE_ACCURACY where a bound is less than that of FP64 arithmetic at this k. */
HT_LOCAL int ht_check_bound64(halftone *h, const struct ht_accuracy *accuracy, int64_t k);
/* Why a plan's scheme; NULL: there is none. */
HT_LOCAL void ht_explain64(const halftone *h, const struct plan *p, struct halftone_plan *out);

/* ---- ht_residues.c: FP64 by residues ---- */

/* Layouts and steps of a call whose scheme has so many moduli, which its kernel says. */
HT_LOCAL int ht_plan_residues(halftone *h, const struct plan_key *key, struct plan *p);
HT_LOCAL int ht_ready_residues(halftone *h, const struct plan *p, const struct step *s);
HT_LOCAL int ht_launch_crt_pack(halftone *h, const struct gemm_run *r, const struct step *s);
HT_LOCAL int ht_launch_crt_product(halftone *h, const struct gemm_run *r, const struct step *s);

/* An operand of the caller's that was packed, with counts where `c` needs some, and with the matrix where has_copy. */
HT_LOCAL struct packed_layout ht_residues_layout(int moduli, const struct ht_certificate *c, bool has_copy, int64_t rows,
                                                 int64_t k);
/* A plan that only packs: 0 rows of an operand leave it out. */
HT_LOCAL int ht_pack_residues(halftone *h, struct plan *p, const struct gemm_call *x);

/* |C - AB| beside k max|a| max|b| of a row and a column, by residues; 0: the scheme has none. */
HT_LOCAL double ht_crt_bound(const struct plan *p, int64_t k);
HT_LOCAL double ht_moduli_bound(int moduli, int64_t k);
HT_LOCAL void ht_add_counts(struct packed_layout *o);
/* Where the counts of entries from `entry` on are; a NULL: none. */
HT_LOCAL struct ht_crt_counts ht_counts_of(const struct gemm_run *r, int64_t entry);

/* ---- ht_native64.c ---- */

HT_LOCAL int ht_launch_native64(halftone *h, const struct gemm_run *r, const struct step *s);
HT_LOCAL int ht_launch_reduce64(halftone *h, const struct gemm_run *r, const struct step *s);

/* ---- ht_ozaki.c: FP64 by FP16 slices ---- */

/* Reads a mode's name; false: it is none. */
HT_LOCAL bool ht_read_ozaki(const char *name, struct ht_ozaki_mode_name *mode);
/* Products of slices that a call is expected to need. */
HT_LOCAL int64_t ht_ozaki_products(const struct ht_ozaki_mode_name *mode, int64_t k);
HT_LOCAL int ht_plan_ozaki(halftone *h, const struct plan_key *key, struct plan *p);
/* |C - AB| in 2^-53 k max|a| max|b| of a row and a column; 0: the plan is another scheme's. */
HT_LOCAL int64_t ht_ozaki_bound_units(const struct plan *p);
HT_LOCAL int ht_launch_ozaki(halftone *h, const struct gemm_run *r, const struct step *s);
/* ---- ht_exact.c: correctly rounded FP64 products ---- */

struct ht_crt_combine_args;
/* Of the workspace, behind the planes of residues. */
HT_LOCAL int64_t ht_exact_bytes(const struct plan *p, int moduli);
/* Where a call's packing leaves how many moduli it takes; NULL: all. */
HT_LOCAL int *ht_spans_of(const struct gemm_run *r);
/* Instead of the combination. */
HT_LOCAL int ht_launch_exact(halftone *h, const struct gemm_run *r, int64_t entry,
                             const struct ht_crt_combine_args *to);

/* ---- ht_dcheck.c: which FP64 products run by residues under a bound of |A||B|, certified by their data ---- */

/* Units of 2^-53 |A||B| that the handle's accuracy allows at this k; 0: none is asked for. */
HT_LOCAL double ht_units64(const halftone *h, int64_t k);
/* The cheapest scheme of residues whose certificate ordinary data pass, if it is predicted faster than `native` (NULL: the set
 * lacks it); else `native`, and nothing is needed of the certificate. */
HT_LOCAL const struct ht_scheme_desc *ht_choose_certified(const halftone *h, const struct gemm_call *x,
                                                          const struct ht_scheme_desc *native,
                                                          struct ht_certificate *certificate);
/* The fewest moduli whose certificate ordinary data pass at this k; NULL: none. */
HT_LOCAL const struct ht_scheme_desc *ht_least_certified(const halftone *h, int64_t k, struct ht_certificate *certificate);
/* Counts in a plan's layouts and steps, and the launch behind the product. */
HT_LOCAL int ht_plan_certificate(halftone *h, const struct gemm_call *x, const struct ht_scheme_desc *native, struct plan *p);
/* Bound and range of such a plan. */
HT_LOCAL void ht_describe_certificate(const halftone *h, const struct gemm_call *x, struct halftone_plan *out);

#endif
