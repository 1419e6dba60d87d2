/* sim_mem: shared memory with a shadow that knows who wrote and read what since the last barrier, cp.async
 * with its groups, and global memory that must lie in a registered allocation.
 *
 * Two accesses to the same four bytes, one of them a write, are a race when nothing orders them:
 *   threads of different warps   in the same barrier interval (epoch)
 *   lanes of one warp            in the same epoch and turn (no warp collective between them)
 *   the same thread              never; but data that ldmatrix hands to all lanes counts as read by other
 *                                lanes
 * A cp.async is a write from its issue on. Its data arrives at the issuing thread's wait (here really not
 * before), and for every other thread at the barrier after that. Blocks that use mbarriers have finer orders:
 * there sim_order.cpp judges. */
#include "sim_internal.h"

#include <algorithm>

namespace ht_sim {

void shared_reset(engine &e, int smem_bytes) {
    e.block_bytes = (static_cast<unsigned>(smem_bytes) + 1023) / 1024 * 1024;
    size_t bytes = static_cast<size_t>(e.block_bytes) * e.blocks;
    e.shared.assign(bytes, 0xff); /* NaN as FP16 and FP32: shows where a check fails to */
    e.shadow.assign((bytes + 3) / 4, shadow_word{});
}

bool shared_range_of(engine &e, const access &who, unsigned rank, unsigned s, unsigned bytes, unsigned alignment,
                     unsigned &offset) {
    size_t size = static_cast<size_t>(e.launch->info->smem_bytes);
    if ((s & (alignment - 1)) != 0) { /* a power of two */
        engine_fail(e, who.thread, who.line, "align the address or the leading dimension",
                    "misaligned shared memory access: %s of %u bytes at shared address base + %ld", who.name,
                    bytes, static_cast<long>(s) - SMEM_BASE);
        return false;
    }
    if (s < SMEM_BASE || s - SMEM_BASE > size || bytes > size - (s - SMEM_BASE)) {
        engine_fail(e, who.thread, who.line,
                    "check the index, and that addresses start at ht_smem_base() and the launch's smem_bytes "
                    "is enough",
                    "shared memory access out of bounds: %s of %u bytes at byte %ld of %zu", who.name, bytes,
                    static_cast<long>(s) - SMEM_BASE, size);
        return false;
    }
    offset = rank * e.block_bytes + s - SMEM_BASE;
    return true;
}

bool shared_range(engine &e, const access &who, unsigned s, unsigned bytes, unsigned alignment, unsigned &offset) {
    return shared_range_of(e, who, rank_of(e, who.thread), s, bytes, alignment, offset);
}

/* Whether an access of `other` in `turn` of this epoch has no order with one of `who` now. */
static bool unordered(const engine &e, const access &who, unsigned other, uint32_t turn, bool by_copy) {
    if (other == who.thread && !who.for_warp)
        return false;
    const unsigned warp = warp_of(e, who.thread);
    return warp_of(e, other) != warp || by_copy || turn == e.warps[warp].turn;
}

static bool fail_pending(engine &e, const access &who, unsigned offset, const shadow_word &word,
                         bool writes) {
    if ((word.flags & SHADOW_BULK) != 0)
        return fail_bulk(e, who, offset, writes ? "overwrites" : "reads");
    const char *cure = word.copier == who.thread
                           ? "commit the copy and call ht_cp_async_wait for its group first"
                           : "the copying thread must ht_cp_async_wait for it, then all must ht_barrier";
    engine_fail(e, who.thread, who.line, cure,
                "%s %s shared byte %u while a cp.async of thread %u is pending there (not waited for)",
                who.name, writes ? "overwrites" : "reads", offset, static_cast<unsigned>(word.copier));
    return false;
}

static bool fail_mbarrier(engine &e, const access &who, unsigned offset) {
    engine_fail(e, who.thread, who.line, "keep data and mbarriers apart",
                "%s at shared byte %u, inside an mbarrier", who.name, offset);
    return false;
}

static bool note_read(engine &e, const access &who, unsigned offset, shadow_word &word) {
    if ((word.flags & SHADOW_PENDING) != 0)
        return fail_pending(e, who, offset, word, false);
    if ((word.flags & SHADOW_MBARRIER) != 0)
        return fail_mbarrier(e, who, offset);
    if ((word.flags & SHADOW_INITIALISED) == 0) {
        engine_fail(e, who.thread, who.line,
                    "write it first; where another thread writes it, ht_barrier in between",
                    "%s reads uninitialised shared memory at byte %u", who.name, offset);
        return false;
    }
    if (async_on(e))
        return order_read(e, who, offset, word);
    bool by_copy = (word.flags & SHADOW_BY_COPY) != 0;
    if (word.write_epoch == e.epoch && unordered(e, who, word.writer, word.write_turn, by_copy)) {
        if (!by_copy)
            return fail_race(e, who, offset, "read after write", word.writer);
        engine_fail(
            e, who.thread, who.line, "call ht_barrier between ht_cp_async_wait and the read",
            "%s reads shared byte %u, which a cp.async of thread %u filled, with a wait but no barrier since",
            who.name, offset, static_cast<unsigned>(word.writer));
        return false;
    }
    const unsigned warp = warp_of(e, who.thread);
    uint32_t turn = e.warps[warp].turn;
    bool seen = word.read_epoch == e.epoch;
    if (seen && warp_of(e, word.reader) != warp) {
        word.flags |= SHADOW_MANY_WARPS;
    } else if (seen && word.read_turn == turn) {
        if (word.reader != who.thread)
            word.flags |= SHADOW_MANY_LANES;
    } else {
        unsigned cleared = SHADOW_MANY_LANES | (seen ? 0u : static_cast<unsigned>(SHADOW_MANY_WARPS));
        word.flags = static_cast<uint16_t>(word.flags & ~cleared);
    }
    word.reader = static_cast<uint16_t>(who.thread);
    word.read_epoch = e.epoch;
    word.read_turn = turn;
    return true;
}

/* The checks of a write; the record itself is made when the data arrives. */
bool check_write(engine &e, const access &who, unsigned offset, const shadow_word &word) {
    if ((word.flags & SHADOW_PENDING) != 0)
        return fail_pending(e, who, offset, word, true);
    if ((word.flags & SHADOW_MBARRIER) != 0)
        return fail_mbarrier(e, who, offset);
    if (async_on(e))
        return order_write(e, who, offset, word);
    if (word.write_epoch == e.epoch &&
        unordered(e, who, word.writer, word.write_turn, (word.flags & SHADOW_BY_COPY) != 0))
        return fail_race(e, who, offset, "write after write", word.writer);
    if (word.read_epoch != e.epoch)
        return true;
    const unsigned warp = warp_of(e, who.thread);
    bool other_lane = (word.flags & SHADOW_MANY_LANES) != 0 || word.reader != who.thread;
    if ((word.flags & SHADOW_MANY_WARPS) != 0 || warp_of(e, word.reader) != warp ||
        (word.read_turn == e.warps[warp].turn && other_lane))
        return fail_race(e, who, offset, "write after read", word.reader);
    return true;
}

static void note_write(engine &e, unsigned thread, shadow_word &word, unsigned flags) {
    word.writer = static_cast<uint16_t>(thread);
    word.write_epoch = e.epoch;
    word.write_turn = e.warps[warp_of(e, thread)].turn;
    unsigned kept = word.flags & (SHADOW_MANY_LANES | SHADOW_MANY_WARPS);
    word.flags = static_cast<uint16_t>(kept | SHADOW_INITIALISED | flags);
}

const unsigned char *shared_read(engine &e, const access &who, unsigned s, unsigned bytes) {
    unsigned offset;
    if (!shared_range(e, who, s, bytes, bytes, offset))
        return nullptr;
    for (unsigned i = 0; i < bytes; i += 4)
        if (!note_read(e, who, offset + i, e.shadow[(offset + i) / 4]))
            return nullptr;
    return &e.shared[offset];
}

static bool shared_write(engine &e, const access &who, unsigned s, unsigned bytes, const void *data) {
    unsigned offset;
    if (!shared_range(e, who, s, bytes, bytes, offset))
        return false;
    for (unsigned i = 0; i < bytes; i += 4) {
        shadow_word &word = e.shadow[(offset + i) / 4];
        if (!check_write(e, who, offset + i, word))
            return false;
        note_write(e, who.thread, word, 0);
    }
    memcpy(&e.shared[offset], data, bytes);
    return true;
}

/* ---- global memory ---- */

static inline bool lies_in_recent(const engine &e, uintptr_t address, unsigned bytes) {
    for (const allocation &a : e.recent)
        if (address >= a.first && address < a.end && a.end - address >= bytes)
            return true;
    return false;
}

static bool lies_in_one(engine &e, const access &who, const void *p, unsigned bytes, unsigned alignment) {
    uintptr_t address = reinterpret_cast<uintptr_t>(p);
    if ((address & (alignment - 1)) != 0) { /* a power of two */
        engine_fail(e, who.thread, who.line, "align the pointer or the leading dimension",
                    "misaligned global memory access: %s of %u bytes at %p", who.name, bytes, p);
        return false;
    }
    if (lies_in_recent(e, address, bytes))
        return true;
    const std::vector<allocation> &list = e.launch->allocations;
    auto after = std::upper_bound(list.begin(), list.end(), address,
                                  [](uintptr_t value, const allocation &a) { return value < a.first; });
    if (after != list.begin()) {
        const allocation &a = *(after - 1);
        if (address < a.end && a.end - address >= bytes) {
            e.recent[e.next_recent++ % 4] = a;
            return true;
        }
        engine_fail(e, who.thread, who.line, "check the index and the size of the buffer",
                    "global memory access out of bounds: %s of %u bytes at byte %zu of an allocation of %zu",
                    who.name, bytes, static_cast<size_t>(address - a.first),
                    static_cast<size_t>(a.end - a.first));
        return false;
    }
    engine_fail(e, who.thread, who.line, "pass memory of this process, or what ht_sim_register was told of",
                "global memory access out of bounds: %s of %u bytes at %p, before every allocation", who.name,
                bytes, p);
    return false;
}

static bool grid_allows(engine &e, const access &who, grid_reach needed) {
    if (e.threads[who.thread]->reach >= needed)
        return true;
    engine_fail(e, who.thread, who.line, "call ht_pdl_wait first",
                "%s before ht_pdl_wait: the launch before this one may still be running", who.name);
    return false;
}

bool global_range(engine &e, const access &who, const void *p, unsigned bytes, unsigned alignment, grid_reach needed) {
    return grid_allows(e, who, needed) && lies_in_one(e, who, p, bytes, alignment);
}

bool global_check(const char *name, const void *p, unsigned bytes, int line, grid_reach needed) {
    request r(name, line);
    if (r.e == nullptr)
        return false;
    if (!global_range(*r.e, r.who, p, bytes, bytes, needed))
        abandon_thread(*r.e);
    return true;
}

/* The same; most accesses need no more than this, and waiting blocks make millions of them. */
template <class T> static inline bool global_allows(const char *name, const T *p, int line, grid_reach needed) {
    const engine *e = current_engine;
    const uintptr_t address = reinterpret_cast<uintptr_t>(p);
    if (e != nullptr && e->running->reach >= needed && address % sizeof *p == 0 && lies_in_recent(*e, address, sizeof *p))
        return true;
    return global_check(name, p, sizeof *p, line, needed);
}

template <class T> static T global_load(const char *name, const void *p, int line) {
    T value{};
    if (global_allows(name, static_cast<const T *>(p), line, REACHES_READS))
        memcpy(&value, p, sizeof value);
    return value;
}

template <class T> static void global_store(const char *name, void *p, T value, int line) {
    if (global_allows(name, static_cast<const T *>(p), line, REACHES_ALL))
        memcpy(p, &value, sizeof value);
}

template <class T> static T shared_load(const char *name, unsigned s, int line) {
    T value{};
    request r(name, line);
    if (r.e == nullptr)
        return value;
    const unsigned char *data = shared_read(*r.e, r.who, s, sizeof value);
    if (data == nullptr)
        abandon_thread(*r.e);
    memcpy(&value, data, sizeof value);
    return value;
}

template <class T> static void shared_store(const char *name, unsigned s, T value, int line) {
    request r(name, line);
    if (r.e != nullptr && !shared_write(*r.e, r.who, s, sizeof value, &value))
        abandon_thread(*r.e);
}

} // namespace ht_sim

using namespace ht_sim;

unsigned ht_smem_base(void) {
    return SMEM_BASE;
}

#define HT_SIM_LOAD(space, name, T, P)                                                                       \
    T name(P p, int line) {                                                                                  \
        return space##_load<T>(#name, p, line);                                                              \
    }
#define HT_SIM_STORE(space, name, T, P)                                                                      \
    void name(P p, T v, int line) {                                                                          \
        space##_store(#name, p, v, line);                                                                    \
    }
HT_SIM_LOAD(global, ht_ldg16, uint4, const void *)
HT_SIM_LOAD(global, ht_ld16, uint4, const void *)
HT_SIM_LOAD(global, ht_ldg4, float, const float *)
HT_SIM_LOAD(global, ht_ldg_u16, unsigned short, const unsigned short *)
HT_SIM_LOAD(global, ht_ldg_i32, int, const int *)
HT_SIM_LOAD(global, ht_ldg_i64, long long, const long long *)
HT_SIM_LOAD(shared, ht_lds16, uint4, unsigned)
HT_SIM_LOAD(shared, ht_lds4, float, unsigned)
HT_SIM_LOAD(shared, ht_lds_f64, double, unsigned)
HT_SIM_STORE(global, ht_stg16, uint4, void *)
HT_SIM_STORE(global, ht_stg4, float, float *)
HT_SIM_STORE(global, ht_stg_i32, int, int *)
HT_SIM_STORE(global, ht_stg_u8, unsigned char, unsigned char *)
HT_SIM_STORE(global, ht_stg_i64, long long, long long *)
HT_SIM_STORE(shared, ht_sts16, uint4, unsigned)
HT_SIM_STORE(shared, ht_sts4, float, unsigned)
#undef HT_SIM_LOAD
#undef HT_SIM_STORE
ht_pair ht_ld8(const float *p, int line) {
    return global_check("ht_ld8", p, sizeof(ht_pair), line, REACHES_READS) ? ht_pair{p[0], p[1]} : ht_pair{0.0f, 0.0f};
}
void ht_stg8(float *p, ht_pair v, int line) {
    if (global_check("ht_stg8", p, sizeof v, line, REACHES_ALL))
        memcpy(p, &v, sizeof v);
}
void ht_stg8(void *p, unsigned x, unsigned y, int line) {
    global_store("ht_stg8", p, static_cast<uint64_t>(y) << 32 | x, line);
}
void ht_sts8(unsigned s, unsigned x, unsigned y, int line) {
    shared_store("ht_sts8", s, static_cast<uint64_t>(y) << 32 | x, line);
}

/* Blocks may run on several host threads: these are atomic. */
void ht_st_relaxed_i32(int *p, int v, int line) {
    if (global_allows("ht_st_relaxed_i32", p, line, REACHES_ALL))
        __atomic_store_n(p, v, __ATOMIC_RELAXED);
}

int ht_add_relaxed_i32(int *p, int v, int line) {
    return global_allows("ht_add_relaxed_i32", p, line, REACHES_ALL) ? __atomic_fetch_add(p, v, __ATOMIC_RELAXED) : 0;
}

void ht_max_relaxed_i32(int *p, int v, int line) {
    if (!global_allows("ht_max_relaxed_i32", p, line, REACHES_ALL))
        return;
    int old = __atomic_load_n(p, __ATOMIC_RELAXED);
    while (old < v && !__atomic_compare_exchange_n(p, &old, v, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
    }
}

long long ht_add_relaxed_i64(long long *p, long long v, int line) {
    return global_allows("ht_add_relaxed_i64", p, line, REACHES_ALL) ? __atomic_fetch_add(p, v, __ATOMIC_RELAXED) : 0;
}

/* `size` bytes of shared memory: `bytes` from g, then zeros. Hardware reads no more than those, but compute-sanitizer knows no copies in part: all
 * must be there. */
static void begin_copy(const char *name, unsigned s, const void *g, unsigned size, int bytes, int line) {
    request r(name, line);
    if (r.e == nullptr)
        return;
    engine &e = *r.e;
    if (warp_size(e) == 64) {
        engine_fail(e, r.who.thread, line, "load to registers and store to shared memory", "%s is no instruction of %s", name,
                    e.launch->model->name);
        abandon_thread(e);
    }
    if (bytes < 0 || static_cast<unsigned>(bytes) > size) {
        engine_fail(e, r.who.thread, line, "copy no more than there is room for", "%s copies %d bytes to %u", name, bytes, size);
        abandon_thread(e);
    }
    unsigned offset;
    if (!shared_range(e, r.who, s, size, size, offset) || (bytes > 0 && !global_range(e, r.who, g, size, size)))
        abandon_thread(e);
    for (unsigned i = 0; i < size; i += 4) {
        shadow_word &word = e.shadow[(offset + i) / 4];
        if (!check_write(e, r.who, offset + i, word))
            abandon_thread(e);
        word.copier = static_cast<uint16_t>(r.who.thread);
        word.flags = static_cast<uint16_t>((word.flags & ~SHADOW_BULK) | SHADOW_PENDING);
    }
    e.running->copies.push_back(pending_copy{offset, e.running->open_group, g, static_cast<unsigned>(bytes), size});
}

void ht_cp_async16(unsigned s, const void *g, int line) {
    begin_copy("ht_cp_async16", s, g, 16, 16, line);
}

void ht_cp_async4_some(unsigned s, const float *g, int bytes, int line) {
    begin_copy("ht_cp_async4_some", s, g, 4, bytes, line);
}

void ht_cp_async16_some(unsigned s, const float *g, int bytes, bool, int line) {
    begin_copy("ht_cp_async16_some", s, g, 16, bytes, line);
}

void ht_cp_async_pair(unsigned s, const double *g, unsigned valid, bool aligned, int line) {
    if (aligned) {
        begin_copy("ht_cp_async_pair", s, g, 16, (valid & 1) != 0 ? 16 : 0, line);
    } else {
        begin_copy("ht_cp_async_pair", s, g, 8, (valid & 1) != 0 ? 8 : 0, line);
        begin_copy("ht_cp_async_pair", s + 8, g + 1, 8, (valid & 2) != 0 ? 8 : 0, line);
    }
}

void ht_cp_async_commit(void) {
    if (current_engine != nullptr)
        current_engine->running->open_group++;
}

void ht_sim_cp_async_wait(int pending_groups) {
    if (current_engine == nullptr)
        return;
    engine &e = *current_engine;
    thread_state &t = *e.running;
    size_t done = 0;
    /* Group g is complete when at most pending_groups younger ones were committed; the open one never is. */
    while (done < t.copies.size() &&
           static_cast<int64_t>(t.copies[done].group) < static_cast<int64_t>(t.open_group) - pending_groups) {
        const pending_copy &copy = t.copies[done++];
        unsigned char *const to = e.shared.data() + copy.offset;
        memcpy(to, copy.source, copy.bytes);
        memset(to + copy.bytes, 0, copy.size - copy.bytes);
        for (unsigned i = 0; i < copy.size / 4; i++)
            note_write(e, t.index, e.shadow[copy.offset / 4 + i], SHADOW_BY_COPY);
    }
    t.copies.erase(t.copies.begin(), t.copies.begin() + static_cast<std::ptrdiff_t>(done));
}
