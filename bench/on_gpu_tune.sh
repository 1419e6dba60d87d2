#!/bin/sh
# `halftone tune` on a GPU: on_gpu_tune.sh BINARIES RESULTS [SET [SECONDS [SCHEMES [SHAPES]]]]
# BINARIES is made by on_gpu_prepare.sh. RESULTS receives tune-SET.tsv; a table that is there already is
# continued. SECONDS: stops after about that time (default 400). SET: whose kernels (h200).
set -eu
bin=$1 out=$2 set=${3:-h200} seconds=${4:-400} schemes=${5:-f16x3} shapes=${6:-bench/shapes.txt}
sh bench/on_gpu_unpack.sh "$bin"
export LD_LIBRARY_PATH="$PWD/$bin:/usr/local/cuda/lib64:${LD_LIBRARY_PATH:-}"
mkdir -p "$out"
[ -f "bench/results/tune-$set.tsv" ] && [ ! -f "$out/tune-$set.tsv" ] && cp "bench/results/tune-$set.tsv" "$out/"
"$bin/$set/halftone" tune --shapes "$shapes" --schemes "$schemes" --seconds 0.05 --budget "$seconds" \
    --out "$out/tune-$set.tsv"
