#!/bin/sh
# Everything that needs a GPU, in one call: on_gpu.sh BINARIES RESULTS COMMIT
# BINARIES (made by on_gpu_prepare.sh) holds a folder for each kernel set; RESULTS receives tables and logs.
set -u
bin=$1 out=$2 commit=$3
export LD_LIBRARY_PATH="$PWD/$bin:/usr/local/cuda/lib64:${LD_LIBRARY_PATH:-}"
toolkit=$(nvcc --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p')
stamp="--commit $commit --toolkit ${toolkit:-unknown}"
{
    nvidia-smi --query-gpu=name,driver_version,power.limit --format=csv,noheader
    for set in a800 t4; do
        echo "==== check of $set, commit $commit"
        sh tests/check_gpu.sh "$bin/$set"
    done
    echo "==== template and generated kernel"
    "$bin/a800/template_bits"
} >"$out/check.log" 2>&1
grep -E "^(--|====|[0-9]+ elements|[0-9]+ results)|passed|failed|skipped" "$out/check.log"
"$bin/a800/halftone" bench $stamp --sizes 512,1024,2048,4096,8192,16384 --seconds 0.4 --out "$out/h200-a800set-bench.tsv" 2>/dev/null
"$bin/a800/halftone" bench $stamp --sizes 4096,8192 --schemes egemm,legemm --kernels all --seconds 0.3 \
    --out "$out/h200-a800set-ablations.tsv" 2>/dev/null
"$bin/h200/halftone" bench $stamp --sizes 1024,2048,4096,8192 --schemes f16x3,legemm --seconds 0.3 \
    --out "$out/h200-native-bench.tsv" 2>/dev/null
"$bin/a800/halftone" bench $stamp --shapes bench/shapes-short.txt --schemes f16x3 --seconds 0.15 \
    --out "$out/h200-a800set-shapes.tsv" 2>/dev/null
mkdir -p "$out/report"
"$bin/a800/halftone" report --sizes 64,256,1024,4096 --out "$out/report" >"$out/report.log" 2>&1
tail -3 "$out/report.log"
rm -f "$out/report.log"
