/* halftone.c: validates calls, picks kernels, lays out the workspace, packs and launches. Meaning of every
 * function: halftone.h. Knows the device only through ht_dev.h, kernels only through the descriptors of
 * ht_desc.h; the layout of panels inside an atom is none of its business. C11 that is also C++17, for
 * amalgamations. */
#include "halftone.h"

#include <math.h> /* INFINITY, no function */
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ht_accuracy.h"
#include "ht_desc.h"
#include "ht_dev.h"

enum {
    PIECE_ALIGNMENT = 1024, /* of each piece of the workspace and of a packed blob */
    ALARM_BYTES = 64,       /* before the data check's numbers: ht_pack_args, alarm */
    DETAIL_MAX = 1024,
    PLANS = 16, /* that a handle remembers */
    NO_KERNEL = -1
};

/* The handle's own meeting place grows up to this: two square operands of n = 16384. Larger ones meet in the workspace. */
enum { MEETING_BYTES_MAX = 34 << 20, MEETING_UNIT = 1 << 20 };

/* "auto": the first scheme, with packing that looks at the data; the second for blocks of C whose data the first does not
 * suit, and for products with few k, where native FP32 is more accurate than the first. */
static const char AUTO_SCHEME[] = "f16x3", RESCUE_SCHEME[] = "bf16x6u";

/* Longer sums are the second's: the verdict counts in 32 bits (hooks_tame). */
static const int64_t CHECKED_K_MAX = INT64_C(1) << 27;

/* Units of the bound that the data check adds to the scheme's own (notes on error bounds, section 11). */
enum { CHECK_UNITS = 4 };

/* All that decides how a call runs. */
struct question {
    int64_t m, n, k, batch, a_entries, b_entries;
    const char *scheme; /* these as in the handle */
    int forced, is_auto, accuracies;
};

/* Bytes and strides of one packed operand of `entries` matrices. */
struct operand {
    int64_t rows, k, entries;
    int64_t exponent_stride, panel_stride; /* elements and bytes from entry to entry */
    int64_t meeting_ints;                  /* of one entry; they follow its magnitudes */
    int64_t tame_stride, copy_stride;      /* elements; 0 without the data check */
    /* of all entries, rounded up to PIECE_ALIGNMENT; INT64_MAX: too many */
    int64_t exponent_bytes, panel_bytes, tame_bytes, copy_bytes;
};

struct plan {
    const struct ht_scheme_desc *scheme;
    int kernel, splits;
    bool checked;  /* packing checks the data */
    int tiles;     /* then: of a packing block (ht_pack_args); else 0 */
    int rescue;    /* then: the kernel for the blocks that fail; NO_KERNEL: the product's own blocks compute them */
    bool fma_only; /* of kernels that read the matrices */
    bool is_auto;  /* scheme is what `auto` starts from, then what it takes */
    int64_t kernel_ns;
    struct operand a, b;
    int k_blocks;
    /* bytes into the workspace */
    int64_t alarms_at, a_exponents_at, b_exponents_at, a_panels_at, b_panels_at, a_tame_at, b_tame_at, partials_at;
    int64_t bytes;
};

struct halftone {
    const struct ht_set_desc *set; /* the kernels that suit the device */
    void *fitted;                  /* the set's memory where it is a copy: ht_fit_set */
    void *stream;
    char *own, *user; /* workspaces; user wins when has_user */
    size_t own_bytes, user_bytes;
    bool has_user;
    int *meeting; /* see ht_pack_args; NULL until it is needed */
    size_t meeting_bytes;
    bool meeting_clean;
    bool capturing; /* the stream is, as the last call that needed memory of the handle found it */
    bool own_captured, meeting_captured; /* a graph may hold the address: the block is kept until halftone_destroy */
    void **retired;                      /* such blocks that were outgrown */
    size_t retired_count;
    int pack_calls; /* so far: ht_pack_args, call */
    int pointer_mode;
    const char *scheme; /* name in the set; NULL: `accuracy` chooses by shape */
    bool is_auto;       /* scheme is what `auto` starts from */
    struct ht_accuracy accuracy; /* text "": the scheme was set by name */
    int accuracies;              /* that were set so far */
    struct {
        struct question question; /* m 0: none */
        struct plan plan;
    } remembered[PLANS]; /* comparing kernels and splits takes 2 us of the host, for `auto` 7, comparing schemes 10; laying out 0.4 */
    int forced_kernel;    /* or NO_KERNEL */
    unsigned char *ready; /* per kernel, then per scheme for its packing: init was called */
    struct ht_dev_info device;
    char detail[DETAIL_MAX];
};

/* ---- codes and texts ---- */

const char *halftone_strerror(int code) {
    switch (code) {
#define TEXT_OF_ARGUMENT(number, name, rule)                                                                 \
    case -(number):                                                                                          \
        return "argument " #number " (" name "): " rule;
        HALFTONE_ARGUMENT_ERRORS(TEXT_OF_ARGUMENT)
#undef TEXT_OF_ARGUMENT
#define TEXT_OF_CODE(name, value, text)                                                                      \
    case value:                                                                                              \
        return text;
        HALFTONE_CODES(TEXT_OF_CODE)
#undef TEXT_OF_CODE
    default:
        return "not a code of halftone";
    }
}

/* Of the thread's last halftone_create, which leaves no handle to ask when it fails. */
static HT_THREAD_LOCAL char create_detail[DETAIL_MAX];

const char *halftone_last_detail(const halftone *handle) {
    return handle != NULL ? handle->detail : create_detail;
}

static int fail(halftone *h, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
static int fail(halftone *h, int code, const char *format, ...) {
    va_list list;
    va_start(list, format);
    vsnprintf(h->detail, sizeof h->detail, format, list);
    va_end(list);
    return code;
}

static int fail_device(halftone *h, int dev_code) {
    static const int code_of[] = {HALFTONE_OK, HALFTONE_NO_GPU, HALFTONE_OUT_OF_DEVICE_MEMORY,
                                  HALFTONE_DEVICE_ERROR, HALFTONE_SIM_VIOLATION}; /* by enum ht_dev_code */
    if (dev_code == HT_DEV_OK)
        return HALFTONE_OK;
    return fail(h, code_of[dev_code], "%s", ht_dev_detail());
}

/* Opens every public call on a handle. */
static int begin(halftone *h) {
    if (h == NULL)
        return HALFTONE_NULL_HANDLE;
    h->detail[0] = '\0';
    return HALFTONE_OK;
}

/* ---- handle ---- */

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
    fail(h, HALFTONE_WRONG_GPU, "%s has %s %s; this library has kernels for ", h->device.name,
         ht_sets[0]->arch >= 0x900 ? "architecture" : "capability", arch_text(arch, h->device.capability));
    for (int i = 0; ht_sets[i] != NULL; i++) {
        const struct ht_set_desc *set = ht_sets[i];
        used = strlen(h->detail);
        snprintf(h->detail + used, sizeof h->detail - used, "%s%s (%s, %s%s)", i > 0 ? ", " : "", set->gpu,
                 set->isa, arch_text(arch, set->arch), set->arch_exact ? " only" : " or later");
    }
    return HALFTONE_WRONG_GPU;
}

static const struct ht_scheme_desc *find_scheme(const struct ht_set_desc *set, const char *name) {
    for (int i = 0; i < set->schemes; i++)
        if (strcmp(set->scheme[i].name, name) == 0)
            return &set->scheme[i];
    return NULL;
}

/* What `auto` starts from. */
static const char *auto_scheme(const struct ht_set_desc *set) {
    const bool only_rescue = find_scheme(set, AUTO_SCHEME) == NULL && find_scheme(set, RESCUE_SCHEME) != NULL;
    return only_rescue ? RESCUE_SCHEME : AUTO_SCHEME;
}

static int open_handle(halftone *h) {
    int code = fail_device(h, ht_dev_open(ht_sets[0], &h->device));
    if (code != HALFTONE_OK)
        return code;
    h->set = ht_pick_set(ht_sets, h->device.capability, h->device.sms);
    if (h->set == NULL)
        return fail_wrong_gpu(h);
    h->set = ht_fit_set(h->set, h->device.smem_per_block, &h->fitted);
    if (h->set == NULL)
        return HALFTONE_OUT_OF_HOST_MEMORY;
    h->ready = (unsigned char *)calloc((size_t)(h->set->kernels + h->set->schemes) + 1, 1);
    return h->ready != NULL ? HALFTONE_OK : HALFTONE_OUT_OF_HOST_MEMORY;
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
        free(h->fitted);
        free(h);
        return code;
    }
    h->scheme = auto_scheme(h->set);
    h->is_auto = true;
    h->forced_kernel = NO_KERNEL;
    h->pointer_mode = HALFTONE_HOST;
    *handle = h;
    return HALFTONE_OK;
}

/* Whether the stream is being captured: then graphs keep the addresses that this call uses. */
static int look_at_stream(halftone *h) {
    int capturing = 0;
    const int code = fail_device(h, ht_dev_is_capturing(h->stream, &capturing));
    h->capturing = capturing != 0;
    return code;
}

/* Keeps a block that a graph may still write until the handle is destroyed. */
static int retire(halftone *h, void *block) {
    void **const longer = (void **)realloc(h->retired, (h->retired_count + 1) * sizeof *longer);
    if (longer == NULL)
        return HALFTONE_OUT_OF_HOST_MEMORY;
    h->retired = longer;
    h->retired[h->retired_count++] = block;
    return HALFTONE_OK;
}

/* The stream may still be using the block. */
static int release_own(halftone *h) {
    int code = HALFTONE_OK;
    if (h->own_captured)
        code = retire(h, h->own);
    else if (h->own != NULL)
        code = fail_device(h, ht_dev_stream_sync(h->stream));
    if (code != HALFTONE_OK)
        return code;
    code = h->own_captured ? HALFTONE_OK : fail_device(h, ht_dev_free(h->own));
    h->own = NULL;
    h->own_bytes = 0;
    h->own_captured = false;
    return code;
}

int halftone_destroy(halftone *handle) {
    if (handle == NULL)
        return HALFTONE_OK;
    void *const blocks[] = {handle->own, handle->meeting};
    const bool has_blocks = handle->own != NULL || handle->meeting != NULL || handle->retired_count > 0;
    int code = has_blocks ? fail_device(handle, ht_dev_stream_sync(handle->stream)) : HALFTONE_OK;
    for (size_t i = 0; i < 2 + handle->retired_count; i++) {
        int freed = fail_device(handle, ht_dev_free(i < 2 ? blocks[i] : handle->retired[i - 2]));
        code = code != HALFTONE_OK ? code : freed;
    }
    free(handle->retired);
    free(handle->ready);
    free(handle->fitted);
    free(handle);
    return code;
}

int halftone_set_stream(halftone *handle, void *stream) {
    int code = begin(handle);
    if (code == HALFTONE_OK)
        handle->stream = stream;
    return code;
}

static bool is_aligned(const void *p, size_t alignment) {
    return (uintptr_t)p % alignment == 0;
}

int halftone_set_workspace(halftone *handle, void *workspace, size_t bytes) {
    int code = begin(handle);
    if (code != HALFTONE_OK)
        return code;
    if ((workspace == NULL && bytes > 0) || !is_aligned(workspace, HALFTONE_ALIGNMENT))
        return fail(handle, -18, "workspace %p of %zu bytes", workspace, bytes);
    handle->user = (char *)workspace;
    handle->user_bytes = bytes;
    handle->has_user = workspace != NULL;
    return HALFTONE_OK;
}

int halftone_set_scheme(halftone *handle, const char *name) {
    int code = begin(handle);
    if (code != HALFTONE_OK)
        return code;
    bool is_auto = name != NULL && strcmp(name, "auto") == 0;
    const struct ht_scheme_desc *scheme =
        name != NULL ? find_scheme(handle->set, is_auto ? auto_scheme(handle->set) : ht_scheme_meant(name)) : NULL;
    if (scheme == NULL)
        return fail(handle, HALFTONE_UNKNOWN_SCHEME, "no scheme '%s'", name != NULL ? name : "(NULL)");
    handle->scheme = scheme->name;
    handle->is_auto = is_auto;
    memset(&handle->accuracy, 0, sizeof handle->accuracy);
    return HALFTONE_OK;
}

static int fail_accuracy_text(halftone *h, const char *text) {
    size_t used = 0;
    fail(h, HALFTONE_UNKNOWN_ACCURACY, "'%.40s' is none of ", text != NULL ? text : "(NULL)");
    for (int i = 0; ht_accuracy_form(i) != NULL; i++) {
        used = strlen(h->detail);
        snprintf(h->detail + used, sizeof h->detail - used, "%s%s", i > 0 ? ", " : "", ht_accuracy_form(i));
    }
    used = strlen(h->detail);
    snprintf(h->detail + used, sizeof h->detail - used, "; N from 1 to 999, X above 0 and at most 1, Y from 1 on");
    return HALFTONE_UNKNOWN_ACCURACY;
}

const char *halftone_accuracies(int index) {
    return ht_accuracy_form(index);
}

int halftone_set_pointer_mode(halftone *handle, int mode) {
    int code = begin(handle);
    if (code != HALFTONE_OK)
        return code;
    if (mode != HALFTONE_HOST && mode != HALFTONE_DEVICE)
        return fail(handle, HALFTONE_NOT_SUPPORTED,
                    "pointer mode %d is neither HALFTONE_HOST nor HALFTONE_DEVICE", mode);
    handle->pointer_mode = mode;
    return HALFTONE_OK;
}

int halftone_set_kernel(halftone *handle, const char *name) {
    int code = begin(handle);
    if (code != HALFTONE_OK)
        return code;
    if (name == NULL) {
        handle->forced_kernel = NO_KERNEL;
        return HALFTONE_OK;
    }
    for (int i = 0; i < handle->set->kernels; i++)
        if (strcmp(handle->set->kernel[i].name, name) == 0) {
            handle->forced_kernel = i;
            return HALFTONE_OK;
        }
    return fail(handle, HALFTONE_UNKNOWN_KERNEL, "no kernel '%s'", name);
}

/* What the getters share: the handle, and where the answer goes. */
static int begin_get(halftone *h, const void *result, const void *second) {
    const int code = begin(h);
    return code == HALFTONE_OK && (result == NULL || second == NULL) ? fail(h, -18, "the result is NULL") : code;
}

int halftone_get_stream(halftone *handle, void **stream) {
    const int code = begin_get(handle, stream, stream);
    if (code == HALFTONE_OK)
        *stream = handle->stream;
    return code;
}

int halftone_get_workspace(halftone *handle, void **workspace, size_t *bytes) {
    const int code = begin_get(handle, workspace, bytes);
    if (code == HALFTONE_OK) {
        *workspace = handle->has_user ? handle->user : NULL;
        *bytes = handle->has_user ? handle->user_bytes : 0;
    }
    return code;
}

int halftone_get_scheme(halftone *handle, const char **name) {
    const int code = begin_get(handle, name, name);
    if (code == HALFTONE_OK)
        *name = handle->is_auto ? "auto" : handle->scheme;
    return code;
}

int halftone_get_accuracy(halftone *handle, const char **text) {
    const int code = begin_get(handle, text, text);
    if (code == HALFTONE_OK)
        *text = handle->accuracy.text[0] != '\0' ? handle->accuracy.text : NULL;
    return code;
}

int halftone_get_pointer_mode(halftone *handle, int *mode) {
    const int code = begin_get(handle, mode, mode);
    if (code == HALFTONE_OK)
        *mode = handle->pointer_mode;
    return code;
}

int halftone_get_kernel(halftone *handle, const char **name) {
    const int code = begin_get(handle, name, name);
    if (code == HALFTONE_OK)
        *name = handle->forced_kernel != NO_KERNEL ? handle->set->kernel[handle->forced_kernel].name : NULL;
    return code;
}

static const struct ht_set_desc *set_of(const halftone *handle) {
    return handle != NULL ? handle->set : ht_sets[0];
}

const char *halftone_schemes(const halftone *handle, int index) {
    const struct ht_set_desc *set = set_of(handle);
    return index >= 0 && index < set->schemes ? set->scheme[index].name : NULL;
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

/* ---- plan: kernel, split and the layout of the workspace ---- */

static int64_t round_up(int64_t value, int64_t unit) {
    return value > INT64_MAX - unit ? INT64_MAX : ht_ceil_div(value, unit) * unit;
}

static struct operand operand_of(const struct ht_scheme_desc *s, int64_t rows, int64_t k, int64_t entries) {
    struct operand o;
    memset(&o, 0, sizeof o);
    o.rows = rows;
    o.k = k;
    o.entries = entries;
    int64_t row_blocks = ht_ceil_div(rows, HT_ATOM_ROWS);
    o.meeting_ints = s->scales_rows ? round_up(ht_meeting_ints(s, rows, k), HT_ATOM_ROWS) : 0;
    o.exponent_stride = s->scales_rows ? ht_add(row_blocks * HT_ATOM_ROWS, o.meeting_ints) : 0;
    o.panel_stride = ht_mul(ht_mul(row_blocks, ht_k_blocks(s, k)), HT_ATOM_BYTES);
    o.exponent_bytes =
        round_up(ht_mul(ht_mul(o.exponent_stride, (int64_t)sizeof(int)), entries), PIECE_ALIGNMENT);
    o.panel_bytes = round_up(ht_mul(o.panel_stride, entries), PIECE_ALIGNMENT);
    return o;
}

/* The scheme that was set by name, or by a kernel's name; NULL: the accuracy chooses by shape. */
static const char *fixed_scheme(const halftone *h) {
    return h->forced_kernel != NO_KERNEL ? h->set->kernel[h->forced_kernel].scheme : h->scheme;
}

/* What the data check adds to an operand of a call or, in a blob that may be used with any other, to a packed one: there
 * the matrix itself is needed as well. */
static void add_check(const struct ht_scheme_desc *s, int tiles, bool is_blob, struct operand *o) {
    const int64_t row_blocks = ht_ceil_div(o->rows, HT_ATOM_ROWS);
    o->tame_stride = ht_mul(row_blocks, ht_checked_pieces(s, tiles, o->k) * ht_checked_parts(tiles));
    o->copy_stride = is_blob ? ht_mul(row_blocks * HT_ATOM_ROWS, ht_padded_k(s, o->k)) : 0;
    o->tame_bytes =
        round_up(ht_add(ht_mul(ht_mul(o->tame_stride, (int64_t)sizeof(int)), o->entries), ALARM_BYTES), PIECE_ALIGNMENT);
    o->copy_bytes = round_up(ht_mul(ht_mul(o->copy_stride, (int64_t)sizeof(float)), o->entries), PIECE_ALIGNMENT);
}

static int scheme_named(halftone *h, const char *name, const struct ht_scheme_desc **scheme) {
    *scheme = find_scheme(h->set, name);
    if (*scheme == NULL)
        return fail(h, HALFTONE_UNKNOWN_SCHEME, "this library was generated without the scheme '%s'", name);
    return HALFTONE_OK;
}

/* Of calls about packed operands, each of which knows one size of the product only. */
static int packing_scheme_of_call(halftone *h, const struct ht_scheme_desc **scheme) {
    const char *name = fixed_scheme(h);
    if (name == NULL)
        return fail(h, HALFTONE_NOT_SUPPORTED,
                    "accuracy '%s' chooses the scheme by m, n and k, and a packed operand belongs to one "
                    "scheme: set the one that halftone_query names in why_scheme with halftone_set_scheme",
                    h->accuracy.text);
    int code = scheme_named(h, name, scheme);
    if (code == HALFTONE_OK && (*scheme)->pack == NULL)
        return fail(h, HALFTONE_NOT_SUPPORTED,
                    "scheme '%s' reads the matrices as they are: nothing is packed, call halftone_sgemm", name);
    return code;
}

/* Whether `auto` can look at the data of calls that start from this scheme. */
static bool can_check(const struct ht_set_desc *set, const struct ht_scheme_desc *s) {
    return strcmp(s->name, AUTO_SCHEME) == 0 && s->pack_tiles > 0 && ht_pick_rescue(set, RESCUE_SCHEME) != NO_KERNEL;
}

/* Whether `auto` is for every input: it looks at the data, or starts from a scheme that need not. */
static bool auto_takes_all(const struct ht_set_desc *set) {
    const struct ht_scheme_desc *s = find_scheme(set, auto_scheme(set));
    return s != NULL && (s->range == HT_RANGE_ALL || can_check(set, s));
}

/* Whether packed operands are for `auto` with its check. */
static bool has_check(const halftone *h, const struct ht_scheme_desc *s) {
    return h->is_auto && can_check(h->set, s);
}

/* A packed operand as it lies in a blob: magnitudes, panels, and for `auto` the data check's numbers and the matrix. */
static struct operand blob_of(const halftone *h, const struct ht_scheme_desc *s, int64_t rows, int64_t k) {
    struct operand o = operand_of(s, rows, k, 1);
    if (has_check(h, s))
        add_check(s, ht_checked_tiles(s, h->set->sms, k), true, &o);
    return o;
}

static int64_t blob_bytes(const struct operand *o) {
    return ht_add(ht_add(o->exponent_bytes, o->panel_bytes), ht_add(o->tame_bytes, o->copy_bytes));
}

static int check_blob_bytes(halftone *h, int64_t bytes) {
    if (bytes >= INT64_MAX / 2 || (uint64_t)bytes > SIZE_MAX)
        return fail(h, HALFTONE_TOO_LARGE, "the packed operands need more bytes than an address can count");
    return HALFTONE_OK;
}

/* Entries of a batch that one launch takes. */
static int64_t grid_batch(int64_t entries) {
    return entries < HT_GRID_BATCH ? entries : (int64_t)HT_GRID_BATCH;
}

/* Puts a piece of the workspace behind the others. */
static int64_t place(int64_t *end, int64_t bytes) {
    int64_t at = *end;
    *end = ht_add(at, bytes);
    return at;
}

/* ns of the launch that a checked call has for the blocks that fail. */
static int64_t rescue_ns(const halftone *h, const struct plan *p) {
    return p->checked && p->rescue != NO_KERNEL ? h->set->launch_ns : 0;
}

/* Whether f16x3 with the data check, as p has it, is what `auto` runs, rather than the scheme that rescues alone. */
static bool checks_shape(const halftone *h, int forced, const struct plan *p, const struct ht_choice *choice,
                         const struct ht_choice *direct, int64_t m, int64_t n, int64_t k, int64_t batch) {
    if (k > CHECKED_K_MAX)
        return false;
    if (forced != NO_KERNEL)
        return true;
    return k >= p->scheme->native_k &&
           ht_add(ht_total_ns(h->set, choice, m, n, k, batch), rescue_ns(h, p)) <=
               ht_total_ns(h->set, direct, m, n, k, batch);
}

/* Which kernel and split a call runs, and what for with `auto`; forced: a kernel's index, or NO_KERNEL. */
static struct ht_choice choose(const halftone *h, int forced, int64_t m, int64_t n, int64_t k, int64_t batch,
                               struct plan *p) {
    const struct ht_choice choice =
        forced != NO_KERNEL
            ? ht_pick_splits(h->set, forced, m, n, k, batch, HT_PARTIAL_LIMIT_BYTES)
            : ht_pick(h->set, p->scheme->name, m, n, k, batch, HT_PARTIAL_LIMIT_BYTES);
    const struct ht_scheme_desc *rescue = find_scheme(h->set, RESCUE_SCHEME);
    p->fma_only = k <= p->scheme->fma_k;
    if (!p->is_auto || !can_check(h->set, p->scheme))
        return choice;
    const struct ht_choice direct = ht_pick(h->set, rescue->name, m, n, k, batch, HT_PARTIAL_LIMIT_BYTES);
    p->fma_only = k <= rescue->fma_k;
    p->checked = true;
    if (!ht_rescues_inside(h->set, &choice, m, n, k, batch))
        p->rescue = ht_pick_rescue(h->set, rescue->name);
    if (checks_shape(h, forced, p, &choice, &direct, m, n, k, batch))
        return choice;
    p->checked = false;
    p->rescue = NO_KERNEL;
    p->scheme = rescue;
    return direct;
}

/* The bound of what choose() decided. */
static int64_t bound_units(const halftone *h, const struct plan *p, int64_t k) {
    const int64_t own = ht_bound_units(p->scheme, k);
    if (!p->checked)
        return own;
    const int64_t rescued = ht_bound_units(find_scheme(h->set, RESCUE_SCHEME), k);
    return own + CHECK_UNITS < rescued ? rescued : own + CHECK_UNITS;
}

/* `auto` beside the schemes, for every input; scheme NULL: this set's `auto` does not look at the data. */
static struct ht_accuracy_candidate auto_candidate(const halftone *h, int64_t m, int64_t n, int64_t k, int64_t batch) {
    const struct ht_scheme_desc *rescue = find_scheme(h->set, RESCUE_SCHEME);
    struct ht_accuracy_candidate c;
    struct plan p;
    memset(&c, 0, sizeof c);
    memset(&p, 0, sizeof p);
    p.scheme = find_scheme(h->set, auto_scheme(h->set));
    p.is_auto = true;
    p.rescue = NO_KERNEL;
    if (p.scheme == NULL || rescue == NULL)
        return c;
    const struct ht_choice choice = choose(h, NO_KERNEL, m, n, k, batch, &p);
    if (choice.kernel < 0 || (!p.checked && p.scheme != rescue))
        return c;
    c.name = "auto";
    c.scheme = p.scheme;
    c.units = bound_units(h, &p, k);
    c.ns = ht_add(ht_total_ns(h->set, &choice, m, n, k, batch), rescue_ns(h, &p));
    return c;
}

static int64_t at_least_one(int64_t size) { /* questions may have zeros */
    return size > 0 ? size : 1;
}

static struct ht_accuracy_choice choose_scheme(const halftone *h, const struct ht_accuracy *accuracy, int64_t m,
                                               int64_t n, int64_t k, int64_t batch) {
    m = at_least_one(m);
    n = at_least_one(n);
    k = at_least_one(k);
    batch = at_least_one(batch);
    const struct ht_accuracy_candidate checked = auto_candidate(h, m, n, k, batch);
    return ht_accuracy_choose(h->set, accuracy, m, n, k, batch, HT_PARTIAL_LIMIT_BYTES, &checked);
}

static int fail_accuracy(halftone *h, const struct ht_accuracy *accuracy,
                         const struct ht_accuracy_choice *choice, int64_t k) {
    ht_accuracy_explain(accuracy, choice, at_least_one(k), h->detail, sizeof h->detail);
    return HALFTONE_ACCURACY;
}

/* The scheme of a product of this shape, and whether it is `auto` that takes it. */
static int scheme_of_call(halftone *h, int64_t m, int64_t n, int64_t k, int64_t batch,
                          const struct ht_scheme_desc **scheme, bool *is_auto) {
    const char *name = fixed_scheme(h);
    *is_auto = h->is_auto;
    if (name != NULL)
        return scheme_named(h, name, scheme);
    const struct ht_accuracy_choice choice = choose_scheme(h, &h->accuracy, m, n, k, batch);
    if (choice.first.scheme == NULL)
        return fail_accuracy(h, &h->accuracy, &choice, k);
    *is_auto = strcmp(choice.first.name, "auto") == 0;
    *scheme = *is_auto ? find_scheme(h->set, auto_scheme(h->set)) : choice.first.scheme;
    return HALFTONE_OK;
}

int halftone_set_accuracy(halftone *handle, const char *text) {
    struct ht_accuracy accuracy;
    int code = begin(handle);
    if (code != HALFTONE_OK)
        return code;
    if (text == NULL || ht_accuracy_parse(text, &accuracy) != 0)
        return fail_accuracy_text(handle, text);
    const char *automatic = auto_scheme(handle->set);
    const struct ht_accuracy_choice least = choose_scheme(handle, &accuracy, 1, 1, 1, 1);
    if (accuracy.is_auto && !auto_takes_all(handle->set))
        return fail(handle, HALFTONE_ACCURACY, "%s needs scheme %s, which this library lacks", accuracy.text, RESCUE_SCHEME);
    if (!accuracy.is_auto && least.first.scheme == NULL) /* no bound is smaller than at k = 1 */
        return fail_accuracy(handle, &accuracy, &least, 1);
    handle->accuracy = accuracy;
    handle->is_auto = accuracy.is_auto;
    handle->scheme = accuracy.is_auto ? automatic : accuracy.products > 0 ? least.first.scheme->name : NULL;
    handle->accuracies++;
    return HALFTONE_OK;
}

/* Blobs do not know of each other. */
static int checked_tiles(const halftone *h, const struct plan *p, int64_t k) {
    const int64_t a = ht_mul(ht_ceil_div(p->a.rows, HT_ATOM_ROWS), p->a.entries);
    const int64_t b = ht_mul(ht_ceil_div(p->b.rows, HT_ATOM_ROWS), p->b.entries);
    return a > 0 && b > 0 ? ht_checked_call_tiles(p->scheme, h->set->sms, ht_add(a, b), k)
                          : ht_checked_tiles(p->scheme, h->set->sms, k);
}

/* a_entries, b_entries: matrices to be packed into the workspace; 0: the operand comes packed. */
static int make_plan(halftone *h, int64_t m, int64_t n, int64_t k, int64_t batch, int64_t a_entries,
                     int64_t b_entries, struct plan *p) {
    memset(p, 0, sizeof *p);
    int code = scheme_of_call(h, m, n, k, batch, &p->scheme, &p->is_auto);
    if (code != HALFTONE_OK)
        return code;
    p->rescue = NO_KERNEL;
    const struct ht_choice choice = choose(h, h->forced_kernel, m, n, k, batch, p);
    if (choice.kernel < 0)
        return fail(h, HALFTONE_NOT_SUPPORTED, "scheme '%s' has no kernel in this library%s", p->scheme->name,
                    h->fitted != NULL ? " that fits the shared memory of this GPU" : "");
    if (choice.splits > HT_PICK_SPLITS_MAX)
        return fail(h, HALFTONE_TOO_LARGE, "k = %lld: the exact sums of scheme '%s' hold k up to %lld",
                    (long long)k, p->scheme->name, (long long)p->scheme->exact_k * HT_PICK_SPLITS_MAX);
    p->kernel = choice.kernel;
    p->splits = choice.splits;
    p->kernel_ns = ht_add(choice.predicted_ns, rescue_ns(h, p));
    if (!h->set->kernel[p->kernel].direct) {
        p->a = operand_of(p->scheme, m, k, a_entries);
        p->b = operand_of(p->scheme, n, k, b_entries);
        p->k_blocks = (int)ht_k_blocks(p->scheme, k);
    }
    if (p->checked) {
        p->tiles = checked_tiles(h, p, k);
        add_check(p->scheme, p->tiles, false, &p->a);
        add_check(p->scheme, p->tiles, false, &p->b);
    }
    p->alarms_at = place(&p->bytes, p->checked ? PIECE_ALIGNMENT : 0); /* first: grow_own */
    p->a_exponents_at = place(&p->bytes, p->a.exponent_bytes);
    p->b_exponents_at = place(&p->bytes, p->b.exponent_bytes);
    p->a_panels_at = place(&p->bytes, p->a.panel_bytes);
    p->b_panels_at = place(&p->bytes, p->b.panel_bytes);
    p->a_tame_at = place(&p->bytes, p->a.tame_bytes);
    p->b_tame_at = place(&p->bytes, p->b.tame_bytes);
    /* slices use the partials one after the other */
    int64_t slice = grid_batch(batch);
    p->partials_at =
        place(&p->bytes, round_up(ht_partial_bytes(m, n, slice, p->splits, ht_part_bytes(p->scheme->exact_k)),
                                  PIECE_ALIGNMENT));
    return check_blob_bytes(h, p->bytes);
}

/* ---- workspace ---- */

static int grow_own(halftone *h, size_t bytes) {
    if (h->capturing)
        return fail(h, HALFTONE_WORKSPACE, "%zu bytes needed, %zu there, and the stream is being captured",
                    bytes, h->own_bytes);
    int code = release_own(h);
    if (code != HALFTONE_OK)
        return code;
    void *memory = NULL;
    code = fail_device(h, ht_dev_alloc(&memory, bytes));
    if (code != HALFTONE_OK)
        return code;
    h->own = (char *)memory;
    h->own_bytes = bytes;
    /* the product reads alarms that packing may not have raised: any value will do, but a sanitizer asks for one */
    return fail_device(h, ht_dev_memset_async(memory, 0, PIECE_ALIGNMENT, h->stream));
}

static int get_workspace(halftone *h, size_t bytes, char **workspace) {
    *workspace = NULL;
    if (bytes == 0)
        return HALFTONE_OK;
    if (h->has_user) {
        if (h->user_bytes < bytes)
            return fail(h, HALFTONE_WORKSPACE, "%zu bytes needed, %zu given", bytes, h->user_bytes);
        *workspace = h->user;
        return HALFTONE_OK;
    }
    int code = look_at_stream(h);
    if (code == HALFTONE_OK && h->own_bytes < bytes)
        code = grow_own(h, bytes);
    h->own_captured = h->own_captured || (code == HALFTONE_OK && h->capturing);
    *workspace = h->own;
    return code;
}

/* ---- checks ---- */

/* One call of any of the products, and the arguments of packing; fields that a function lacks stay harmless.
 */
struct call {
    char transa, transb;
    int64_t m, n, k;
    const float *alpha;
    const float *a;
    int64_t lda, stride_a;
    const float *b;
    int64_t ldb, stride_b;
    const float *beta;
    float *c;
    int64_t ldc, stride_c;
    int64_t batch;
    const char *packed_a, *packed_b; /* instead of a and b */
};

static bool is_trans(char t) {
    return t == 'T' || t == 't' || t == 'C' || t == 'c';
}

static bool is_op(char t) {
    return t == 'N' || t == 'n' || is_trans(t);
}

static int check_sizes(halftone *h, const struct call *x) {
    if (!is_op(x->transa))
        return fail(h, -1, "transa has the code %d", x->transa);
    if (!is_op(x->transb))
        return fail(h, -2, "transb has the code %d", x->transb);
    const int64_t size[] = {x->m, x->n, x->k};
    for (int i = 0; i < 3; i++)
        if (size[i] < 0)
            return fail(h, -3 - i, "%c = %lld", "mnk"[i], (long long)size[i]);
    return HALFTONE_OK;
}

static int check_limits(halftone *h, const struct call *x) {
    const int64_t size[] = {x->m, x->n, x->k, x->batch};
    static const char *const name[] = {"m", "n", "k", "batch"};
    for (int i = 0; i < 4; i++)
        if (size[i] > HALFTONE_SIZE_MAX)
            return fail(h, HALFTONE_TOO_LARGE, "%s = %lld is above %lld", name[i], (long long)size[i],
                        (long long)HALFTONE_SIZE_MAX);
    return HALFTONE_OK;
}

static int check_ld(halftone *h, int argument, const char *name, int64_t ld, int64_t rows) {
    int64_t least = rows > 1 ? rows : 1;
    if (ld < least)
        return fail(h, -argument, "%s = %lld is smaller than %lld", name, (long long)ld, (long long)least);
    return HALFTONE_OK;
}

/* Whether the last of `batch` matrices still ends at an address that could exist. */
static int check_extent(halftone *h, const char *name, int64_t ld, int64_t rows, int64_t cols, int64_t stride,
                        int64_t batch) {
    if (rows == 0 || cols == 0 || batch == 0)
        return HALFTONE_OK;
    int64_t elements = ht_add(ht_add(ht_mul(cols - 1, ld), rows), ht_mul(batch - 1, stride));
    if (elements > PTRDIFF_MAX / 4)
        return fail(h, HALFTONE_TOO_LARGE, "%s spans more bytes than an address can count", name);
    return HALFTONE_OK;
}

/* What the call can be seen to need on the host: nothing, only beta * C, or the product. */
enum work { WORK_NONE, WORK_SCALE, WORK_PRODUCT };

static enum work work_of(const halftone *h, const struct call *x) {
    if (x->m == 0 || x->n == 0 || x->batch == 0)
        return WORK_NONE;
    if (x->k > 0 && (h->pointer_mode == HALFTONE_DEVICE || *x->alpha != 0.0f))
        return WORK_PRODUCT;
    return h->pointer_mode == HALFTONE_HOST && *x->beta == 1.0f ? WORK_NONE : WORK_SCALE;
}

static bool is_bad_operand(const float *plain, const char *packed, bool is_packed) {
    return is_packed ? packed == NULL || !is_aligned(packed, HALFTONE_ALIGNMENT)
                     : plain == NULL || !is_aligned(plain, sizeof(float));
}

/* Arguments in the order of their numbers. A and B may be anything when they are not read. */
static int check_call(halftone *h, const struct call *x, bool is_packed, enum work *work) {
    int code = check_sizes(h, x);
    if (code != HALFTONE_OK)
        return code;
    bool empty = x->m == 0 || x->n == 0 || x->batch == 0;
    if (x->alpha == NULL)
        return fail(h, -6, "alpha is NULL");
    bool no_product = empty || x->k == 0 || (h->pointer_mode == HALFTONE_HOST && *x->alpha == 0.0f);
    if (!no_product && is_bad_operand(x->a, x->packed_a, is_packed))
        return fail(h, -7, "A = %p", is_packed ? (const void *)x->packed_a : (const void *)x->a);
    if (!is_packed && (code = check_ld(h, 8, "lda", x->lda, is_trans(x->transa) ? x->k : x->m)) != 0)
        return code;
    if (!no_product && is_bad_operand(x->b, x->packed_b, is_packed))
        return fail(h, -9, "B = %p", is_packed ? (const void *)x->packed_b : (const void *)x->b);
    if (!is_packed && (code = check_ld(h, 10, "ldb", x->ldb, is_trans(x->transb) ? x->n : x->k)) != 0)
        return code;
    if (x->beta == NULL)
        return fail(h, -11, "beta is NULL");
    if (!empty && (x->c == NULL || !is_aligned(x->c, sizeof(float))))
        return fail(h, -12, "C = %p", (void *)x->c);
    if ((code = check_ld(h, 13, "ldc", x->ldc, x->m)) != 0)
        return code;
    if (x->stride_a < 0)
        return fail(h, -14, "stride A = %lld", (long long)x->stride_a);
    if (x->stride_b < 0)
        return fail(h, -15, "stride B = %lld", (long long)x->stride_b);
    if (x->stride_c < 0 || (x->batch > 1 && x->stride_c < x->m))
        return fail(h, -16, "stride C = %lld for %lld rows", (long long)x->stride_c, (long long)x->m);
    if (x->batch < 0)
        return fail(h, -17, "batch = %lld", (long long)x->batch);
    *work = work_of(h, x);
    return check_limits(h, x);
}

static int check_extents(halftone *h, const struct call *x, bool is_packed, enum work work) {
    int code = check_extent(h, "C", x->ldc, x->m, x->n, x->stride_c, x->batch);
    if (code != HALFTONE_OK || is_packed || work != WORK_PRODUCT)
        return code;
    bool ta = is_trans(x->transa), tb = is_trans(x->transb);
    code = check_extent(h, "A", x->lda, ta ? x->k : x->m, ta ? x->m : x->k, x->stride_a, x->batch);
    if (code == HALFTONE_OK)
        code = check_extent(h, "B", x->ldb, tb ? x->n : x->k, tb ? x->k : x->n, x->stride_b, x->batch);
    return code;
}

/* Arguments of questions about a call: sizes, batch, and where the answer goes. */
static int check_question(halftone *h, const struct call *x, const void *result) {
    int code = check_sizes(h, x);
    if (code == HALFTONE_OK && x->batch < 0)
        code = fail(h, -17, "batch = %lld", (long long)x->batch);
    if (code == HALFTONE_OK && result == NULL)
        code = fail(h, -18, "the result is NULL");
    return code;
}

/* Struct halftone_plan of 0.1.0, the least that is written; and far more than one will ever be. */
enum { PLAN_BYTES_LEAST = sizeof(struct halftone_plan), PLAN_BYTES_MOST = 1 << 16 };

static int check_plan(halftone *h, const struct halftone_plan *plan) {
    if (plan->size >= (size_t)PLAN_BYTES_LEAST && plan->size <= (size_t)PLAN_BYTES_MOST)
        return HALFTONE_OK;
    return fail(h, -18, "plan->size is %zu, not sizeof(struct halftone_plan): begin with HALFTONE_PLAN_INIT", plan->size);
}

/* ---- launches ---- */

static int make_ready(halftone *h, int (*init)(void), unsigned char *ready) {
    if (*ready)
        return HALFTONE_OK;
    int code = fail_device(h, ht_dev_check(init()));
    if (code == HALFTONE_OK)
        *ready = 1;
    return code;
}

static int ready_kernel(halftone *h, int kernel) {
    return make_ready(h, h->set->kernel[kernel].init, &h->ready[kernel]);
}

static int ready_packing(halftone *h, const struct ht_scheme_desc *scheme) {
    return make_ready(h, scheme->pack_init, &h->ready[h->set->kernels + (scheme - h->set->scheme)]);
}

/* One operand as a call has it, and where its packed form goes. */
struct source {
    const struct operand *operand;
    const float *src;
    int64_t ld, stride;
    bool k_contiguous;
    char *exponents, *panels;
    char *alarm, *tame, *copy; /* NULL: not wanted */
    int tiles;         /* with tame: of a packing block */
};

/* Arguments for the entries from `entry` on, as many as a grid can hold. Each entry has room to meet behind its magnitudes.
 */
static struct ht_pack_args pack_args(const struct ht_scheme_desc *scheme, const struct source *x,
                                     int64_t entry) {
    const struct operand *o = x->operand;
    int64_t batch = o->entries - entry, rows = ht_ceil_div(o->rows, HT_ATOM_ROWS) * HT_ATOM_ROWS;
    int *exponents = scheme->scales_rows ? (int *)(void *)x->exponents + entry * o->exponent_stride : NULL;
    struct ht_pack_args args;
    memset(&args, 0, sizeof args);
    args.src = x->src + entry * x->stride;
    args.panels = (unsigned char *)x->panels + entry * o->panel_stride;
    args.exponents = exponents;
    args.meeting = exponents != NULL ? exponents + rows : NULL;
    args.ld = x->ld;
    args.src_stride = x->stride;
    args.panel_stride = o->panel_stride;
    args.exponent_stride = o->exponent_stride;
    args.meeting_stride = o->exponent_stride;
    args.rows = (int)o->rows;
    args.k = (int)o->k;
    args.k_blocks = (int)ht_k_blocks(scheme, o->k);
    args.k_contiguous = x->k_contiguous;
    args.batch = (int)grid_batch(batch);
    if (x->tame == NULL)
        return args;
    args.tame = (int *)(void *)(x->tame + ALARM_BYTES) + entry * o->tame_stride;
    args.tame_stride = o->tame_stride;
    args.alarm = (int *)(void *)x->alarm;
    args.copy = (float *)(void *)x->copy;
    args.copy_stride = o->copy_stride;
    args.tiles = x->tiles;
    return args;
}

/* Earlier calls may still be meeting in the old one, and graphs always. */
static bool grow_meeting(halftone *h, size_t bytes) {
    void *memory = NULL;
    if (ht_dev_stream_sync(h->stream) != HT_DEV_OK || ht_dev_alloc(&memory, bytes) != HT_DEV_OK)
        return false;
    if (h->meeting_captured && retire(h, h->meeting) != HALFTONE_OK) {
        (void)ht_dev_free(memory);
        return false;
    }
    const int freed = h->meeting_captured ? HT_DEV_OK : ht_dev_free(h->meeting);
    h->meeting = (int *)memory;
    h->meeting_bytes = bytes;
    h->meeting_clean = h->meeting_captured = false;
    return freed == HT_DEV_OK;
}

/* The handle's own meeting place, clean and large enough; false: there is none, use the workspace. A workspace of the
 * user's means that calls of one handle may run in several streams at once, where they must not meet. */
static bool have_meeting(halftone *h, int64_t bytes) {
    const bool fits = (int64_t)h->meeting_bytes >= bytes;
    if (h->has_user || bytes > MEETING_BYTES_MAX)
        return false;
    if (h->capturing) { /* nothing may grow, and a graph would clean later, and again */
        h->meeting_captured = h->meeting_captured || (fits && h->meeting_clean);
        return fits && h->meeting_clean;
    }
    if (!fits && !grow_meeting(h, (size_t)round_up(bytes, MEETING_UNIT)))
        return false;
    if (!h->meeting_clean)
        h->meeting_clean = ht_dev_memset_async(h->meeting, 0xff, h->meeting_bytes, h->stream) == HT_DEV_OK;
    return h->meeting_clean;
}

/* Lets the operands of one launch meet in the handle's own place, if there is one and they fit. */
static void meet(halftone *h, const struct source *x, struct ht_pack_args *args, int count) {
    int64_t ints = 0;
    for (int i = 0; i < count; i++)
        ints = ht_add(ints, ht_mul(x[i].operand->meeting_ints, args[i].batch));
    if (args[0].meeting == NULL || (ints > 0 && !have_meeting(h, ht_mul(ints, (int64_t)sizeof(int)))))
        return;
    for (int i = 0; i < count; i++)
        args[i].meeting_clean = 1;
    for (int i = 0, at = 0; ints > 0 && i < count; i++) {
        args[i].meeting = h->meeting + at;
        args[i].meeting_stride = x[i].operand->meeting_ints;
        at += (int)x[i].operand->meeting_ints * args[i].batch;
    }
}

static int launch_pack(halftone *h, const struct ht_scheme_desc *scheme, const struct source *x,
                       struct ht_pack_args *args, int count) {
    for (int i = 0; i < count; i++)
        args[i].call = h->pack_calls;
    meet(h, x, args, count);
    int code = fail_device(h, ht_dev_check(scheme->pack(args, count, h->stream)));
    if (code != HALFTONE_OK)
        h->meeting_clean = false; /* nobody knows how far it came */
    return code;
}

/* Packs one or two operands: together in one launch where a grid can hold all their entries. */
static int pack(halftone *h, const struct ht_scheme_desc *scheme, const struct source *x, int count) {
    const int ready = ready_packing(h, scheme);
    if (ready != HALFTONE_OK)
        return ready;
    h->pack_calls = h->pack_calls < INT32_MAX ? h->pack_calls + 1 : 1;
    if (count == 2 && x[0].operand->entries + x[1].operand->entries <= HT_GRID_BATCH) {
        struct ht_pack_args both[2] = {pack_args(scheme, &x[0], 0), pack_args(scheme, &x[1], 0)};
        return launch_pack(h, scheme, x, both, 2);
    }
    for (int i = 0; i < count; i++) {
        for (int64_t entry = 0; entry < x[i].operand->entries; entry += HT_GRID_BATCH) {
            struct ht_pack_args args = pack_args(scheme, &x[i], entry);
            int code = launch_pack(h, scheme, &x[i], &args, 1);
            if (code != HALFTONE_OK)
                return code;
        }
    }
    return HALFTONE_OK;
}

/* Everything about C and the scalars; splits 0 makes reduce scale C. */
static struct ht_gemm_args args_of(const halftone *h, const struct call *x) {
    bool on_device = h->pointer_mode == HALFTONE_DEVICE;
    struct ht_gemm_args args;
    memset(&args, 0, sizeof args);
    args.c = x->c;
    args.alpha_ptr = on_device ? x->alpha : NULL;
    args.beta_ptr = on_device ? x->beta : NULL;
    args.ldc = x->ldc;
    args.c_stride = x->stride_c;
    args.m = (int)x->m;
    args.n = (int)x->n;
    args.alpha = on_device ? 0.0f : *x->alpha;
    args.beta = on_device ? 0.0f : *x->beta;
    return args;
}

static int launch_kernel(halftone *h, int kernel, const struct ht_gemm_args *args) {
    return kernel == NO_KERNEL ? HALFTONE_OK
                               : fail_device(h, ht_dev_check(h->set->kernel[kernel].launch(args, h->stream)));
}

/* Moves on to the entries of a batch that the next grid takes. */
static void next_entries(struct ht_gemm_args *args) {
    args->c += HT_GRID_BATCH * args->c_stride;
    if (args->a_panels != NULL) {
        args->a_panels += HT_GRID_BATCH * args->a_stride;
        args->b_panels += HT_GRID_BATCH * args->b_stride;
    }
    if (args->a_exponents != NULL) {
        args->a_exponents += HT_GRID_BATCH * args->a_exponent_stride;
        args->b_exponents += HT_GRID_BATCH * args->b_exponent_stride;
    }
    if (args->a_src != NULL) {
        args->a_src += HT_GRID_BATCH * args->a_src_stride;
        args->b_src += HT_GRID_BATCH * args->b_src_stride;
    }
    if (args->a_tame != NULL) {
        args->a_tame += HT_GRID_BATCH * args->a_tame_stride;
        args->b_tame += HT_GRID_BATCH * args->b_tame_stride;
    }
}

/* Launches rescue, kernel (unless NO_KERNEL) and reduction over slices of the batch that a grid can hold. The rescue comes first:
 * nothing that a launch behind the product has to wait for could begin before the product leaves the SMs. */
static int launch(halftone *h, int kernel, int rescue, struct ht_gemm_args args, int64_t batch) {
    const struct ht_scheme_desc *scheme =
        kernel != NO_KERNEL ? find_scheme(h->set, h->set->kernel[kernel].scheme) : NULL;
    int (*reduce)(const struct ht_gemm_args *, void *) =
        scheme != NULL && scheme->reduce != NULL ? scheme->reduce : h->set->reduce;
    for (int64_t done = 0; done < batch; done += HT_GRID_BATCH) {
        args.batch = (int)grid_batch(batch - done);
        struct ht_gemm_args whole = args;
        whole.splits = 1;
        int code = launch_kernel(h, rescue, &whole);
        if (code == HALFTONE_OK)
            code = launch_kernel(h, kernel, &args);
        if (code == HALFTONE_OK && args.splits != 1)
            code = fail_device(h, ht_dev_check(reduce(&args, h->stream)));
        if (code != HALFTONE_OK)
            return code;
        next_entries(&args);
    }
    return HALFTONE_OK;
}

static int scale_only(halftone *h, const struct call *x) {
    return launch(h, NO_KERNEL, NO_KERNEL, args_of(h, x), x->batch);
}

/* What was packed for a call, wherever it is; a_copy, b_copy: in blobs only. */
struct panels {
    const char *a_exponents, *b_exponents, *a_panels, *b_panels, *a_alarm, *b_alarm, *a_tame, *b_tame, *a_copy, *b_copy;
};

/* Packs A and B into the workspace. */
static int pack_both(halftone *h, const struct plan *p, const struct call *x, char *work,
                     struct panels *out) {
    const bool checked = p->checked;
    char *ae = work + p->a_exponents_at, *be = work + p->b_exponents_at;
    char *ap = work + p->a_panels_at, *bp = work + p->b_panels_at;
    char *at = checked ? work + p->a_tame_at : NULL, *bt = checked ? work + p->b_tame_at : NULL;
    char *alarms = work + p->alarms_at;
    const struct source sources[2] = {
        {&p->a, x->a, x->lda, x->stride_a, is_trans(x->transa), ae, ap, alarms, at, NULL, p->tiles},
        {&p->b, x->b, x->ldb, x->stride_b, !is_trans(x->transb), be, bp, alarms + ALARM_BYTES, bt, NULL, p->tiles},
    };
    const struct panels there = {ae, be, ap, bp, alarms, alarms + ALARM_BYTES, at, bt, NULL, NULL};
    *out = there;
    return pack(h, p->scheme, sources, 2);
}

/* Finds the pieces of the caller's blobs, which were packed for `scheme`. */
static struct panels panels_of_blobs(const halftone *h, const struct ht_scheme_desc *scheme, const struct call *x) {
    const struct operand a = blob_of(h, scheme, x->m, x->k), b = blob_of(h, scheme, x->n, x->k);
    struct panels at;
    at.a_exponents = x->packed_a;
    at.b_exponents = x->packed_b;
    at.a_panels = at.a_exponents + a.exponent_bytes;
    at.b_panels = at.b_exponents + b.exponent_bytes;
    at.a_tame = at.a_panels + a.panel_bytes;
    at.b_tame = at.b_panels + b.panel_bytes;
    at.a_alarm = at.a_tame;
    at.b_alarm = at.b_tame;
    at.a_copy = at.a_tame + a.tame_bytes;
    at.b_copy = at.b_tame + b.tame_bytes;
    return at;
}

/* The call with the matrices that blobs hold instead of the caller's. */
static struct call with_copies(const struct ht_scheme_desc *scheme, const struct call *x, const struct panels *at) {
    struct call y = *x;
    y.a = (const float *)(const void *)at->a_copy;
    y.b = (const float *)(const void *)at->b_copy;
    y.transa = 'T'; /* k contiguous */
    y.transb = 'N';
    y.lda = y.ldb = ht_padded_k(scheme, x->k);
    return y;
}

/* The operands of a kernel that reads them as they are. */
static void add_sources(const struct plan *p, const struct call *x, struct ht_gemm_args *args) {
    args->a_src = x->a;
    args->b_src = x->b;
    args->a_ld = x->lda;
    args->b_ld = x->ldb;
    args->a_src_stride = x->stride_a;
    args->b_src_stride = x->stride_b;
    args->a_k_contiguous = is_trans(x->transa);
    args->b_k_contiguous = !is_trans(x->transb);
    args->k = (int)x->k;
    args->fma_only = p->fma_only;
}

static void add_panels(const struct plan *p, const struct panels *at, struct ht_gemm_args *args) {
    const bool many_a = p->a.entries > 1, many_b = p->b.entries > 1;
    args->k_blocks = p->k_blocks;
    args->a_panels = (const unsigned char *)at->a_panels;
    args->b_panels = (const unsigned char *)at->b_panels;
    args->a_stride = many_a ? p->a.panel_stride : 0;
    args->b_stride = many_b ? p->b.panel_stride : 0;
    if (!p->scheme->scales_rows)
        return;
    args->a_exponents = (const int *)(const void *)at->a_exponents;
    args->b_exponents = (const int *)(const void *)at->b_exponents;
    args->a_exponent_stride = many_a ? p->a.exponent_stride : 0;
    args->b_exponent_stride = many_b ? p->b.exponent_stride : 0;
}

/* What the data check found, for the kernel that leaves blocks alone and the one that computes them, which may be the same. */
static void add_verdict(const struct plan *p, const struct panels *at, int64_t k, struct ht_gemm_args *args) {
    args->a_alarm = (const int *)(const void *)at->a_alarm;
    args->b_alarm = (const int *)(const void *)at->b_alarm;
    args->a_tame = (const int *)(const void *)(at->a_tame + ALARM_BYTES);
    args->b_tame = (const int *)(const void *)(at->b_tame + ALARM_BYTES);
    args->a_tame_stride = p->a.entries > 1 ? p->a.tame_stride : 0;
    args->b_tame_stride = p->b.entries > 1 ? p->b.tame_stride : 0;
    args->pieces = (int)ht_checked_pieces(p->scheme, p->tiles, k);
    args->parts = ht_checked_parts(p->tiles);
    args->rescues = p->rescue == NO_KERNEL;
}

/* The plan of a call; what a handle is asked again it knows. */
static int plan_call(halftone *h, const struct call *x, int64_t a_entries, int64_t b_entries, const struct plan **plan) {
    struct question now;
    memset(&now, 0, sizeof now); /* padding too */
    now.m = x->m;
    now.n = x->n;
    now.k = x->k;
    now.batch = x->batch;
    now.a_entries = a_entries;
    now.b_entries = b_entries;
    now.scheme = h->scheme;
    now.forced = h->forced_kernel;
    now.is_auto = h->is_auto;
    now.accuracies = h->accuracies;
    const int64_t numbers[] = {x->m, x->n, x->k, x->batch, a_entries, b_entries}; /* packed or not, a shape has two plans */
    uint64_t mixed = 0;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        mixed = mixed * 31 + (uint64_t)numbers[i];
    const int slot = (int)((mixed ^ mixed >> 8) % PLANS);
    *plan = &h->remembered[slot].plan;
    if (memcmp(&now, &h->remembered[slot].question, sizeof now) == 0)
        return HALFTONE_OK;
    h->remembered[slot].question.m = 0;
    const int code = make_plan(h, x->m, x->n, x->k, x->batch, a_entries, b_entries, &h->remembered[slot].plan);
    if (code == HALFTONE_OK)
        memcpy(&h->remembered[slot].question, &now, sizeof now);
    return code;
}

/* The scheme of packed operands, of which there are none as large as no address could span. */
static int check_packed(halftone *h, const struct call *x, const struct ht_scheme_desc **scheme) {
    int code = packing_scheme_of_call(h, scheme);
    for (int i = 0; i < 2 && code == HALFTONE_OK; i++) {
        const struct operand o = blob_of(h, *scheme, i == 0 ? x->m : x->n, x->k);
        code = check_blob_bytes(h, blob_bytes(&o));
    }
    return code;
}

static int multiply(halftone *h, const struct call *x, bool is_packed) {
    const struct plan *p = NULL;
    struct panels at;
    char *work = NULL;
    int64_t a_entries = is_packed ? 0 : x->stride_a == 0 ? 1 : x->batch;
    int64_t b_entries = is_packed ? 0 : x->stride_b == 0 ? 1 : x->batch;
    const struct ht_scheme_desc *scheme = NULL;
    int code = is_packed ? check_packed(h, x, &scheme) : HALFTONE_OK;
    if (code == HALFTONE_OK)
        code = plan_call(h, x, a_entries, b_entries, &p);
    if (code == HALFTONE_OK)
        code = get_workspace(h, (size_t)p->bytes, &work);
    if (code == HALFTONE_OK)
        code = ready_kernel(h, p->kernel);
    if (code == HALFTONE_OK && p->rescue != NO_KERNEL)
        code = ready_kernel(h, p->rescue);
    const bool direct = code == HALFTONE_OK && h->set->kernel[p->kernel].direct;
    if (code == HALFTONE_OK && is_packed)
        at = panels_of_blobs(h, scheme, x);
    else if (code == HALFTONE_OK && !direct)
        code = pack_both(h, p, x, work, &at);
    if (code != HALFTONE_OK)
        return code;
    struct ht_gemm_args args = args_of(h, x);
    args.splits = p->splits;
    args.partial = p->splits > 1 ? (float *)(void *)(work + p->partials_at) : NULL;
    const struct call read = is_packed && has_check(h, scheme) ? with_copies(scheme, x, &at) : *x;
    if (direct || p->checked)
        add_sources(p, &read, &args);
    if (!direct)
        add_panels(p, &at, &args);
    if (p->checked)
        add_verdict(p, &at, x->k, &args);
    return launch(h, p->kernel, p->rescue, args, x->batch);
}

static int run(halftone *h, const struct call *x, bool is_packed) {
    enum work work = WORK_NONE;
    int code = check_call(h, x, is_packed, &work);
    if (code == HALFTONE_OK)
        code = check_extents(h, x, is_packed, work);
    if (code != HALFTONE_OK || work == WORK_NONE)
        return code;
    return work == WORK_SCALE ? scale_only(h, x) : multiply(h, x, is_packed);
}

/* ---- products ---- */

int halftone_sgemm_strided_batched(halftone *handle, char transa, char transb, int64_t m, int64_t n,
                                   int64_t k, const float *alpha, const float *a, int64_t lda,
                                   int64_t stride_a, const float *b, int64_t ldb, int64_t stride_b,
                                   const float *beta, float *c, int64_t ldc, int64_t stride_c,
                                   int64_t batch) {
    int code = begin(handle);
    if (code != HALFTONE_OK)
        return code;
    struct call x;
    memset(&x, 0, sizeof x);
    x.transa = transa;
    x.transb = transb;
    x.m = m;
    x.n = n;
    x.k = k;
    x.alpha = alpha;
    x.a = a;
    x.lda = lda;
    x.stride_a = stride_a;
    x.b = b;
    x.ldb = ldb;
    x.stride_b = stride_b;
    x.beta = beta;
    x.c = c;
    x.ldc = ldc;
    x.stride_c = stride_c;
    x.batch = batch;
    return run(handle, &x, false);
}

int halftone_sgemm(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,
                   const float *alpha, const float *a, int64_t lda, const float *b, int64_t ldb,
                   const float *beta, float *c, int64_t ldc) {
    return halftone_sgemm_strided_batched(handle, transa, transb, m, n, k, alpha, a, lda, 0, b, ldb, 0, beta,
                                          c, ldc, 0, 1);
}

int halftone_sgemm_packed(halftone *handle, int64_t m, int64_t n, int64_t k, const float *alpha,
                          const void *packed_a, const void *packed_b, const float *beta, float *c,
                          int64_t ldc) {
    int code = begin(handle);
    if (code != HALFTONE_OK)
        return code;
    struct call x;
    memset(&x, 0, sizeof x);
    x.transa = 'N';
    x.transb = 'N';
    x.m = m;
    x.n = n;
    x.k = k;
    x.alpha = alpha;
    x.beta = beta;
    x.c = c;
    x.ldc = ldc;
    x.batch = 1;
    x.packed_a = (const char *)packed_a;
    x.packed_b = (const char *)packed_b;
    return run(handle, &x, true);
}

/* ---- packed operands ---- */

int halftone_packed_bytes(halftone *handle, char which, int64_t rows, int64_t k, int64_t batch,
                          size_t *bytes) {
    int code = begin(handle);
    if (code != HALFTONE_OK)
        return code;
    bool is_a = which == 'A' || which == 'a', is_b = which == 'B' || which == 'b';
    if (!is_a && !is_b)
        return fail(handle, -18, "which has the code %d", which);
    struct call x;
    memset(&x, 0, sizeof x);
    x.transa = 'N';
    x.transb = 'N';
    x.m = is_a ? rows : 0;
    x.n = is_b ? rows : 0;
    x.k = k;
    x.batch = batch;
    const struct ht_scheme_desc *scheme = NULL;
    code = check_question(handle, &x, bytes);
    if (code == HALFTONE_OK)
        code = check_limits(handle, &x);
    if (code == HALFTONE_OK)
        code = packing_scheme_of_call(handle, &scheme);
    if (code != HALFTONE_OK)
        return code;
    struct operand o = blob_of(handle, scheme, rows, k);
    int64_t total = ht_mul(blob_bytes(&o), batch);
    code = check_blob_bytes(handle, total);
    if (code == HALFTONE_OK)
        *bytes = (size_t)total;
    return code;
}

/* One side of a pack call: what is packed, and whether there is anything. */
struct blob {
    struct operand operand;
    struct source source;
    bool empty;
};

/* Checks one side of a pack call; x holds the operand in the place of A or of B. */
static int check_blob(halftone *h, const struct call *x, bool is_a, void *packed, struct blob *out) {
    const float *src = is_a ? x->a : x->b;
    bool trans = is_trans(is_a ? x->transa : x->transb);
    int64_t rows = is_a ? x->m : x->n, ld = is_a ? x->lda : x->ldb;
    int64_t stored_rows = is_a == trans ? x->k : rows, stored_cols = is_a == trans ? rows : x->k;
    out->empty = rows == 0 || x->k == 0;
    if (!out->empty && is_bad_operand(src, NULL, false))
        return fail(h, is_a ? -7 : -9, "%c = %p", is_a ? 'A' : 'B', (const void *)src);
    int code = check_ld(h, is_a ? 8 : 10, is_a ? "lda" : "ldb", ld, stored_rows);
    if (code != HALFTONE_OK)
        return code;
    if (!out->empty && (packed == NULL || !is_aligned(packed, HALFTONE_ALIGNMENT)))
        return fail(h, -18, "packed = %p", packed);
    const struct ht_scheme_desc *scheme = NULL;
    code = check_limits(h, x);
    if (code == HALFTONE_OK)
        code = check_extent(h, is_a ? "A" : "B", ld, stored_rows, stored_cols, 0, 1);
    if (code == HALFTONE_OK)
        code = packing_scheme_of_call(h, &scheme);
    if (code != HALFTONE_OK || out->empty)
        return code;
    out->operand = blob_of(h, scheme, rows, x->k);
    const struct operand *o = &out->operand;
    code = check_blob_bytes(h, blob_bytes(o));
    if (code != HALFTONE_OK)
        return code;
    const bool checked = has_check(h, scheme);
    char *blob = (char *)packed, *panels = blob + o->exponent_bytes, *tame = panels + o->panel_bytes;
    const struct source source = {o, src, ld, 0, is_a == trans, blob, panels, tame, checked ? tame : NULL,
                                  checked ? tame + o->tame_bytes : NULL,
                                  checked ? ht_checked_tiles(scheme, h->set->sms, x->k) : 0};
    out->source = source;
    return HALFTONE_OK;
}

/* Packs the sides that are asked for, both in one launch. */
static int pack_blobs(halftone *h, const struct call *x, bool with_a, void *packed_a, bool with_b,
                      void *packed_b) {
    struct blob a, b;
    a.empty = b.empty = true;
    const struct ht_scheme_desc *scheme = NULL;
    struct source sources[2];
    int count = 0, code = check_sizes(h, x);
    if (code == HALFTONE_OK && with_a)
        code = check_blob(h, x, true, packed_a, &a);
    if (code == HALFTONE_OK && with_b)
        code = check_blob(h, x, false, packed_b, &b);
    if (code == HALFTONE_OK)
        code = packing_scheme_of_call(h, &scheme);
    if (code != HALFTONE_OK || (a.empty && b.empty))
        return code;
    code = h->has_user ? HALFTONE_OK : look_at_stream(h); /* blocks may meet in the handle's place */
    if (code != HALFTONE_OK)
        return code;
    if (!a.empty)
        sources[count++] = a.source;
    if (!b.empty)
        sources[count++] = b.source;
    return pack(h, scheme, sources, count);
}

int halftone_pack_a(halftone *handle, char transa, int64_t m, int64_t k, const float *a, int64_t lda,
                    void *packed) {
    int code = begin(handle);
    if (code != HALFTONE_OK)
        return code;
    struct call x;
    memset(&x, 0, sizeof x);
    x.transa = transa;
    x.transb = 'N';
    x.m = m;
    x.k = k;
    x.a = a;
    x.lda = lda;
    x.batch = 1;
    return pack_blobs(handle, &x, true, packed, false, NULL);
}

int halftone_pack_b(halftone *handle, char transb, int64_t k, int64_t n, const float *b, int64_t ldb,
                    void *packed) {
    int code = begin(handle);
    if (code != HALFTONE_OK)
        return code;
    struct call x;
    memset(&x, 0, sizeof x);
    x.transa = 'N';
    x.transb = transb;
    x.n = n;
    x.k = k;
    x.b = b;
    x.ldb = ldb;
    x.batch = 1;
    return pack_blobs(handle, &x, false, NULL, true, packed);
}

int halftone_pack_ab(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,
                     const float *a, int64_t lda, const float *b, int64_t ldb, void *packed_a,
                     void *packed_b) {
    int code = begin(handle);
    if (code != HALFTONE_OK)
        return code;
    struct call x;
    memset(&x, 0, sizeof x);
    x.transa = transa;
    x.transb = transb;
    x.m = m;
    x.n = n;
    x.k = k;
    x.a = a;
    x.lda = lda;
    x.b = b;
    x.ldb = ldb;
    x.batch = 1;
    return pack_blobs(handle, &x, true, packed_a, true, packed_b);
}

/* ---- how much cancels ---- */

enum { PROBES = 8 };

/* For a random x of +-1 the mean of ||M x||^2 is ||M||_F^2. Device memory: x n x PROBES; k x 2 PROBES, more random vectors and
 * y = B x; m x 2 PROBES, A by both. Host memory: vectors to upload, and what comes back. */
struct probe {
    float *x, *y, *z;
    float *vectors, *back;
};

static void probe_close(struct probe *p) {
    (void)ht_dev_free(p->x);
    (void)ht_dev_free(p->y);
    (void)ht_dev_free(p->z);
    free(p->vectors);
    free(p->back);
}

/* From a multiplicative generator (Knuth's MMIX constants): equal calls ask with equal vectors. */
static void fill_signs(float *to, int64_t count, uint64_t seed) {
    for (int64_t i = 0; i < count; i++) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        to[i] = seed >> 63 ? 1.0f : -1.0f;
    }
}

static int probe_open(halftone *h, const struct call *x, struct probe *p) {
    const int64_t sizes[] = {x->n, 2 * x->k, 2 * x->m};
    float **const memory[] = {&p->x, &p->y, &p->z};
    int code = HALFTONE_OK;
    memset(p, 0, sizeof *p);
    for (int i = 0; i < 3 && code == HALFTONE_OK; i++) {
        void *got = NULL;
        code = fail_device(h, ht_dev_alloc(&got, (size_t)(sizes[i] * PROBES) * sizeof(float)));
        *memory[i] = (float *)got;
    }
    if (code != HALFTONE_OK)
        return code;
    const int64_t up = x->n > 2 * x->k ? x->n : 2 * x->k, down = x->k > 2 * x->m ? x->k : 2 * x->m;
    p->vectors = (float *)malloc((size_t)(up * PROBES) * sizeof(float));
    p->back = (float *)malloc((size_t)(down * PROBES) * sizeof(float));
    return p->vectors != NULL && p->back != NULL ? HALFTONE_OK : HALFTONE_OUT_OF_HOST_MEMORY;
}

/* C = op(A) B of dense vectors, whatever the handle is set to. */
static int probe_product(halftone *h, char trans, int64_t m, int64_t k, int64_t vectors, const float *a, int64_t lda,
                         const float *b, float *c) {
    const float one = 1, zero = 0;
    const char *scheme = h->scheme;
    const bool is_auto = h->is_auto, has_user = h->has_user;
    const int kernel = h->forced_kernel, mode = h->pointer_mode;
    h->scheme = auto_scheme(h->set);
    h->is_auto = true;
    h->has_user = false;
    h->forced_kernel = NO_KERNEL;
    h->pointer_mode = HALFTONE_HOST;
    const int code = halftone_sgemm(h, trans, 'N', m, vectors, k, &one, a, lda, b, k, &zero, c, m);
    h->scheme = scheme;
    h->is_auto = is_auto;
    h->has_user = has_user;
    h->forced_kernel = kernel;
    h->pointer_mode = mode;
    return code;
}

/* The largest magnitude; 2^200, which no float is, where one is NaN or Inf. */
static double largest_of(const float *x, int64_t count) {
    double most = 0;
    for (int64_t i = 0; i < count; i++) {
        const double size = x[i] < 0 ? -(double)x[i] : (double)x[i];
        if (!(size < 0x1p128))
            return 0x1p200;
        most = size > most ? size : most;
    }
    return most;
}

static void scale_by(float *x, int64_t count, double scale) {
    for (int64_t i = 0; i < count; i++)
        x[i] = (float)((double)x[i] * scale);
}

/* The power of two that brings a magnitude into [1, 2); 1 for none. */
static double normalizing(double most) {
    double scale = 1;
    for (; most * scale >= 2; scale /= 2) {}
    for (; most > 0 && most * scale < 1; scale *= 2) {}
    return scale;
}

/* p->back = op(M) p->vectors, of magnitudes up to 2, times a power of two that a ratio of norms does not see: where sums overflow or
 * are lost among subnormal numbers, the vectors are made 2^64 times smaller or larger and multiplied again. */
static int probe_scaled(halftone *h, struct probe *p, char trans, int64_t rows, int64_t k, int64_t vectors, const float *m,
                        int64_t ld, float *in, float *out, const char *name) {
    double most = 0;
    for (int attempt = 0; attempt < 2; attempt++) {
        int code = fail_device(h, ht_dev_upload_on(in, p->vectors, (size_t)(k * vectors) * sizeof *in, h->stream));
        if (code == HALFTONE_OK)
            code = probe_product(h, trans, rows, k, vectors, m, ld, in, out);
        if (code == HALFTONE_OK)
            code = fail_device(h, ht_dev_stream_sync(h->stream));
        if (code == HALFTONE_OK)
            code = fail_device(h, ht_dev_download(p->back, out, (size_t)(rows * vectors) * sizeof *out));
        if (code != HALFTONE_OK)
            return code;
        most = largest_of(p->back, rows * vectors);
        if (most >= 0x1p-64 && most < 0x1p128)
            return HALFTONE_OK;
        scale_by(p->vectors, k * vectors, most < 1 ? 0x1p64 : 0x1p-64);
    }
    return most < 0x1p128 ? HALFTONE_OK : fail(h, HALFTONE_NOT_SUPPORTED, "%s holds NaN or Inf: it has no norm", name);
}

static double sum_of_squares(const float *x, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += (double)x[i] * (double)x[i];
    return sum;
}

static int probe_run(halftone *h, const struct call *x, struct probe *p, double *rho) {
    const int64_t in = x->k * PROBES, out = x->m * PROBES;
    fill_signs(p->vectors, x->n * PROBES, 1);
    int code = probe_scaled(h, p, x->transb, x->k, x->n, PROBES, x->b, x->ldb, p->x, p->y, "B");
    if (code != HALFTONE_OK)
        return code;
    scale_by(p->back, in, normalizing(largest_of(p->back, in)));
    const double of_b = sum_of_squares(p->back, in);
    fill_signs(p->vectors, in, 2);
    memcpy(p->vectors + in, p->back, (size_t)in * sizeof(float));
    code = probe_scaled(h, p, x->transa, x->m, x->k, 2 * PROBES, x->a, x->lda, p->y, p->z, "A");
    if (code != HALFTONE_OK)
        return code;
    const double of_a = sum_of_squares(p->back, out), of_ab = sum_of_squares(p->back + out, out);
    const double square = of_a * of_b == 0 ? 1 : of_a * of_b / of_ab / (double)PROBES;
    if (!(square <= 1e60))
        return fail(h, HALFTONE_NOT_SUPPORTED, "nothing is left of the product: no ratio");
    double root = 1; /* Newton's method from below: no libm for one square root */
    for (int i = 0; i < 200; i++)
        root = 0.5 * (root + square / root);
    *rho = root > 1 ? root : 1;
    return HALFTONE_OK;
}

int halftone_estimate_rho(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, const float *a,
                          int64_t lda, const float *b, int64_t ldb, double *rho) {
    int code = begin(handle), capturing = 0;
    if (rho != NULL)
        *rho = INFINITY; /* of which no accuracy follows */
    if (code != HALFTONE_OK)
        return code;
    const float one = 1;
    float c = 0;
    struct call x;
    memset(&x, 0, sizeof x);
    x.transa = transa;
    x.transb = transb;
    x.m = m;
    x.n = n;
    x.k = k;
    x.alpha = x.beta = &one;
    x.a = a;
    x.lda = lda;
    x.b = b;
    x.ldb = ldb;
    x.c = &c;
    x.ldc = x.stride_c = m > 1 ? m : 1;
    x.batch = 1;
    enum work work = WORK_NONE;
    code = check_call(handle, &x, false, &work);
    if (code == HALFTONE_OK && rho == NULL)
        code = fail(handle, -18, "rho is NULL");
    if (code == HALFTONE_OK)
        code = fail_device(handle, ht_dev_is_capturing(handle->stream, &capturing));
    if (code == HALFTONE_OK && capturing)
        code = fail(handle, HALFTONE_NOT_SUPPORTED, "the stream is being captured, and rho is needed on the host");
    if (code != HALFTONE_OK)
        return code;
    if (m == 0 || n == 0 || k == 0) {
        *rho = 1;
        return HALFTONE_OK;
    }
    struct probe p;
    code = probe_open(handle, &x, &p);
    if (code == HALFTONE_OK)
        code = probe_run(handle, &x, &p, rho);
    probe_close(&p);
    return code;
}

/* ---- questions ---- */

#define CHECKED_RANGE(by)                                                                                    \
    "any input: packing checks the data, and the 64 x 64 blocks of C that it does not suit are computed " by \
    " (NaN, Inf, rows or columns with too many elements below 2^-7 of their largest)"

/* Bound and range, which may differ from the scheme's own for `auto`. */
static void describe_accuracy(const halftone *h, const struct plan *p, int64_t k, struct halftone_plan *out) {
    out->scheme = p->scheme->name;
    out->bound = p->scheme->bound_text;
    out->range = p->scheme->range_text;
    out->bound_units = bound_units(h, p, k);
    out->error_bound = (double)out->bound_units * 0x1p-24;
    out->fixed_point = p->scheme->exact_k > 0;
    if (p->checked)
        out->range = p->rescue != NO_KERNEL ? CHECKED_RANGE("by the rescue of scheme bf16x6u, a launch before the product")
                                            : CHECKED_RANGE("in FP64 by the product's own blocks");
}

static void describe(const halftone *h, const struct plan *p, const struct call *x,
                     struct halftone_plan *out) {
    const struct ht_kernel_desc *kernel = &h->set->kernel[p->kernel];
    describe_accuracy(h, p, x->k, out);
    out->kernel = kernel->name;
    out->bm = kernel->bm;
    out->bn = kernel->bn;
    out->bk = kernel->bk;
    out->wm = kernel->wm;
    out->wn = kernel->wn;
    out->stages = kernel->stages;
    out->splits = p->splits;
    out->pack_ns = ht_packing_ns(h->set, p->scheme->name, x->m, x->n, x->k, x->batch);
    out->kernel_ns = p->kernel_ns;
    out->predicted_ns = ht_add(out->pack_ns, out->kernel_ns);
    out->workspace_bytes = (size_t)p->bytes;
    out->why = kernel->why;
}

/* What `auto` does in this library. */
static const char *explain_auto(const struct ht_set_desc *set) {
    if (!auto_takes_all(set))
        return ", unchecked: nothing looks at the data, because this library lacks scheme bf16x6u";
    return strcmp(auto_scheme(set), AUTO_SCHEME) != 0
               ? ": bf16x6u, which takes every input; this library lacks f16x3"
               : ": data are checked; f16x3 for what suits it, bf16x6u for the rest and where it is faster";
}

static void explain_scheme(const halftone *h, const struct call *x, char *line, size_t bytes) {
    const char *text = h->accuracy.text;
    if (h->forced_kernel != NO_KERNEL) {
        snprintf(line, bytes, "the kernel was set by name");
    } else if (h->scheme != NULL && h->is_auto) {
        snprintf(line, bytes, "%s%sauto%s", text, text[0] != '\0' ? " by " : "", explain_auto(h->set));
    } else if (h->scheme != NULL) {
        snprintf(line, bytes, "%s%s", text[0] != '\0' ? text : "set by name", text[0] != '\0' ? ": whatever the shape" : "");
    } else {
        const struct ht_accuracy_choice choice = choose_scheme(h, &h->accuracy, x->m, x->n, x->k, x->batch);
        ht_accuracy_explain(&h->accuracy, &choice, at_least_one(x->k), line, bytes);
    }
}

int halftone_query(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, int64_t batch,
                   struct halftone_plan *plan) {
    int code = begin(handle);
    if (code != HALFTONE_OK)
        return code;
    struct call x;
    memset(&x, 0, sizeof x);
    x.transa = transa;
    x.transb = transb;
    x.m = m;
    x.n = n;
    x.k = k;
    x.batch = batch;
    const struct ht_scheme_desc *scheme = NULL;
    bool is_auto = false;
    code = check_question(handle, &x, plan);
    if (code == HALFTONE_OK)
        code = check_plan(handle, plan);
    if (code == HALFTONE_OK)
        code = check_limits(handle, &x);
    if (code == HALFTONE_OK)
        code = scheme_of_call(handle, m, n, k, batch, &scheme, &is_auto);
    if (code != HALFTONE_OK)
        return code;
    struct halftone_plan out = HALFTONE_PLAN_INIT;
    const size_t known = plan->size < sizeof out ? plan->size : sizeof out;
    out.size = plan->size;
    out.scheme = scheme->name;
    out.kernel = "";
    out.why = "a size is 0: no product is run";
    out.bound = scheme->bound_text;
    out.range = scheme->range_text;
    explain_scheme(handle, &x, out.why_scheme, sizeof out.why_scheme);
    if (m > 0 && n > 0 && k > 0 && batch > 0) {
        const struct plan *p = NULL;
        code = plan_call(handle, &x, batch, batch, &p);
        if (code != HALFTONE_OK)
            return code;
        describe(handle, p, &x, &out);
    }
    memcpy(plan, &out, known);
    return HALFTONE_OK;
}

int halftone_workspace_bytes(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k,
                             int64_t batch, size_t *bytes) {
    struct halftone_plan plan = HALFTONE_PLAN_INIT;
    int code = halftone_query(handle, transa, transb, m, n, k, batch, bytes != NULL ? &plan : NULL);
    if (code == HALFTONE_OK)
        *bytes = plan.workspace_bytes;
    return code;
}
