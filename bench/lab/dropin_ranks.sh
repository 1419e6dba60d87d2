#!/bin/sh
# The cuBLAS face with several GPUs: dropin_ranks.sh RESULTS, on a machine with two GPUs or more. As dropin.sh; each piece of
# dropin_ranks.py is a run of torchrun, natively beside the compiler, then under `halftone run`, 45 s at most. About 75 s.
set -u
out=$1 set_=${SET:-h200} limit=${LIMIT:-85} start=$(date +%s)
: "${PYTHON:=python3}"
mkdir -p "$out"
rm -f "$out"/native.tsv "$out"/face.tsv "$out"/calls.tsv "$out"/piece-*
export OMP_NUM_THREADS=4 NCCL_NVLS_ENABLE=0 TORCH_SYMM_MEM_DISABLE_MULTICAST=1 NVSHMEM_DISABLE_NVLS=1

spent() { echo $(($(date +%s) - start)); }

# ranks SIDE SECONDS PIECES
ranks() {
    log=$out/piece-$1-$3
    [ "$(spent)" -lt "$limit" ] || { echo "skipped after $(spent) s" >"$log.log"; return; }
    before="" launcher="-m torch.distributed.run --standalone --nproc-per-node 2"
    [ "$1" = native ] || before="out/$set_/halftone run --log $out/calls.tsv --"
    [ "$3" != devices ] || launcher=""
    # shellcheck disable=SC2086 # words
    timeout -s KILL "$2" $before "$PYTHON" $launcher bench/lab/dropin_ranks.py "$3" "$out" >"$log.log" 2>"$log.err"
    echo "exit code $?, until $(spent) s" >>"$log.log"
}

# BUILT=1: out/SET is there, built elsewhere.
[ "${BUILT:-0}" = 1 ] || { make -s -j28 GPU="$set_" LEAN=1 SCHEMES=f16x3,bf16x6u generate && make -s -j28 GPU="$set_" LEAN=1 SCHEMES=f16x3,bf16x6u build-device; } >"$out/build.log" 2>&1 &
build=$!
# NATIVE=0: not again.
[ "${NATIVE:-1}" = 0 ] || ranks native 40 ddp,fsdp,tensor,graph
wait $build || { tail -5 "$out/build.log"; exit 0; }
echo "built, and native pieces run, after $(spent) s"
ranks face 45 ddp,fsdp,tensor,graph
ranks face 15 devices
"$PYTHON" bench/lab/dropin_compare.py "$out" >"$out/compare.tsv"
cat "$out/compare.tsv"
for log in "$out"/piece-*.log; do
    echo "---- ${log##*/piece-}: $(tail -1 "$log")"
    grep FAILED "$log"
    case $(tail -1 "$log") in "exit code 0"*) ;; *) grep -v Warning "${log%.log}.err" | tail -8 ;; esac
    grep -A14 -E "^halftone" "${log%.log}.err" | cut -c 1-140
done
echo "took $(spent) s"
