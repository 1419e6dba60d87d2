/* handle.h: the one handle that a test program of a kernel set works with, from before its tests until after them. */
#ifndef TESTS_HANDLE_H
#define TESTS_HANDLE_H
#include "../../runtime/halftone.h"
#include "../../runtime/ht_abi.h"
#include "../../runtime/ht_dev.h"
#include "../test.h"

static halftone *handle;

static inline void drop_on_device(void *memory) {
    OK(ht_dev_free(memory));
}

/* Memory of the device until the end of the test, or drop_kept. */
static inline void *kept_on_device(size_t bytes) {
    void *memory = NULL;
    OK(ht_dev_alloc(&memory, bytes > 0 ? bytes : 1));
    return keep(memory, drop_on_device);
}

static inline void check_code(int code, const char *what) {
    if (code != HALFTONE_OK)
        fail_msg("%s: %s: %s", what, halftone_strerror(code), halftone_last_detail(handle));
}

/* Whether the library has it, of HALFTONE_FP32 or HALFTONE_FP64. */
static inline bool has_scheme(int type, const char *wanted) {
    const char *name;
    for (int i = 0; (name = halftone_schemes(handle, type, i)) != NULL; i++)
        if (strcmp(name, wanted) == 0)
            return true;
    return false;
}

/* 0, or -1 and the reason on stderr: what a group's setup returns. */
static inline int create_handle(void) {
    const int code = halftone_create(&handle);
    if (code == HALFTONE_OK)
        return 0;
    fprintf(stderr, "no handle: %s: %s\n", halftone_strerror(code), halftone_last_detail(NULL));
    return -1;
}

/* The kernels that it has chosen; NULL: none of this library's. */
static inline const struct ht_set_desc *set_of_handle(void) {
    for (int i = 0; ht_sets[i] != NULL; i++)
        if (strcmp(ht_sets[i]->gpu, halftone_gpu(handle)) == 0)
            return ht_sets[i];
    return NULL;
}

/* With few SMs, whose launches cost nothing, and a fallback's scheme that is slow, a sample is asked for sizes that the simulator multiplies. */
static inline void sampling_set(struct ht_set_desc *few, const struct ht_set_desc *of, int sms) {
    struct ht_kernel_desc *const kernel = kept((size_t)of->kernels * sizeof *kernel);
    memcpy(kernel, of->kernel, (size_t)of->kernels * sizeof *kernel);
    for (int i = 0; i < of->kernels; i++)
        if (strcmp(kernel[i].scheme, "bf16x6u") == 0)
            kernel[i].cost.waves.tile_overhead_cycles = kernel[i].cost.stream.tile_overhead_cycles = 10000000;
    *few = *of;
    few->kernel = kernel;
    few->sms = sms;
    few->launch_ns = 0;
}

/* What tests set, as it is at first. Small sets lack auto. */
static inline int reset_handle(void **state) {
    (void)state;
    (void)halftone_set_scheme(handle, "auto");
    return halftone_set_kernel(handle, NULL) + halftone_set_pointer_mode(handle, HALFTONE_HOST) + halftone_set_site(handle, NULL) +
           halftone_set_workspace(handle, NULL, 0) + halftone_set_workspace_limit(handle, 0) + halftone_set_recompute(handle, HALFTONE_RECOMPUTE_ALL);
}

static inline int close_handle(void **state) {
    (void)state;
    return halftone_destroy(handle);
}
#endif
