#!/bin/sh
# FP64 beside cuBLAS' DGEMM on this machine: on_gpu_fp64.sh RESULTS [SET [SIZES]]. RESULTS receives fp64.tsv: correctness first (test_dgemm, where
# cmocka is), then error, rate and the time of each kernel (fp64_rate.py). Needs nvcc, and python3 with torch; 100 seconds on 16 cores.
set -eu
out=$1 set_=${2:-h200} sizes=${3:-1024,2048,4096,8192}
mkdir -p "$out"
make -s GPU="$set_" SCHEMES=native64,crt14,crt15,crt16 generate >"$out/fp64-build.log" 2>&1
make -s GPU="$set_" SCHEMES=native64,crt14,crt15,crt16 build-device >>"$out/fp64-build.log" 2>&1 || { tail -5 "$out/fp64-build.log" >&2; exit 1; }
{
    if make -s GPU="$set_" SCHEMES=native64,crt14,crt15,crt16 "out/$set_/test_dgemm" >>"$out/fp64-build.log" 2>&1; then
        "out/$set_/test_dgemm" 2>&1 | grep -E 'FAILED|PASSED|not |run\.$' | sed 's/^/# /' | head -20
    else
        echo "# test_dgemm was not built: no cmocka"
    fi
    python3 bench/fp64_rate.py "out/$set_/libhalftone.so" "$sizes"
} >"$out/fp64.tsv" 2>"$out/fp64-errors.log" || { tail -3 "$out/fp64-errors.log" >&2; exit 1; }
