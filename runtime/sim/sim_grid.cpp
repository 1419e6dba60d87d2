/* sim_grid: launches that may begin before the one before them has ended (ht_launch_dependent). Here that one always has, so what
 * is checked is that nobody could tell:
 *   a thread touches global memory only behind its ht_pdl_wait; behind ht_pdl_assume_complete it may read, which is for what was there
 *   before the launch before this one, if that one waited before it let this one begin;
 *   somebody waits, else the end of this launch would say nothing of the one before it. */
#include "sim_internal.h"

#include <map>
#include <mutex>

namespace ht_sim {

static std::mutex order_mutex;
static std::map<const void *, bool> last_vouched; /* by stream: whether what came before the last launch had ended when it released */

void grid_begin(struct launch &l) {
    std::lock_guard<std::mutex> lock(order_mutex);
    auto last = last_vouched.find(l.info->stream);
    l.vouched = last == last_vouched.end() || last->second;
}

bool grid_end(const struct launch &l) {
    std::lock_guard<std::mutex> lock(order_mutex);
    last_vouched[l.info->stream] = !l.info->dependent || l.late_release.load();
    return !l.info->dependent || l.waited.load();
}

void grid_block_begins(engine &e) {
    e.waited = e.released = false;
}

/* Blocks that never release do so at their end. */
void grid_block_ends(engine &e) {
    if (e.waited && !e.released)
        e.launch->late_release.store(true);
}

bool grid_allows(engine &e, const access &who, grid_reach needed) {
    if (e.threads[who.thread]->reach >= needed)
        return true;
    engine_fail(e, who.thread, who.line, "call ht_pdl_wait first",
                "%s before ht_pdl_wait: the launch before this one may still be running", who.name);
    return false;
}

} // namespace ht_sim

using namespace ht_sim;

void ht_sim_grid_wait(void) {
    if (current_engine == nullptr)
        return;
    engine &e = *current_engine;
    e.running->reach = REACHES_ALL;
    if (!e.waited)
        e.launch->waited.store(true);
    e.waited = true;
}

void ht_sim_grid_release(void) {
    if (current_engine == nullptr || current_engine->released)
        return;
    engine &e = *current_engine;
    e.released = true; /* the block's first counts */
    if (e.running->reach == REACHES_ALL)
        e.launch->late_release.store(true);
}

void ht_sim_grid_vouched(int line) {
    request r("ht_pdl_assume_complete", line);
    if (r.e == nullptr)
        return;
    if (!r.e->launch->vouched) {
        engine_fail(*r.e, r.who.thread, line, "let that launch wait first, or call ht_pdl_wait here",
                    "ht_pdl_assume_complete, but the launch before this one released before it waited");
        abandon_thread(*r.e);
    }
    if (r.e->running->reach == REACHES_NOTHING)
        r.e->running->reach = REACHES_READS;
}
