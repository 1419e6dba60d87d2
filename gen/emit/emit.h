/* emit: writes the text of generated files from plans and templates. Everything was decided before; here are
 * only the banner, the holes of the skeleton and the launcher. */
#ifndef HT_EMIT_H
#define HT_EMIT_H

#include <stdbool.h>

#include "../../runtime/halftone.h"
#include "plan/plan.h"
#include "base/text.h"

#define HT_GENERATOR_VERSION HALFTONE_VERSION_TEXT /* sets are of the runtime that they are generated for */
/* in front of the command, from the repository's root */
#define HT_RECREATE "Recreate: out/bin/halftone-gen "

struct tuned;

/* Parameters of the launchers before the stream. */
#define EMIT_GEMM_ARGS "const struct ht_gemm_args *args"
#define EMIT_PACK_ARGS "const struct ht_pack_args *operands, int count"
#define EMIT_CRT_PACK_ARGS "const struct ht_crt_pack_args *operands, int count"
#define EMIT_OZAKI_PACK_ARGS "const struct ht_ozaki_pack_args *args"
#define EMIT_EXACT_ARGS "const struct ht_crt_exact_args *args"
static inline bool emit_is_fp64(const struct scheme *s) {
    return s && s->in == NUMBER_F64;
}
const char *emit_gemm_args(const struct scheme *s);
const char *emit_pack_args(const struct scheme *s);
const char *emit_combine_args(const struct scheme *s); /* of one that is combined */

/* What every generated file of one GPU shares. */
struct emit_context {
    const char *root;     /* folder that holds gen/ and templates/ */
    const char *recreate; /* the command that makes the file again, behind "halftone-gen " */
    bool inner;           /* the text goes into an amalgamation, which has said what all kernels share */
    const struct gpu *gpu;
    const struct isa *isa;
    const struct tuned *tuned; /* --tuned; NULL: none */
};

/* One GEMM kernel; one packing kernel; the split-K reduction of a scheme with exact sums, or (NULL) of all
 * others. False after err_user. */
bool emit_gemm(struct text *out, const struct emit_context *c, const struct plan *p);
bool emit_pack(struct text *out, const struct emit_context *c, const struct scheme *s);
bool emit_reduce(struct text *out, const struct emit_context *c, const struct scheme *s);
/* FP64 by residues or slices: what puts those of a plan's product together. */
bool emit_combine(struct text *out, const struct emit_context *c, const struct plan *p);
void emit_combine_name(char *name, size_t size, const struct plan *p);
bool emit_exact(struct text *out, const struct emit_context *c, const struct plan *p);
void emit_exact_name(char *name, size_t size, const struct plan *p);
void emit_crt_tables(struct text *out, const struct scheme *s);

/* What stands before the first kernel of a file: the vendor's header and the check of the architecture. */
void emit_head(struct text *out, const struct isa *isa);

/* Names of the files that are not GEMM kernels (also namespace and launcher names). */
void emit_pack_name(char *name, size_t size, const struct scheme *s, const struct isa *isa);
void emit_reduce_name(char *name, size_t size, const struct scheme *s, const struct isa *isa);

/* Whether a kernel can compute what the certificate does not clear, or blocks of it (ht_kernel_desc). */
bool emit_fallback_in_kernel(const struct plan *p);

/* What the scheme's bound is made of, and that the unit's rounding is unverified where it is. */
void emit_bound_text(struct text *out, const struct scheme *s, const struct isa *isa);
/* The scheme's input range on this instruction set's matrix unit. */
const char *emit_range_text(const struct scheme *s, const struct isa *isa);

/* ROOT/FOLDER/NAME; what of ht_abi.h, or ht_abi64.h, every kernel carries. False after err_user. */
bool emit_read(struct text *out, const char *root, const char *folder, const char *name);
bool emit_read_abi(struct text *out, const char *root, enum number_type matrices);
/* For all kernels, and all headers that decide whether vendored folders fit together. */
bool emit_read_headers(struct text *abi, struct text *headers, const char *root);
#endif
