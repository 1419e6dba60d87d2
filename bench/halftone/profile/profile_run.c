/* profile_run.c: how a unit's tiles get to the device and back. See profile.h, profile_cases.h. */
#include "profile/profile.h"

#include <stdlib.h>
#include <string.h>

#include "measure/session.h"
#include "profile/profile_cases.h"

static int is_warpgroup(const struct profile_unit *unit) {
    return unit->rows == PROFILE_MOST_ROWS;
}

/* Rows of 32 bytes, step by step beside one another in rows of 128, whose 16-byte chunks the swizzle exchanges: address
 * bits 4 to 6 by bits 7 to 9 (PTX ISA, "Swizzling modes"). */
static void place_rows(unsigned char *image, int first_row, int rows, int step, const unsigned char *from) {
    enum { CHUNK = 16, STEP = 32 };
    for (int row = 0; row < rows; row++)
        for (int chunk = 0; chunk < STEP / CHUNK; chunk++) {
            const int at = (first_row + row) * PROFILE_IMAGE_ROW + step * STEP + chunk * CHUNK;
            memcpy(image + (at ^ (at >> 7 & 7) << 4), from + row * STEP + chunk * CHUNK, CHUNK);
        }
}

static unsigned char *make_images(const struct profile_tiles *t, int tiles) {
    unsigned char *images = calloc((size_t)(tiles / PROFILE_IMAGE_TILES), PROFILE_IMAGE_BYTES);
    for (int tile = 0; images != NULL && tile < t->count; tile++) {
        unsigned char *image = images + (size_t)(tile / PROFILE_IMAGE_TILES) * PROFILE_IMAGE_BYTES;
        const int step = tile % PROFILE_IMAGE_TILES;
        place_rows(image, 0, PROFILE_COLUMNS, step, t->b + (size_t)tile * t->b_bytes);
        place_rows(image, PROFILE_COLUMNS, PROFILE_MOST_ROWS, step, t->a + (size_t)tile * t->a_bytes);
    }
    return images;
}

struct memory {
    void *a, *b, *c, *d; /* on the device */
};

static int open_memory(struct memory *m, size_t a_bytes, size_t b_bytes, size_t c_bytes) {
    int code = ht_dev_alloc(&m->a, a_bytes);
    code = code == HT_DEV_OK ? ht_dev_alloc(&m->b, b_bytes) : code;
    code = code == HT_DEV_OK ? ht_dev_alloc(&m->c, c_bytes) : code;
    return code == HT_DEV_OK ? ht_dev_alloc(&m->d, c_bytes) : code;
}

static void close_memory(struct memory *m) {
    (void)ht_dev_free(m->a);
    (void)ht_dev_free(m->b);
    (void)ht_dev_free(m->c);
    (void)ht_dev_free(m->d);
}

int profile_run(struct profile_tiles *t, struct cli_error *f) {
    const int tiles = (t->count + PROFILE_IMAGE_TILES - 1) / PROFILE_IMAGE_TILES * PROFILE_IMAGE_TILES;
    const size_t n = (size_t)t->count, d_bytes = n * t->values * sizeof *t->d;
    const size_t b_bytes = n * t->b_bytes, padded = (size_t)tiles * t->values * sizeof *t->d;
    size_t a_bytes = n * t->a_bytes;
    unsigned char *images = NULL;
    struct memory m = {NULL, NULL, NULL, NULL};
    if (is_warpgroup(t->unit)) {
        a_bytes = (size_t)(tiles / PROFILE_IMAGE_TILES) * PROFILE_IMAGE_BYTES;
        images = make_images(t, tiles);
        if (images == NULL)
            return cli_error_memory(f, (double)a_bytes, "the operands of warpgroups");
    }
    int code = open_memory(&m, a_bytes, b_bytes, padded);
    code = code == HT_DEV_OK ? ht_dev_upload(m.a, images != NULL ? images : t->a, a_bytes) : code;
    code = code == HT_DEV_OK ? ht_dev_upload(m.b, t->b, b_bytes) : code;
    code = code == HT_DEV_OK ? ht_dev_memset_async(m.c, 0, padded, NULL) : code;
    code = code == HT_DEV_OK ? ht_dev_upload(m.c, t->c, d_bytes) : code;
    if (code == HT_DEV_OK) {
        const struct profile_args args = {m.a, m.b, m.c, m.d};
        const int launched = is_warpgroup(t->unit) ? tiles : t->count;
        code = ht_dev_check(profile_launch((int)(t->unit - profile_units), &args, launched));
    }
    code = code == HT_DEV_OK ? ht_dev_download(t->d, m.d, d_bytes) : code;
    const int status = session_device_check(code, t->unit->name, f); /* before freeing forgets the words */
    close_memory(&m);
    free(images);
    return status;
}
