/* engine: the project's own products for the command. See engine.h. */
#include "engine.h"
#include "../runtime/ht_pick.h"

#include <string.h>

static const char *cure_of(int code) {
    switch (code) {
    case HALFTONE_NO_GPU:
        return "; run it on a machine with a GPU and its driver, or use the simulator build of this command";
    case HALFTONE_WRONG_GPU:
        return "; build the set for this GPU: `make GPU=...` (plain `make` prints the list)";
    case HALFTONE_OUT_OF_DEVICE_MEMORY:
    case HALFTONE_OUT_OF_HOST_MEMORY:
        return "; use smaller sizes or close other programs";
    default:
        return "";
    }
}

int engine_check(const struct engine *e, int code, const char *what, struct fault *f) {
    if (code == HALFTONE_OK)
        return 0;
    const char *detail = halftone_last_detail(e->handle), *text = halftone_strerror(code);
    const char *see = strstr(text, "; see halftone_"); /* advice for programs: a user of the command reads the detail here */
    fault_set(f, "%s: %.*s%s%s%s%s", what, (int)(see != NULL ? (size_t)(see - text) : strlen(text)), text, detail[0] ? " (" : "",
              detail, detail[0] ? ")" : "", cure_of(code));
    if (code == HALFTONE_NO_GPU || code == HALFTONE_WRONG_GPU)
        f->code = EXIT_NO_DEVICE;
    return -1;
}

int engine_device_check(int code, const char *what, struct fault *f) {
    if (code == HT_DEV_OK)
        return 0;
    const char *detail = ht_dev_detail();
    return fault_set(f, "%s: %s%s", what,
                     detail[0]               ? detail
                     : code == HT_DEV_MEMORY ? "out of device memory"
                                             : "the device reported an error",
                     code == HT_DEV_MEMORY ? "; use smaller sizes or close other programs" : "");
}

int engine_open(struct engine *e, struct fault *f) {
    memset(e, 0, sizeof *e);
    if (engine_check(e, halftone_create(&e->handle), "no device to compute on", f) != 0)
        return -1;
    if (engine_device_check(ht_dev_open(ht_sets[0], &e->device), "no device to compute on", f) == 0) {
        e->set = ht_pick_set(ht_sets, e->device.capability, e->device.sms);
        return 0;
    }
    engine_close(e);
    return -1;
}

void engine_close(struct engine *e) {
    (void)halftone_destroy(e->handle);
    e->handle = NULL;
}

static int allocate(void *out, size_t bytes, struct fault *f) {
    void *memory = NULL;
    int status = engine_device_check(ht_dev_alloc(&memory, bytes > 0 ? bytes : 4), "device memory", f);
    memcpy(out, &memory, sizeof memory);
    return status;
}

static int allocate_and_fill(float **out, const float *host, int64_t elements, struct fault *f) {
    size_t bytes = (size_t)elements * sizeof(float);
    if (allocate(out, bytes, f) != 0)
        return -1;
    return bytes == 0 ? 0 : engine_device_check(ht_dev_upload(*out, host, bytes), "copy to the device", f);
}

static int is_transposed(char trans) {
    return trans != 'N';
}

int engine_batch_open(struct engine_problem *p, int64_t batch, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k,
                      const float *a, int64_t lda, const float *b, int64_t ldb, struct fault *f) {
    struct engine_problem made = {.trans_a = trans_a, .trans_b = trans_b, .m = m, .n = n, .k = k, .lda = lda, .ldb = ldb,
                                  .batch = batch, .alpha = 1};
    *p = made;
    int64_t c_elements = batch * m * n, a_elements = batch * lda * (is_transposed(trans_a) ? m : k);
    int64_t b_elements = batch * ldb * (is_transposed(trans_b) ? k : n);
    if (allocate_and_fill(&p->a, a, a_elements, f) == 0 && allocate_and_fill(&p->b, b, b_elements, f) == 0 &&
        allocate(&p->c, (size_t)c_elements * sizeof(float), f) == 0)
        return 0;
    engine_problem_close(p);
    return -1;
}

int engine_problem_open(struct engine_problem *p, char trans_a, char trans_b, int64_t m, int64_t n, int64_t k,
                        const float *a, int64_t lda, const float *b, int64_t ldb, struct fault *f) {
    return engine_batch_open(p, 1, trans_a, trans_b, m, n, k, a, lda, b, ldb, f);
}

static int64_t batch_of(const struct engine_problem *p) {
    return p->batch > 1 ? p->batch : 1;
}

void engine_problem_close(struct engine_problem *p) {
    void *memory[5] = {p->a, p->b, p->c, p->packed_a, p->packed_b};
    for (int i = 0; i < 5; i++)
        (void)ht_dev_free(memory[i]);
    memset(p, 0, sizeof *p);
}

int engine_problem_result(const struct engine_problem *p, float *c, struct fault *f) {
    size_t bytes = (size_t)(batch_of(p) * p->m * p->n) * sizeof(float);
    if (engine_wait(f) != 0)
        return -1;
    return bytes == 0 ? 0 : engine_device_check(ht_dev_download(c, p->c, bytes), "copy from the device", f);
}

int engine_scheme_known(const struct engine *e, const char **scheme, struct fault *f) {
    char list[400] = "auto";
    const char *name = ht_scheme_meant(*scheme);
    if (strcmp(name, "auto") == 0)
        return 0;
    for (int i = 0; halftone_schemes(e->handle, i) != NULL; i++) {
        const char *known = halftone_schemes(e->handle, i);
        if (strcmp(name, known) == 0) {
            *scheme = known;
            return 0;
        }
        size_t used = strlen(list);
        if (used + strlen(known) + 3 < sizeof list) {
            memcpy(list + used, ", ", 2);
            memcpy(list + used + 2, known, strlen(known) + 1);
        }
    }
    return fault_usage(f, "unknown scheme '%s'; this build has %s", name, list);
}

const char *engine_accuracy_of(const char *contender) {
    const size_t length = strlen(ENGINE_ACCURACY);
    return strncmp(contender, ENGINE_ACCURACY, length) == 0 ? contender + length : NULL;
}

int engine_select(struct engine *e, const char *contender, const char *kernel, struct fault *f) {
    const char *accuracy = engine_accuracy_of(contender);
    const int code = accuracy != NULL ? halftone_set_accuracy(e->handle, accuracy)
                                      : halftone_set_scheme(e->handle, contender);
    if (engine_check(e, code, contender, f) != 0)
        return -1;
    e->packs = 1;
    for (int i = 0; i < e->set->schemes; i++) {
        if (strcmp(e->set->scheme[i].name, contender) == 0)
            e->packs = e->set->scheme[i].pack != NULL;
    }
    return engine_check(e, halftone_set_kernel(e->handle, kernel), kernel != NULL ? kernel : contender, f);
}

int engine_accuracy_known(const struct engine *e, const char *text, struct fault *f) {
    if (halftone_set_accuracy(e->handle, text) == HALFTONE_UNKNOWN_ACCURACY)
        return fault_usage(f, "--accuracy: %s", halftone_last_detail(e->handle));
    return 0; /* whether a scheme has it is for the call to say */
}

int engine_query(struct engine *e, const struct engine_problem *p, struct halftone_plan *plan,
                 struct fault *f) {
    *plan = (struct halftone_plan)HALFTONE_PLAN_INIT;
    return engine_check(e, halftone_query(e->handle, p->trans_a, p->trans_b, p->m, p->n, p->k, batch_of(p), plan),
                        "query", f);
}

/* BLAS wants leading dimensions of at least 1, also for empty matrices. */
static int64_t at_least_one(int64_t ld) {
    return ld > 0 ? ld : 1;
}

int engine_multiply(struct engine *e, const struct engine_problem *p, struct fault *f) {
    if (batch_of(p) > 1)
        return engine_multiply_batch(e, p, p->batch, f);
    return engine_check(e,
                        halftone_sgemm(e->handle, p->trans_a, p->trans_b, p->m, p->n, p->k, &p->alpha, p->a,
                                       at_least_one(p->lda), p->b, at_least_one(p->ldb), &p->beta, p->c,
                                       at_least_one(p->m)),
                        "product", f);
}

int engine_multiply_batch(struct engine *e, const struct engine_problem *p, int64_t batch, struct fault *f) {
    const int code = halftone_sgemm_strided_batched(
        e->handle, p->trans_a, p->trans_b, p->m, p->n, p->k, &p->alpha, p->a, p->lda, p->m * p->k, p->b,
        p->ldb, p->k * p->n, &p->beta, p->c, at_least_one(p->m), p->m * p->n, batch);
    return engine_check(e, code, "batched product", f);
}

static int grow(void **memory, size_t *have, size_t wanted, struct fault *f) {
    if (*memory != NULL && *have >= wanted)
        return 0;
    (void)ht_dev_free(*memory);
    *memory = NULL;
    *have = wanted;
    return allocate(memory, wanted, f);
}

int engine_pack_prepare(struct engine *e, struct engine_problem *p, struct fault *f) {
    size_t bytes_a = 0, bytes_b = 0;
    if (!e->packs)
        return 0;
    if (engine_check(e, halftone_packed_bytes(e->handle, 'A', p->m, p->k, 1, &bytes_a), "packed size", f) !=
            0 ||
        engine_check(e, halftone_packed_bytes(e->handle, 'B', p->n, p->k, 1, &bytes_b), "packed size", f) !=
            0 ||
        grow(&p->packed_a, &p->packed_a_bytes, bytes_a, f) != 0 ||
        grow(&p->packed_b, &p->packed_b_bytes, bytes_b, f) != 0)
        return -1;
    p->packed_a_bytes = bytes_a; /* what the scheme needs; a larger old block is kept as it is */
    p->packed_b_bytes = bytes_b;
    return 0;
}

int engine_pack(struct engine *e, const struct engine_problem *p, struct fault *f) {
    if (!e->packs)
        return 0;
    return engine_check(e,
                        halftone_pack_ab(e->handle, p->trans_a, p->trans_b, p->m, p->n, p->k, p->a,
                                         at_least_one(p->lda), p->b, at_least_one(p->ldb), p->packed_a,
                                         p->packed_b),
                        "packing", f);
}

int engine_multiply_packed(struct engine *e, const struct engine_problem *p, struct fault *f) {
    const float one = 1.0f, zero = 0.0f;
    if (!e->packs)
        return engine_multiply(e, p, f);
    return engine_check(e,
                        halftone_sgemm_packed(e->handle, p->m, p->n, p->k, &one, p->packed_a, p->packed_b,
                                              &zero, p->c, at_least_one(p->m)),
                        "packed product", f);
}

int engine_wait(struct fault *f) {
    return engine_device_check(ht_dev_stream_sync(NULL), "waiting for the device", f);
}
