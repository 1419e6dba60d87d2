#!/bin/sh
set -u
bin=$1 out=$2
nvidia-smi --query-gpu=name,driver_version,power.limit,clocks.sm,clocks.max.sm --format=csv,noheader
ls -la /usr/lib/libnvidia-ml* /usr/lib/x86_64-linux-gnu/libnvidia-ml* 2>/dev/null
timeout 60 $bin/w6 bench --sizes 512,1024 --schemes f16x3 --kernels all --seconds 0.1 --out $out/w6s.tsv 2>/dev/null | cut -c1-260
timeout 150 $bin/w6 bench --sizes 2048,4096,8192 --schemes f16x3 --kernels all --seconds 0.3 --out $out/w6.tsv 2>/dev/null | cut -c1-260
for t in 2 3 4; do timeout 60 $bin/w$t bench --sizes 4096,8192 --schemes f16x3 --seconds 0.3 --out $out/w$t.tsv 2>/dev/null | grep f16x3 | cut -c1-260; done
timeout 60 $bin/a800 bench --sizes 4096,8192 --schemes f16x3,legemm --seconds 0.3 2>/dev/null | grep -E "f16x3|legemm"| cut -c1-260
timeout 60 $bin/all bench --sizes 1000,2048 --seconds 0.1 2>/dev/null | cut -c1-260
