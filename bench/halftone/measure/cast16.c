/* cast16: two operands in 16 bits on the device. See cast16.h. */
#include "measure/cast16.h"

#include <stdlib.h>

#include "measure/session.h"

static int upload(void **device, enum baseline_mode mode, const float *host, int64_t count, struct cli_error *f) {
    const size_t bytes = (size_t)count * sizeof(uint16_t);
    uint16_t *numbers = malloc(bytes + 1);
    if (numbers == NULL)
        return cli_error_memory(f, (double)bytes, "16-bit inputs");
    if (mode == BASELINE_FP16)
        baseline_to_half(host, numbers, (size_t)count);
    else
        baseline_to_bf16(host, numbers, (size_t)count);
    int status = session_device_check(ht_dev_alloc(device, bytes), "device memory", f);
    if (status == 0)
        status = session_device_check(ht_dev_upload(*device, numbers, bytes), "copy to the device", f);
    free(numbers);
    return status;
}

int cast16_open(struct cast16 *n, enum baseline_mode mode, const float *a, int64_t a_count, const float *b, int64_t b_count,
                struct cli_error *f) {
    n->a = n->b = NULL;
    return upload(&n->a, mode, a, a_count, f) == 0 ? upload(&n->b, mode, b, b_count, f) : -1;
}

void cast16_close(struct cast16 *n) {
    (void)ht_dev_free(n->a);
    (void)ht_dev_free(n->b);
    n->a = n->b = NULL;
}
