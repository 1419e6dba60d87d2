/* sim_api: what a host program tells and asks the simulator. Plain C; the simulator's device layer includes
 * it. */
#ifndef HT_SIM_API_H
#define HT_SIM_API_H

#include <stddef.h>

#include "../ht_ieee.h"

/* HT_SIM_LOCAL: all of the simulator is in one C++ source, and so in a namespace without a name. */
#if defined(__cplusplus) && !defined(HT_SIM_LOCAL)
extern "C" {
#endif

/* Global memory that kernels may touch. Not while a kernel runs. Nonzero: no memory to remember it. */
int ht_sim_register(void *p, size_t bytes);
void ht_sim_unregister(void *p);

/* Memory of the process that is lent to launches, as often as it is taken back. Foreign: none of it is registered.
 * What is registered by then keeps its own bounds. Denied: the first byte that the process may not read, or write; NULL:
 * none. Nonzero of lend: no memory to remember it. */
int ht_sim_is_foreign(const void *p, size_t bytes);
const void *ht_sim_denied(const void *p, size_t bytes, int writes);
int ht_sim_lend(const void *p, size_t bytes);
void ht_sim_take_back(const void *p, size_t bytes);

/* The first violation of this host thread's launches since its last clear ("" when there was none): kernel, block, thread,
 * what, where, cure. The text stays valid until ht_sim_clear_error. */
const char *ht_sim_error(void);
void ht_sim_clear_error(void);

/* Streams. What a stream is given runs at once, in the caller, unless the stream is held: then it waits
 * there, in order, until it is told to run, as late as a GPU may be. Streams know nothing of each other,
 * the NULL stream included. Hold: nonzero: no memory. Run: the next `count` pieces of work (a launch, a
 * fill, an allocation given back); returns how many there were. Let go: runs all; from then on work runs
 * at once again. */
int ht_sim_hold(void *stream);
long ht_sim_run(void *stream, long count);
void ht_sim_let_go(void *stream);
void ht_sim_run_all(void);

/* Graphs. Between begin (nonzero: no memory, or the stream is captured already) and end what the stream is
 * given becomes the graph's and does not run. A graph may be run any number of times, on any stream, and
 * is freed with the memory that it owns. */
int ht_sim_capture_begin(void *stream);
void *ht_sim_capture_end(void *stream);
int ht_sim_graph_run(void *graph, void *stream); /* nonzero: no memory */
void ht_sim_graph_free(void *graph);

/* For the device layer. Later: gives a stream work, with a copy of its data; 1: taken, 0: nothing waits,
 * do it now, -1: no memory. Owns: memory that is dropped with the graph that the stream is captured for;
 * nonzero: no memory. */
int ht_sim_later(void *stream, void (*run)(void *data, void *stream), const void *data, size_t bytes);
int ht_sim_is_capturing(void *stream);
int ht_sim_any_capture(void);
int ht_sim_graph_owns(void *stream, void *memory, int (*drop)(void *memory));

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
