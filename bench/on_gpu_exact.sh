#!/bin/sh
# Correctly rounded FP64 products on this machine's GPU: on_gpu_exact.sh RESULTS [SET]. RESULTS receives exact.tsv: every family at 256, all elements,
# and 100,000 elements at 4096 against exact sums (tests/kernels/exact_sum.h), sanitizers on small products, then times beside cuBLAS DGEMM, native64,
# crt15, crt20 and accuracy fp64; one graph replayed with other data. Needs gcc, CUDA with cuBLAS, and nvcc where out/SET/libhalftone.a is not there; 100 seconds on 16 cores.
set -eu
out=$1 set_=${2:-h200} cuda=${CUDA_HOME:-/usr/local/cuda}
mkdir -p "$out"
if [ ! -f "out/$set_/libhalftone.a" ]; then
    make -s GPU="$set_" SCHEMES=native64,crt15,crt20 generate >"$out/exact-build.log" 2>&1
    make -s GPU="$set_" SCHEMES=native64,crt15,crt20 "out/$set_/libhalftone.a" >>"$out/exact-build.log" 2>&1
fi
[ -x out/exact_card ] || gcc -std=gnu11 -O2 -o out/exact_card bench/exact_card.c -Iruntime -I"$cuda/include" "out/$set_/libhalftone.a" -L"$cuda/lib64" -lcublas -lcudart \
    -lstdc++ -lm -lpthread
export LD_LIBRARY_PATH="$cuda/lib64:${LD_LIBRARY_PATH:-}"
code=0
{
    nvidia-smi --query-gpu=name,driver_version --format=csv,noheader | sed 's/^/# device: /'
    out/exact_card check || code=1
    out/exact_card replay || code=1
    timeout 60 out/exact_card sample || code=1
    for tool in memcheck racecheck initcheck; do
        timeout 30 compute-sanitizer --tool $tool out/exact_card small 2>&1 | sed "s/^/# $tool: /" | tail -4
    done
    timeout 60 out/exact_card time || code=1
} >"$out/exact.tsv" 2>"$out/exact-errors.log"
exit $code
