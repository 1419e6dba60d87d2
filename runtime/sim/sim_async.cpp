/* sim_async: mbarriers, bulk copies, and what is said when nothing can move any more. See sim_async.h. */
#include "sim_async.h"

#include <stdio.h>

namespace ht_sim {

/* ---- mbarriers ---- */

/* The mbarrier at a shared address of a block of the cluster that the thread may use; NULL after engine_fail. */
static mbarrier *find_barrier_of(engine &e, const access &who, unsigned rank, unsigned s) {
    unsigned offset;
    if (!shared_range_of(e, who, rank, s, 8, 8, offset))
        return nullptr;
    unsigned index = async_on(e) ? e.async->barrier_at[offset / 8] : 0u;
    if (index == 0) {
        engine_fail(e, who.thread, who.line, "ht_mbar_init it first, then ht_barrier; or check the address",
                    "%s: no mbarrier was initialised at shared byte %u", who.name, offset);
        return nullptr;
    }
    mbarrier &b = e.async->barriers[index - 1];
    if (rank != rank_of(e, who.thread) && !b.met) {
        engine_fail(e, who.thread, who.line, "call ht_mbar_init_done after the initialisation, then ht_cluster_barrier",
                    "%s: the other block initialised the mbarrier at shared byte %u, with no cluster barrier since",
                    who.name, b.offset);
        return nullptr;
    }
    if (b.maker != who.thread && !b.met && !order_knows(e, who.thread, b.maker, b.made)) {
        engine_fail(e, who.thread, who.line, "call ht_barrier after the initialisation",
                    "%s: thread %u initialised the mbarrier at shared byte %u, with no barrier since",
                    who.name, b.maker, offset);
        return nullptr;
    }
    return &b;
}

static mbarrier *find_barrier(engine &e, const access &who, unsigned s) {
    return find_barrier_of(e, who, rank_of(e, who.thread), s);
}

static unsigned index_of(const engine &e, const mbarrier &b) {
    return static_cast<unsigned>(&b - e.async->barriers.data());
}

static void wake(engine &e, unsigned offset) {
    for (unsigned w = 0; w < e.warps.size(); w++) {
        warp_state &warp = e.warps[w];
        if (warp.waits != CALL_MBAR_WAIT)
            continue;
        for (unsigned lane = 0; lane < warp.lanes; lane++) {
            const call &at = e.threads[w * WARP_SIZE + lane]->at;
            if (at.kind == CALL_MBAR_WAIT && at.s == offset)
                warp.ready |= 1u << lane;
        }
        if (warp.ready != 0)
            warp.waits = CALL_NONE;
    }
}

/* Completes the phase when nothing is missing; false after engine_fail. */
static bool check_phase(engine &e, const access &who, mbarrier &b) {
    if (b.missing != 0 || b.announced > 0)
        return true;
    if (b.announced < 0) {
        engine_fail(e, who.thread, who.line, "announce with ht_mbar_arrive_expect_tx what the copies bring",
                    "copies have brought %lld bytes more than were announced to the mbarrier at shared byte "
                    "%u (phase %u)",
                    static_cast<long long>(-b.announced), b.offset, b.phase);
        return false;
    }
    for (const bulk_copy &copy : e.async->flying) {
        if (copy.barrier != index_of(e, b) || copy.phase != b.phase)
            continue;
        engine_fail(
            e, copy.thread, copy.line, "announce the bytes of all copies with ht_mbar_arrive_expect_tx",
            "phase %u of the mbarrier at shared byte %u completes without this ht_bulk_copy of %u bytes",
            b.phase, b.offset, copy.bytes);
        return false;
    }
    b.phase++;
    b.missing = b.count;
    b.released = b.arriving;
    wake(e, b.offset);
    return true;
}

static bool arrive(engine &e, const access &who, mbarrier &b, int bytes) {
    b.announced += bytes;
    if (b.missing == 0 || b.announced > MAX_ANNOUNCED_BYTES) {
        engine_fail(e, who.thread, who.line,
                    b.missing == 0 ? "check the count given to ht_mbar_init and who arrives"
                                   : "a phase takes at most 1048575 bytes",
                    "%s: the mbarrier at shared byte %u (phase %u) %s", who.name, b.offset, b.phase,
                    b.missing == 0 ? "has all its arrivals already, and waits for bytes only"
                                   : "has too many bytes announced");
        return false;
    }
    order_release(e, who.thread, b.arriving);
    if (b.offset / e.block_bytes != rank_of(e, who.thread)) {
        b.remote = b.phase + 1;
        b.remote_meeting = e.meetings;
        b.remote_thread = who.thread;
    }
    b.missing--;
    return check_phase(e, who, b);
}

bool async_passes(const engine &e, const thread_state &t) {
    const mbarrier &b = e.async->barriers[e.async->barrier_at[t.at.s / 8] - 1u];
    return (b.phase & 1u) != static_cast<unsigned>(t.at.value);
}

static bool init(engine &e, const access &who, unsigned s, int count) {
    unsigned offset;
    if (!shared_range(e, who, s, 8, 8, offset))
        return false;
    async_state &state = async_begin(e);
    if (count < 1 || count > MAX_ARRIVALS || state.barriers.size() == MAX_MBARRIERS) {
        engine_fail(e, who.thread, who.line,
                    "an mbarrier counts 1 to 1048575 arrivals; the simulator knows 128 in a block",
                    "%s: mbarrier number %zu with a count of %d", who.name, state.barriers.size() + 1, count);
        return false;
    }
    for (unsigned at = offset; at < offset + 8; at += 4) {
        shadow_word &word = e.shadow[at / 4];
        if (!check_write(e, who, at, word))
            return false;
        word.flags = SHADOW_MBARRIER;
    }
    mbarrier b = {};
    b.offset = offset;
    b.count = b.missing = count;
    b.maker = who.thread;
    b.made = e.warps[who.thread / WARP_SIZE].turn;
    b.released.assign(state.actors, 0);
    b.arriving.assign(state.actors, 0);
    state.barriers.push_back(b);
    state.barrier_at[offset / 8] = static_cast<uint8_t>(state.barriers.size());
    return true;
}

static bool wait(engine &e, const access &who, unsigned s, unsigned parity) {
    mbarrier *b = find_barrier(e, who, s);
    if (b == nullptr)
        return false;
    if (parity > 1) {
        engine_fail(e, who.thread, who.line, "the parity of a phase is 0 or 1", "%s for parity %u", who.name,
                    parity);
        return false;
    }
    unsigned index = index_of(e, *b);
    while ((b->phase & 1u) == parity) {
        thread_state *t = block_at(CALL_MBAR_WAIT, who.line, nullptr);
        t->at.s = b->offset;
        t->at.value = static_cast<int>(parity);
        wait_here(*t);
        b = &e.async->barriers[index];
    }
    b->observed = b->phase;
    order_acquire(e, who.thread, b->released);
    order_observe(e, who.thread, index, b->phase);
    return true;
}

/* ---- bulk copies ---- */

/* A copy to the shared memory of a block of the cluster, which completes on its mbarrier. */
static bool bulk_copy_issue(engine &e, const access &who, unsigned rank, unsigned to, const void *from, int bytes,
                            unsigned bar) {
    if (bytes <= 0 || bytes % 16 != 0) {
        engine_fail(e, who.thread, who.line, "copy a positive multiple of 16 bytes", "%s of %d bytes",
                    who.name, bytes);
        return false;
    }
    unsigned size = static_cast<unsigned>(bytes), offset;
    if (!shared_range_of(e, who, rank, to, size, 16, offset) || !global_range(e, who, from, size, 16))
        return false;
    mbarrier *b = find_barrier_of(e, who, rank, bar);
    if (b == nullptr)
        return false;
    if (!b->published) {
        engine_fail(
            e, who.thread, who.line, "call ht_mbar_init_done between ht_mbar_init and ht_barrier",
            "%s on the mbarrier at shared byte %u, whose initialisation the copy engine was not told of",
            who.name, b->offset);
        return false;
    }
    for (unsigned at = offset; at < offset + size; at += 4) {
        shadow_word &word = e.shadow[at / 4];
        if (!check_write(e, who, at, word))
            return false;
        word.copier = static_cast<uint16_t>(who.thread);
        word.flags |= SHADOW_PENDING | SHADOW_BULK;
    }
    e.async->flying.push_back(bulk_copy{offset, size, index_of(e, *b), b->phase, who.thread, who.line, from});
    return true;
}

/* The bytes come and are counted. */
static void land(engine &e, const bulk_copy &copy) {
    mbarrier &b = e.async->barriers[copy.barrier];
    memcpy(&e.shared[copy.offset], copy.source, copy.bytes);
    for (unsigned at = copy.offset; at < copy.offset + copy.bytes; at += 4) {
        shadow_word &word = e.shadow[at / 4];
        word.writer = static_cast<uint16_t>(thread_count(e) + copy.barrier);
        word.write_turn = b.phase + 1;
        word.write_epoch = e.epoch;
        word.flags = SHADOW_INITIALISED | SHADOW_BULK;
    }
    b.filled = b.phase + 1;
    b.announced -= copy.bytes;
    (void)check_phase(e, access{copy.thread, copy.line, "ht_bulk_copy", false}, b);
}

bool async_land(engine &e) {
    std::vector<bulk_copy> &flying = e.async->flying;
    if (flying.empty() || e.failed)
        return false;
    size_t which = e.launch->seed != 0 ? next_random(e.random) % flying.size() : 0;
    bulk_copy copy = flying[which];
    flying.erase(flying.begin() + static_cast<std::ptrdiff_t>(which));
    land(e, copy);
    return true;
}

/* ---- ends ---- */

/* A block whose partner arrives in a phase that nobody here waits for may end before it does. */
static bool check_partner_done(engine &e, const mbarrier &b) {
    if (b.remote <= b.observed || b.remote_meeting != e.meetings)
        return true;
    engine_fail(e, b.remote_thread, 0,
                "the block waits for the phase, or both meet at ht_cluster_barrier, before it ends",
                "the block of the mbarrier at shared byte %u may have ended when the other block arrives there: nobody "
                "waits for phase %u",
                b.offset, b.remote - 1);
    return false;
}

/* Relaxed: makes published mbarriers known to the other block, and nothing else. */
void async_meet_cluster(engine &e) {
    e.meetings++;
    for (mbarrier &b : e.async->barriers)
        b.met = b.met || b.published;
}

void async_block_ends(engine &e) {
    for (const mbarrier &b : e.async->barriers)
        if (!check_partner_done(e, b))
            return;
    for (const mbarrier &b : e.async->barriers) {
        if (b.filled <= b.observed)
            continue;
        engine_fail(e, 0, 0, "ht_mbar_wait for every copy before the block ends",
                    "the block ends, and nobody has waited for the copies of phase %u of the mbarrier at "
                    "shared byte %u "
                    "(phase %u now: %d of %d arrivals and %lld bytes are missing)",
                    b.filled - 1, b.offset, b.phase, b.missing, b.count, static_cast<long long>(b.announced));
        return;
    }
    wgmma_block_ends(e);
}

/* One of those who wait for a barrier, and how many more do. */
static size_t describe_waiters(const engine &e, const mbarrier &b, unsigned &first, char *text,
                               size_t bytes) {
    unsigned count = 0;
    const thread_state *one = nullptr;
    for (size_t i = thread_count(e); i-- > 0;) {
        const thread_state &t = *e.threads[i];
        if (t.at.kind != CALL_MBAR_WAIT || t.at.s != b.offset)
            continue;
        one = &t;
        count++;
    }
    if (one == nullptr)
        return 0;
    first = one->index < first ? one->index : first;
    char others[32] = "";
    if (count > 1)
        snprintf(others, sizeof others, " and %u others wait", count - 1);
    int length = snprintf(
        text, bytes,
        "; thread %u (line %d)%s for parity %d of the mbarrier at shared byte %u (phase %u: %d of %d "
        "arrivals and %lld bytes missing)",
        one->index, one->at.line, count > 1 ? others : " waits", one->at.value, b.offset, b.phase, b.missing,
        b.count, static_cast<long long>(b.announced));
    return length > 0 && static_cast<size_t>(length) < bytes ? static_cast<size_t>(length) : bytes - 1;
}

void async_fail_deadlock(engine &e) {
    char text[400] = "";
    size_t length = 0;
    unsigned first = UINT32_MAX;
    for (const mbarrier &b : e.async->barriers)
        if (length + 1 < sizeof text)
            length += describe_waiters(e, b, first, text + length, sizeof text - length);
    engine_fail(e, first, e.threads[first]->at.line,
                "check the counts given to ht_mbar_init, who arrives and how often, and the parities",
                "deadlock: nothing can move%s", text);
}

} // namespace ht_sim

using namespace ht_sim;

void ht_mbar_init(unsigned bar, int count, int line) {
    request r("ht_mbar_init", line);
    if (r.e != nullptr && !init(*r.e, r.who, bar, count))
        abandon_thread(*r.e);
}

void ht_mbar_init_done(void) {
    request r("ht_mbar_init_done", 0);
    if (r.e == nullptr || !async_on(*r.e))
        return;
    for (mbarrier &b : r.e->async->barriers)
        b.published = b.published || b.maker == r.who.thread;
}

void ht_mbar_arrive_expect_tx(unsigned bar, int bytes, int line) {
    request r("ht_mbar_arrive_expect_tx", line);
    if (r.e == nullptr)
        return;
    if (bytes < 0) {
        engine_fail(*r.e, r.who.thread, line, "announce 0 to 1048575 bytes", "ht_mbar_arrive_expect_tx of %d bytes",
                    bytes);
        abandon_thread(*r.e);
    }
    mbarrier *b = find_barrier(*r.e, r.who, bar);
    if (b == nullptr || !arrive(*r.e, r.who, *b, bytes))
        abandon_thread(*r.e);
}

void ht_mbar_arrive(unsigned bar, int line) {
    request r("ht_mbar_arrive", line);
    if (r.e == nullptr)
        return;
    mbarrier *b = find_barrier(*r.e, r.who, bar);
    if (b == nullptr || !arrive(*r.e, r.who, *b, 0))
        abandon_thread(*r.e);
}

void ht_mbar_wait(unsigned bar, unsigned parity, int line) {
    request r("ht_mbar_wait", line);
    if (r.e != nullptr && !wait(*r.e, r.who, bar, parity))
        abandon_thread(*r.e);
}

void ht_bulk_copy(unsigned to, const void *from, int bytes, unsigned bar, int line) {
    request r("ht_bulk_copy", line);
    if (r.e != nullptr && !bulk_copy_issue(*r.e, r.who, rank_of(*r.e, r.who.thread), to, from, bytes, bar))
        abandon_thread(*r.e);
}

/* ---- clusters ---- */

int ht_cluster_rank(void) {
    request r("ht_cluster_rank", 0);
    return r.e != nullptr ? static_cast<int>(rank_of(*r.e, r.who.thread)) : 0;
}

unsigned ht_cluster_address(unsigned s, int rank) {
    return s + ((static_cast<unsigned>(rank) + 1) << CLUSTER_SHIFT);
}

void ht_mbar_arrive_cluster(unsigned bar, int line) {
    request r("ht_mbar_arrive_cluster", line);
    if (r.e == nullptr)
        return;
    const unsigned mapped = bar >> CLUSTER_SHIFT;
    if (mapped > r.e->blocks) {
        engine_fail(*r.e, r.who.thread, line, "ranks are below the number of blocks of the cluster",
                    "ht_mbar_arrive_cluster: an address in block %u of a cluster of %u", mapped - 1, r.e->blocks);
        abandon_thread(*r.e);
    }
    const unsigned rank = mapped != 0 ? mapped - 1 : rank_of(*r.e, r.who.thread);
    mbarrier *b = find_barrier_of(*r.e, r.who, rank, bar & ((1u << CLUSTER_SHIFT) - 1));
    if (b == nullptr || !arrive(*r.e, r.who, *b, 0))
        abandon_thread(*r.e);
}

void ht_bulk_copy_multicast(unsigned to, const void *from, int bytes, unsigned bar, int line) {
    request r("ht_bulk_copy_multicast", line);
    for (unsigned rank = 0; r.e != nullptr && rank < r.e->blocks; rank++)
        if (!bulk_copy_issue(*r.e, r.who, rank, to, from, bytes, bar))
            abandon_thread(*r.e);
}
