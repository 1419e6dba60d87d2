/* sim_api: what a host program tells and asks the simulator. Plain C; the simulator's device layer includes
 * it. */
#ifndef HT_SIM_API_H
#define HT_SIM_API_H

#include <stddef.h>

/* HT_SIM_LOCAL: all of the simulator is in one C++ source, and so in a namespace without a name. */
#if defined(__cplusplus) && !defined(HT_SIM_LOCAL)
extern "C" {
#endif

/* Global memory that kernels may touch. Not while a kernel runs. Nonzero: no memory to remember it. */
int ht_sim_register(void *p, size_t bytes);
void ht_sim_unregister(void *p);

/* The first violation since the last clear ("" when there was none): kernel, block, thread, what, where,
 * cure. The text stays valid until ht_sim_clear_error. */
const char *ht_sim_error(void);
void ht_sim_clear_error(void);

/* Matrix arithmetic by name ("sm75", "sm80", "sm86", "sm89", "sm90", "gfx90a"; default "sm80"): 0; 1 for an unknown
 * name; HT_SIM_BAD_ENVIRONMENT where HALFTONE_SIM_MODEL, which would win, names none. */
int ht_sim_set_model(const char *name);
enum { HT_SIM_BAD_ENVIRONMENT = 2 };
#define HT_SIM_BAD_MODEL \
    "HALFTONE_SIM_MODEL names no model of the matrix unit (sm75, sm80, sm86, sm89, sm90, gfx90a)"

/* Environment, read at each launch:
 *   HALFTONE_SIM_MODEL    wins over ht_sim_set_model;
 *   HALFTONE_SIM_SEED     order in which warps and lanes run and bulk copies land; 0 (default): round robin, and
 *                         copies land when nothing else can move;
 *   HALFTONE_SIM_THREADS  host threads that share the blocks; default: the number of cores;
 *   HALFTONE_SIM_BESIDE   how many blocks a host thread may begin while one waits for another; default: 32
 *                         shared among the host threads; with 0 most wait in vain.
 * No result depends on the last three unless the kernel is wrong. */

/* What ht_launch returns for a kernel that broke a rule, and where the host has no memory to simulate one (CUDA's
 * number of that); ht_sim_error has the words of both. */
enum { HT_SIM_VIOLATION = 717, HT_SIM_NO_MEMORY = 2 };

#if defined(__cplusplus) && !defined(HT_SIM_LOCAL)
}
#endif
#endif
