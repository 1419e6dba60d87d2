// Two copies of the library with prefixes of their own in one C++ program: both headers in one file, both libraries linked,
// one product with each.
#include <cuda_runtime_api.h>
#include <cstdio>

#include "left.h"
#include "right.h"

template <class Handle, class Create, class Sgemm, class Destroy>
static float product(Create create, Sgemm sgemm, Destroy destroy) {
    Handle *h = nullptr;
    float host[3] = {3, 5, 0}, one = 1, zero = 0, *device = nullptr;
    if (create(&h) != 0 || cudaMalloc((void **)&device, sizeof host) != cudaSuccess)
        return -1;
    cudaMemcpy(device, host, sizeof host, cudaMemcpyHostToDevice);
    int code = sgemm(h, 'N', 'N', 1, 1, 1, &one, device, 1, device + 1, 1, &zero, device + 2, 1);
    cudaMemcpy(host, device, sizeof host, cudaMemcpyDeviceToHost);
    cudaFree(device);
    destroy(h);
    return code == 0 ? host[2] : -1;
}

int main() {
    float x = product<left>(left_create, left_sgemm, left_destroy);
    float y = product<right>(right_create, right_sgemm, right_destroy);
    std::printf("%g %g\n", x, y);
    return x == 15 && y == 15 && (int)LEFT_OK == (int)RIGHT_OK ? 0 : 1;
}
