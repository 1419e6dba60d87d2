#!/bin/sh
# The table of Mukunoki et al. (2020) on this machine's GPU: on_gpu_ozaki.sh RESULTS [SET [SECONDS [SIZES...]]]. RESULTS receives ozaki.tsv: GFLOPS of
# DGEMM, ozaki and ozaki-cr for phi = 0.1, 1, 2 at n = 4096 and 10240, slices, errors of 100,000 elements against exact sums; and
# ozaki-hashes.txt, bits of small products (tests/kernels/test_ozaki.py has the simulator's). No row begins after
# SECONDS (60). Needs nvcc and cuBLAS; fails where an element of ozaki-cr is not correctly rounded.
set -eu
out=$1 set_=${2:-h200} seconds=${3:-60}
[ $# -gt 2 ] && shift 3 || shift $#
mkdir -p "$out"
make -s GPU="$set_" SCHEMES=native64,ozaki generate >"$out/ozaki-build.log" 2>&1
make -s GPU="$set_" SCHEMES=native64,ozaki "out/$set_/libhalftone.a" >>"$out/ozaki-build.log" 2>&1 || { tail -5 "$out/ozaki-build.log" >&2; exit 1; }
nvcc -O3 -std=c++17 -arch=native -Xcompiler -pthread "-Iout/$set_" bench/ozaki_rate.cu "out/$set_/libhalftone.a" -lcublas -o "out/$set_/ozaki_rate" >>"$out/ozaki-build.log" 2>&1
gcc -O1 tests/kernels/ozaki_hashes.c "out/$set_/libhalftone.a" -o "out/$set_/ozaki_hashes" "-L${CUDA_HOME:-/usr/local/cuda}/lib64" -lcudart_static -lstdc++ -lm -ldl -lrt -lpthread >>"$out/ozaki-build.log" 2>&1
"out/$set_/ozaki_hashes" >"$out/ozaki-hashes.txt"
{ echo "# commit $(git rev-parse --short HEAD 2>/dev/null || echo unknown), set $set_"; "out/$set_/ozaki_rate" "$seconds" "$@"; } >"$out/ozaki.tsv"
