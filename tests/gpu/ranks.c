/* ranks: ranks on several GPUs share k and have the bits of one. With fewer GPUs than ranks some have several. The host
 * reduces in the place of NCCL. Run by tests/gpu/check_gpu.sh; needs cmocka, links with the CUDA library. */
#include "../../bench/halftone/accuracy/families.h"
#include "card.h"

enum { RANKS_MOST = 4 };
static const float one = 1, zero = 0;

struct shape {
    int64_t m, n, k;
};

/* A rank's handle and arrays, all on its device. */
struct rank {
    int device;
    halftone *handle;
    float *a, *b, *c, *maxima; /* a: m x k_r, b: k_r x n, dense; maxima of rows, then of columns */
    int64_t *partial, k;
};

static void drop_on_device(void *memory) {
    cuda(cudaFree(memory), "cudaFree");
}

static void *on_device(const void *from, int64_t bytes) {
    void *to = NULL;
    cuda(cudaMalloc(&to, (size_t)bytes + 1), "cudaMalloc");
    if (from != NULL)
        cuda(cudaMemcpy(to, from, (size_t)bytes, cudaMemcpyHostToDevice), "upload");
    return keep(to, drop_on_device);
}

static void *on_host(const void *from, int64_t bytes) {
    void *const to = kept((size_t)bytes);
    cuda(cudaMemcpy(to, from, (size_t)bytes, cudaMemcpyDeviceToHost), "download");
    return to;
}

/* b is dense k x n, of which a rank gets its rows alone. */
static struct rank open_rank(int device, const char *accuracy, struct shape s, const float *a, const float *b,
                             int64_t k0, int64_t k) {
    struct rank r = {.device = device, .k = k};
    float *const rows = kept((size_t)(k * s.n) * sizeof *rows);
    for (int64_t j = 0; j < s.n; j++)
        memcpy(rows + j * k, b + j * s.k + k0, (size_t)k * sizeof *rows);
    cuda(cudaSetDevice(device), "cudaSetDevice");
    ours(halftone_create(&r.handle), NULL, "create");
    ours(halftone_set_accuracy(r.handle, accuracy), r.handle, accuracy);
    r.a = on_device(a + k0 * s.m, s.m * k * 4);
    r.b = on_device(rows, k * s.n * 4);
    r.c = on_device(NULL, s.m * s.n * 4);
    r.maxima = on_device(NULL, (s.m + s.n) * 4);
    r.partial = on_device(NULL, HALFTONE_PARTIAL_WORDS(s.m, s.n) * 8);
    return r;
}

/* C of each rank must be `want`; ranks' k are 1 : 2 : 3 : 4 of all, so none has a round number of it. */
static void hold_ranks(int ranks, int devices, const char *accuracy, struct shape s, const float *a,
                       const float *b, const float *want) {
    const int64_t words = HALFTONE_PARTIAL_WORDS(s.m, s.n), whole = ranks * (ranks + 1) / 2;
    struct rank r[RANKS_MOST];
    int32_t *const most = memset(kept((size_t)(s.m + s.n) * 4), 0, (size_t)(s.m + s.n) * 4);
    int64_t *const sums = memset(kept((size_t)words * 8), 0, (size_t)words * 8);
    for (int i = 0; i < ranks; i++) {
        const int64_t k0 = s.k * (i * (i + 1) / 2) / whole, end = s.k * ((i + 1) * (i + 2) / 2) / whole;
        r[i] = open_rank(i % devices, accuracy, s, a, b, k0, end - k0);
        const int64_t ldb = r[i].k > 0 ? r[i].k : 1;
        ours(halftone_sgemm_maxima(r[i].handle, 'N', 'N', s.m, s.n, r[i].k, r[i].a, s.m, r[i].b, ldb,
                                   r[i].maxima, r[i].maxima + s.m),
             r[i].handle, "maxima");
        const int32_t *const own = on_host(r[i].maxima, (s.m + s.n) * 4);
        for (int64_t j = 0; j < s.m + s.n; j++)
            most[j] = own[j] > most[j] ? own[j] : most[j];
    }
    for (int i = 0; i < ranks; i++) {
        cuda(cudaSetDevice(r[i].device), "cudaSetDevice");
        cuda(cudaMemcpy(r[i].maxima, most, (size_t)(s.m + s.n) * 4, cudaMemcpyHostToDevice), "upload");
        ours(halftone_sgemm_partial(r[i].handle, 'N', 'N', s.m, s.n, r[i].k, r[i].a, s.m, r[i].b,
                                    r[i].k > 0 ? r[i].k : 1, r[i].maxima, r[i].maxima + s.m, r[i].partial),
             r[i].handle, "partial");
        const int64_t *const own = on_host(r[i].partial, words * 8);
        for (int64_t j = 0; j < words; j++)
            sums[j] += own[j];
    }
    for (int i = 0; i < ranks; i++) {
        cuda(cudaSetDevice(r[i].device), "cudaSetDevice");
        cuda(cudaMemcpy(r[i].partial, sums, (size_t)words * 8, cudaMemcpyHostToDevice), "upload");
        ours(halftone_sgemm_finish(r[i].handle, s.m, s.n, &one, r[i].partial, r[i].maxima, r[i].maxima + s.m,
                                   &zero, r[i].c, s.m),
             r[i].handle, "finish");
        if (memcmp(on_host(r[i].c, s.m * s.n * 4), want, (size_t)(s.m * s.n) * 4) != 0)
            fail_msg("%s, rank %d of %d on GPU %d: %lldx%lldx%lld has other bits than on one", accuracy, i,
                     ranks, r[i].device, (long long)s.m, (long long)s.n, (long long)s.k);
        ours(halftone_destroy(r[i].handle), NULL, "destroy");
    }
}

/* Of a library that lacks the accuracy nothing. */
static void hold_accuracy(const char *accuracy, struct shape s, int devices, const float *a, const float *b) {
    const size_t before = kept_count;
    halftone *h = NULL;
    cuda(cudaSetDevice(0), "cudaSetDevice");
    ours(halftone_create(&h), NULL, "create");
    if (halftone_set_accuracy(h, accuracy) == HALFTONE_OK) {
        float *const c = on_device(NULL, s.m * s.n * 4);
        ours(halftone_sgemm(h, 'N', 'N', s.m, s.n, s.k, &one, on_device(a, s.m * s.k * 4), s.m,
                            on_device(b, s.k * s.n * 4), s.k, &zero, c, s.m),
             h, "sgemm");
        for (int ranks = 1; ranks <= RANKS_MOST; ranks *= 2)
            hold_ranks(ranks, devices, accuracy, s, a, b, on_host(c, s.m * s.n * 4));
    }
    ours(halftone_destroy(h), NULL, "destroy");
    drop_kept(before);
}

TEST(ranks_have_the_bits_of_one) {
    static const struct shape shapes[] = {
        {33, 7, 3}, {70, 40, 900}, {512, 1024, 4096}, {8, 2048, 11008}, {257, 192, 40000}};
    static const char *const accuracies[] = {"invariant:6", "invariant:3", "invariant:10"};
    const size_t count = only_small() ? 2 : sizeof shapes / sizeof *shapes;
    int devices = 0;
    cuda(cudaGetDeviceCount(&devices), "cudaGetDeviceCount");
    for (size_t i = 0; i < count; i++) {
        const struct shape s = shapes[i];
        const size_t before = kept_count;
        float *const a = kept((size_t)(s.m * s.k) * 4), *const b = kept((size_t)(s.k * s.n) * 4);
        family_fill(family_find("llm"), 1, 'A', s.m, s.n, s.k, a, s.m);
        family_fill(family_find("llm"), 1, 'B', s.m, s.n, s.k, b, s.k);
        for (size_t j = 0; j < sizeof accuracies / sizeof *accuracies; j++)
            hold_accuracy(accuracies[j], s, devices, a, b);
        drop_kept(before);
    }
    fprintf(stderr, "1, 2 and 4 ranks on %d GPUs\n", devices);
}
