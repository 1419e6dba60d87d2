/* card: what fails a test on a card, with the library's words. */
#ifndef HT_TEST_CARD_H
#define HT_TEST_CARD_H

#include <cuda_runtime_api.h>

#include "../../runtime/halftone.h"
#include "../test.h"

static void cuda(cudaError_t error, const char *what) {
    if (error != cudaSuccess)
        fail_msg("%s: %s", what, cudaGetErrorString(error));
}

static void ours(int code, const halftone *h, const char *what) {
    if (code != HALFTONE_OK)
        fail_msg("%s: %s: %s", what, halftone_strerror(code), halftone_last_detail(h));
}

#endif
