#!/bin/sh
# `halftone app` and `halftone tune-app` on a GPU: on_gpu_apps.sh OUT [SECONDS [SET [DATA [PART...]]]]. Builds set SET, if it has no command yet
# (h100: MixPert's levels by mma.sync, the others by wgmma; a800 for other cards), with the schemes of both lists of levels, then fills OUT/apps.txt
# with a line a search, and OUT/tables with tables and runs; starts nothing after SECONDS (default 110), building included. DATA: a folder of
# app_data.py (patches for Cholesky), or - for synthetic ones. TAUS: other thresholds than four. Parts, in this order unless named:
#   bits     of small programs, to be held against the simulator's: halftone-sim app ... on any machine
#   small    mlp n 4096 and cholesky n 2048, greedy and exhaustive search; cholesky n 8192
#   sites    a program that calls cuBLAS (sites_cublas.cu), tuned under `halftone run`, and run again with the table: OUT/sites.txt
#   best     cholesky n 8192, greedy and exhaustive search over MixPert's levels
#   mlp      n 16384, greedy and exhaustive search
#   middle   cholesky n 16384
#   largest, largest_all  cholesky n 32768, MixPert's levels and all
set -u
out=$1 seconds=${2:-110} set=${3:-h100} data=${4:--}
shift $(($# < 4 ? $# : 4))
[ $# -gt 0 ] || set -- bits small sites best mlp middle largest largest_all
mkdir -p "$out/tables"
log=$out/apps.txt
schemes=f16x3,bf16x6u,half,tf32,i8x3,i8x6,mixpert1,mixpert2,mixpert3,mixpert4
start=$(date +%s)
left() { echo $((seconds - ($(date +%s) - start))); }
say() { echo "$*" | tee -a "$log"; }
h=out/$set/halftone
[ -x "$h" ] || { make -s GPU="$set" SCHEMES=$schemes LEAN=1 generate && make -s -j"$(nproc)" GPU="$set" SCHEMES=$schemes LEAN=1 build-device; } >"$out/build.log" 2>&1 ||
    { say "build failed: $(tail -3 "$out/build.log")"; exit 0; }
[ -d "$data" ] && from="--data $data" || from=
taus=${TAUS:-5e-4,1e-4,1e-5,1e-6}
say "built in $((seconds - $(left))) s; $("$h" --version)"

# once PROGRAM...: what `halftone app` says.
once() {
    [ "$(left)" -gt 3 ] && say "$(timeout "$(left)" "$h" app "$@" 2>&1 | grep -v -e '^# .* products$' -e '^# times' | tr '\n' ' ') ($(left) s left)"
}

# tune NAME LEVELS "PROGRAM" [more]: all thresholds; a line for each: error, ms, gain over the highest level, runs; the sites.
tune() {
    name=$1 levels=$2 program=$3
    shift 3
    [ "$(left)" -gt 3 ] || { say "$name $levels: no time left"; return; }
    table=$out/tables/$name-$levels${1:+-exhaustive}
    timeout "$(left)" "$h" tune-app $program --tau $taus --levels "$levels" --out "$table" --journal "$out/tables/$name-$levels.runs" "$@" >"$table.log" 2>&1
    for tau in $(echo $taus | tr , ' '); do
        sites=$(grep -s '^site=' "$table-$tau" | sed 's/site=//; s/ [a-z]*=/ /' | tr '\n' ',')
        say "$name tau $tau $levels${1:+ exhaustive}: $(sed -n "/^# tau $tau\$/,/^# tau/p" "$table.log" | grep -e '^error' -e '^missed' | cut -c1-200); $sites"
    done
    say "$name $levels: $(tail -1 "$table.log" | cut -c1-150) ($(left) s left)"
}

replay() { # replay TABLE "PROGRAM": the same table twice, the same bits
    [ -f "$1" ] && [ "$(left)" -gt 10 ] && say "replay $(basename "$1") $(for i in 1 2; do timeout "$(left)" "$h" app $2 --sites "$1" | sed -n 's/^bits //p'; done | tr '\n' ' ')"
}

part_bits() {
    for a in fp32 mixpert4 mixpert1; do
        for program in "cholesky --n 256" "mlp --n 96"; do
            say "bits $program $a $("$h" app $program --accuracy $a | sed -n 's/^bits //p')"
        done
    done
}
part_small() {
    once mlp --n 4096 --accuracy cublas-sgemm
    tune mlp4096 mixpert "mlp --n 4096 --repeats 2"
    tune mlp4096 mixpert "mlp --n 4096 --repeats 2" --exhaustive
    tune mlp4096 all "mlp --n 4096 --repeats 2"
    tune chol2048 mixpert "cholesky --n 2048 --repeats 2"
    tune chol2048 mixpert "cholesky --n 2048 --repeats 2" --exhaustive
    once cholesky --n 8192 $from --accuracy cublas-sgemm
    tune chol8192 mixpert "cholesky --n 8192 $from"
    tune chol8192 all "cholesky --n 8192 $from"
    replay "$out/tables/chol8192-mixpert-5e-4" "cholesky --n 8192 $from"
    [ -n "$from" ] && once mlp $from --accuracy mixpert1
}
part_sites() {
    nvcc -O2 -o "$out/sites_cublas" bench/sites_cublas.cu -lcublas || return
    table=$out/tables/sites_cublas
    export HALFTONE_STRATEGY=eager # also where a level is predicted to be slower than cuBLAS
    {
        echo "cuBLAS: $("$out/sites_cublas")"
        echo "fp32: $("$h" run -- "$out/sites_cublas" 2>"$out/log")"
        cat "$out/log"
        timeout "$(left)" "$h" tune-app --tau $taus --levels mixpert --out "$table" -- "$h" run -- "$out/sites_cublas" 2>"$out/log"
        tail -1 "$out/log"
        for tau in $(echo $taus | tr , ' '); do
            [ -f "$table-$tau" ] || continue
            cat "$table-$tau"
            for again in 1 2; do echo "again, $tau: $("$h" run --sites "$table-$tau" -- "$out/sites_cublas" 2>"$out/log")"; done
            grep '^  site' "$out/log"
        done
    } 2>&1 | tee "$out/sites.txt"
    unset HALFTONE_STRATEGY
    say "sites: $(grep -c '^again' "$out/sites.txt") runs by tables ($(left) s left)"
}
part_best() {
    tune chol8192 mixpert "cholesky --n 8192 $from"
    tune chol8192 mixpert "cholesky --n 8192 $from" --exhaustive
    replay "$out/tables/chol8192-mixpert-1e-4" "cholesky --n 8192 $from"
}
part_mlp() {
    once mlp --n 16384 --accuracy cublas-sgemm
    tune mlp16384 mixpert "mlp --n 16384"
    tune mlp16384 all "mlp --n 16384"
    tune mlp16384 mixpert "mlp --n 16384" --exhaustive
}
part_middle() {
    once cholesky --n 16384 $from --accuracy cublas-sgemm
    tune chol16384 mixpert "cholesky --n 16384 $from"
    tune chol16384 all "cholesky --n 16384 $from"
}
part_largest() {
    once cholesky --n 32768 $from --accuracy cublas-sgemm
    tune chol32768 mixpert "cholesky --n 32768 $from"
    replay "$out/tables/chol32768-mixpert-5e-4" "cholesky --n 32768 $from"
}
part_largest_all() {
    tune chol32768 all "cholesky --n 32768 $from"
}
for part; do
    [ "$(left)" -gt 3 ] && "part_$part"
done
say "$((seconds - $(left))) s"
