#!/bin/sh
# `halftone app` and `halftone tune-app` on a GPU: on_gpu_apps.sh OUT [SECONDS [SET [DATA]]]. Builds set SET, if it has no command yet (a800:
# MixPert's levels need mma.sync; runs on later GPUs by PTX), with the schemes of both lists of levels, then fills OUT/apps.txt with a line a search, and OUT/tables
# with tables and runs, most important first; starts nothing after SECONDS (default 110), building included. DATA: a folder of app_data.py.
set -u
out=$1 seconds=${2:-110} set=${3:-a800} data=${4:-}
mkdir -p "$out/tables"
log=$out/apps.txt
schemes=f16x3,bf16x6u,half,tf32,i8x3,i8x6,mixpert1,mixpert2,mixpert3,mixpert4
start=$(date +%s)
left() { echo $((seconds - ($(date +%s) - start))); }
say() { echo "$*" | tee -a "$log"; }
[ -x "out/$set/halftone" ] || { make -s GPU="$set" SCHEMES=$schemes LEAN=1 generate && make -s GPU="$set" SCHEMES=$schemes LEAN=1 build-device; } >"$out/build.log" 2>&1 ||
    { say "build failed: $(tail -3 "$out/build.log")"; exit 0; }
h=out/$set/halftone
[ -d "$data" ] && from="--data $data" || from=
say "built in $((seconds - $(left))) s; $("$h" --version)"

# PROGRAM... of `halftone app`: what it says of accuracy A.
once() {
    [ "$(left)" -gt 3 ] && say "$(timeout "$(left)" "$h" app "$@" 2>&1 | grep -v -e '^# .* products$' -e '^# times' | tr '\n' ' ')"
}

# NAME TAU LEVELS "PROGRAM" [more]: a line a search: error, ms, gain over the highest level, runs; the sites.
tune() {
    name=$1 tau=$2 levels=$3 program=$4
    shift 4
    [ "$(left)" -gt 3 ] || { say "$name $tau $levels: no time left"; return; }
    table=$out/tables/$name-$levels-$tau${1:+-exhaustive}
    timeout "$(left)" "$h" tune-app $program --tau "$tau" --levels "$levels" --repeats 2 --out "$table" "$@" >"$table.log" 2>&1
    sites=$(grep -s '^site=' "$table" | sed 's/site=//; s/ [a-z]*=/ /' | tr '\n' ',')
    say "$name tau $tau $levels${1:+ exhaustive}: $(tail -1 "$table.log" | cut -c1-200); $sites"
}

small="cholesky --n 2048" large="cholesky --n 8192 $from" larger="cholesky --n 16384 $from" layers="mlp --n 4096"
# Bits of small ones, to be held against the simulator's: halftone-sim app ... on any machine.
for a in fp32 mixpert4 mixpert1; do
    for program in "cholesky --n 256" "mlp --n 96"; do
        say "bits $program $a $("$h" app $program --accuracy $a | sed -n 's/^bits //p')"
    done
done
for a in cublas-sgemm fp32 mixpert4 mixpert1; do
    once $large --accuracy $a --repeats 2
    once $layers --accuracy $a --repeats 2
done
thresholds="5e-4 1e-4 1e-5 1e-6"
for tau in $thresholds; do
    tune chol8192 $tau mixpert "$large"
    tune mlp4096 $tau mixpert "$layers"
done
# Exhaustive search at a smaller n; its runs are made once for all tau.
for tau in $thresholds; do
    tune chol2048 $tau mixpert "$small"
    tune chol2048 $tau mixpert "$small" --exhaustive --journal "$out/tables/chol2048.runs"
    tune mlp4096 $tau mixpert "$layers" --exhaustive --journal "$out/tables/mlp4096.runs"
done
for tau in $thresholds; do
    tune mlp4096 $tau all "$layers"
    tune chol8192 $tau all "$large"
done
# The same table twice: the same bits.
for table in "$out"/tables/chol8192-mixpert-5e-4 "$out"/tables/chol8192-all-1e-4; do
    [ -f "$table" ] && [ "$(left)" -gt 6 ] && say "replay $(basename "$table") $(for i in 1 2; do "$h" app $large --sites "$table" | sed -n 's/^bits //p'; done | tr '\n' ' ')"
done
for a in cublas-sgemm fp32 mixpert4 mixpert1; do
    once $larger --accuracy $a --repeats 2
    once mlp --n 16384 --accuracy $a --repeats 2
done
for levels in all mixpert; do
    for tau in 5e-4 1e-4 1e-5; do
        tune chol16384 $tau $levels "$larger"
    done
done
[ -n "$from" ] && once mlp $from --accuracy mixpert1
say "$((seconds - $(left))) s"
