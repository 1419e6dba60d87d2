#!/bin/sh
# FP64 products beside those of others on this machine's GPU: on_gpu_fp64_rivals.sh RESULTS [SIZES...]. RESULTS receives fp64-rivals.tsv (bench/fp64_rivals.cu).
# SET (default h200) is built with SCHEMES. CUBLAS: a folder with a newer libcublas.so.13, libcublasLt.so.13 and include/, instead of CUDA's.
# GEMMUL8: a checkout of RIKEN-RCCS/GEMMul8's folder GEMMul8, built with nvcc if its object is not there. Nothing of either is part of this project. FAMILIES (default uniform).
set -eu
out=$1 set_=${SET:-h200} cuda=${CUDA_HOME:-/usr/local/cuda}
[ $# -gt 1 ] && shift || set -- x 4096 8192
[ "$1" = x ] && shift
mkdir -p "$out"
libraries=${CUBLAS:-$cuda/lib64} headers=${CUBLAS:+-I$CUBLAS/include} gemmul8=${GEMMUL8:-}
if [ ! -f "out/$set_/libhalftone.a" ]; then
    make -s GPU="$set_" SCHEMES="${SCHEMES:-native64,crt14,crt15}" generate >"$out/rivals-build.log" 2>&1
    make -s -j"$(nproc)" GPU="$set_" SCHEMES="${SCHEMES:-native64,crt14,crt15}" "out/$set_/libhalftone.a" >>"$out/rivals-build.log" 2>&1
fi
other=
if [ -n "$gemmul8" ]; then
    other=$gemmul8/gemmul8.o
    # shellcheck disable=SC2086 # an option or none
    [ -f "$other" ] || nvcc -std=c++20 -O3 -diag-suppress 177 -arch=native $headers -I"$gemmul8/include" -c "$gemmul8/src/gemmul8.cu" -o "$other"
fi
# shellcheck disable=SC2086 # options or none
nvcc -O2 -std=c++20 -arch=native -Xcompiler -pthread $headers ${gemmul8:+-DGEMMUL8 -I$gemmul8/include} "-Iout/$set_" -Iruntime bench/fp64_rivals.cu $other \
    "out/$set_/libhalftone.a" -L"$libraries" -lcublas -lcublasLt -lcuda -lnvidia-ml -o "out/$set_/fp64_rivals"
{
    echo "# commit ${COMMIT:-$(git rev-parse --short HEAD 2>/dev/null || echo unknown)}, set $set_"
    nvidia-smi --query-gpu=name,driver_version,power.limit --format=csv,noheader | sed 's/^/# device: /'
    for family in ${FAMILIES:-uniform}; do
        LD_LIBRARY_PATH="$libraries:$cuda/lib64:${LD_LIBRARY_PATH:-}" "out/$set_/fp64_rivals" "$family" "$@"
    done
} >"$out/fp64-rivals.tsv" 2>"$out/rivals-errors.log" || { tail -3 "$out/rivals-errors.log" >&2; exit 1; }
