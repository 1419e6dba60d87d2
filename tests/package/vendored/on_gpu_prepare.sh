#!/bin/sh
# on_gpu_prepare.sh BINARIES: vendors, builds each folder by the line of its own README with nvcc (no GPU needed), and leaves
# programs for on_gpu.sh. From the repository's root, after `make out/bin/halftone-gen`.
set -eu
mkdir -p "$1/vendored"
bin=$(cd "$1/vendored" && pwd) root=$PWD
PATH=$PATH:/usr/local/cuda/bin:$root/out/toolchain/nvidia/cu13/bin
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
build() { # build STEM VENDOR-OPTIONS...
    stem=$1
    shift
    "$root/out/bin/halftone-gen" vendor --out "$work/$stem" --scheme f16x3,legemm --lean "$@" --root "$root" >/dev/null
    cd "$work/$stem"
    sed -n '/^    nvcc.*ar rcs/p' README.md >build.sh
    sh -eu build.sh
    nvcc -x c -O2 -I. -DSTEM="$stem" -c "$root/tests/package/vendored/app.c" -o app.obj
    nvcc app.obj "lib$stem.a" -o "$bin/$stem"
    cd "$root"
}
build halftone --gpu a800
build both --gpu a800,h200 --prefix both_
build left --gpu h200 --prefix left_
build right --gpu a800 --prefix right_ --amalgamation
nvcc -O2 -I"$work/left" -I"$work/right" tests/package/vendored/two.cpp "$work/left/libleft.a" "$work/right/libright.a" -o "$bin/two"
build t4h --gpu t4,h200 --prefix t4h_ # on a GPU between them the kernels of the t4 run
ls "$bin"
