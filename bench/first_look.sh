#!/bin/sh
# A look at a kernel set on a GPU. Binaries come from out/dev.
export LD_LIBRARY_PATH=$PWD/out/dev:$LD_LIBRARY_PATH
time out/dev/bits > $OUT/bits.gpu.tsv
cmp $OUT/bits.gpu.tsv out/dev/bits.sim.tsv && echo BITS EQUAL
diff $OUT/bits.gpu.tsv out/dev/bits.sim.tsv | grep -c "^<"; diff $OUT/bits.gpu.tsv out/dev/bits.sim.tsv | head -20
time out/dev/graph 2>&1 | tail -20
export HALFTONE_TEST_SMALL=1
time out/dev/test_product 2>&1 | tail -3
for t in memcheck initcheck synccheck racecheck; do echo "== $t"; ( time timeout 150 compute-sanitizer --tool $t --print-limit 5 --error-exitcode 9 out/dev/test_product ) > $OUT/$t.log 2>&1; echo rc $?; tail -8 $OUT/$t.log; done
