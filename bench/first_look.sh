#!/bin/sh
# First look at a kernel set on a GPU: tests, then speed of every kernel. Binaries come from out/dev.
export LD_LIBRARY_PATH=$PWD/out/dev:$LD_LIBRARY_PATH
nvidia-smi --query-gpu=name,driver_version --format=csv,noheader
ls /usr/local/cuda/lib64/libcublas.so* 2>/dev/null; python3 -c "import nvidia.cublas,os;print(nvidia.cublas.__path__)" 2>/dev/null
time out/dev/test_product 2>&1 | tail -40
time out/dev/halftone-x bench --sizes 1024,4096,8192 --kernels all --seconds 0.3 --out $OUT/x.tsv
time out/dev/halftone bench --sizes 4096 --seconds 0.3 --out $OUT/a.tsv
cuobjdump --dump-resource-usage out/dev/halftone-x 2>/dev/null | head -5
