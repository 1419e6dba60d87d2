#!/bin/sh
# Builds what on_gpu.sh, on_gpu_probe.sh and on_gpu_tune.sh run and puts it into one folder: on_gpu_prepare.sh BINARIES. Needs nvcc, no GPU.
# Beside it BINARIES.tar.xz, which is all that need be carried: ten programs with the same library inside are not much more than one (set
# h200: 119 MB, 6 packed). on_gpu_unpack.sh, which those three call, unpacks it where the folder is missing.
set -eu
bin=$1
for set in a800 t4 h200; do
    make -s GPU=$set
    make -s check-gpu-build GPU=$set
    mkdir -p "$bin/$set"
    for program in halftone test_product test_direct test_check test_auto test_reproducible test_accuracy result_hashes result_hashes-sim graph; do
        [ -x out/$set/$program ] && cp out/$set/$program "$bin/$set/"
    done
done
nvcc=$(command -v nvcc || echo out/toolchain/nvidia/cu13/bin/nvcc)
"$nvcc" -x cu -std=c++17 -diag-suppress 177 -gencode 'arch=compute_80,code=[sm_80,compute_80]' \
    -DKERNEL=ht_f16x3_mma_128x128x32_w64x32_s3_sm80 -c tests/kernels/template_bits.cpp -o out/a800/obj/template_bits.o
"$nvcc" -o "$bin/a800/template_bits" out/a800/obj/template_bits.o out/obj/bench/accuracy/families.o out/obj/bench/io/threads.o out/a800/libhalftone.a -lm
cp out/bin/halftone-gen "$bin/"
sh tests/package/vendored/on_gpu_prepare.sh "$bin"
cp /usr/lib/*/libcmocka.so.0 "$bin/"
find "$bin" -type f -perm -100 -exec strip {} + 2>/dev/null || true # less to carry
tar -C "$bin" -cf "$bin.tar" .
xz -f --lzma2=preset=6,dict=64MiB "$bin.tar"
