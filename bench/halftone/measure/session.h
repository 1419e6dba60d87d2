/* session: the project's own products for the command: a handle, one problem's device memory, and the
 * library's codes turned into one line for the user. The only file of bench that calls halftone_*; device
 * memory elsewhere goes through ht_dev.h. Knows nothing of families, metrics or baselines. */
#ifndef BENCH_SESSION_H
#define BENCH_SESSION_H

#include <stdint.h>

#include "../../../runtime/halftone.h"
#include "../../../runtime/ht_dev.h"
#include "io/cli_error.h"

struct session {
    halftone *handle;
    const struct ht_set_desc *set; /* the handle's */
    struct ht_dev_info device;
    int packs; /* the scheme selected now does; 0: its kernels read the matrices as they are */
};

int session_open(struct session *e, struct cli_error *f);
void session_close(struct session *e);
/* 0 for code 0, else -1 and the line. */
int session_check(const struct session *e, int code, const char *what, struct cli_error *f);
int session_device_check(int code, const char *what, struct cli_error *f); /* the same for enum ht_dev_code */

/* C = alpha op(A) op(B) + beta C, column-major, C dense; device memory of the three matrices and what packing needs. */
struct session_problem {
    int type; /* HALFTONE_FP32 (also 0) or HALFTONE_FP64. FP64 products have no batch and are not packed by the command */
    char trans_a, trans_b;
    int64_t m, n, k, lda, ldb;
    int64_t batch;     /* at most 1: one product, else so many, their matrices one after the other in a, b and c */
    void *a, *b, *c;   /* device */
    float alpha, beta; /* of one that was opened 1 and 0 */
    void *packed_a, *packed_b;
    size_t packed_a_bytes, packed_b_bytes;
};

/* Of a problem that says type, transposes, extents and leading dimensions. a and b are host arrays of exactly ld x columns elements, of a batch dense. */
int session_problem_open(struct session_problem *p, const void *a, const void *b, struct cli_error *f);
void session_problem_close(struct session_problem *p);
int session_problem_result(const struct session_problem *p, void *c, struct cli_error *f);

/* method: as in halftone_schemes, "auto", or SESSION_ACCURACY followed by what halftone_set_accuracy takes. kernel NULL:
 * the library's choice. */
#define SESSION_ACCURACY "accuracy:"
/* The text behind SESSION_ACCURACY; NULL: the method is a scheme. */
const char *session_accuracy_of(const char *method);
/* Asks for it for products of one type, HALFTONE_FP32 or HALFTONE_FP64 (0: of all that have it); the library's code. */
int session_ask(const struct session *e, int type, const char *method);
int session_ask_or_say(const struct session *e, int type, const char *method, struct cli_error *f); /* 0, or -1 and the line */
int session_select(struct session *e, int type, const char *method, const char *kernel, struct cli_error *f);
/* Which products a scheme's or an accuracy's name (behind SESSION_ACCURACY) is known for; both for "auto", "reproducible" and numbers
 * that both can keep. 0: neither. */
enum { SESSION_FP32 = 1, SESSION_FP64 = 2 };
int session_kinds(struct session *e, const char *method);
int session_query(struct session *e, const struct session_problem *p, struct halftone_plan *plan, struct cli_error *f);
int session_workspace(struct session *e, const struct session_problem *p, size_t *bytes, struct cli_error *f);
/* Whether the device looks at the data of the plan's call and computes again what fails; whether the bound holds for any data. */
int session_is_checked(const struct session *e, const struct halftone_plan *plan);
int session_is_one_row(const struct session *e, const struct halftone_plan *plan); /* by the scheme's kernel of one row */
int session_is_exact(const struct halftone_plan *plan); /* correctly rounded */
int session_is_invariant(const struct session *e, const struct halftone_plan *plan); /* sums of integers: bits depend on row and column alone */
int session_takes_all(const struct session *e, const struct halftone_plan *plan);
int session_count_again(struct session *e, struct cli_error *f); /* begins to count such results of FP32 calls */
int session_counted_again(struct session *e, int64_t *results, struct cli_error *f);
int session_multiply(struct session *e, const struct session_problem *p, struct cli_error *f); /* asynchronous */
/* The same of the device's a and b in HALFTONE_BF16 or HALFTONE_FP16, which lie as the problem's. */
int session_multiply_16(struct session *e, const struct session_problem *p, const void *a, const void *b, int type, struct cli_error *f);
/* `batch` products of dense operands that lie one after the other; a, b and c of the problem are those of the first. */
int session_multiply_batch(struct session *e, const struct session_problem *p, int64_t batch, struct cli_error *f);
/* Packed operands for the scheme selected now: sizes and memory, packing alone, product alone. For a scheme that reads the
 * matrices as they are the product alone is the whole call, and packing nothing. */
int session_pack_prepare(struct session *e, struct session_problem *p, struct cli_error *f);
int session_pack(struct session *e, const struct session_problem *p, struct cli_error *f);
int session_multiply_packed(struct session *e, const struct session_problem *p, struct cli_error *f);
/* As ranks multiply that have k from cut[i] to cut[i + 1], here one after the other, with all-reductions on the host. *done 0: not under
 * this accuracy, and nothing was done. */
int session_multiply_ranks(struct session *e, const struct session_problem *p, const int64_t *cut, int ranks, int *done, struct cli_error *f);
int session_wait(struct cli_error *f);

/* Names given by the user: checked against the library. */
int session_scheme_known(const struct session *e, const char *name, struct cli_error *f);
/* Puts `before` and the name behind what `list` has, as far as both fit. */
void session_add_name(char *list, size_t bytes, const char *name, const char *before);
int session_accuracy_known(const struct session *e, int type, const char *text, struct cli_error *f); /* 0: either type */

#endif
