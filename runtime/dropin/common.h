/* common.h: what the faces (cuBLAS, BLAS) share: environment, site table, counters, log, loading of libhalftone.so
 * and its handles, and who called. README.md has the order of a call.
 *
 * A face is a preloaded object of a few KB that needs libc alone and does nothing until its first call. Nothing here
 * prints but by dropin_say, to stderr, and to the log. Where both faces are preloaded they share the first one's state:
 * its two objects are exported, and the dynamic linker binds both to one. */
#ifndef DROPIN_COMMON_H
#define DROPIN_COMMON_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../halftone.h"
#include "../ht_site_line.h"
#include "common_lists.h"

/* What the files of a face say to each other stays within it, so calls go there directly. */
#pragma GCC visibility push(hidden)

#define DROPIN_EXPORT __attribute__((visibility("default")))

enum { DROPIN_PATH = 1024, DROPIN_LINE = HT_SITE_LINE, DROPIN_TEXT = HT_SITE_TEXT };

/* ---- settings: the environment, read once, at the first call ---- */

enum dropin_mode { DROPIN_MODE_OFF, DROPIN_MODE_ON, DROPIN_MODE_RECORD };
/* Nothing was said; original; emulated: each FP64 product as if its emulation were asked for, by cuBLAS' own variable only
 * cuBLAS'. */
enum dropin_fp64 { DROPIN_FP64_UNSAID, DROPIN_FP64_ORIGINAL, DROPIN_FP64_EMULATED_CUBLAS, DROPIN_FP64_EMULATED };

/* HALFTONE_LIBRARY, without it libhalftone.so beside the face; _LOG; _SITES; _COUNTS, the file of `halftone run`. */
enum dropin_file { DROPIN_FILE_LIBRARY, DROPIN_FILE_LOG, DROPIN_FILE_SITES, DROPIN_FILE_COUNTS, DROPIN_FILES };

struct dropin_settings {
    enum dropin_mode mode;      /* HALFTONE; off too after a value that a variable cannot have */
    bool eager;                 /* HALFTONE_STRATEGY */
    bool tf32_upgrade;          /* HALFTONE_TF32 */
    bool hook_dlsym;            /* HALFTONE_DLSYM */
    bool least_is_set;          /* HALFTONE_MIN; without it each face has its own */
    double min_work;            /* HALFTONE_MIN cubed: calls of a smaller m n k batch are not served */
    size_t workspace_max;       /* HALFTONE_WORKSPACE_MAX, bytes of a call; 0: no limit */
    char accuracy[DROPIN_TEXT]; /* HALFTONE_ACCURACY, as halftone_set_accuracy takes it */
    enum dropin_fp64 fp64_mode; /* HALFTONE_FP64 where it is no accuracy */
    char fp64[DROPIN_TEXT];     /* another HALFTONE_FP64, as halftone_set_accuracy takes it for FP64, for all FP64 products; "": as fp64_mode says */
    char file[DROPIN_FILES][DROPIN_PATH]; /* "": none */
};

const struct dropin_settings *dropin_settings(void);

extern const char dropin_nothing[]; /* "; nothing is served in this process" */
/* One line on stderr, "halftone: ..." */
void dropin_say(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* ---- locks: all that the faces have, so that fork() renews all. With one held nobody calls the dynamic linker, nor
 * what may come to it: its own lock may be held by a thread that makes a product (a constructor's). ---- */

enum dropin_lock {
    DROPIN_LOCK_STATE,      /* common_*.c */
    DROPIN_LOCK_OBJECTS,    /* while the linker's list of objects is read */
    DROPIN_LOCK_LOOKUPS,    /* cublas_origin.c */
    DROPIN_LOCK_WORKSPACES, /* cublas_serve.c */
    DROPIN_LOCK_PASSES,     /* lt_epilogue.c */
    DROPIN_LOCK_START,      /* blas_model.c */
    DROPIN_LOCK_TURN,       /* blas_serve.c: the one with which the device is used */
    DROPIN_LOCKS
};
void dropin_lock(enum dropin_lock which);
void dropin_unlock(enum dropin_lock which);
bool dropin_lock_within(enum dropin_lock which, int seconds); /* false: not held */

/* ---- a call ---- */

enum dropin_kind {
    DROPIN_KIND_FP32,
    DROPIN_KIND_FP64,          /* the original's unless something asks for halftone */
    DROPIN_KIND_FP64_EMULATED, /* the program asks for emulation */
    DROPIN_KIND_FP64_HOST      /* from host memory: halftone's native FP64 unless something else is asked for */
};

struct dropin_call {
    enum dropin_api api;
    enum dropin_kind kind;
    const char *name;   /* of the function */
    const void *caller; /* return address of the entry */
    char op_a, op_b;    /* N or T */
    int64_t m, n, k, batch;
    double least_work; /* m n k batch below which the face leaves calls alone where HALFTONE_MIN is not set */
    bool triangle;     /* of C: half of the multiplications, and, so it is counted, of the time */
};

/* What the site table, this thread's accuracy and the settings say of it. */
struct dropin_policy {
    const char *accuracy; /* as halftone_set_accuracy takes it for this type, or NULL: */
    const char *scheme;   /* as halftone_set_scheme takes it */
    bool fp64;
    bool native;          /* host memory: by FP64 arithmetic alone, as nothing asks for more */
    int line;             /* of the site table that decided, from 1; 0: none */
    bool if_it_pays;      /* emulation that nothing but the program asks for: where the original is slower */
    int64_t ordinal;      /* of calls like it in this step, from 1; 0: not asked for */
};

/* DROPIN_SERVED where halftone shall be tried: neither off, nor small, nor said otherwise by the site table. */
enum dropin_reason dropin_decide(const struct dropin_call *call, struct dropin_policy *policy);

/* Whether it is too small whatever else is found out. */
bool dropin_is_surely_small(const struct dropin_call *call);
/* The same where nothing but counters is written, before a call is described: true: it is counted, and the original's. A call that is not served should
 * cost next to nothing (bench/decisions/053). */
bool dropin_hand_small_on(enum dropin_api api, bool nested, int64_t m, int64_t n, int64_t k, int64_t batch, double least);

/* Counts and logs it. `detail` may be NULL. `handle`: the one that served it, else NULL. */
void dropin_note(const struct dropin_call *call, const struct dropin_policy *policy, enum dropin_reason why,
                 const char *detail, halftone *handle);

/* One of texts that stand behind each other, each with its NUL: an array of pointers would cost every process a
 * relocation a text. */
const char *dropin_text_at(const char *texts, int at);
const char *dropin_reason_text(enum dropin_reason why);

/* ---- libhalftone.so ---- */

#define DROPIN_FUNCTIONS(X)                                                                                  \
    X(create)                                                                                                \
    X(set_stream)                                                                                            \
    X(set_workspace)                                                                                         \
    X(set_workspace_source)                                                                                  \
    X(set_scheme)                                                                                            \
    X(set_accuracy)                                                                                          \
    X(set_pointer_mode) X(sgemm_strided_batched) X(dgemm_strided_batched) X(sgemm_host) X(ssyrk_host) X(dgemm_host)          \
        X(dsyrk_host) X(host_left) X(set_host_tiles) X(set_host_threads) X(query) X(dquery) X(workspace_bytes) X(dworkspace_bytes) X(changed_c) X(last_detail) X(strerror) X(version)

struct dropin_library {
#define DROPIN_MEMBER(name) __typeof__(halftone_##name) *name;
    DROPIN_FUNCTIONS(DROPIN_MEMBER)
#undef DROPIN_MEMBER
};

/* Loads it at the first call; NULL where that failed, which one line on stderr says, once. */
const struct dropin_library *dropin_library(void);

/* A handle on the current device `device` (0 .. DROPIN_DEVICES - 1) for this thread alone, set to the policy's accuracy,
 * until dropin_give_back. One per thread that is in a call at the same time is made, and none is freed. */
enum { DROPIN_DEVICES = 64, DROPIN_WEIGHED = 16 };
struct dropin_weighed { /* the last question whether emulation pays; m 0: none */
    int64_t m, n, k, batch;
    bool pays;
};
struct dropin_slot {
    halftone *handle;
    struct dropin_slot *next; /* idle ones of this device */
    int device;
    char set_to[2][DROPIN_TEXT]; /* accuracy or scheme, with its kind before it: of FP32, of FP64 */
    struct dropin_weighed weighed[DROPIN_WEIGHED];
};
enum dropin_reason dropin_take(int device, const struct dropin_policy *policy, struct dropin_slot **slot);
void dropin_give_back(struct dropin_slot *slot);
/* Whether the device has handles: if not, the next call makes one, which must not happen in a capture. */
bool dropin_is_warm(int device);
/* The reason behind a code of halftone.h other than HALFTONE_OK, or behind one of the faces' own. */
enum { DROPIN_CODE_SPOILT = 1000 };
enum dropin_reason dropin_reason_of(int code);

/* ---- who called, and what that object would have called without us ---- */

struct dropin_caller {
    char path[DROPIN_PATH]; /* "": the program itself */
    uintptr_t offset;       /* of the address in the object */
    char build_id[20];      /* first bytes of its build-id in hexadecimal; "" without */
};
/* false: the address lies in no object (generated code, or libffi's trampoline). */
bool dropin_find_caller(const void *address, struct dropin_caller *caller);
const char *dropin_base_name(const char *path);
/* "libfoo.so+0x1234", "?": no object. */
void dropin_site(const void *address, char *text, size_t bytes);

/* The C library's dlsym: a face may have one of its own. NULL: a C library that is not GNU's. */
typedef void *dropin_symbol_finder(void *object, const char *name);
dropin_symbol_finder *dropin_real_dlsym(void);
void *dropin_dlsym(void *object, const char *name);
/* A dlopen handle (to be closed by dlclose) of the first of `names`, as dropin_text_at takes them, behind the last an empty one, that is loaded
 * already; NULL: none. */
void *dropin_loaded(const char *names);
/* The symbol as the object of `caller` would have found it without the face: among its own dependencies; for the
 * program itself behind the face in the global order. NULL: not there. `own`: the face's function, which is never the answer. */
void *dropin_next_symbol(const struct dropin_caller *caller, const char *name, const void *own);
/* What this thread has found for a caller under a name, told by an address. `what` is NULL where nothing was found since the process
 * last unloaded an object: it may be gone. */
struct dropin_found {
    const void *caller, *name;
    unsigned long long unloads;
    const void *what;
    bool nested; /* the caller is a library of the original */
};
struct dropin_found *dropin_recall(const void *caller, const void *name);

/* ---- state ---- */

enum { DROPIN_SITES_COUNTED = 256 };

/* Bytes of the file that HALFTONE_COUNTS names: `halftone run` makes it, its processes add to it. */
struct dropin_counts {
    uint64_t layout;    /* sizeof(struct dropin_counts): of the same build */
    uint64_t processes; /* that made at least one call */
    uint64_t calls[DROPIN_API_COUNT][DROPIN_REASON_COUNT];
    uint64_t sites[DROPIN_SITES_COUNTED][2]; /* by the first lines of the site table: served, the original's */
    uint64_t served_flop,
        predicted_ns; /* of calls that were served; the second only of those in `predicted` */
    uint64_t predicted;
    uint64_t bound_units[2]; /* largest a-priori bounds: of FP32 in units of 2^-24 |A||B|, of FP64 of 2^-53 */
    uint64_t fixed_point;    /* of `predicted`, calls whose bounds are not of |A||B| */
    uint64_t begun;          /* threads that came to load the library */
};

struct dropin_thread {
    char accuracy[DROPIN_TEXT]; /* halftone_dropin_accuracy; "": the settings' */
    int depth;                  /* > 0: within a call that we make */
};

extern DROPIN_EXPORT _Thread_local struct dropin_thread halftone_dropin_thread;

#pragma GCC visibility pop

#endif
