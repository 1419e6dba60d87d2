#!/bin/sh
# Kernels of two blocks that share panels, on an H200: on_gpu_cluster.sh BINARIES RESULTS COMMIT
# BINARIES is made by on_gpu_cluster_prepare.sh. First that they are right (the bits of one-block kernels, and the same again;
# each command may take a minute: a kernel that hangs ends there), then every kernel at five sizes. About two minutes.
# RESULTS receives cluster.log, h200-cluster-f16x3.tsv, h200-cluster-i8x6.tsv and, of sizes where columns of C begin anywhere
# (goal: within 10 % of the even size), h200-cluster-odd.tsv.
set -u
bin=$1 out=$2 commit=$3
export LD_LIBRARY_PATH="$PWD/$bin:/usr/local/cuda/lib64:${LD_LIBRARY_PATH:-}"
toolkit=$(nvcc --version 2>/dev/null | sed -n 's/.*release \([0-9.]*\).*/\1/p')
mkdir -p "$out"
{
    echo "commit $commit"
    nvidia-smi --query-gpu=name,driver_version,power.limit --format=csv,noheader
    "$bin/max_clusters"
    for set in h200cluster h200cluster8; do
        echo "== $set: the same bits"
        timeout 60 "$bin/$set/cluster_bits" large || echo "FAILED ($?)"
    done
} >"$out/cluster.log" 2>&1
cat "$out/cluster.log"
grep -q FAILED "$out/cluster.log" && exit 1
table() { # table SET SCHEME SIZES
    timeout 100 "$bin/$1/halftone" bench --commit "$commit" --toolkit "${toolkit:-unknown}" --out "$out/h200-cluster-$2.tsv" \
        --schemes "$2" --kernels all --sizes "$3" --seconds 0.12 2>/dev/null
}
table h200cluster f16x3 512,1024,2048,4096,8192
table h200cluster8 i8x6 512,1024,2048,4096
for shape in 2048,2048,2048 2047,2049,2051 2046,2048,2048 4096,4096,4096 4095,4097,4099; do echo "$shape"; done | tr , ' ' >"$out/odd.txt"
timeout 60 "$bin/h200cluster/halftone" bench --commit "$commit" --toolkit "${toolkit:-unknown}" --out "$out/h200-cluster-odd.tsv" \
    --schemes f16x3 --shapes "$out/odd.txt" --seconds 0.12 2>/dev/null
