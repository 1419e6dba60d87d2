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
    echo "==== vendored folders"
    sh tests/vendored/on_gpu.sh "$bin" h200
    echo "==== template and generated kernel"
    "$bin/a800/template_bits"
} >"$out/check.log" 2>&1
grep -E "^(--|====|vendored|[0-9]+ elements|[0-9]+ results)|passed|failed|skipped" "$out/check.log"
bench() { # bench SET TABLE OPTIONS...
    set=$1 table=$2
    shift 2
    "$bin/$set/halftone" bench $stamp --out "$out/$table.tsv" "$@" 2>/dev/null
}
bench a800 h200-a800set-schemes --sizes 512,1024,2048,4096,8192,16384 --seconds 0.3
bench t4 h200-t4set-schemes --sizes 1024,4096 --seconds 0.3
bench a800 h200-ablations --sizes 4096,8192 --schemes egemm,legemm --kernels all --seconds 0.3
bench h200 h200-native-schemes --sizes 1024,2048,4096,8192 --schemes f16x3,legemm --seconds 0.3
bench a800 h200-a800set-shapes --shapes bench/shapes-short.txt --schemes f16x3 --seconds 0.15
mkdir -p "$out/report"
"$bin/a800/halftone" report --sizes 64,256,1024,4096 --out "$out/report" 2>&1 | tail -3
