#!/bin/sh
# Builds the sets of the promotion study: promotion_prepare.sh BINARIES GPU [sim]
# One set for each interval, with the ablation option of the generator. The budget says one SM that holds one block: then k is
# never split, and a chain is as long as the interval. A scheme is left out where one step of its kernels is longer than the interval.
set -eu
bin=$1 gpu=$2 what=${3:-gpu}
export MAKEFLAGS="${MAKEFLAGS:--j2}"
mkdir -p "$bin" out/study
for interval in 16 32 64 128 256 512 1024 none; do
    case $interval in
    16) schemes=tf32x3 ;;
    32) schemes="f16x3 tf32x3" ;;
    *) schemes="f16x3 bf16x6 bf16x9 tf32x3" ;;
    esac
    case $gpu,$interval in # sm_75 has FP16 alone
    t4,16) continue ;;
    t4,*) schemes=f16x3 ;;
    esac
    name=${gpu}_p$interval
    sed "s/^name *=.*/name = $name  # the promotion study/; s/^\(sms\|blocks_per_sm\) *=.*/\1 = 1  # no split-K/" \
        "gen/gpus/$gpu.gpu" >"out/study/$name.gpu"
    set -- GPU="out/study/$name.gpu" SCHEMES="$schemes" LEAN=1 PROMOTE="$interval"
    make -s "$@" generate >/dev/null
    if [ "$what" = sim ]; then
        make -s "$@" build-sim >/dev/null
        cp "out/$name/halftone-sim" "$bin/study-$name"
    else
        make -s "$@" build-device >/dev/null
        cp "out/$name/halftone" "$bin/study-$name"
        strip "$bin/study-$name" 2>/dev/null || true
    fi
    rm -r "out/$name" "out/study/$name.gpu"
done
