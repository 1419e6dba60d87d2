/* ozaki_hashes: products of schemes ozaki and ozaki-cr by a set's library, the simulator's or a GPU's: a line each, with the hash of C (FNV-1a)
 * and its first element. Equal for every set and tile; test_ozaki.py has what an H100 printed. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../runtime/halftone.h"
#include "../../runtime/ht_dev.h"
#include "exact_families.h"

struct product {
    int m, n, k;
    char ta, tb;
    const char *scheme;
    double alpha, beta;
    int spread; /* binades that elements span: 8 times this; 3: A of small integers */
};

static double *matrix(int64_t count, int spread, int is_integer, double **device) {
    double *const x = malloc((size_t)count * sizeof *x);
    for (int64_t i = 0; x != NULL && i < count; i++) {
        const double first = random_uniform();
        x[i] = is_integer ? trunc(8 * first) : first * ldexp(1, (int)(spread * 8 * random_uniform()));
    }
    void *p = NULL;
    if (x == NULL || ht_dev_alloc(&p, (size_t)count * sizeof *x) != HT_DEV_OK ||
        ht_dev_upload(p, x, (size_t)count * sizeof *x) != HT_DEV_OK)
        exit(2);
    *device = p;
    return x;
}

static int run(halftone *h, const struct product *x) {
    const int lda = (x->ta == 'N' ? x->m : x->k) + 3, ldb = (x->tb == 'N' ? x->k : x->n) + 1;
    const int64_t count_a = (int64_t)lda * (x->ta == 'N' ? x->k : x->m), count_b = (int64_t)ldb * (x->tb == 'N' ? x->n : x->k),
                  count_c = (int64_t)x->m * x->n;
    double *a, *b, *c;
    double *const host_a = matrix(count_a, x->spread, x->spread == 3, &a), *const host_b = matrix(count_b, x->spread, 0, &b),
                  *const host_c = malloc((size_t)count_c * sizeof *host_c);
    void *p = NULL;
    if (host_c == NULL || ht_dev_alloc(&p, (size_t)count_c * sizeof *host_c) != HT_DEV_OK)
        exit(2);
    c = p;
    for (int64_t i = 0; i < count_c; i++)
        host_c[i] = random_uniform();
    ht_dev_upload(c, host_c, (size_t)count_c * sizeof *host_c);
    int code = halftone_set_scheme(h, x->scheme);
    if (code == HALFTONE_OK)
        code = halftone_dgemm(h, x->ta, x->tb, x->m, x->n, x->k, &x->alpha, a, lda, b, ldb, &x->beta, c, x->m);
    ht_dev_download(host_c, c, (size_t)count_c * sizeof *host_c);
    uint64_t hash = UINT64_C(0xcbf29ce484222325);
    for (int64_t i = 0; i < count_c * (int64_t)sizeof *host_c; i++)
        hash = (hash ^ ((const unsigned char *)host_c)[i]) * UINT64_C(0x100000001b3);
    printf("%d %d %d %c%c %s code %d hash %016llx first %a\n", x->m, x->n, x->k, x->ta, x->tb, x->scheme, code, (unsigned long long)hash, host_c[0]);
    free(host_a);
    free(host_b);
    free(host_c);
    ht_dev_free(a);
    ht_dev_free(b);
    ht_dev_free(c);
    return code;
}

int main(void) {
    static const struct product products[] = {
        {70, 66, 130, 'N', 'N', "ozaki", 1, 0, 0},       {66, 130, 300, 'T', 'N', "ozaki", 1, 0.5, 1},
        {130, 67, 70, 'N', 'T', "ozaki-cr", 1, 0, 1},    {65, 65, 200, 'T', 'T', "ozaki-cr", -2, 0, 2},
        {150, 140, 64, 'N', 'N', "ozaki:d=5", 0.3, -1.5, 1}, {200, 300, 33, 'N', 'N', "ozaki-cr:d=40", 0.5, 1, 2},
        {129, 129, 500, 'T', 'N', "ozaki", 1, 0, 3}};
    halftone *h;
    int failed = halftone_create(&h);
    for (size_t i = 0; i < sizeof products / sizeof *products && failed == HALFTONE_OK; i++)
        failed = run(h, &products[i]);
    return failed != HALFTONE_OK || halftone_destroy(h) != HALFTONE_OK;
}
