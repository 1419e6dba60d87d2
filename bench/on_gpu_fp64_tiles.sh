#!/bin/sh
# Tiles of native64 on FP64 tensor cores beside cuBLAS DGEMM on this machine: on_gpu_fp64_tiles.sh [OLD] >TABLE. OLD: a folder with the templates and
# runtime of another revision, whose tiles take turns with these. Needs nvcc for sm_90a and cuBLAS; 50 seconds on 16 cores.
set -eu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
here=$PWD

# tile ROOT LABEL BM BN BK WM WN STAGES MIN_BLOCKS
tile() {
    name=$2$3x$4x$5_w$6x$7_s$8
    mkdir "$work/$name"
    cp -r "$1/templates" "$work/$name/"
    ln -s "$(cd "$1" && pwd)/runtime" "$work/$name/runtime"
    sed -i "s/^constexpr int BM = .*/constexpr int BM = $3, BN = $4, BK = $5, WM = $6, WN = $7, STAGES = $8, MIN_BLOCKS = $9;/
            s!^#include \"../hooks/arch/sm80_dmma.cuh\"!#include \"../hooks/arch/sm90_dmma.cuh\"\n#include \"../hooks/arch/sm90_dmma64.cuh\"!" \
        "$work/$name/templates/samples/fp64_mma_tile.h"
    nvcc -std=c++17 -O3 -diag-suppress 177 -arch=sm_90a -DNAME="\"$name\"" -DTEMPLATE="\"$work/$name/templates/skeletons/fp64_mma_tile.cu\"" \
        -c -o "$work/$name.o" "$here/bench/fp64_tile.cu" || rm -f "$work/$name.o"
}

tile . "" 128 128 16 64 32 4 1 &
tile . "" 128 128 32 64 32 3 1 &
tile . "" 96 128 16 48 32 4 1 &
tile . "" 96 64 16 48 32 4 2 &
tile . "" 96 64 32 48 32 2 2 &
tile . "" 64 64 16 32 32 4 3 &
tile . "" 32 32 16 16 16 4 6 &
tile . "" 64 16 16 16 16 4 5 &
tile . "" 16 64 16 16 16 4 5 &
if [ $# -gt 0 ]; then
    tile "$1" old- 128 128 16 64 32 4 1 &
    tile "$1" old- 64 64 16 32 32 4 3 &
    tile "$1" old- 32 32 16 16 16 4 6 &
fi
wait
nvcc -std=c++20 -O2 -arch=sm_90a -o "$work/tiles" bench/fp64_tiles.cu "$work"/*.o -lcublas
state() { nvidia-smi --query-gpu=name,temperature.gpu,clocks.sm,power.draw --format=csv,noheader | sed "s/^/# $1: /"; }
state before
"$work/tiles"
state after
