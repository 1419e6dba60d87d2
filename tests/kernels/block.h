/* block.h: memory of a test, a host copy and a device copy. Include it after cmocka.h and ht_dev.h. */
#ifndef TESTS_BLOCK_H
#define TESTS_BLOCK_H
#include <stdlib.h>
#include <string.h>

struct block {
    void *host, *device;
    size_t bytes;
};

/* All bytes of both copies 0xff: NaN; -1. */
static inline struct block block_make(size_t bytes) {
    struct block b = {malloc(bytes), NULL, bytes};
    assert_non_null(b.host);
    memset(b.host, 0xff, bytes);
    assert_int_equal(ht_dev_alloc(&b.device, bytes), HT_DEV_OK);
    assert_int_equal(ht_dev_upload(b.device, b.host, b.bytes), HT_DEV_OK);
    return b;
}

static inline void block_up(const struct block *b) {
    assert_int_equal(ht_dev_upload(b->device, b->host, b->bytes), HT_DEV_OK);
}

static inline void block_down(const struct block *b) {
    assert_int_equal(ht_dev_download(b->host, b->device, b->bytes), HT_DEV_OK);
}

static inline void block_free(struct block *b) {
    free(b->host);
    ht_dev_free(b->device);
}

#endif
