#!/bin/sh
# Builds what on_gpu_cluster.sh runs and puts it into one folder: on_gpu_cluster_prepare.sh BINARIES. Needs nvcc, no GPU.
# Two sets: f16x3 and i8x6 of the H200 with candidates where two blocks share panels (_c2), and the same tiles without.
set -eu
bin=$1
mkdir -p out/budgets
build() { # build SET SCHEME TILES
    cp gen/gpus/h200.gpu "out/budgets/$1.gpu"
    set -- "$1" GPU="out/budgets/$1.gpu" SCHEMES="$2" TILES="$3"
    name=$1
    shift
    make -s "$@" all
    make -s "$@" "out/$name/cluster_bits"
    mkdir -p "$bin/$name"
    cp "out/$name/halftone" "out/$name/cluster_bits" "$bin/$name/"
}
pairs() { # pairs TILE...: each with and without a second block
    for tile in "$@"; do printf '%s,%s_c2,' "$tile" "$tile"; done | sed 's/,$//'
}
build h200cluster f16x3 "$(pairs 64x128x32_wg64x64_s8 64x64x32_wg64x64_s8 128x128x32_wg128x64_s6 128x256x32_wg128x128_s4 192x128x32_wg192x64_s4)"
build h200cluster8 i8x6 "$(pairs 64x128x128_wg64x64_s3 64x64x128_wg64x64_s4 128x128x128_wg128x64_s2)"
nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x out/toolchain/nvidia/cu13/bin/nvcc ] && nvcc=out/toolchain/nvidia/cu13/bin/nvcc
"$nvcc" -arch=sm_90a -o "$bin/max_clusters" bench/measure/max_clusters.cu
find "$bin" -type f -perm -100 -exec strip {} + 2>/dev/null || true # less to carry
