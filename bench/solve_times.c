/* solve_times: predictions of TRSM by blocks (dropin/cublas_solve.c): what its products are predicted to take, beside the same at cuBLAS' rate of SGEMM.
 *
 *     make GPU=h200 generate out/h200/libhalftone-sim.so
 *     gcc -O2 -iquote runtime -o solve_times bench/solve_times.c -ldl && ./solve_times out/h200/libhalftone-sim.so 52.4
 *
 * Nothing is timed. A line for each n of n x n triangles with n right sides, of the model's times of `auto` and of TFLOPS that the caller gives:
 * blocks that the original solves; the products' part of the work; their predicted us; us of the same at that rate; by how much the call is faster if cuBLAS'
 * TRSM reaches that rate, a half and a quarter of it, and takes for the blocks what it takes for them within the whole. */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../dropin/cublas_solve.h"
#include "halftone.h"

static __typeof__(halftone_query) *query;
static halftone *handle;

struct sums {
    int blocks;
    double ns, flop;
};

static void add(struct sums *s, int64_t rows, int64_t sides) {
    const int64_t first = cublas_rows_of_first_part(rows), rest = rows - first;
    if (first == 0) {
        s->blocks++;
        return;
    }
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    if (query(handle, 'N', 'N', rest, sides, first, 1, &plan) != HALFTONE_OK)
        exit(1);
    s->ns += (double)plan.predicted_ns;
    s->flop += 2.0 * (double)first * (double)rest * (double)sides;
    add(s, first, sides);
    add(s, rest, sides);
}

static void *find(void *library, const char *name) {
    void *const at = dlsym(library, name);
    if (at == NULL)
        exit(1);
    return at;
}

int main(int argc, char **argv) {
    void *const library = argc == 3 ? dlopen(argv[1], RTLD_NOW) : NULL;
    __typeof__(halftone_create) *create;
    if (library == NULL)
        return 2;
    const double rate = atof(argv[2]) * 1e6; /* FLOP a us */
    *(void **)&create = find(library, "halftone_create");
    *(void **)&query = find(library, "halftone_query");
    if (create(&handle) != HALFTONE_OK)
        return 1;
    puts("n\tblocks\tpart\tproducts us\tat the rate us\tgain\tat a half\tat a quarter");
    for (int64_t n = 1024; n <= 8192; n += n < 2048 ? 512 : n < 4096 ? 1024 : 2048) {
        struct sums s = {0};
        add(&s, n, n);
        const double whole = (double)n * (double)n * (double)n, saved = s.flop / rate - s.ns / 1000;
        printf("%lld\t%d\t%.3f\t%.0f\t%.0f", (long long)n, s.blocks, s.flop / whole, s.ns / 1000, s.flop / rate);
        for (int slower = 1; slower <= 4; slower *= 2)
            printf("\t%.2f", slower * whole / rate / (slower * whole / rate - saved));
        putchar('\n');
    }
    return 0;
}
