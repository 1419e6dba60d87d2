/* wgmma_kernel: the template that -DTEMPLATE="..." names, compiled by itself: wgmma_ss or a broken copy of it, for
 * wgmma_product.cpp. */
#include "../../runtime/ht_abi.h"

namespace warpgroup {
#include TEMPLATE
}

int wgmma_init(void) {
    return warpgroup::init();
}

int wgmma_launch(const ht_gemm_args &g, void *stream) {
    return warpgroup::launch(g, stream);
}
