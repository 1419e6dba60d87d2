/* guards: what problem.h must notice. A case writes one element, of FP32 or FP64, where a kernel must not, and has to fail; that it is not
 * blind are the cases that write within C, which must not. Which place it is follows from the number of the case: test_fuzz.py. */
#include <stdlib.h>

#include "../../runtime/ht_dev.h"
#include "problem.h"

enum place { WITHIN_C, BEFORE_C, BEHIND_C, BEHIND_A_COLUMN, BEHIND_AN_ENTRY, INTO_A, BEHIND_WORKSPACE, AT_THE_GUARDS_END, PLACES };

static const char *const names[PLACES] = {"within C", "before C", "behind C", "behind a column", "behind an entry", "into A", "behind workspace", "at the guard's end"};

static void write_zeros(void *to, size_t bytes) {
    static const double zero = 0;
    FUZZ_CHECK(ht_dev_upload(to, &zero, bytes) == HT_DEV_OK, "the simulator has no such memory");
}

/* A layout with poison on all sides. */
static struct matrix make_matrix(size_t size, struct fuzz_rng *r) {
    for (;;) {
        struct matrix x;
        matrix_lay_out(&x, size, 5, 3, 2, 1, r);
        matrix_make(&x, r);
        if (x.lead > 0 && x.ld > x.rows && x.ld < x.stride && x.stride > 2 * x.ld + x.rows && matrix_at(&x, 1, x.rows, 2) < x.elements) {
            matrix_upload(&x);
            return x;
        }
        matrix_free(&x);
    }
}

static void write_beside(const struct matrix *x, enum place place) {
    const int64_t at = place == WITHIN_C           ? matrix_at(x, 1, 4, 2)
                       : place == BEFORE_C         ? matrix_at(x, 0, -1, 0)
                       : place == BEHIND_A_COLUMN ? matrix_at(x, 1, x->rows, 0)
                       : place == BEHIND_AN_ENTRY ? matrix_at(x, 0, x->rows, 2)
                       : place == INTO_A           ? matrix_at(x, 0, 2, 1)
                                                   : matrix_at(x, 1, x->rows, 2);
    write_zeros((char *)x->device + (size_t)at * x->size, x->size);
}

static void break_matrix(size_t size, enum place place, struct fuzz_rng *r) {
    struct matrix x = make_matrix(size, r);
    write_beside(&x, place);
    if (place == INTO_A)
        matrix_check_untouched(&x, "A");
    else
        free(matrix_read(&x));
    matrix_free(&x);
}

static void break_guard(size_t size, enum place place) {
    enum { BYTES = 1000, GUARD = 256 };
    char *const memory = device_make_guarded(BYTES);
    write_zeros(memory + BYTES + (place == AT_THE_GUARDS_END ? GUARD - size : 0), size);
    device_check_guard(memory, BYTES, "the workspace");
    device_free(memory);
}

static void run_case(void *totals, struct fuzz_rng *r, int64_t index) {
    const enum place place = (enum place)(index % PLACES);
    const size_t size = index / PLACES % 2 == 0 ? sizeof(float) : sizeof(double);
    (void)totals;
    fuzz_note("%zu bytes %s", size, names[place]);
    if (place >= BEHIND_WORKSPACE)
        break_guard(size, place);
    else
        break_matrix(size, place, r);
}

int main(int argc, char **argv) {
    const struct fuzz f = {"guards", 1, run_case, NULL};
    return fuzz_main(&f, argc, argv);
}
