/* ht_host.c: products of matrices in host memory: halftone_sgemm_host, halftone_ssyrk_host. Meaning:
 * halftone.h.
 *
 * C is computed in tiles, column of tiles by column of tiles. Row blocks of A stay on the device, packed
 * once for all columns; where not all of them fit, as many as do, and the others' columns are run through
 * again (a span). Each column block of B is packed once in a span. Three streams work at once: `in` copies
 * operands from two pinned buffers that the host fills by turns with a few threads, the handle's packs and
 * multiplies, `out` copies tiles of C into two pinned buffers, from which the host takes a tile while the
 * next one is computed.
 *
 *     host    fill buffers | fill            | take tile 0 | ...
 *     in           copy B0 A0 |  copy A1     |             | ...
 *     handle's               pack, tile 0    | pack, tile 1| ...
 *     out                                    | copy tile 0 | ... */
#include "ht_host.h"

#include <unistd.h>

/* ---- how C is divided ---- */

static int64_t host_tile(int64_t size, int64_t largest) {
    const int64_t count = (size + largest - 1) / largest, even = (size + count - 1) / count;
    return count == 1 ? size : (even + HOST_TILE_STEP - 1) / HOST_TILE_STEP * HOST_TILE_STEP;
}

/* Whether products of packed tiles, those at the ends too, keep the limit of the workspace: they are not
 * cut. */
static bool host_packed_tiles_fit(halftone *h, const struct host_job *j) {
    const struct ht_host_tiles *const all = &j->all;
    const int64_t m[] = {all->tile_m, all->m % all->tile_m}, n[] = {all->tile_n, all->n % all->tile_n};
    const struct plan *plan = NULL;
    struct call tile = j->x;
    bool fits = true;
    tile.is_packed = true;
    for (int i = 0; i < 4 && fits && h->workspace_limit > 0; i++) {
        tile.m = m[i & 1];
        tile.n = n[i >> 1];
        fits = tile.m == 0 || tile.n == 0 || ht_plan_call(&tile, &plan) == HALFTONE_OK;
    }
    return fits;
}

/* Packing pays where blocks are used more than once and a tile's product would pack them anyhow. */
static int host_packs(halftone *h, struct host_job *j) {
    const struct plan *plan = NULL;
    struct plan of_tile, packing;
    struct call tile = j->x;
    tile.m = j->all.tile_m;
    tile.n = j->all.tile_n;
    ht_settle_floats(&tile);
    j->packs = false;
    if (tile.is_fp64) /* nothing is packed; a library without FP64 says so before anything is copied */
        return ht_plan_call(&tile, &plan);
    if (tile.m == j->x.m && tile.n == j->x.n)
        return HALFTONE_OK;
    const int code = ht_scheme_of_call(&tile, &of_tile);
    if (code == HALFTONE_OK)
        j->packs = tile.half->forced == NO_KERNEL && ht_packing_scheme(&tile, &packing) == HALFTONE_OK &&
                   packing.scheme == of_tile.scheme && host_packed_tiles_fit(h, j);
    return code;
}

/* Bytes of a block of so many rows of op(A), or columns of op(B), as products take it. */
static int64_t host_block_bytes(const struct host_job *j, int64_t rows) {
    const int64_t packed = j->packs ? ht_packed_operand_bytes(&j->x, rows) : 0;
    return packed > 0 ? packed : ht_mul(ht_mul(rows, j->x.k), (int64_t)element_bytes(&j->x));
}

static int64_t host_rounded(int64_t bytes) {
    return bytes > INT64_MAX / 64 ? INT64_MAX / 64 : (bytes + WS_ALIGNMENT - 1) / WS_ALIGNMENT * WS_ALIGNMENT;
}

/* Tiles whose blocks fit `limit` bytes. */
static int host_divide(halftone *h, struct host_job *j, int64_t largest, int64_t limit) {
    struct ht_host_tiles *const all = &j->all;
    for (; largest >= HOST_TILE_LEAST; largest /= 2) {
        all->tile_m = host_tile(all->m, largest);
        all->tile_n = host_tile(all->n, largest);
        const int code = host_packs(h, j);
        if (code != HALFTONE_OK)
            return code;
        const int64_t each = (int64_t)element_bytes(&j->x),
                      wide = j->packs && all->tile_m > all->tile_n ? all->tile_m : all->tile_n;
        j->a_bytes = host_rounded(host_block_bytes(j, all->tile_m));
        j->b_bytes = j->packs ? host_rounded(host_block_bytes(j, all->tile_n)) : 0;
        j->operand_bytes = host_rounded(ht_mul(ht_mul(wide, j->x.k), each));
        j->c_bytes = host_rounded(ht_mul(ht_mul(all->tile_m, all->tile_n), each));
        j->resident_bytes = limit - j->b_bytes - HOST_TURNS * (j->operand_bytes + j->c_bytes);
        if (j->resident_bytes < j->a_bytes)
            continue;
        const int64_t blocks = least_of(ht_ceil_div(all->m, all->tile_m), j->resident_bytes / j->a_bytes);
        j->resident_bytes = blocks * j->a_bytes;
        all->span = blocks * all->tile_m;
        return HALFTONE_OK;
    }
    return ht_fail(h, HALFTONE_OUT_OF_DEVICE_MEMORY,
                   "k = %lld is too long for tiles in %lld bytes of device memory", (long long)j->x.k,
                   (long long)limit);
}

/* Memory for the tiles, and where in it what lies. */
static int host_reserve(halftone *h, struct host_job *j) {
    struct ht_host *const p = h->host;
    const size_t wanted =
        (size_t)(j->resident_bytes + j->b_bytes + HOST_TURNS * (j->operand_bytes + j->c_bytes));
    const size_t block = (size_t)(j->a_bytes + j->operand_bytes + j->c_bytes);
    int code = ht_host_pin(h, p->stage, &p->stage_bytes, block < HOST_STAGE_BYTES ? block : HOST_STAGE_BYTES);
    AND_THEN(code, ht_host_pin(h, p->result, &p->result_bytes, (size_t)j->c_bytes));
    if (code == HALFTONE_OK && p->device_bytes < wanted) {
        void *got = NULL;
        (void)ht_dev_free(p->device);
        code = ht_fail_device(h, ht_dev_alloc(&got, wanted));
        p->device = (char *)got;
        p->device_bytes = code == HALFTONE_OK ? wanted : 0;
    }
    j->resident = p->device;
    j->panels = j->resident + j->resident_bytes;
    for (int i = 0; i < HOST_TURNS; i++) {
        j->operand[i] = j->panels + j->b_bytes + i * (j->operand_bytes + j->c_bytes);
        j->c[i] = j->operand[i] + j->operand_bytes;
    }
    return code;
}

/* The next tile of which any is to be computed: a span's columns one after the other. */
static bool host_next(struct ht_host_tiles *a, struct host_block *t) {
    bool is_wanted = false;
    while (!is_wanted && a->first < a->m) {
        const struct host_block at = {a->row, a->col, least_of(a->tile_m, a->m - a->row),
                                      least_of(a->tile_n, a->n - a->col)};
        is_wanted = a->uplo == 'L'   ? at.row + at.rows > at.col
                    : a->uplo == 'U' ? at.row < at.col + at.cols
                                     : true;
        *t = at;
        a->row += a->tile_m;
        if (a->row >= least_of(a->first + a->span, a->m)) {
            a->row = a->first;
            a->col += a->tile_n;
        }
        if (a->col >= a->n) {
            a->row = a->first += a->span;
            a->col = 0;
        }
    }
    return is_wanted;
}

/* ---- the work ---- */

/* A call of the whole one's, which decides what it asks for; its operands lie on the device without gaps. */
static struct call host_inner(const struct host_job *j, int64_t m, int64_t n) {
    struct call c = call_of(j->x.h, j->x.is_fp64, j->x.of[0].trans, j->x.of[1].trans, m, n, j->x.k, 1);
    c.asked = j->x.asked;
    c.site = j->x.site;
    c.is_inner = true;
    for (int side = 0; side < 2; side++)
        c.of[side].ld = stored_rows(&c, side);
    return c;
}

/* A block of op(A)'s rows (side 0), or of op(B)'s columns, to `to`, as products take it. Unpacked ones
 * wait for to_free (NULL: nobody reads what lies there, since the host has all tiles but the last one
 * given). */
static int host_load(halftone *h, struct host_job *j, int side, int64_t from, int64_t count, char *to,
                     void *to_free) {
    struct ht_host *const p = h->host;
    struct call pack = host_inner(j, side == 0 ? count : 0, side == 0 ? 0 : count);
    const struct call_operand *const o = &j->x.of[side];
    const bool along_k = k_contiguous(&j->x, side); /* a block's columns are whole: k rows */
    const char *const block = host_at(j, o->src, o->ld, along_k ? 0 : from, along_k ? from : 0);
    const int turn = j->operand_turn;
    char *const raw = j->packs ? j->operand[turn] : to;
    void *const operand_free = p->event[HOST_OPERAND_FREE + turn];
    void *const wait_for = j->packs ? operand_free : to_free;
    int code =
        wait_for != NULL ? ht_fail_device(h, ht_dev_stream_wait(p->stream[HOST_IN], wait_for)) : HALFTONE_OK;
    AND_THEN(code,
             ht_host_copy_in(h, j, raw, block, o->ld, stored_rows(&pack, side), stored_cols(&pack, side)));
    if (code != HALFTONE_OK || !j->packs)
        return code;
    j->operand_turn ^= 1;
    pack.of[side].src = raw;
    pack.of[side].packed = to;
    pack.of[side].packs = true;
    code = ht_pack(&pack);
    return AND_THEN(code, ht_fail_device(h, ht_dev_event_record(operand_free, h->stream)));
}

static int host_product(const struct host_job *j, const struct host_block *t, const char *a, const char *b,
                        char *result) {
    struct call c = host_inner(j, t->rows, t->cols);
    const int code = ht_begin(c.h);
    c.is_packed = j->packs;
    c.of[0].src = c.of[0].packed = a;
    c.of[1].src = c.of[1].packed = b;
    c.alpha = j->x.alpha;
    c.beta = j->x.beta;
    c.c = result;
    c.ldc = t->rows;
    return code == HALFTONE_OK ? ht_run_gemm(&c) : code;
}

/* Computes a tile and sends it back; the tile before it is taken meanwhile. */
static int host_run_tile(halftone *h, struct host_job *j, const struct host_block *t, const char *a,
                         const char *b) {
    struct ht_host *const p = h->host;
    const int turn = (int)(j->tiles % HOST_TURNS);
    char *const c = j->c[turn];
    void *const out = p->stream[HOST_OUT];
    const size_t bytes = (size_t)(t->rows * t->cols) * element_bytes(&j->x);
    int code = HALFTONE_OK; /* the host has taken the tile that lay there: its copy is done */
    if (scalar_of(&j->x, j->x.beta) != 0.0)
        code = ht_host_copy_in(h, j, c, host_at(j, j->x.c, j->x.ldc, t->row, t->col), j->x.ldc, t->rows,
                               t->cols);
    if (AND_THEN(code, host_product(j, t, a, b, c)) != HALFTONE_OK)
        return code;
    code = ht_dev_event_record(p->event[HOST_PRODUCT], h->stream);
    AND_THEN(code, ht_dev_stream_wait(out, p->event[HOST_PRODUCT]));
    AND_THEN(code, ht_dev_copy_out(p->result[turn], c, bytes, out));
    AND_THEN(code, ht_dev_event_record(p->event[HOST_RESULT_FULL + turn], out));
    if (code != HT_DEV_OK)
        return ht_fail_device(h, code);
    j->given[turn] = *t;
    j->tiles++;
    return j->tiles - j->taken == HOST_TURNS ? ht_host_take(h, j) : HALFTONE_OK;
}

static int host_run(halftone *h, struct host_job *j) {
    struct ht_host_tiles tiles = j->all;
    struct host_block t;
    void *const resident_free = h->host->event[HOST_RESIDENT_FREE];
    const char *b = NULL; /* the present column's block of B */
    int64_t first = 0, loaded = 0, col = -1;
    int code = HALFTONE_OK;
    while (code == HALFTONE_OK && host_next(&tiles, &t)) {
        if (t.row / j->all.span * j->all.span != first) { /* another span, whose columns begin again */
            code = ht_fail_device(h, ht_dev_event_record(resident_free, h->stream));
            loaded = first = t.row / j->all.span * j->all.span;
            col = -1;
        }
        if (t.col != col) {
            char *const to = j->packs ? j->panels : j->operand[j->operand_turn];
            AND_THEN(code, host_load(h, j, 1, t.col, t.cols, to, NULL));
            j->operand_turn ^= !j->packs; /* of packed ones host_load does it */
            col = t.col;
            b = to;
        }
        char *const a = j->resident + (t.row - first) / j->all.tile_m * j->a_bytes;
        if (t.row >= loaded) {
            AND_THEN(code, host_load(h, j, 0, t.row, t.rows, a, resident_free));
            loaded = t.row + t.rows;
        }
        AND_THEN(code, host_run_tile(h, j, &t, a, b));
    }
    AND_THEN(code, ht_fail_device(h, ht_dev_event_record(resident_free, h->stream)));
    /* Nothing is left to wait for but what it recorded last: the stream may be gone when the events are.
     * Before the last tile is taken: behind it nothing may fail, since C is complete. */
    AND_THEN(code, ht_fail_device(h, ht_dev_stream_sync(h->stream)));
    while (code == HALFTONE_OK && j->taken < j->tiles)
        code = ht_host_take(h, j);
    return code;
}

/* ---- what is left after a failure ---- */

/* Keeps the tiles from number `taken` on for halftone_host_left; all where a triangle is copied. */
static void host_note_left(halftone *h, const struct host_job *j) {
    struct host_block t;
    h->left = j->all;
    h->left.m = j->taken > 0 ? j->x.m : 0;
    h->left.uplo = (char)(j->mirrors ? 'A' : j->all.uplo);
    for (int64_t i = 0; i < j->taken && !j->mirrors; i++)
        (void)host_next(&h->left, &t);
}

int halftone_host_left(halftone *handle, int64_t *row, int64_t *col, int64_t *rows, int64_t *cols) {
    struct host_block t;
    if (handle == NULL || row == NULL || col == NULL || rows == NULL || cols == NULL ||
        !host_next(&handle->left, &t))
        return 0;
    *row = t.row;
    *col = t.col;
    *rows = t.rows;
    *cols = t.cols;
    return 1;
}

/* ---- the calls ---- */

/* beta c as kernels have it, whose sum of nothing is 0 in FP32 and in exact arithmetic. */
static double host_scaled(const struct call *x, double beta, double c) {
    if (beta == 0.0 || (c == 0.0 && (!x->is_fp64 || x->adds_zero) && beta - beta == 0.0))
        return 0.0;
    return beta * c; /* FP32: rounded once, as the FP32 product is */
}

/* C = beta C. */
static void host_scale(const struct host_job *j) {
    const struct host_block all = {0, 0, j->x.m, j->x.n};
    const double beta = scalar_of(&j->x, j->x.beta);
    for (int64_t col = 0; col < j->x.n; col++) {
        int64_t row, last;
        host_rows_of_column(j, &all, col, &row, &last);
        for (; row < last; row++) {
            void *const c = host_at(j, j->x.c, j->x.ldc, row, col);
            const double value = host_scaled(&j->x, beta, beta == 0.0 ? 0.0 : scalar_of(&j->x, c));
            if (j->x.is_fp64)
                *(double *)c = value;
            else
                *(float *)c = (float)value;
        }
    }
}

static int host_try(halftone *h, struct host_job *j, int64_t limit) {
    int code = host_divide(h, j, h->host_tile > 0 ? h->host_tile : (int64_t)HOST_TILE, limit);
    AND_THEN(code, host_reserve(h, j));
    if (AND_THEN(code, host_run(h, j)) != HALFTONE_OK)
        ht_host_wait_all(h);
    ht_forget_packed(h, h->host->device, (int64_t)h->host->device_bytes); /* tiles, which no caller names */
    return code;
}

/* Where the caller says no number, one more for each 6 MB that are copied, up to 12 and to three quarters
 * of the CPUs. */
static int host_threads(const halftone *h, const struct host_job *j) {
    const double elements =
        (double)j->x.k * ((double)j->x.m + (double)j->x.n) + (double)j->x.m * (double)j->x.n;
    const double wanted = 1.0 + elements * (double)element_bytes(&j->x) / 6e6,
                 cpus = 0.75 * (double)sysconf(_SC_NPROCESSORS_ONLN);
    const double most = cpus < 1.0 ? 1.0 : cpus < 12.0 ? cpus : 12.0;
    return h->host_threads > 0 ? h->host_threads : (int)(wanted < most ? wanted : most);
}

/* With half the memory again while the device has too little of it and C is untouched. */
static int host_attempts(halftone *h, struct host_job *j) {
    int64_t limit = h->host_bytes > 0 ? (int64_t)h->host_bytes : h->device.memory_bytes / 2;
    int code = HALFTONE_OUT_OF_DEVICE_MEMORY;
    for (int i = 0; i < HOST_ATTEMPTS && code == HALFTONE_OUT_OF_DEVICE_MEMORY && j->taken == 0; i++) {
        j->tiles = 0;
        code = host_try(h, j, limit);
        limit /= 2;
    }
    return code;
}

static int host_multiply(halftone *h, struct host_job *j) {
    int capturing = 0, code = ht_fail_device(h, ht_dev_is_capturing(h->stream, &capturing));
    if (code == HALFTONE_OK && capturing)
        return ht_fail(h, HALFTONE_NOT_SUPPORTED,
                       "the stream is being captured, and C is needed on the host");
    if (AND_THEN(code, ht_host_open(h)) != HALFTONE_OK)
        return code;
    /* without a copy the triangles of X X^T would differ in last bits */
    j->mirrors = j->all.uplo == 'A' && is_gram(&j->x) && scalar_of(&j->x, j->x.beta) == 0.0;
    if (j->mirrors)
        j->all.uplo = 'L';
    code = ht_host_with_team(h, j, host_threads(h, j), host_attempts);
    if (code != HALFTONE_OK)
        host_note_left(h, j);
    return code;
}

HT_IN_OWN_FENV static int host_call(void *of) {
    struct host_job *const j = (struct host_job *)of;
    struct call *const c = &j->x;
    halftone *const h = c->h;
    const int mode = h->pointer_mode;
    h->pointer_mode = HALFTONE_HOST;
    int code = ht_check_gemm(c);
    if (AND_THEN(code, ht_check_extents(c)) == HALFTONE_OK && c->effect != EFFECT_NONE) {
        ht_enter_site(c, false);
        ht_settle_zeros(c);
        if (c->effect == EFFECT_SCALE)
            host_scale(j);
        code = ht_leave_site(c, c->effect != EFFECT_NONE,
                             c->effect == EFFECT_PRODUCT ? host_multiply(h, j) : HALFTONE_OK);
    }
    h->pointer_mode = mode;
    return code;
}

/* uplo 'A': all of C. */
static int host_begin(halftone *h, char uplo, struct call c, const void *alpha, const void *beta,
                      void *result, int64_t ldc) {
    if (ht_begin(h) != HALFTONE_OK)
        return HALFTONE_NULL_HANDLE;
    h->last_site = 0;
    h->left.m = 0;
    if (uplo == '\0' || strchr("ALUlu", uplo) == NULL)
        return ht_fail(h, -19, "uplo is neither L nor U");
    struct host_job j = HT_ZERO;
    j.all.m = c.m;
    j.all.n = c.n;
    j.all.uplo = (char)(uplo == 'l' ? 'L' : uplo == 'u' ? 'U' : uplo);
    j.x = c;
    j.x.alpha = alpha;
    j.x.beta = beta;
    j.x.c = result;
    j.x.ldc = ldc;
    return ht_in_own_fenv(host_call, &j);
}

#define HOST_PRODUCTS(gemm, syrk, real, is_fp64)                                                             \
    int gemm(halftone *handle, char transa, char transb, int64_t m, int64_t n, int64_t k, const real *alpha, \
             const real *a, int64_t lda, const real *b, int64_t ldb, const real *beta, real *c,              \
             int64_t ldc) {                                                                                  \
        const struct call sizes = call_of(handle, is_fp64, transa, transb, m, n, k, 1);                      \
        return host_begin(handle, 'A', with_operands(sizes, a, lda, 0, b, ldb, 0), alpha, beta, c, ldc);     \
    }                                                                                                        \
    int syrk(halftone *handle, char uplo, char trans, int64_t n, int64_t k, const real *alpha,               \
             const real *a, int64_t lda, const real *beta, real *c, int64_t ldc) {                           \
        const char other = is_trans(trans) ? 'N' : 'T';                                                      \
        const struct call sizes = call_of(handle, is_fp64, trans, other, n, n, k, 1);                        \
        return host_begin(handle, (char)(uplo == 'A' ? 0 : uplo),                                            \
                          with_operands(sizes, a, lda, 0, a, lda, 0), alpha, beta, c, ldc);                  \
    }
HOST_PRODUCTS(halftone_sgemm_host, halftone_ssyrk_host, float, false)
HOST_PRODUCTS(halftone_dgemm_host, halftone_dsyrk_host, double, true)

int halftone_set_host_threads(halftone *handle, int threads) {
    const int code = ht_begin(handle);
    if (code == HALFTONE_OK && (threads < 0 || threads > HOST_THREADS_MOST))
        return ht_fail(handle, -18, "%d threads; 0 to %d", threads, HOST_THREADS_MOST);
    if (code == HALFTONE_OK)
        handle->host_threads = threads;
    return code;
}

int halftone_set_host_tiles(halftone *handle, int64_t tile, size_t bytes) {
    if (ht_begin(handle) != HALFTONE_OK)
        return HALFTONE_NULL_HANDLE;
    if ((tile != 0 && tile < HOST_TILE_LEAST) || tile > HALFTONE_SIZE_MAX / 2 ||
        bytes > (size_t)INT64_MAX / 2)
        return ht_fail(handle, -18, "tiles of %lld rows and columns in %zu bytes", (long long)tile, bytes);
    handle->host_tile = tile;
    handle->host_bytes = bytes;
    return HALFTONE_OK;
}
