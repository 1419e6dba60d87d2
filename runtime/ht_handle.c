/* ht_handle.c: the handle: its creation, what it is set to, what it answers about itself and its library.
 * Meaning of every public function: halftone.h. */
#include "ht_call.h"

#include <stdlib.h>

/* Of the thread's last halftone_create, which leaves no handle to ask when it fails. */
static HT_THREAD_LOCAL char create_detail[DETAIL_MAX];

const char *halftone_last_detail(const halftone *handle) {
    return handle != NULL ? handle->detail : create_detail;
}

int halftone_changed_c(const halftone *handle) {
    return handle != NULL && handle->changed_c;
}

/* ---- creation ---- */

/* "8.0" or "gfx90a": of the numbers in ht_set_desc.arch AMD's are hexadecimal, from 0x900 on. */
static const char *arch_text(char text[24], int arch) {
    if (arch >= 0x900)
        snprintf(text, 24, "gfx%x", (unsigned)arch);
    else
        snprintf(text, 24, "%d.%d", arch / 100, arch / 10 % 10);
    return text;
}

/* Which GPUs the library has kernels for, and what the device is instead. */
static int fail_wrong_gpu(halftone *h) {
    size_t used = 0;
    char arch[24];
    ht_fail(h, HALFTONE_WRONG_GPU, "%s has %s %s; this library has kernels for ", h->device.name,
            ht_sets[0]->arch >= 0x900 ? "architecture" : "capability", arch_text(arch, h->device.capability));
    for (int i = 0; ht_sets[i] != NULL; i++) {
        const struct ht_set_desc *set = ht_sets[i];
        used = strlen(h->detail);
        snprintf(h->detail + used, sizeof h->detail - used, "%s%s (%s, %s%s)", i > 0 ? ", " : "", set->gpu,
                 set->isa, arch_text(arch, set->arch), set->arch_exact ? " only" : " or later");
    }
    return HALFTONE_WRONG_GPU;
}

/* As the device can run them. */
static int open_half(halftone *h, const struct ht_set_desc *set, struct ht_half *half) {
    half->set = ht_fit_set(set, h->device.smem_per_block, &half->fitted);
    half->ready = (unsigned char *)calloc((size_t)(set->kernels + set->schemes) + 1, 1);
    return half->set != NULL && half->ready != NULL ? HALFTONE_OK : HALFTONE_OUT_OF_HOST_MEMORY;
}

static int open_handle(halftone *h) {
    int code = ht_fail_device(h, ht_dev_open(ht_sets[0], &h->device));
    if (code != HALFTONE_OK)
        return code;
    const struct ht_set_desc *const set = ht_pick_set(ht_sets, h->device.capability, h->device.sms);
    if (set == NULL)
        return fail_wrong_gpu(h);
    code = open_half(h, set, &h->half[0]);
    return set->fp64 != NULL ? AND_THEN(code, open_half(h, set->fp64, &h->half[1])) : code;
}

static void free_host(halftone *h) {
    ht_free_sites(h);
    for (int type = 0; type < 2; type++) {
        free(h->half[type].ready);
        free(h->half[type].fitted);
    }
    free(h->packed);
    free(h);
}

int halftone_create(halftone **handle) {
    create_detail[0] = '\0';
    if (handle == NULL)
        return -18;
    *handle = NULL;
    halftone *h = (halftone *)calloc(1, sizeof *h);
    if (h == NULL)
        return HALFTONE_OUT_OF_HOST_MEMORY;
    int code = open_handle(h);
    if (code != HALFTONE_OK) {
        memcpy(create_detail, h->detail, sizeof create_detail);
        free_host(h);
        return code;
    }
    h->half[0].own.scheme = ht_auto_scheme(h->half[0].set);
    h->half[0].own.is_auto = h->half[1].own.is_auto = true;
    h->half[0].forced = h->half[1].forced = NO_KERNEL;
    h->pointer_mode = HALFTONE_HOST;
    *handle = h;
    return HALFTONE_OK;
}

int halftone_destroy(halftone *handle) {
    if (handle == NULL)
        return HALFTONE_OK;
    int code = ht_free_memory(handle);
    const int counted = handle->recomputed != NULL ? ht_fail_device(handle, ht_dev_sync()) : HALFTONE_OK;
    AND_THEN(code, counted);
    (void)ht_dev_free(handle->recomputed);
    if (handle->close_host != NULL)
        handle->close_host(handle);
    const int gone = ht_fail_device(handle, ht_dev_pool_destroy(handle->pool));
    free_host(handle);
    return AND_THEN(code, gone);
}

/* ---- what a handle is set to ---- */

int halftone_set_stream(halftone *handle, void *stream) {
    const int code = ht_begin(handle);
    if (code == HALFTONE_OK)
        handle->stream = stream;
    return code;
}

int halftone_set_workspace(halftone *handle, void *workspace, size_t bytes) {
    if (ht_begin(handle) != HALFTONE_OK)
        return HALFTONE_NULL_HANDLE;
    if ((workspace == NULL && bytes > 0) || !is_aligned(workspace, HALFTONE_ALIGNMENT))
        return ht_fail(handle, -18, "workspace %p of %zu bytes", workspace, bytes);
    handle->user = (char *)workspace;
    handle->user_bytes = bytes;
    handle->has_user = workspace != NULL;
    return HALFTONE_OK;
}

/* One of two, 0 and 1. */
static int begin_choice(halftone *h, const char *what, int value, const char *names) {
    const int code = ht_begin(h);
    return code == HALFTONE_OK && value != 0 && value != 1
               ? ht_fail(h, HALFTONE_NOT_SUPPORTED, "%s%d is neither %s", what, value, names)
               : code;
}

int halftone_set_workspace_source(halftone *handle, int source) {
    int code = begin_choice(handle, "workspace source ", source, "HALFTONE_OWN nor HALFTONE_POOL");
    if (code == HALFTONE_OK && source == HALFTONE_POOL && !handle->device.has_pool)
        return ht_fail(handle, HALFTONE_NOT_SUPPORTED, "%s has no stream-ordered memory",
                       handle->device.name);
    if (code == HALFTONE_OK && source == HALFTONE_POOL && handle->pool == NULL)
        code = ht_fail_device(handle, ht_dev_pool_create(&handle->pool));
    if (code == HALFTONE_OK)
        handle->own_source = source == HALFTONE_POOL ? SOURCE_POOL : SOURCE_HANDLE;
    return code;
}

int halftone_set_pointer_mode(halftone *handle, int mode) {
    const int code = begin_choice(handle, "pointer mode ", mode, "HALFTONE_HOST nor HALFTONE_DEVICE");
    if (code == HALFTONE_OK)
        handle->pointer_mode = mode;
    return code;
}

int halftone_set_recompute(halftone *handle, int what) {
    const int code =
        begin_choice(handle, "", what, "HALFTONE_RECOMPUTE_ALL nor HALFTONE_RECOMPUTE_NOTHING");
    if (code == HALFTONE_OK)
        handle->recompute = what;
    return code;
}

int halftone_set_workspace_limit(halftone *handle, size_t bytes) {
    if (ht_begin(handle) != HALFTONE_OK)
        return HALFTONE_NULL_HANDLE;
    handle->workspace_limit = bytes > (size_t)INT64_MAX ? INT64_MAX : (int64_t)bytes;
    handle->epoch++; /* plans were made for another limit */
    return HALFTONE_OK;
}

int halftone_last_check(halftone *handle, struct halftone_checked *result) {
    int code = ht_begin(handle);
    if (code == HALFTONE_OK && result == NULL && handle->recomputed == NULL) {
        code = ht_ask_capture(handle);
        if (code == HALFTONE_OK && handle->capture != CAPTURE_NONE)
            return ht_fail(handle, HALFTONE_NOT_SUPPORTED,
                           "the stream is being captured: counting cannot begin now");
        AND_THEN(code, ht_fail_device(handle, ht_dev_alloc(&handle->recomputed, sizeof *result)));
    }
    if (code == HALFTONE_OK && handle->recomputed == NULL)
        return ht_fail(handle, HALFTONE_NOT_SUPPORTED,
                       "nothing is counted: begin with halftone_last_check(handle, NULL)");
    if (code == HALFTONE_OK && result != NULL)
        code = ht_fail_device(handle,
                              ht_dev_copy_out(result, handle->recomputed, sizeof *result, handle->stream));
    /* counts begin at 0, on the stream of the handle */
    return AND_THEN(code, ht_fail_device(handle, ht_dev_memset_async(handle->recomputed, 0, sizeof *result,
                                                                     handle->stream)));
}

/* NO_KERNEL: the set, which may be NULL, has none of that name. */
static int kernel_named(const struct ht_set_desc *set, const char *name) {
    for (int i = 0; set != NULL && name != NULL && i < set->kernels; i++)
        if (strcmp(set->kernel[i].name, name) == 0)
            return i;
    return NO_KERNEL;
}

/* Whether it is a kernel of few rows, which halftone_query tells of. */
static bool is_by_shape(const struct ht_set_desc *set, const char *name) {
    for (int i = 0; set != NULL && i < set->schemes; i++) {
        const struct ht_scheme_desc *const s = &set->scheme[i];
        if ((s->few_rows != NULL && strcmp(s->few_rows_name, name) == 0) || (s->one_row != NULL && strcmp(s->one_row_name, name) == 0))
            return true;
    }
    return false;
}

int halftone_set_kernel(halftone *handle, const char *name) {
    int code = ht_begin(handle), found[2];
    if (code != HALFTONE_OK)
        return code;
    for (int type = 0; type < 2; type++) {
        const struct ht_set_desc *const set = handle->half[type].set;
        found[type] = kernel_named(set, name);
        if (found[type] != NO_KERNEL &&
            set->kernel[found[type]].scheme[0] == '\0') /* ht_fit_set: no scheme's */
            return ht_fail(handle, HALFTONE_NOT_SUPPORTED,
                           "kernel '%s' needs more shared memory than this GPU has", name);
    }
    if (name != NULL && found[0] == NO_KERNEL && found[1] == NO_KERNEL)
        return ht_fail(handle, HALFTONE_UNKNOWN_KERNEL, "no kernel '%s'%s", name,
                       is_by_shape(handle->half[0].set, name) ? " can be set: a product's shape chooses it" : "");
    handle->half[0].forced = found[0];
    handle->half[1].forced = found[1];
    return HALFTONE_OK;
}

/* What the getters share: the handle, and where the answer goes. */
static int begin_get(halftone *h, const void *result) {
    const int code = ht_begin(h);
    return code == HALFTONE_OK && result == NULL ? ht_fail(h, -18, "the result is NULL") : code;
}

static const char *forced_name(const halftone *h) {
    const struct ht_half *const half = &h->half[h->half[0].forced == NO_KERNEL];
    return half->forced != NO_KERNEL ? half->set->kernel[half->forced].name : NULL;
}

#define GETTER(name, type, value)                                                                            \
    int name(halftone *handle, type *result) {                                                               \
        const int code = begin_get(handle, result);                                                          \
        if (code == HALFTONE_OK)                                                                             \
            *result = value;                                                                                 \
        return code;                                                                                         \
    }
GETTER(halftone_get_stream, void *, handle->stream)
GETTER(halftone_get_workspace_source, int, handle->own_source == SOURCE_POOL ? HALFTONE_POOL : HALFTONE_OWN)
GETTER(halftone_get_workspace_limit, size_t, (size_t)handle->workspace_limit)
GETTER(halftone_get_pointer_mode, int, handle->pointer_mode)
GETTER(halftone_get_recompute, int, handle->recompute)
GETTER(halftone_get_kernel, const char *, forced_name(handle))

int halftone_get_workspace(halftone *handle, void **workspace, size_t *bytes) {
    const int code = begin_get(handle, bytes != NULL ? workspace : NULL);
    if (code == HALFTONE_OK) {
        *workspace = handle->has_user ? handle->user : NULL;
        *bytes = handle->has_user ? handle->user_bytes : 0;
    }
    return code;
}

/* ---- what the library holds ---- */

static const struct ht_set_desc *set_of(const halftone *handle) {
    return handle != NULL ? handle->half[0].set : ht_sets[0];
}

const char *halftone_kernels(const halftone *handle, int index) {
    const struct ht_set_desc *set = set_of(handle);
    return index >= 0 && index < set->kernels ? set->kernel[index].name : NULL;
}

const char *halftone_version(void) {
    return ht_sets[0]->version;
}

const char *halftone_gpus(int index) {
    for (int i = 0; index >= 0 && ht_sets[i] != NULL; i++)
        if (i == index)
            return ht_sets[i]->gpu;
    return NULL;
}

const char *halftone_gpu(const halftone *handle) {
    return set_of(handle)->gpu;
}

const char *halftone_device(const halftone *handle) {
    return handle != NULL ? handle->device.name : "";
}
