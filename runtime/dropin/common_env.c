/* common_env.c: the environment, read once at the first call of a face. A value that a variable cannot have turns the
 * faces off: the program then runs on what it was linked to, and one line says which variable it was. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "common_state.h"

/* ---- values ---- */

static bool refuse(const char *name, const char *value, const char *what) {
    dropin_say("%s=%.200s is not %s%s", name, value, what, dropin_nothing);
    return false;
}

/* NULL: not set, as which an empty value counts. */
static const char *value_of(const char *name) {
    const char *const text = getenv(name);
    return text != NULL && text[0] != '\0' ? text : NULL;
}

/* `choices` as dropin_text_at takes them, behind the last an empty one; *value is which of them. */
static bool choose(const char *name, const char *choices, const char *what, int *value) {
    const char *const text = value_of(name);
    if (text == NULL)
        return true;
    for (int at = 0; choices[0] != '\0'; at++, choices = dropin_text_at(choices, 1))
        if (strcmp(choices, text) == 0) {
            *value = at;
            return true;
        }
    return refuse(name, text, what);
}

static bool take_files(struct dropin_settings *s) {
    const char *name = "HALFTONE_LIBRARY" "\0" "HALFTONE_LOG" "\0" "HALFTONE_SITES" "\0" "HALFTONE_COUNTS";
    bool good = true;
    for (int i = 0; i < DROPIN_FILES; i++, name = dropin_text_at(name, 1)) {
        const char *const text = value_of(name);
        if (text != NULL && strlen(text) >= DROPIN_PATH)
            good = refuse(name, text, "a path of less than 1024 bytes");
        else if (text != NULL)
            strcpy(s->file[i], text);
    }
    return good;
}

/* Digits; with `units` also 64K, 64M, 64G. */
static bool take_number(const char *name, bool units, const char *what, int64_t *number) {
    const char *const text = value_of(name);
    if (text == NULL)
        return true;
    char *end = NULL;
    errno = 0;
    long long value = text[0] >= '0' && text[0] <= '9' ? strtoll(text, &end, 10) : -1;
    static const char letters[] = "KMG";
    const char *const letter = units && value >= 0 && *end != '\0' ? strchr(letters, *end) : NULL;
    if (letter != NULL) {
        value = value < 1 << 20 ? value << 10 * (letter - letters + 1) : -1;
        end++;
    }
    if (value < 0 || errno != 0 || *end != '\0')
        return refuse(name, text, what);
    *number = value;
    return true;
}

/* What halftone_set_accuracy would take; whether this library's schemes reach it shows at the first call. */
static bool take_accuracy(char accuracy[DROPIN_TEXT]) {
    const char *const text = value_of("HALFTONE_ACCURACY");
    if (text == NULL)
        return true;
    if (!ht_site_is_accuracy(text))
        return refuse(
            "HALFTONE_ACCURACY", text,
            "auto, half, tf32, fp32-fast, fp32, invariant[:3|:6|:10], bits=N, bound=X or relative=X:rho=Y");
    strcpy(accuracy, text);
    return true;
}

/* HALFTONE_FP64; without it cuBLAS' own variable, which asks for emulation in every FP64 product. */
static bool take_fp64(struct dropin_settings *s) {
    const char *const text = value_of("HALFTONE_FP64"), *const of_cublas = value_of("CUBLAS_EMULATE_DOUBLE_PRECISION");
    if (text == NULL) {
        s->fp64_mode = of_cublas != NULL && strcmp(of_cublas, "1") == 0 ? DROPIN_FP64_EMULATED_CUBLAS : DROPIN_FP64_UNSAID;
        return true;
    }
    s->fp64_mode = strcmp(text, "emulated") == 0   ? DROPIN_FP64_EMULATED
                   : strcmp(text, "original") == 0 ? DROPIN_FP64_ORIGINAL
                                                   : DROPIN_FP64_UNSAID;
    if (s->fp64_mode != DROPIN_FP64_UNSAID)
        return true;
    if (!ht_site_is_accuracy64(text))
        return refuse("HALFTONE_FP64", text, DROPIN_FP64_VALUES);
    strcpy(s->fp64, text);
    return true;
}

/* ---- all of them ---- */

static bool read_settings(struct dropin_settings *s) {
    int mode = DROPIN_MODE_ON, eager = 0, upgrade = 0, hook = 0;
    int64_t workspace = 0, least = -1;
    bool good = choose("HALFTONE", "off\0on\0record\0", "on, off or record", &mode);
    good = choose("HALFTONE_STRATEGY", "performant\0eager\0", "performant or eager", &eager) && good;
    good = choose("HALFTONE_TF32", "original\0upgrade\0", "original or upgrade", &upgrade) && good;
    good = choose("HALFTONE_DLSYM", "0\0001\0", "0 or 1", &hook) && good;
    good =
        take_number("HALFTONE_MIN", false, "an integer of 0 or more, the cube root of m n k", &least) && good;
    good = take_number("HALFTONE_WORKSPACE_MAX", true, "bytes, as 268435456 or 256M", &workspace) && good;
    good = take_accuracy(s->accuracy) && good;
    good = take_fp64(s) && good;
    good = take_files(s) && good;
    s->mode = (enum dropin_mode)mode;
    s->eager = eager;
    /* NVIDIA's own: TF32 becomes plain FP32 in every library of theirs */
    const char *const override = value_of("NVIDIA_TF32_OVERRIDE");
    s->tf32_upgrade = upgrade || (override != NULL && strcmp(override, "0") == 0);
    s->hook_dlsym = hook;
    s->min_work = (double)least * (double)least * (double)least;
    s->least_is_set = least >= 0;
    s->workspace_max = (size_t)workspace;
    return good;
}

static void read_once(void) {
    struct dropin_state *const s = &halftone_dropin_state;
    const int before = errno;
    strcpy(s->settings.accuracy, "fp32");
    bool good = read_settings(&s->settings);
    if (good && s->settings.mode != DROPIN_MODE_OFF)
        good = dropin_read_sites(s);
    if (!good)
        s->settings.mode = DROPIN_MODE_OFF;
    dropin_open_counts(s);
    if (s->settings.mode != DROPIN_MODE_OFF)
        dropin_open_log(s);
    errno = before;
    __atomic_store_n(&s->is_read, true, __ATOMIC_RELEASE);
}

const struct dropin_settings *dropin_settings(void) {
    if (!__atomic_load_n(&halftone_dropin_state.is_read, __ATOMIC_ACQUIRE))
        (void)pthread_once(&halftone_dropin_state.once, read_once);
    return &halftone_dropin_state.settings;
}
