#!/bin/sh
# on_gpu.sh prepare BINARIES: vendors, builds each folder by the line of its own README with nvcc (no GPU needed), and leaves programs.
# From the repository's root, after `make out/bin/halftone-gen`.
# on_gpu.sh run BINARIES GPU: runs these on this machine's GPU. GPU: the set that a library of a800 and h200 must choose here (h200 on
# capability 9.0, else a800).
set -u
if [ "$1" = prepare ]; then
set -e
mkdir -p "$2/vendored"
bin=$(cd "$2/vendored" && pwd) root=$PWD
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
    sed "s/halftone/$stem/g" "$root/bench/examples/gemm.c" >gemm.c
    nvcc -O2 -I. -c gemm.c -o app.obj
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
exit 0
fi

bin=$2/vendored want=$3 failed=0
expect() { # expect PROGRAM TEXT
    text=$("$bin/$1" 2>&1)
    code=$?
    case "$code $text" in
    "0 "*"$2"*) echo "vendored $1: $text" ;;
    *) echo "vendored $1: FAILED, code $code: $text (expected: $2)" && failed=1 ;;
    esac
}
expect halftone "kernels of a800"
expect both "kernels of $want"
expect right "kernels of a800"
[ "$want" = h200 ] && expect left "kernels of h200" && expect two "15 15" && expect t4h "kernels of h200"
[ "$want" = h200 ] || expect t4h "kernels of t4"
exit $failed
