/* sim_wgmma: warpgroup MMA, D(64 x N) = A(64 x k) * B(N x k)^T (+ D), operands in shared memory. Warp w of a warpgroup
 * computes rows 16 w .. 16 w + 15; of these lane 4 g + t holds, as of mma.m16n8k16 for each eight columns j,
 *   d[4j], d[4j+1]      row g,     columns 8j + 2t, 8j + 2t + 1
 *   d[4j+2], d[4j+3]    row g + 8
 * (PTX ISA 9.0, "wgmma.mma_async": register fragments, matrix descriptor, strides, asynchronous proxy). What is
 * checked: sim_async.h. */
#include "sim_async.h"

namespace ht_sim {

enum {
    STEP_BYTES = 32, /* of k, in each row of an operand */
    STEP_LINES = 16, /* of k, where lines are of rows: 16-bit slices */
    WARP_ROWS = 16,
    TILE_COLUMNS = 8,
    TILE_VALUES = WARP_ROWS * TILE_COLUMNS
};
static const uint32_t poison = 0x7fbadbadu; /* a NaN in accumulators that the unit owns */

static const call &lane_call(const engine &e, unsigned warp, unsigned lane) {
    return e.threads[warp * WARP_SIZE + lane]->at;
}

/* ---- calls that a warpgroup must make alike ---- */

static bool same_call(const group_call &x, const group_call &y) {
    return x.kind == y.kind && x.site == y.site && x.a == y.a && x.b == y.b && x.n == y.n && x.use == y.use &&
           x.in_registers == y.in_registers && x.turned == y.turned;
}

static group_call call_of(const call &at) {
    group_call made = {at.kind, at.site, 0, 0, at.value, at.lane_mask, false, false};
    if (at.kind == CALL_WGMMA)
        made = {at.kind,       at.site,           at.wgmma->a, at.wgmma->b, at.wgmma->n, at.wgmma->use != 0, at.wgmma->rows != nullptr,
                at.wgmma->turned != 0};
    return made;
}

static bool fail_lanes(engine &e, unsigned warp, unsigned lane, const call &at) {
    engine_fail(e, warp * WARP_SIZE + lane, at.line, "all threads of a warpgroup must name the same operands",
                "divergent %s: descriptors or use differ from those of the warp's first lane",
                call_name(at.kind));
    return false;
}

static bool log_call(engine &e, unsigned warp) {
    async_state &s = *e.async;
    const call &at = lane_call(e, warp, 0);
    const group_call made = call_of(at);
    for (unsigned lane = 1; lane < WARP_SIZE; lane++)
        if (!same_call(made, call_of(lane_call(e, warp, lane))))
            return fail_lanes(e, warp, lane, lane_call(e, warp, lane));
    unsigned first = warp / WARPGROUP_WARPS * WARPGROUP_WARPS;
    if (first + WARPGROUP_WARPS > e.warps.size()) {
        engine_fail(e, warp * WARP_SIZE, at.line, "launch a multiple of 128 threads",
                    "divergent %s: the block's last warpgroup has fewer than 4 warps", call_name(at.kind));
        return false;
    }
    std::vector<group_call> &log = s.group_log[warp / WARPGROUP_WARPS];
    size_t &calls = s.matrix[warp].calls;
    if (calls == log.size()) {
        log.push_back(made);
    } else if (!same_call(log[calls], made)) {
        bool same_place = log[calls].kind == made.kind && log[calls].site == made.site;
        engine_fail(e, warp * WARP_SIZE, at.line,
                    "the four warps of a warpgroup must make the same calls in the same order",
                    "divergent %s: another warp of the warpgroup %s %s", call_name(made.kind),
                    same_place ? "gave other operands to the same" : "was at", call_name(log[calls].kind));
        return false;
    }
    calls++;
    for (unsigned w = first; w < first + WARPGROUP_WARPS; w++)
        if (s.matrix[w].calls != log.size())
            return true;
    for (unsigned w = first; w < first + WARPGROUP_WARPS; w++)
        s.matrix[w].calls = 0;
    log.clear();
    return true;
}

/* ---- operands ---- */

static bool fail_descriptor(engine &e, const access &who, char operand, const char *field, uint64_t found,
                            const char *cure) {
    engine_fail(e, who.thread, who.line, cure, "%s: %s in the descriptor of operand %c is %llu", who.name,
                field, operand, static_cast<unsigned long long>(found));
    return false;
}

/* Bytes of a line of an operand: a row's k, or where turned the rows of one k. The swizzle is as wide. */
static unsigned line_bytes(uint64_t d) {
    return d >> 62 == 1 ? 128 : 64;
}

/* Lines that the swizzle permutes together. */
static unsigned group_bytes(uint64_t d) {
    return 8 * line_bytes(d);
}

/* The fields of a descriptor for swizzled lines of 128 or 64 bytes. */
static bool check_descriptor(engine &e, const access &who, char operand, uint64_t d, bool turned) {
    const uint64_t mask = 0x3fff;
    if (d >> 62 != 1 && d >> 62 != 2)
        return fail_descriptor(e, who, operand, "the swizzle code (bits 62, 63)", d >> 62,
                               "128-byte swizzle is code 1, 64-byte swizzle code 2");
    if ((d >> 16 & mask) != 1)
        return fail_descriptor(
            e, who, operand, "the leading offset (bits 16 to 29)", d >> 16 & mask,
            "write 1, swizzled lines do not use it; an address beyond 256 KiB spills into it");
    if ((d >> 32 & mask) != group_bytes(d) / 16)
        return fail_descriptor(e, who, operand, "the stride (bits 32 to 45)", d >> 32 & mask,
                               "groups of 8 lines lie 1024 or 512 bytes apart: 64 or 32");
    if ((d >> 49 & 7) != 0)
        return fail_descriptor(e, who, operand, "the base offset (bits 49 to 51)", d >> 49 & 7,
                               "operands start at multiples of 1024 bytes: 0");
    if ((d & ~(uint64_t(3) << 62 | mask << 32 | uint64_t(7) << 49 | mask << 16 | mask)) != 0)
        return fail_descriptor(e, who, operand, "a bit that no field has", d, "clear the others");
    const uint64_t inside = (d & mask) * 16 % group_bytes(d);
    if (inside + STEP_BYTES > line_bytes(d) || (turned && inside > 0))
        return fail_descriptor(
            e, who, operand, "the start's offset from a multiple of 1024 bytes", inside,
            "start in the first row, at most 96 bytes into it: 32 bytes of each row are read; where turned at the first line's start");
    return true;
}

/* Shared address of 16 bytes of a line: the swizzle exchanges address bits 4 to 6 by bits 7 to 9, or 4 and 5 by 7 and 8. */
static unsigned chunk_address(uint64_t d, unsigned line, unsigned chunk) {
    const unsigned start = static_cast<unsigned>(d & 0x3fff) * 16;
    const unsigned linear = start + line / 8 * group_bytes(d) + line % 8 * line_bytes(d) + chunk * 16;
    return linear ^ (linear >> 7 & (line_bytes(d) / 16 - 1)) << 4;
}

/* Lines of an operand and chunks of each that a wgmma reads of `rows` rows. */
static unsigned lines_of(bool turned, unsigned rows) {
    return turned ? static_cast<unsigned>(STEP_LINES) : rows;
}

static unsigned chunks_of(bool turned, unsigned rows) {
    return turned ? rows * 2 / 16 : STEP_BYTES / 16;
}

static bool check_operand(engine &e, const access &who, char operand, uint64_t d, bool turned, unsigned first,
                          unsigned rows, uint32_t group) {
    if (!check_descriptor(e, who, operand, d, turned))
        return false;
    if (turned && rows * 2 > line_bytes(d)) {
        engine_fail(e, who.thread, who.line, "64 rows have lines of 128 bytes, 32 rows lines of 64",
                    "%s: %u rows do not fit the lines of operand %c", who.name, rows, operand);
        return false;
    }
    for (unsigned line = first; line < first + lines_of(turned, rows); line++) {
        for (unsigned chunk = 0; chunk < chunks_of(turned, rows); chunk++) {
            unsigned s = chunk_address(d, line, chunk);
            unsigned offset;
            if (!shared_range(e, who, s, 16, 16, offset) || !order_read_operand(e, who, offset, 16, group))
                return false;
        }
    }
    return true;
}

/* Rows of k, STEP_BYTES each. */
static void fetch_rows(const engine &e, unsigned warp, uint64_t d, unsigned first, unsigned rows, unsigned char *to) {
    const unsigned char *shared = &e.shared[warp / e.block_warps * e.block_bytes];
    for (unsigned row = 0; row < rows; row++)
        for (unsigned chunk = 0; chunk < STEP_BYTES / 16; chunk++)
            memcpy(to + row * STEP_BYTES + chunk * 16,
                   shared + chunk_address(d, first + row, chunk) - SMEM_BASE, 16);
}

/* The same from lines of rows. */
static void fetch_turned(const engine &e, unsigned warp, uint64_t d, unsigned rows, unsigned char *to) {
    const unsigned char *shared = &e.shared[warp / e.block_warps * e.block_bytes];
    for (unsigned k = 0; k < STEP_LINES; k++)
        for (unsigned row = 0; row < rows; row++)
            memcpy(to + row * STEP_BYTES + k * 2, shared + chunk_address(d, k, row / 8) - SMEM_BASE + row % 8 * 2, 2);
}

/* A from the lanes' registers: 4i .. 4i + 3 bytes of lane 4 g + t are row g + 8 (i % 2), bytes 4 t + 16 (i / 2) (PTX ISA, "Register
 * Fragments for wgmma.mma_async.m64nNk16"). */
static void gather_rows(const wgmma &op, unsigned char *to) {
    for (unsigned lane = 0; lane < WARP_SIZE; lane++)
        for (unsigned i = 0; i < 4; i++)
            memcpy(to + (lane / 4 + i % 2 * 8) * STEP_BYTES + lane % 4 * 4 + i / 2 * 16, &op.held[lane][i], 4);
}

/* ---- accumulators ---- */

/* Where a lane's register i of a tile lies in it. */
static unsigned tile_place(unsigned lane, unsigned i) {
    return (lane / 4 + i / 2 * 8) * TILE_COLUMNS + lane % 4 * 2 + i % 2;
}

static unsigned char *lane_register(const wgmma_chain &c, unsigned lane, size_t i) {
    return static_cast<unsigned char *>(c.d[lane]) + 4 * i;
}

/* The unit takes the registers. */
static void take_registers(wgmma_chain &c) {
    size_t tiles = static_cast<size_t>(c.n) / TILE_COLUMNS;
    c.values.resize(tiles * TILE_VALUES);
    for (unsigned lane = 0; lane < WARP_SIZE; lane++) {
        for (size_t i = 0; i < 4 * tiles; i++) {
            unsigned char *at = lane_register(c, lane, i);
            memcpy(&c.values[i / 4 * TILE_VALUES + tile_place(lane, i % 4)], at, 4);
            memcpy(at, &poison, 4);
        }
    }
    c.flying = true;
    c.fenced = false;
}

/* And gives them back with the results. */
static bool return_registers(engine &e, const access &who, wgmma_chain &c) {
    for (unsigned lane = 0; lane < WARP_SIZE; lane++) {
        for (size_t i = 0; i < static_cast<size_t>(c.n) / 2; i++) {
            unsigned char *at = lane_register(c, lane, i);
            if (memcmp(at, &poison, 4) != 0) {
                engine_fail(
                    e, who.thread + lane, who.line, "touch accumulators only after ht_wgmma_wait",
                    "accumulator register %zu was written between the issue of its wgmma and the wait", i);
                return false;
            }
            memcpy(at, &c.values[i / 4 * TILE_VALUES + tile_place(lane, i % 4)], 4);
        }
    }
    c.flying = false;
    return true;
}

static bool same_registers(const engine &e, unsigned warp, const wgmma_chain &c) {
    for (unsigned lane = 0; lane < WARP_SIZE; lane++)
        if (c.d[lane] != lane_call(e, warp, lane).wgmma->d)
            return false;
    return c.n == lane_call(e, warp, 0).wgmma->n;
}

static bool overlap(const wgmma_chain &c, const void *d, int n) {
    uintptr_t x = reinterpret_cast<uintptr_t>(c.d[0]), y = reinterpret_cast<uintptr_t>(d);
    return x < y + static_cast<unsigned>(n) * 2u && y < x + static_cast<unsigned>(c.n) * 2u;
}

/* The chain of the warp's wgmma, in flight; NULL after engine_fail. */
static wgmma_chain *find_chain(engine &e, unsigned warp, const access &who) {
    matrix_state &m = e.async->matrix[warp];
    const ht_sim_wgmma &asked = *lane_call(e, warp, 0).wgmma;
    wgmma_chain *found = nullptr;
    for (wgmma_chain &c : m.chains) {
        if (same_registers(e, warp, c)) {
            found = &c;
        } else if (c.flying && overlap(c, asked.d, asked.n)) {
            engine_fail(e, who.thread, who.line, "ht_wgmma_wait for the other one first",
                        "%s shares accumulator registers with a wgmma in flight of another shape", who.name);
            return nullptr;
        }
    }
    if (found != nullptr && found->flying)
        return found;
    if (!(found != nullptr ? found->fenced : m.fenced)) {
        engine_fail(
            e, who.thread, who.line, "call ht_wgmma_fence after the last ordinary use of the registers",
            "%s without ht_wgmma_fence: its accumulators were ordinary registers since the last fence",
            who.name);
        return nullptr;
    }
    if (found == nullptr) {
        m.chains.emplace_back();
        found = &m.chains.back();
        for (unsigned lane = 0; lane < WARP_SIZE; lane++)
            found->d[lane] = lane_call(e, warp, lane).wgmma->d;
        found->n = asked.n;
    }
    take_registers(*found);
    return found;
}

/* ---- the calls ---- */

static bool perform_issue(engine &e, unsigned warp, const access &who) {
    matrix_state &m = e.async->matrix[warp];
    const ht_sim_wgmma &asked = *lane_call(e, warp, 0).wgmma;
    unsigned rows = warp % WARPGROUP_WARPS * WARP_ROWS;
    if ((asked.rows == nullptr && !check_operand(e, who, 'A', asked.a, false, rows, WARP_ROWS, m.open)) ||
        !check_operand(e, who, 'B', asked.b, asked.turned != 0, 0, static_cast<unsigned>(asked.n), m.open))
        return false;
    wgmma_chain *chain = find_chain(e, warp, who);
    if (chain == nullptr)
        return false;
    chain->group = m.open;
    m.uncommitted++;
    wgmma op = {asked.a, asked.b, {}, {}, asked.turned != 0, m.open, static_cast<unsigned>(chain - m.chains.data()), asked.use,
                asked.slice, who.line};
    for (unsigned lane = 0; asked.rows != nullptr && lane < WARP_SIZE; lane++) {
        op.rows[lane] = lane_call(e, warp, lane).wgmma->rows;
        memcpy(op.held[lane], op.rows[lane], sizeof op.held[lane]);
    }
    m.queue.push_back(op);
    return true;
}

static const mma_shape *const shapes[] = {&mma_f16, &mma_bf16, &mma_tf32, &mma_s8}; /* by ht_sim_slice */

/* Whether the lanes' registers still hold what the unit was to read; else engine_fail. */
static bool rows_held(engine &e, unsigned warp, const wgmma &op) {
    for (unsigned lane = 0; op.rows[0] != nullptr && lane < WARP_SIZE; lane++) {
        if (memcmp(op.rows[lane], op.held[lane], sizeof op.held[lane]) != 0) {
            engine_fail(e, warp * WARP_SIZE + lane, op.line, "write the registers of operand A only after ht_wgmma_wait",
                        "registers of operand A were written between the issue of their wgmma and the wait");
            return false;
        }
    }
    return true;
}

static bool compute(engine &e, unsigned warp, const wgmma &op, wgmma_chain &chain) {
    if (!rows_held(e, warp, op))
        return false;
    alignas(4) unsigned char a[WARP_ROWS * STEP_BYTES], b[256 * STEP_BYTES];
    const mma_shape &shape = *shapes[op.slice];
    unsigned columns = static_cast<unsigned>(chain.n);
    int code = 0;
    if (op.rows[0] != nullptr)
        gather_rows(op, a);
    else
        fetch_rows(e, warp, op.a, warp % WARPGROUP_WARPS * WARP_ROWS, WARP_ROWS, a);
    if (op.turned)
        fetch_turned(e, warp, op.b, columns, b);
    else
        fetch_rows(e, warp, op.b, 0, columns, b);
    if (op.use == 0)
        chain.values.assign(chain.values.size(), 0);
    for (unsigned tile = 0; tile < columns / TILE_COLUMNS; tile++)
        code |= shape.multiply(e.launch->model, shape, &chain.values[tile * TILE_VALUES], a,
                               b + tile * TILE_COLUMNS * STEP_BYTES);
    if (code != 0)
        engine_fail(e, warp * WARP_SIZE, op.line, "carry or split k before 32 bits are full",
                    "%s: a sum of this warp leaves 32 bits", call_name(CALL_WGMMA));
    return code == 0;
}

static bool perform_wait(engine &e, unsigned warp, const access &who) {
    matrix_state &m = e.async->matrix[warp];
    if (m.uncommitted != 0) {
        engine_fail(e, who.thread, who.line, "call ht_wgmma_commit first",
                    "ht_wgmma_wait with %u wgmmas not committed: it does not wait for them", m.uncommitted);
        return false;
    }
    uint32_t pending = static_cast<uint32_t>(lane_call(e, warp, 0).value);
    uint32_t last = m.open - 1 > pending ? m.open - 1 - pending : 0; /* group that must be done */
    size_t count = 0;
    while (count < m.queue.size() && m.queue[count].group <= last) {
        const wgmma &op = m.queue[count++];
        if (!compute(e, warp, op, m.chains[op.chain]))
            return false;
    }
    m.queue.erase(m.queue.begin(), m.queue.begin() + static_cast<std::ptrdiff_t>(count));
    for (wgmma_chain &c : m.chains)
        if (c.flying && c.group <= last && !return_registers(e, who, c))
            return false;
    if (last > m.done) {
        m.fenced = false;
        m.done = last;
        m.done_at.resize(last, e.warps[warp].turn);
    }
    return true;
}

static bool perform_registers(engine &e, unsigned warp, const access &who) {
    int &held = e.async->matrix[warp].registers;
    const call &at = lane_call(e, warp, 0);
    bool give = at.lane_mask != 0;
    if (at.value % 8 != 0 || at.value < 24 || at.value > 256) {
        engine_fail(e, who.thread, who.line, "ask for a multiple of 8 in 24 to 256", "%s: %d registers",
                    who.name, at.value);
        return false;
    }
    if (held != 0 && (give ? at.value > held : at.value < held)) {
        engine_fail(e, who.thread, who.line, "giving lowers the number and taking raises it",
                    "%s: %d registers, the warpgroup has %d of a thread",
                    give ? "ht_reg_dealloc" : "ht_reg_alloc", at.value, held);
        return false;
    }
    held = at.value;
    return true;
}

bool wgmma_perform(engine &e, unsigned warp) {
    const call &at = lane_call(e, warp, 0);
    access who = {warp * WARP_SIZE, at.line, call_name(at.kind), true};
    async_begin(e);
    order_meet_warp(e, warp);
    if (!log_call(e, warp))
        return false;
    matrix_state &m = e.async->matrix[warp];
    switch (at.kind) {
    case CALL_WGMMA:
        return perform_issue(e, warp, who);
    case CALL_WGMMA_FENCE:
        m.fenced = true;
        for (wgmma_chain &c : m.chains)
            c.fenced = true;
        return true;
    case CALL_WGMMA_COMMIT:
        m.open++;
        m.uncommitted = 0;
        return true;
    case CALL_WGMMA_WAIT:
        return perform_wait(e, warp, who);
    default:
        return perform_registers(e, warp, who);
    }
}

void async_warp_ends(engine &e, unsigned warp) {
    if (!async_on(e) || e.async->matrix[warp].queue.empty())
        return;
    const matrix_state &m = e.async->matrix[warp];
    engine_fail(e, warp * WARP_SIZE, m.queue.front().line,
                "ht_wgmma_commit and ht_wgmma_wait before the kernel's end",
                "the warp ends with %zu wgmmas in flight, %u of them not committed", m.queue.size(),
                m.uncommitted);
}

/* What a block starts with and its warpgroups move between them: its share of the file for each thread, in eights. */
static int block_registers(const engine &e) {
    const int threads = (int)e.block_warps * WARP_SIZE, even = FILE_REGISTERS / threads / 8 * 8;
    return (even < THREAD_REGISTERS ? even : THREAD_REGISTERS) * threads;
}

void wgmma_block_ends(engine &e) {
    async_state &s = *e.async;
    int sum = 0, most = 0; /* of a block */
    for (unsigned w = 0; w < e.warps.size(); w++) {
        sum = w % e.block_warps == 0 ? 0 : sum;
        const std::vector<group_call> &log = s.group_log[w / WARPGROUP_WARPS];
        if (s.matrix[w].calls < log.size()) {
            engine_fail(e, w * WARP_SIZE, 0,
                        "the four warps of a warpgroup must make the same calls in the same order",
                        "divergent %s: other warps of the warpgroup made the call, this one has exited",
                        call_name(log[s.matrix[w].calls].kind));
            return;
        }
        sum += s.matrix[w].registers * WARP_SIZE;
        most = sum > most ? sum : most;
    }
    if (most > block_registers(e))
        engine_fail(e, 0, 0, "a GPU would wait for ever; give more or take less",
                    "the warpgroups have taken %d registers together, a block of %u threads starts with %d", most,
                    e.block_warps * WARP_SIZE, block_registers(e));
}

} // namespace ht_sim

using namespace ht_sim;

void ht_sim_wgmma_issue(const ht_sim_wgmma *asked, int line) {
    thread_state *t = block_at(CALL_WGMMA, line, __builtin_return_address(0));
    if (t == nullptr)
        return;
    t->at.wgmma = asked;
    wait_here(*t);
}

static void group_collective(call_kind kind, int value, int give, int line, const void *site) {
    thread_state *t = block_at(kind, line, site);
    if (t == nullptr)
        return;
    t->at.value = value;
    t->at.lane_mask = give;
    wait_here(*t);
}

void ht_async_fence(int line) {
    request r("ht_async_fence", line);
    if (r.e == nullptr)
        return;
    async_begin(*r.e);
    order_fence(*r.e, r.who.thread);
}

void ht_wgmma_fence(int line) {
    group_collective(CALL_WGMMA_FENCE, 0, 0, line, __builtin_return_address(0));
}

void ht_wgmma_commit(int line) {
    group_collective(CALL_WGMMA_COMMIT, 0, 0, line, __builtin_return_address(0));
}

void ht_sim_wgmma_wait(int pending_groups, int line) {
    group_collective(CALL_WGMMA_WAIT, pending_groups, 0, line, __builtin_return_address(0));
}

void ht_sim_registers(int count, int give, int line) {
    group_collective(CALL_REGISTERS, count, give, line, __builtin_return_address(0));
}

void ht_sim_wgmma_pin(const void *d, int line) {
    request r("ht_wgmma_fence_operand", line);
    if (r.e == nullptr || !async_on(*r.e))
        return;
    for (const wgmma_chain &c : r.e->async->matrix[r.who.thread / WARP_SIZE].chains) {
        if (!c.flying || c.d[r.who.thread % WARP_SIZE] != d)
            continue;
        engine_fail(*r.e, r.who.thread, line, "ht_wgmma_wait for them first",
                    "ht_wgmma_fence_operand of accumulators in flight");
        abandon_thread(*r.e);
    }
}
