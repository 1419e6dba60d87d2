// A warpgroup multiplies 64 rows of P, a warp 16 of them, by all BN columns of Q. P goes from device memory to registers as wgmma
// takes it there, and is cut in place; Q is cut into shared memory, once for GROUP_THREADS threads, as wgmma takes it from there, a
// ring of three stages:
//
//   step s:    wgmmas of fragments s and stage s      in flight, those of s - 1 maybe as well
//   meanwhile: s + 1 is cut into the other fragments and the next stage, s + 2 asked for
//
// With PINGPONG_GROUPS above 1 the block's groups of warpgroups take turns in the steps of one tile, and are added up at the end.
//
// Large products, of slices of the same weight, have accumulators of their own, which are added up in FP32 after each step; those of two middle slices begin them, while
// the sum is small, so that large ones meet two cuts in 32 k. BF16 products have 16 bits: of numbers of one magnitude nothing is cut at
// all. The other small ones stay in their accumulators to the end: those whose slice of P is the smaller one, and those whose slice
// of Q is. So a result does not depend on which matrix is P.
//
// Inside 16 k both operands have the k in an order in which a lane's numbers are neighbours: 4t, 4t + 1, 4t + 2, 4t + 3 are what
// wgmma calls 2t, 2t + 1, 2t + 8, 2t + 9.
constexpr int ACC_REGS = NI * D_REGS;             // results of a thread
constexpr int MMAS = BK / FRAGMENT_K;         // of a product and step
constexpr int RING = 3; //@mutate ring
constexpr int TAKEN = 8;                      // neighbouring numbers of Q that a thread takes at once
constexpr int Q_TURNS = BN * BK / TAKEN / GROUP_THREADS;
constexpr int PLANE = BN * BK * 2;            // bytes of a slice of Q
static_assert(BM % 64 == 0 && WM == 16 && WN == BN, "a warpgroup has 64 rows and all columns");
static_assert(Q_TURNS > 0, "threads have whole turns");
static_assert(SLICES_BYTES % 1024 == 0 && SLICES_BYTES == SLICES * PLANE, "swizzled rows repeat after 1024 bytes");

// A matrix as a thread reads it, from one of its rows and k on, lines of what is contiguous.
struct ht_reader {
    const float *at;      // the first number of the step that is loaded next
    long long ld, step;   // from line to line, and from step to step
    int rows_left, lane_k; // of the matrix, from its row on; its k in a step
    int left;             // k, from the next step's first on
    bool easy;            // all rows of the tile are there, and quads begin at multiples of 16 bytes
};

HT_DEVICE ht_reader open_reader(const float *src, long long ld, bool k_major, int row, int rows, int lane_k, const ht_task &t)
{
    const int k = t.k0 + lane_k;
    ht_reader r;
    r.at = src + (k_major ? row * ld + k : k * ld + row);
    r.ld = ld;
    r.step = k_major ? PINGPONG_GROUPS * BK : PINGPONG_GROUPS * BK * ld;
    r.rows_left = rows - row; //@mutate open-reader
    r.lane_k = lane_k;
    r.left = t.k - t.k0;
    r.easy = ((unsigned long long)src | (unsigned long long)ld * 4) % 16 == 0;
    return r;
}

HT_DEVICE void next_step(ht_reader *r)
{
    r->at += r->step;
    r->left -= PINGPONG_GROUPS * BK;
}

// Up to COUNT numbers at p; `there` of them exist.
template <int COUNT> HT_DEVICE void load_guarded(float *v, const float *p, int there)
{
#pragma unroll
    for (int i = 0; i < COUNT; i++)
        v[i] = i < there ? ht_ldg4(p + i) : 0.0f; //@mutate wgmma-rs-bf16x6-load-some
}

HT_DEVICE void load_vec4(float *v, const float *p)
{
    const uint4 x = ht_ld16(p);
    v[0] = ht_as_float(x.x);
    v[1] = ht_as_float(x.y);
    v[2] = ht_as_float(x.z);
    v[3] = ht_as_float(x.w);
}

// ---- P: lane (g = lane / 4, t = lane % 4) has rows 2g and 2g + 1 of the warp's 16 and, of each 16 k, 4t to 4t + 3
HT_DEVICE ht_reader open_rows(const ht_task &t, bool k_major)
{
    ht_reader r = open_reader(t.p, t.p_ld, k_major, t.row0 + t.warp_row + ht_d_row(t.lane, 0), t.rows, (t.lane & 3) * 4, t);
    r.easy = r.easy && t.row0 + BM <= t.rows;
    return r;
}

// A step's numbers: v[i] of the i-th 16 k, row by row (P_K_MAJOR) or k by k.
template <bool P_K_MAJOR> HT_DEVICE void load_rows(float (*v)[8], ht_reader *r)
{
    const long long ld = ht_opaque(r->ld); // else multiples of it are kept
    const float *from = r->at;
    if (r->easy && r->left >= BK) {
#pragma unroll
        for (int i = 0; i < MMAS; i++, from += P_K_MAJOR ? 16 : 12 * ld) {
            if (P_K_MAJOR) {
                load_vec4(v[i], from);
                load_vec4(v[i] + 4, from + ld);
            } else {
#pragma unroll
                for (int k = 0; k < 4; k++, from += ld) {
                    const ht_pair two = ht_ld8(from);
                    v[i][2 * k] = two.x;
                    v[i][2 * k + 1] = two.y;
                }
            }
        }
    } else {
        const int left = r->left - r->lane_k;
#pragma unroll
        for (int i = 0; i < MMAS; i++, from += P_K_MAJOR ? 16 : 16 * ld) {
#pragma unroll
            for (int line = 0; line < (P_K_MAJOR ? 2 : 4); line++) {
                const bool there = P_K_MAJOR ? line < r->rows_left : line + i * 16 < left;
                load_guarded<P_K_MAJOR ? 4 : 2>(v[i] + line * (P_K_MAJOR ? 4 : 2), from + line * ld, !there ? 0 : P_K_MAJOR ? left - i * 16 : r->rows_left); //@mutate load-rows
            }
        }
    }
    next_step(r);
}

// Cuts them: register 2h + x of an MMA is of row x and of k 4t + 2h, 4t + 2h + 1.
template <bool P_K_MAJOR> HT_DEVICE void split_rows(unsigned (*a)[SLICES][4], const float (*v)[8], ht_value_range *value_range)
{
#pragma unroll
    for (int i = 0; i < MMAS; i++) {
#pragma unroll
        for (int q = 0; q < 4; q++) {
            const int h = q >> 1, x = q & 1;
            const float first = P_K_MAJOR ? v[i][x * 4 + h * 2] : v[i][h * 4 + x]; //@mutate cut-rows
            const float second = P_K_MAJOR ? v[i][x * 4 + h * 2 + 1] : v[i][h * 4 + 2 + x];
            unsigned slice[SLICES];
            ht_observe(value_range, ht_as_uint(first));
            ht_observe(value_range, ht_as_uint(second));
            ht_split_pair(first, second, slice);
#pragma unroll
            for (int s = 0; s < SLICES; s++)
                a[i][s][q] = slice[s];
        }
    }
}

// ---- Q: a thread takes eight neighbouring numbers of a line, the same of every q_lines-th
template <bool Q_K_MAJOR> constexpr int q_per_line = (Q_K_MAJOR ? BK : BN) / TAKEN;
template <bool Q_K_MAJOR> constexpr int q_lines = GROUP_THREADS / q_per_line<Q_K_MAJOR>;

template <bool Q_K_MAJOR> HT_DEVICE ht_reader open_columns(const ht_task &t, int thread_in_group)
{
    const int line = thread_in_group / q_per_line<Q_K_MAJOR>, across = thread_in_group % q_per_line<Q_K_MAJOR> * TAKEN;
    ht_reader r = open_reader(t.q, t.q_ld, Q_K_MAJOR, t.col0 + (Q_K_MAJOR ? line : across), t.cols, Q_K_MAJOR ? across : line, t);
    r.easy = r.easy && t.col0 + BN <= t.cols;
    return r;
}

template <bool Q_K_MAJOR> HT_DEVICE void load_columns(float (*v)[TAKEN], ht_reader *r)
{
    const long long ld = ht_opaque(r->ld * q_lines<Q_K_MAJOR>);
    const float *from = r->at;
    if (r->easy && r->left >= BK) {
#pragma unroll
        for (int i = 0; i < Q_TURNS; i++, from += ld) {
            load_vec4(v[i], from);
            load_vec4(v[i] + 4, from + 4);
        }
    } else {
        const int left = r->left - r->lane_k;
#pragma unroll
        for (int i = 0; i < Q_TURNS; i++, from += ld) {
            const bool there = i * q_lines<Q_K_MAJOR> < (Q_K_MAJOR ? r->rows_left : left);
            load_guarded<TAKEN>(v[i], from, !there ? 0 : Q_K_MAJOR ? left : r->rows_left);
        }
    }
    next_step(r);
}

// Where a thread's first numbers go in a plane, lines swizzled.
template <bool Q_K_MAJOR> HT_DEVICE unsigned offset_of_columns(int thread_in_group)
{
    constexpr int PITCH = ht_pitch<BN, Q_K_MAJOR>;
    const int line = thread_in_group / q_per_line<Q_K_MAJOR>, piece = thread_in_group % q_per_line<Q_K_MAJOR>;
    if (Q_K_MAJOR)
        return (unsigned)(line * PITCH + (piece & 1) * 8) + ((unsigned)(piece >> 1 << 5) ^ ht_bank_swizzle<PITCH>(line)); //@mutate place-of-columns-2
    const int slot = (line & ~15) | (line >> 2 & 3) << 1 | (line & 1) | (line >> 1 & 1) << 3; //@mutate place-of-columns
    return (unsigned)(slot * PITCH) + ((unsigned)(piece << 4) ^ ht_bank_swizzle<PITCH>(slot));
}

template <bool Q_K_MAJOR> HT_DEVICE void split_columns(unsigned to, const float (*v)[TAKEN], ht_value_range *value_range)
{
    static_assert(q_lines<Q_K_MAJOR> % 16 == 0, "a thread's lines have one place in the swizzle and in 16 k");
#pragma unroll
    for (int i = 0; i < Q_TURNS; i++, to += q_lines<Q_K_MAJOR> * ht_pitch<BN, Q_K_MAJOR>) {
        unsigned pair[TAKEN / 2][SLICES];
#pragma unroll
        for (int q = 0; q < TAKEN / 2; q++) {
            ht_observe(value_range, ht_as_uint(v[i][2 * q]));
            ht_observe(value_range, ht_as_uint(v[i][2 * q + 1]));
            ht_split_pair(v[i][2 * q], v[i][2 * q + 1], pair[q]);
        }
#pragma unroll
        for (int s = 0; s < SLICES; s++) {
            if (Q_K_MAJOR) {
                ht_sts8(to + s * PLANE, pair[0][s], pair[2][s]); //@mutate cut-columns
                ht_sts8((to ^ 16) + s * PLANE, pair[1][s], pair[3][s]);
            } else {
                ht_sts16(to + s * PLANE, make_uint4(pair[0][s], pair[1][s], pair[2][s], pair[3][s]));
            }
        }
    }
}

template <bool Q_K_MAJOR> HT_DEVICE void clear_columns(unsigned to)
{
#pragma unroll
    for (int i = 0; i < Q_TURNS * SLICES; i++) {
        const unsigned at = to + i % Q_TURNS * q_lines<Q_K_MAJOR> * ht_pitch<BN, Q_K_MAJOR> + i / Q_TURNS * PLANE;
        if (Q_K_MAJOR) {
            ht_sts8(at, 0, 0);
            ht_sts8(at ^ 16, 0, 0);
        } else {
            ht_sts16(at, make_uint4(0, 0, 0, 0));
        }
    }
}

// ---- the loop
struct ht_sums {
    ht_acc leading[ACC_REGS], corr_p[ACC_REGS], corr_q[ACC_REGS];
};

// Slices of P and Q that the scheme's product `p` multiplies.
HT_DEVICE int slice_of_p(int p)
{
    return PRODUCT_A >> 2 * p & 3;
}

HT_DEVICE int slice_of_q(int p)
{
    return PRODUCT_B >> 2 * p & 3;
}

// A step's products; the large ones, of slices of the same weight, are done first.
template <bool Q_K_MAJOR> HT_DEVICE void multiply_step(ht_sums *sum, unsigned (*a)[SLICES][4], unsigned stage)
{
    ht_wgmma_fence();
    int begun = 0;
    // products of slices of the same weight, FRAGMENT_K k each: a[MMA][slice of P] times a plane of Q
#pragma unroll
    for (int p = 0; p < PRODUCTS; p++) {
#pragma unroll
        for (int i = 0; i < MMAS; i++) {
            if (slice_of_p(p) == slice_of_q(p))
                ht_wgmma_rows<BN, Q_K_MAJOR>(sum->leading, a[i][slice_of_p(p)],
                                       ht_columns_on<BN, Q_K_MAJOR>(stage, i * FRAGMENT_K) + slice_of_q(p) * PLANE, begun++ > 0); //@mutate chain-begins
        }
    }
    ht_wgmma_commit();
    // corrections, k by k: P's smaller slice and Q's smaller slice each into a chain of their own
#pragma unroll
    for (int i = 0; i < MMAS; i++) {
        const unsigned b = ht_columns_on<BN, Q_K_MAJOR>(stage, i * FRAGMENT_K);
#pragma unroll
        for (int p = 0; p < PRODUCTS; p++) {
            if (slice_of_p(p) != slice_of_q(p)) //@mutate corrections
                ht_wgmma_rows<BN, Q_K_MAJOR>(slice_of_p(p) > slice_of_q(p) ? sum->corr_p : sum->corr_q, a[i][slice_of_p(p)],
                                       b + slice_of_q(p) * PLANE, 1); //@mutate slice-of-correction
        }
    }
    ht_wgmma_commit();
}

HT_DEVICE void clear_fragments(unsigned (*a)[SLICES][4])
{
#pragma unroll
    for (int i = 0; i < MMAS * SLICES * 4; i++)
        a[i / (SLICES * 4)][i / 4 % SLICES][i % 4] = 0;
}

HT_DEVICE void clear(ht_acc *v)
{
#pragma unroll
    for (int i = 0; i < ACC_REGS; i++)
        v[i] = 0.0f;
}

// A group that took a pair of steps less than the first comes to its barrier as often. Nothing waits for that; without it compute-sanitizer's
// racecheck takes accesses of two groups that barriers of the block separate for unordered.
HT_DEVICE void balance_barriers(int group, int steps, int most)
{
    if ((steps + 1) / 2 < (most + 1) / 2) {
        ht_group_barrier<PINGPONG_GROUPS, GROUP_THREADS>(group);
        ht_group_barrier<PINGPONG_GROUPS, GROUP_THREADS>(group);
    }
}

// What the groups have added up, in their order, in the first one.
HT_DEVICE void join_groups(ht_acc *total, unsigned smem, int group, int thread_in_group)
{
    ht_barrier(); // the stages have been multiplied
    for (int other = 1; other < PINGPONG_GROUPS; other++) {
        const unsigned at = smem + (unsigned)((other - 1) * ACC_REGS * GROUP_THREADS + thread_in_group) * 4;
#pragma unroll
        for (int i = 0; i < ACC_REGS; i++) {
            if (group == other)
                ht_sts4(at + i * GROUP_THREADS * 4, total[i]);
        }
    }
    ht_barrier();
    for (int other = 1; other < PINGPONG_GROUPS; other++) {
        const unsigned at = smem + (unsigned)((other - 1) * ACC_REGS * GROUP_THREADS + thread_in_group) * 4;
#pragma unroll
        for (int i = 0; i < ACC_REGS; i++)
            total[i] = __fadd_rn(total[i], ht_lds4(at + i * GROUP_THREADS * 4));
    }
}

// All of this block's k on the tensor cores: C's tile is in `sum` of the first group afterwards, and `value_range` covers every number.
// P_K_MAJOR, Q_K_MAJOR: k is contiguous.
template <bool P_K_MAJOR, bool Q_K_MAJOR>
HT_DEVICE void multiply_sliced(ht_acc (*sum)[NI][D_REGS], ht_acc (*)[NI][D_REGS], ht_value_range *value_range, const ht_task &t, unsigned smem)
{
    const int group = PINGPONG_GROUPS > 1 ? ht_uniform(t.tid / GROUP_THREADS) : 0, thread_in_group = t.tid % GROUP_THREADS;
    const int steps = (t.steps - group + PINGPONG_GROUPS - 1) / PINGPONG_GROUPS; // of this group
    ht_task own = t;
    own.k0 += group * BK; //@mutate multiply-cut-7
    ht_acc *const total = &sum[0][0][0];
    ht_sums sums;
    clear(sums.corr_p);
    clear(sums.corr_q);
    unsigned a[2][MMAS][SLICES][4];
    clear_fragments(a[1]);
    float row[MMAS][8], column[Q_TURNS][TAKEN];
    ht_reader p = open_rows(own, P_K_MAJOR), q = open_columns<Q_K_MAJOR>(own, thread_in_group);
    const unsigned ring = smem + (unsigned)(group * RING * SLICES_BYTES), to = offset_of_columns<Q_K_MAJOR>(thread_in_group);
    load_columns<Q_K_MAJOR>(column, &q);
    load_rows<P_K_MAJOR>(row, &p);
    split_columns<Q_K_MAJOR>(ring + to, column, value_range);
    split_rows<P_K_MAJOR>(a[0], row, value_range);
    if (t.leaves_early && ht_any_of_block<WARPS>(!ht_is_from(value_range->least, EXACT_EXPONENT), smem, t.tid)) //@mutate leaves-early
        return;
    ht_async_fence();
    load_columns<Q_K_MAJOR>(column, &q);
    load_rows<P_K_MAJOR>(row, &p);
    unsigned stage = ring;
    for (int step = 0; step < steps; step += 2) { // behind an odd last one a step of zeros: wgmmas that may not run would all wait
#pragma unroll
        for (int set = 0; set < 2; set++) {
            const int now = step + set;
            const unsigned next = stage == ring + (RING - 1) * SLICES_BYTES ? ring : stage + SLICES_BYTES;
            ht_group_barrier<PINGPONG_GROUPS, GROUP_THREADS>(group); // the stage is there; the one before the last has been multiplied //@mutate multiply-cut-2
            multiply_step<Q_K_MAJOR>(&sums, a[set], stage);
            if (now + 1 < steps)
                split_columns<Q_K_MAJOR>(next + to, column, value_range);
            else if (set == 0)
                clear_columns<Q_K_MAJOR>(next + to);
            ht_wgmma_wait<2>(); //@mutate multiply-cut-3
            if (now + 1 < steps)
                split_rows<P_K_MAJOR>(a[1 - set], row, value_range); //@mutate multiply-cut-4
            ht_async_fence(); // what this thread has stored is there for the unit //@mutate multiply-cut
            if (now + 2 < steps) { // not before: the fence waits for whatever is in flight, and not for stores of long ago
                load_columns<Q_K_MAJOR>(column, &q);
                load_rows<P_K_MAJOR>(row, &p);
            }
            ht_wgmma_wait<1>(); //@mutate multiply-cut-5
            ht_wgmma_fence_operand<ACC_REGS>(sums.leading);
            ht_promote_chain<ACC_REGS>(total, sums.leading);
            stage = next;
        }
    }
    ht_wgmma_wait<0>();
    ht_wgmma_fence_operand<ACC_REGS>(sums.corr_p);
    ht_wgmma_fence_operand<ACC_REGS>(sums.corr_q);
#pragma unroll
    for (int i = 0; i < ACC_REGS; i++)
        total[i] = __fadd_rn(total[i], __fadd_rn(sums.corr_p[i], sums.corr_q[i]));
    if (PINGPONG_GROUPS > 1) {
        balance_barriers(group, steps, (t.steps + PINGPONG_GROUPS - 1) / PINGPONG_GROUPS);
        join_groups(total, smem, group, thread_in_group); //@mutate multiply-cut-6
    }
}
