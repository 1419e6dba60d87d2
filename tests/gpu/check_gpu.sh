#!/bin/sh
# What `make check-gpu` runs on a machine with a GPU: check_gpu.sh SETDIR
# SETDIR holds, built: halftone, test_product, test_direct, test_check, test_dgemm, test_dcheck, test_auto, test_reproducible, test_accuracy, graph, ranks, result_hashes and, for the comparison bit by bit, result_hashes-sim.
# They run side by side, as many as there are CPUs: the GPU waits for the references that CPUs compute.
# In the environment: PROGRAMS names fewer than "test_product test_direct" (those whose tests run one by one, and under the sanitizers; all
# else runs once); TOOLS fewer of the sanitizer's tools, "" none; TABLE a file that receives a line for each: what ran, how it ended, seconds.
# Exit 0: everything that could run passed; 1: something failed; 2: nothing could run.
set -u
[ $# -eq 1 ] || { echo "usage: $0 SETDIR" >&2; exit 2; }
set_dir=${1%/}
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
passed='' failed='' skipped='' started=''
cpus=$(nproc)

note() { # note passed|failed|skipped WHAT
    printf '%s\t%s\t%s\n' "$2" "$1" "$(cat "$work/$2.seconds" 2>/dev/null || echo n/a)" >>"$work/table"
    case $1 in
    passed) passed="$passed $2" ;;
    failed) failed="$failed $2" ;;
    skipped) skipped="$skipped $2" ;;
    esac
    echo "-- $2: $1"
}

run() { # run WHAT COMMAND...: starts it
    what=$1
    shift
    while [ "$(find "$work" -name '*.running' | wc -l)" -ge "$cpus" ]; do sleep 0.2; done
    : >"$work/$what.running"
    started="$started $what"
    {
        began=$(date +%s)
        "$@" >"$work/$what.log" 2>&1
        echo $? >"$work/$what.rc"
        echo $(($(date +%s) - began)) >"$work/$what.seconds"
        echo "$what: exit $(cat "$work/$what.rc") after $(cat "$work/$what.seconds") s" >&2
        rm "$work/$what.running"
    } &
}

# All that was started: what it printed, and whether it passed.
finish() {
    wait
    for what in $started; do
        echo "== $what"
        cat "$work/$what.log"
        case $(cat "$work/$what.rc") in
        0) note passed "$what" ;;
        77) note skipped "$what" ;;
        *) note failed "$what" ;;
        esac
    done
}

# The tests of test_product or test_direct by themselves: together they take as long as all else.
tests_of() {
    cat "$work/$1.tests"
}

# The lines of two files that differ, the first few.
equal_bits() { # equal_bits GPU OTHER
    cut -f 1-4 "$1" >"$work/inputs-1"
    cut -f 1-4 "$2" >"$work/inputs-2"
    if ! cmp -s "$work/inputs-1" "$work/inputs-2"; then
        echo "cases, kernels or inputs differ, so the results cannot be compared (another kernel set, or a C library"
        echo "with other exp, log or cos):"
        diff "$work/inputs-1" "$work/inputs-2" | head -6
        return 1
    fi
    if ! cmp -s "$1" "$2"; then
        echo "$(diff "$1" "$2" | grep -c '^<') of $(wc -l <"$1") lines differ; the first:"
        diff "$1" "$2" | head -8
        return 1
    fi
    echo "$(($(wc -l <"$1") - 1)) results are equal bit for bit"
}

compare_bits() {
    "$set_dir/result_hashes" >"$work/gpu.tsv" 2>"$work/gpu.log" || { cat "$work/gpu.log"; return 1; }
    cat "$work/gpu.log"
    model=$(sed -n 's/^model \([a-z0-9]*\):.*/\1/p' "$work/gpu.log")
    [ "$model" != unknown ] || { echo "the simulator has no arithmetic of this device"; return 77; }
    echo "beside the simulator with the arithmetic of $model"
    HALFTONE_SIM_MODEL=$model "$set_dir/result_hashes-sim" >"$work/other.tsv" 2>"$work/other.log" || { cat "$work/other.log"; return 1; }
    equal_bits "$work/gpu.tsv" "$work/other.tsv"
}

if ! "$set_dir/halftone" info 2>"$work/info" >/dev/null; then
    echo "no GPU that can run the kernels of $set_dir:" >&2
    tail -3 "$work/info" >&2
    exit 2
fi

programs=${PROGRAMS:-test_product test_direct}
printf 'check\tresult\tseconds\n' >"$work/table"
for program in $programs; do
    if ! "$set_dir/$program" --list >"$work/$program.tests" || [ ! -s "$work/$program.tests" ]; then
        echo "$set_dir/$program --list names no tests"
        note failed "$program"
    fi
    for test in $(tests_of "$program"); do
        run "$test" "$set_dir/$program" "$test"
    done
done
run check "$set_dir/test_check"
run dgemm "$set_dir/test_dgemm"
run dcheck "$set_dir/test_dcheck"
run auto "$set_dir/test_auto"
run reproducible "$set_dir/test_reproducible"
run accuracy "$set_dir/test_accuracy"

if [ -x "$set_dir/result_hashes" ] && [ -x "$set_dir/result_hashes-sim" ]; then
    run bits compare_bits
else
    echo "$set_dir/result_hashes or result_hashes-sim was not built"
    note skipped bits
fi

if [ -x "$set_dir/graph" ]; then run graphs-and-streams "$set_dir/graph"; else note skipped graphs-and-streams; fi
if [ -x "$set_dir/ranks" ]; then run ranks "$set_dir/ranks"; else note skipped ranks; fi

# The sanitizer's own code for "found something" must differ from the tests' codes.
sanitizer=$(command -v compute-sanitizer || ls /usr/local/cuda/bin/compute-sanitizer 2>/dev/null || true)
if [ -n "$sanitizer" ]; then
    for tool in ${TOOLS-memcheck racecheck initcheck synccheck}; do
        for program in $programs; do
            for test in $(tests_of "$program"); do
                run "$tool-$test" env HALFTONE_TEST_SMALL=1 "$sanitizer" --tool "$tool" --error-exitcode 99 "$set_dir/$program" "$test"
            done
        done
        run "$tool-dgemm" "$sanitizer" --tool "$tool" --error-exitcode 99 "$set_dir/test_dgemm"
        run "$tool-rows" "$sanitizer" --tool "$tool" --error-exitcode 99 "$set_dir/test_reproducible" "*_row*_bits*" # more pieces than fit the card
    done
    [ ! -x "$set_dir/graph" ] || [ -z "${TOOLS-all}" ] ||
        run memcheck-graphs env HALFTONE_TEST_SMALL=1 "$sanitizer" --tool memcheck --error-exitcode 99 "$set_dir/graph"
else
    echo "compute-sanitizer is not installed: no check for races and bad accesses on the GPU (it comes with the CUDA"
    echo "toolkit; the simulator has checked the same rules)"
    note skipped sanitizer
fi

finish
[ -z "${TABLE:-}" ] || cp "$work/table" "$TABLE"
echo "passed:${passed:- nothing}"
[ -z "$skipped" ] || echo "skipped:$skipped"
[ -z "$failed" ] || { echo "FAILED:$failed"; exit 1; }
