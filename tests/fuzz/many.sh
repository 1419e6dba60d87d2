#!/bin/sh
# So many cases of a fuzzer, shared among all CPUs: many.sh out/h200/fuzz-sim 100000. SEED in the environment (1). Prints what failed and
# how many cases ran. Exit 0: no case failed.
set -eu
[ $# -eq 2 ] && [ -x "$1" ] && [ "$2" -gt 0 ] 2>/dev/null || { echo "usage: $0 PROGRAM COUNT" >&2; exit 2; }
program=$1 count=$2 seed=${SEED:-1} cpus=$(nproc)
logs=$(mktemp -d)
trap 'rm -rf "$logs"' EXIT
each=$(((count + cpus - 1) / cpus)) first=0
while [ "$first" -lt "$count" ]; do
    some=$((count - first < each ? count - first : each))
    { "$program" --seed "$seed" --first "$first" --count "$some" >"$logs/$first" 2>&1 || echo "$first" >"$logs/$first.failed"; } &
    first=$((first + some))
done
wait
sed -n '/^FAILED/,/again:/p' "$logs"/*[0-9]
grep -h '^fuzz ' "$logs"/*[0-9]
failed=$(find "$logs" -name '*.failed' | wc -l)
echo "$(basename "$program"): seed $seed, $count cases, $failed of the processes with failures"
[ "$failed" -eq 0 ]
