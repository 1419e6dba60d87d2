#!/bin/sh
# R and Octave as they are, on the host's memory, with the reference BLAS, with OpenBLAS, and with OpenBLAS under libhalftone_blas.so of SET (default
# h200; SIM=-sim: the simulator's command): host_programs.sh RESULTS PROGRAMS, by bench/lab/run host-programs, on a machine with a GPU. PROGRAMS is the
# folder that host_programs_pack.sh made; nothing is installed. RESULTS receives programs.tsv, lines of hostblas_r.R and hostblas_octave.m, which end
# where a check of theirs fails; calls.tsv, the face's log; run.err, what programs and `halftone run` wrote to stderr.
set -u
out=$1 programs=$(cd "$2" && pwd)
rm -f "$out/programs.tsv" "$out/calls.tsv" "$out/run.err"
run="out/${SET:-h200}/halftone${SIM:-} run --blas --log $out/calls.tsv --"

# program R|Octave NAME FACE FOLDER TIMES SIZE...: the words of FACE before it, FOLDER with its BLAS ("": the reference).
program() {
    which=$1 name=$2 face=$3 libraries=${4:+$programs/$4:}$programs/lib:$programs/R/lib
    shift 4
    echo "---- $which, $name" >>"$out/run.err"
    command="$programs/octave/octave-cli --norc --no-history bench/lab/hostblas_octave.m"
    [ "$which" = Octave ] || command="$programs/R/bin/exec/R --vanilla --no-echo -f bench/lab/hostblas_r.R --args"
    # shellcheck disable=SC2086 # words
    LC_ALL=C R_HOME=$programs/R OCTAVE_HOME=$programs/octave LD_LIBRARY_PATH=$libraries:${LD_LIBRARY_PATH:-} \
        timeout -s KILL 40 $face $command "$name" "$@" >>"$out/programs.tsv" 2>>"$out/run.err" || echo "$which, $name: exit code $?"
}

echo "$(nproc) cores; $(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null)"
# shellcheck disable=SC2086 # words
for which in ${WHICH:-R Octave}; do
    program $which reference "" "" 0 ${REFERENCE:-1024} &
    program $which OpenBLAS "" openblas 3 ${SIZES:-1024 2048 4096}
    wait
    HALFTONE_BLAS_START_MS=0 program $which face "$run" openblas 3 ${SIZES:-1024 2048 4096} # each size for itself
    program $which "face, by default" "$run" openblas 3 ${SIZES:-1024 2048 4096}
    program $which "face, reference" "$run" "" 0 ${SIZES:-2048 4096}
done
awk -F'\t' '
    { of = sprintf("%-6s %-7s %5d %-12s", $2, $3, $4, $5); if (!(of in seen)) { seen[of] = 1; line[++lines] = of } best[of, $1] = $7; error[of, $1] = $8 }
    function ms(of, name) { return (of, name) in best ? sprintf("%8.1f", 1000 * best[of, name]) : "       -" }
    function units(of, name) { return (of, name) in error ? sprintf("%6.3g", error[of, name]) : "     -" }
    function over(of, name) { return (of, name) in best && best[of, "face"] > 0 ? sprintf("%6.2f", best[of, name] / best[of, "face"]) : "     -" }
    END {
        print "best ms: reference, OpenBLAS, face, by default, before the reference | OpenBLAS and reference over face | errors: reference, OpenBLAS, face"
        for (i = 1; i <= lines; i++) {
            of = line[i]
            print of, ms(of, "reference"), ms(of, "OpenBLAS"), ms(of, "face"), ms(of, "face, by default"), ms(of, "face, reference"), "|", over(of, "OpenBLAS"), over(of, "reference"), "|",
                units(of, "reference"), units(of, "OpenBLAS"), units(of, "face")
        }
    }' "$out/programs.tsv"
grep -v -e "^----" "$out/run.err" | sort | uniq -c | cut -c 1-140 | head -24
