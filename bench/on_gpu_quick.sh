#!/bin/sh
set -u
bin=$1 out=$2
export LD_LIBRARY_PATH="$PWD/$bin:/usr/local/cuda/lib64:${LD_LIBRARY_PATH:-}"
for s in half legemm ootomo f16x3 i8x3 i8x6 i8x10; do
  for z in 1 17 64 65 130 200 257 400; do
    timeout 12 $bin/w201/halftone bench --schemes $s --kernels all --sizes $z --seconds 0.01 >$out/x.log 2>&1 || { echo "FAIL $s $z rc $?"; tail -2 $out/x.log; break; }
  done
done
for v in pA pB pC; do echo $v; timeout 60 $bin/$v bench --sizes 1024,2048,4096,8192 --schemes f16x3 --seconds 0.3 2>/dev/null | grep f16x3; done
timeout 60 $bin/halftone bench --sizes 4096,8192 --schemes f16x3 --seconds 0.3 2>/dev/null | grep f16x3
