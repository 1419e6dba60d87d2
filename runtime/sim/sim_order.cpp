/* sim_order: what happens before what in a block that uses mbarriers, after FastTrack (Flanagan, Freund, PLDI 2009).
 * Each thread has a row of clocks: of which accesses of every other thread, and of which landed copies, it knows that
 * they happened before. A thread learns
 *   from the lanes of its warp    at every warp collective
 *   from all threads              at ht_barrier
 *   from those who arrived        when it waits for an mbarrier's phase, and with them of the copies of that phase
 * An access is a race when its thread does not know of an earlier one of the same word, one of the two a write.
 *
 * Ticks of a thread are its warp's turns; arriving ends a turn too, so what a thread does after it arrived is not
 * covered by the arrival. Most of the time all lanes of a warp know the same: rows are the warp's, and a lane has one
 * of its own only from an mbarrier wait to the next collective.
 *
 * The last write of a word is in its shadow; who has read it since is kept here, one entry for each warp:
 *   0                             nobody
 *   BY_WGMMA | group              a wgmma of that group of the warp; over when the warp has waited for the group
 *   tick | lane << LANE_SHIFT     one lane
 *   tick | MANY                   lanes without an order among them, none after tick */
#include "sim_async.h"

#include <algorithm>

namespace ht_sim {

enum : uint32_t {
    BY_WGMMA = 1u << 31,
    MANY = 1u << 30,
    LANE_SHIFT = 25,
    LANE_MASK = 31u << LANE_SHIFT,
    TICK_MASK = (1u << LANE_SHIFT) - 1u
};

static void learn(uint32_t *row, const uint32_t *from, size_t count) {
    for (size_t i = 0; i < count; i++)
        row[i] = row[i] > from[i] ? row[i] : from[i];
}

bool async_on(const engine &e) {
    return e.async != nullptr && e.async->on;
}

void async_reset(engine &e) {
    if (e.async != nullptr)
        e.async->on = false;
}

static void order_begin(engine &e) {
    async_state &s = *e.async;
    size_t warps = e.warps.size();
    s.actors = thread_count(e) + MAX_MBARRIERS;
    s.warp_rows.assign(warps * s.actors, 0);
    s.lane_rows.resize(thread_count(e) * static_cast<size_t>(s.actors)); /* filled when a lane parts */
    s.apart.assign(warps, 0);
    s.fences.assign(thread_count(e), std::vector<uint32_t>());
    s.readers.assign(e.shadow.size() * warps, 0);
    for (unsigned w = 0; w < warps; w++)
        for (unsigned lane = 0; lane < e.warps[w].lanes; lane++)
            s.warp_rows[w * static_cast<size_t>(s.actors) + w * WARP_SIZE + lane] = e.warps[w].turn - 1;
}

async_state &async_begin(engine &e) {
    if (e.async == nullptr)
        e.async = std::make_unique<async_state>();
    async_state &s = *e.async;
    if (s.on)
        return s;
    s.on = true;
    s.barriers.clear();
    s.barrier_at.assign((e.shared.size() + 7) / 8, 0);
    s.flying.clear();
    s.matrix.assign(e.warps.size(), matrix_state());
    s.group_log.assign((e.warps.size() + WARPGROUP_WARPS - 1) / WARPGROUP_WARPS, {});
    order_begin(e);
    return s;
}

static bool is_apart(const async_state &s, unsigned thread) {
    return (s.apart[thread / WARP_SIZE] >> (thread % WARP_SIZE) & 1u) != 0;
}

static const uint32_t *row_of(const async_state &s, unsigned thread) {
    return is_apart(s, thread) ? &s.lane_rows[thread * static_cast<size_t>(s.actors)]
                               : &s.warp_rows[thread / WARP_SIZE * static_cast<size_t>(s.actors)];
}

static uint32_t *own_row(async_state &s, unsigned thread) {
    uint32_t *row = &s.lane_rows[thread * static_cast<size_t>(s.actors)];
    if (!is_apart(s, thread)) {
        memcpy(row, row_of(s, thread), s.actors * sizeof *row);
        s.apart[thread / WARP_SIZE] |= 1u << (thread % WARP_SIZE);
    }
    return row;
}

bool order_knows(const engine &e, unsigned thread, unsigned actor, uint32_t tick) {
    return row_of(*e.async, thread)[actor] >= tick;
}

void order_meet_warp(engine &e, unsigned warp) {
    async_state &s = *e.async;
    uint32_t *row = &s.warp_rows[warp * static_cast<size_t>(s.actors)];
    for (unsigned lane = 0; lane < e.warps[warp].lanes; lane++) {
        unsigned thread = warp * WARP_SIZE + lane;
        if (is_apart(s, thread))
            learn(row, row_of(s, thread), s.actors);
        row[thread] = e.warps[warp].turn;
    }
    s.apart[warp] = 0;
}

void order_meet_group(engine &e, const std::vector<unsigned> &warps) {
    async_state &s = *e.async;
    uint32_t *all = &s.warp_rows[warps[0] * static_cast<size_t>(s.actors)];
    for (unsigned w : warps) {
        order_meet_warp(e, w);
        learn(all, &s.warp_rows[w * static_cast<size_t>(s.actors)], s.actors);
        e.warps[w].turn++;
    }
    for (unsigned w : warps)
        if (w != warps[0])
            memcpy(&s.warp_rows[w * static_cast<size_t>(s.actors)], all, s.actors * sizeof *all);
}

void order_meet_block(engine &e, unsigned rank) {
    std::vector<unsigned> warps;
    for (unsigned w = rank * e.block_warps; w < (rank + 1) * e.block_warps; w++)
        warps.push_back(w);
    order_meet_group(e, warps);
}

void order_release(engine &e, unsigned thread, clocks &to) {
    uint32_t &turn = e.warps[thread / WARP_SIZE].turn;
    learn(to.data(), row_of(*e.async, thread), e.async->actors);
    to[thread] = turn++;
}

void order_acquire(engine &e, unsigned thread, const clocks &from) {
    learn(own_row(*e.async, thread), from.data(), e.async->actors);
}

void order_observe(engine &e, unsigned thread, unsigned barrier, uint32_t phase) {
    uint32_t &known = own_row(*e.async, thread)[thread_count(e) + barrier];
    known = known > phase ? known : phase;
}

/* Whether the last write of the word happened before the access. */
static bool write_known(const engine &e, const access &who, const shadow_word &word) {
    unsigned threads = thread_count(e);
    if ((word.flags & SHADOW_INITIALISED) == 0 || (word.writer == who.thread && !who.for_warp))
        return true;
    /* A write from before the block's first mbarrier; the threads of a cluster have clocks from the start. */
    if (e.blocks == 1 && word.writer < threads && word.write_epoch != e.epoch)
        return true;
    return order_knows(e, who.thread, word.writer, word.write_turn);
}

bool fail_race(engine &e, const access &who, unsigned offset, const char *verbs, unsigned other) {
    bool same_warp = warp_of(e, other) == warp_of(e, who.thread);
    engine_fail(e, who.thread, who.line,
                async_on(e)
                    ? "separate the two with ht_barrier, or by an arrival on an mbarrier and a wait for it"
                    : "separate the two with ht_barrier",
                "shared memory race (%s): %s at byte %u and thread %u %s", verbs, who.name, offset, other,
                same_warp     ? "of the same warp, with nothing between them that orders lanes"
                : async_on(e) ? "of another warp, with nothing between them that orders the two"
                              : "of another warp, in the same barrier interval");
    return false;
}

bool fail_bulk(engine &e, const access &who, unsigned offset, const char *verb) {
    const shadow_word &word = e.shadow[offset / 4];
    unsigned threads = thread_count(e);
    if ((word.flags & SHADOW_PENDING) != 0) {
        engine_fail(e, who.thread, who.line, "ht_mbar_wait for the phase that the copy completes",
                    "%s %s shared byte %u without having waited for the ht_bulk_copy of thread %u there, "
                    "which is still on "
                    "its way",
                    who.name, verb, offset, static_cast<unsigned>(word.copier));
        return false;
    }
    const mbarrier &b = e.async->barriers[word.writer - threads];
    engine_fail(e, who.thread, who.line, "ht_mbar_wait for the phase that the copy completes",
                "%s %s shared byte %u without having waited for the ht_bulk_copy of thread %u there, which "
                "completes phase "
                "%u of the mbarrier at byte %u",
                who.name, verb, offset, static_cast<unsigned>(word.copier), word.write_turn - 1, b.offset);
    return false;
}

static bool fail_write(engine &e, const access &who, unsigned offset, const shadow_word &word,
                       const char *verb, const char *verbs) {
    if ((word.flags & SHADOW_BULK) != 0)
        return fail_bulk(e, who, offset, verb);
    return fail_race(e, who, offset, verbs, word.writer);
}

/* A later reader of a warp takes an earlier one's place when it knows of it: who knows of the later one then knows
 * of both. A wgmma in flight ends after any read that its warp makes meanwhile. */
static uint32_t merge_readers(const engine &e, uint32_t entry, unsigned thread) {
    const async_state &s = *e.async;
    unsigned warp = thread / WARP_SIZE, lane = thread % WARP_SIZE;
    uint32_t now = e.warps[warp].turn & TICK_MASK, mine = now | lane << LANE_SHIFT;
    if (entry == 0)
        return mine;
    if ((entry & BY_WGMMA) != 0)
        return (entry & ~static_cast<uint32_t>(BY_WGMMA)) > s.matrix[warp].done ? entry : mine;
    uint32_t tick = entry & TICK_MASK;
    bool known = true;
    for (unsigned i = 0; i < e.warps[warp].lanes && known; i++)
        if ((entry & MANY) != 0 || i == (entry & LANE_MASK) >> LANE_SHIFT)
            known = i == lane || order_knows(e, thread, warp * WARP_SIZE + i, tick);
    return known ? mine : (tick > now ? tick : now) | MANY;
}

bool order_read(engine &e, const access &who, unsigned offset, const shadow_word &word) {
    if (!write_known(e, who, word))
        return fail_write(e, who, offset, word, "reads", "read after write");
    uint32_t &entry = e.async->readers[offset / 4 * e.warps.size() + who.thread / WARP_SIZE];
    entry = merge_readers(e, entry, who.thread);
    return true;
}

void order_fence(engine &e, unsigned thread) {
    e.async->fences[thread].push_back(e.warps[thread / WARP_SIZE].turn++);
}

/* Whether what a thread stored was made known to the unit, and that happened before the issue. */
static bool stores_known(engine &e, const access &who, unsigned offset, const shadow_word &word) {
    const std::vector<uint32_t> &fences = e.async->fences[word.writer];
    const auto fence = std::lower_bound(fences.begin(), fences.end(), word.write_turn);
    if (fence != fences.end() && order_knows(e, who.thread, word.writer, *fence))
        return true;
    engine_fail(e, who.thread, who.line,
                "whoever stores an operand calls ht_async_fence, then ht_barrier, before anyone's wgmma reads it",
                "%s reads shared byte %u, which thread %u stored, with no %s since", who.name, offset,
                static_cast<unsigned>(word.writer), fence == fences.end() ? "ht_async_fence" : "order behind its ht_async_fence");
    return false;
}

/* Whether a wgmma of the group may read the word; else engine_fail. */
static bool operand_known(engine &e, const access &who, unsigned at, const shadow_word &word) {
    if ((word.flags & SHADOW_PENDING) != 0 && (word.flags & SHADOW_BULK) != 0)
        return fail_bulk(e, who, at, "reads");
    if ((word.flags & (SHADOW_INITIALISED | SHADOW_MBARRIER)) != SHADOW_INITIALISED) {
        engine_fail(e, who.thread, who.line, "write it first; check the descriptor", "%s reads %s at shared byte %u", who.name,
                    (word.flags & SHADOW_INITIALISED) == 0 ? "uninitialised shared memory" : "an mbarrier", at);
        return false;
    }
    if ((word.flags & SHADOW_BULK) == 0)
        return stores_known(e, who, at, word);
    return write_known(e, who, word) || fail_bulk(e, who, at, "reads");
}

bool order_read_operand(engine &e, const access &who, unsigned offset, unsigned bytes, uint32_t group) {
    const shadow_word *before = nullptr;
    for (unsigned at = offset; at < offset + bytes; at += 4) {
        const shadow_word &word = e.shadow[at / 4];
        const bool alike = before != nullptr && before->flags == word.flags && before->writer == word.writer &&
                           before->write_turn == word.write_turn && before->write_epoch == word.write_epoch;
        if (!alike && !operand_known(e, who, at, word))
            return false;
        before = &word;
        e.async->readers[at / 4 * e.warps.size() + who.thread / WARP_SIZE] = BY_WGMMA | group;
    }
    return true;
}

static bool fail_operand(engine &e, const access &who, unsigned offset, unsigned warp, bool flying) {
    engine_fail(
        e, who.thread, who.line,
        flying ? "ht_wgmma_wait for it, then arrive on the mbarrier that the writer waits for"
               : "the warp arrives on an mbarrier after its ht_wgmma_wait, and the writer waits for that",
        "%s overwrites shared byte %u, which a wgmma of warp %u %s", who.name, offset, warp,
        flying ? "in flight still reads" : "read, with nothing between them that orders the two");
    return false;
}

/* Whether the read that an entry tells of happened before the access; else engine_fail. */
static bool reader_known(engine &e, const access &who, unsigned offset, unsigned warp, uint32_t entry) {
    if ((entry & BY_WGMMA) != 0) {
        uint32_t group = entry & ~static_cast<uint32_t>(BY_WGMMA);
        const matrix_state &m = e.async->matrix[warp];
        bool flying = group > m.done;
        if (!flying && order_knows(e, who.thread, warp * WARP_SIZE, m.done_at[group - 1]))
            return true;
        return fail_operand(e, who, offset, warp, flying);
    }
    bool many = (entry & MANY) != 0;
    unsigned first = many ? 0 : (entry & LANE_MASK) >> LANE_SHIFT;
    unsigned last = many ? e.warps[warp].lanes - 1 : first;
    for (unsigned lane = first; lane <= last; lane++) {
        unsigned reader = warp * WARP_SIZE + lane;
        if (reader != who.thread && !order_knows(e, who.thread, reader, entry & TICK_MASK))
            return fail_race(e, who, offset, "write after read", reader);
    }
    return true;
}

bool order_write(engine &e, const access &who, unsigned offset, const shadow_word &word) {
    if (!write_known(e, who, word))
        return fail_write(e, who, offset, word, "overwrites", "write after write");
    /* Reads of this barrier interval from before the block's first mbarrier. */
    if (word.read_epoch == e.epoch && (word.reader != who.thread || (word.flags & SHADOW_MANY_LANES) != 0 ||
                                       (word.flags & SHADOW_MANY_WARPS) != 0))
        return fail_race(e, who, offset, "write after read", word.reader);
    size_t warps = e.warps.size();
    uint32_t *entries = &e.async->readers[offset / 4 * warps];
    for (unsigned w = 0; w < warps; w++) {
        if (entries[w] == 0)
            continue;
        if (!reader_known(e, who, offset, w, entries[w]))
            return false;
        entries[w] = 0;
    }
    return true;
}

} // namespace ht_sim
