/* session64: FP64 products for the command, beside session.h's FP32 ones; the same handle and device. */
#ifndef BENCH_SESSION64_H
#define BENCH_SESSION64_H

#include "measure/session.h"

/* C = op(A) op(B), column-major, C dense; device memory of the three matrices. */
struct session64_problem {
    char trans_a, trans_b;
    int64_t m, n, k, lda, ldb;
    double *a, *b, *c; /* device */
};

/* a and b are host arrays of exactly ld x columns elements. */
int session64_problem_open(struct session64_problem *p, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k, const double *a,
                           int64_t lda, const double *b, int64_t ldb, struct cli_error *f);
void session64_problem_close(struct session64_problem *p);
int session64_problem_result(const struct session64_problem *p, double *c, struct cli_error *f);

/* method: as session_select has it. */
int session64_select(struct session *e, const char *method, struct cli_error *f);
/* The same, with a kernel of the scheme instead of the library's choice; NULL: its choice. */
int session64_select_kernel(struct session *e, const char *scheme, const char *kernel, struct cli_error *f);
int session64_query(struct session *e, const struct session64_problem *p, struct halftone_plan *plan, struct cli_error *f);
int session64_workspace(struct session *e, const struct session64_problem *p, size_t *bytes, struct cli_error *f);
int session64_multiply(struct session *e, const struct session64_problem *p, struct cli_error *f); /* asynchronous */

/* Which products a scheme's or an accuracy's name (behind SESSION_ACCURACY) is known for; both for "auto", "reproducible" and numbers
 * that both can keep. 0: neither. */
enum { SESSION_FP32 = 1, SESSION_FP64 = 2 };
int session_kinds(struct session *e, const char *method);

#endif
