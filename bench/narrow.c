/* narrow: two operands in 16 bits on the device. See narrow.h. */
#include "narrow.h"

#include <stdlib.h>

#include "engine.h"

static int upload(void **device, enum yardstick_mode mode, const float *host, int64_t count, struct fault *f) {
    const size_t bytes = (size_t)count * sizeof(uint16_t);
    uint16_t *numbers = malloc(bytes + 1);
    if (numbers == NULL)
        return fault_memory(f, (double)bytes, "16-bit inputs");
    if (mode == YARDSTICK_FP16)
        yardstick_to_half(host, numbers, (size_t)count);
    else
        yardstick_to_bf16(host, numbers, (size_t)count);
    int status = engine_device_check(ht_dev_alloc(device, bytes), "device memory", f);
    if (status == 0)
        status = engine_device_check(ht_dev_upload(*device, numbers, bytes), "copy to the device", f);
    free(numbers);
    return status;
}

int narrow_open(struct narrow *n, enum yardstick_mode mode, const float *a, int64_t a_count, const float *b, int64_t b_count,
                struct fault *f) {
    n->a = n->b = NULL;
    return upload(&n->a, mode, a, a_count, f) == 0 ? upload(&n->b, mode, b, b_count, f) : -1;
}

void narrow_close(struct narrow *n) {
    (void)ht_dev_free(n->a);
    (void)ht_dev_free(n->b);
    n->a = n->b = NULL;
}
