/* cublas_client: calls cuBLAS as words say, and says what came of it; part of a program, or an object that one loads. */
#ifndef CUBLAS_CLIENT_H
#define CUBLAS_CLIENT_H
#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

/* A call: "api=GemmEx m=8 n=8 k=8 compute=68 ..." (cublas_client.c has the words and what stands where one is missing). Prints
 * "STATUS ERROR SERVED ORIGINAL": cuBLAS' status; the largest error in units of 2^-24 (2^-53) |A||B| + |beta C|, of TRSM what remains of an equation in
 * units of 2^-24 |A||X| + |alpha B|, infinite where X is not finite as by substitution; or "-" where the status is no success, or "spoilt" where something
 * beside C was written; how many calls the face counted as served; how many products cuBLAS saw. 0, or 1: the words are wrong. */
int client_call(const char *words);
/* What else the first call does: comes to the dynamic linker. */
void client_begin(void);
/* From here on the original multiplies: memory is not told to the simulator. */
void client_is_child(void);
/* Of the copy of cuBLAS that this object is linked to. */
int client_major(void);

/* How many calls the drop-in that is loaded has served; 0: there is none. */
static inline uint64_t served_so_far(void) {
    int (*counters)(uint64_t *served, uint64_t *original);
    void *const at = dlsym(RTLD_DEFAULT, "halftone_dropin_counters");
    uint64_t served = 0;
    memcpy(&counters, &at, sizeof counters);
    if (counters != NULL)
        counters(&served, NULL);
    return served;
}

#endif
