#!/bin/sh
set -u
bin=$1 out=$2
export LD_LIBRARY_PATH="$PWD/$bin:/usr/local/cuda/lib64:${LD_LIBRARY_PATH:-}"
timeout 100 $bin/w201/test_product >$out/test.log 2>&1; echo rc $?; tail -3 $out/test.log; grep -E "ERROR|error" $out/test.log | head -5
timeout 60 $bin/w201/graph 2>&1 | tail -2
for s in w200 w202 w203; do
timeout 40 $bin/$s bench --sizes 512,1024,2048 --kernels all --schemes $(case $s in w200) echo f16x3;; w202) echo i8x6;; w203) echo i8x3;; esac) --seconds 0.1 --out $out/$s.small.tsv >/dev/null 2>&1
timeout 60 $bin/$s bench --sizes 4096,8192 --kernels all --schemes $(case $s in w200) echo f16x3;; w202) echo i8x6;; w203) echo i8x3;; esac) --seconds 0.2 --out $out/$s.large.tsv >/dev/null 2>&1
done
timeout 60 $bin/a800 bench --sizes 4096,8192 --schemes f16x3,i8x6,bf16x3 --seconds 0.3 --out $out/a800.tsv >/dev/null 2>&1
