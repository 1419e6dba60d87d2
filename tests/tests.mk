# How the tests are built and run; included by the Makefile.
#   unit, sim    test_NAME.c[pp]: cmocka programs; but for sim/test_{streams,host,environment}.c without a generated kernel set
#   kernels      programs that need one: run for several sets in the simulator, and on a GPU by check-gpu
#   gpu          graph.c and ranks.c need a CUDA set: check-gpu runs them
#   mutation     run_kernel.c, which its pytest files link with kernels that they break
#   dropin       programs that its pytest files compile
#   fuzz         fuzzers: make fuzz, make test-all
# In all of them test_*.py and mutation_*.py are pytest's.
# Every program's output is kept beside it in out/test/*.log; its closing lines are shown, all of it when it fails.

TEST_SETS := a800 t4 h200 mi210
# What `make test` leaves to `make test-rest`. Sets have the smallest tile of each kind (COVER=1), of these schemes: auto's, a paper's, one of FP16 and
# one of INT8, FP64's. Whole programs run on WHOLE_ON, but for LARGE_OF_PROGRAM; on other sets what depends on arithmetic or instructions: the tests
# PART_OF_PROGRAM. pytest takes a sample (tests/conftest.py).
PART_SCHEMES := f16x3,bf16x6u,half,egemm,i8x6,native64,crt14,crt15,crt16
WHOLE_ON := h200
LARGE_OF_dcheck := a_limit_cuts_k_and_the_bits_stay
LARGE_OF_dgemm := batches_of_residues_are_cut
LARGE_OF_direct := more_columns_than_a_grid_is_high
PART_OF_product := errors_*
PART_OF_direct := every_kernel_of_the_scheme
PART_OF_dgemm := right_*
PART_OF_check := kernels_leave_*
PART_OF_accuracy := *
PART_OF_host := *
PART_OF_environment := *
SET_TESTS := test_dgemm test_dcheck test_product test_reproducible test_check test_auto test_direct test_accuracy result_hashes
SIM_TESTS := test_streams test_host test_environment
CUDA_TESTS := $(SET_TESTS) graph ranks
TEST_FOLDERS := unit sim kernels gpu mutation
TEST_NAMES := $(filter-out $(SIM_TESTS),$(basename $(notdir $(wildcard tests/unit/test_*.c tests/sim/test_*.c tests/sim/test_*.cpp))))
TEST_LIB := $(GEN_OBJ) $(CORE_OBJ) out/obj/runtime/dev_sim.o $(SIM_OBJ) $(BENCH_OBJ)
# iquote: gen/plan/plan.h and others must answer for no system header. g++ calls a kernel with the name of a struct a shadow.
TEST_INC := -iquote gen -iquote runtime -iquote bench/halftone
out/test/test_sim_core out/test/test_sim_mfma out/test/test_sim_async out/test/test_sim_grid: CXX_FLAGS += -Wno-shadow

.PHONY: test-all test-rest test-build test-python test-sets test-set $(TEST_SETS:%=test-set-%)

# ---- programs without a kernel set
out/test/libtest.a: $(TEST_LIB)
	@mkdir -p $(@D)
	$(call run,AR,$@,rm -f $@ && $(AR) rcsD $@ $^)

define programs_of
out/test/%: tests/$(1)/%.c out/test/libtest.a out/obj/flags
	@mkdir -p $$(@D)
	$$(call run,TEST,$$*,$$(CC) $$(C_FLAGS) $$(TEST_INC) -o $$@ $$< out/test/libtest.a -lcmocka -lstdc++ -ldl -lpthread -lm)

out/test/%: tests/$(1)/%.cpp out/test/libtest.a out/obj/flags
	@mkdir -p $$(@D)
	$$(call run,TEST,$$*,$$(CXX) $$(CXX_FLAGS) $$(BY_COMPILER) $$(TEST_INC) -o $$@ $$< out/test/libtest.a -lcmocka -ldl -lpthread -lm)

out/test/%.o: tests/$(1)/%.c out/obj/flags
	@mkdir -p $$(@D)
	$$(call run,CC,$$<,$$(CC) $$(C_FLAGS) -iquote bench/halftone -c $$< -o $$@)
endef
$(foreach folder,$(TEST_FOLDERS),$(eval $(call programs_of,$(folder))))

# Sources as they lay before they had folders: what an old out/test remembers of them is out of date.
$(addprefix tests/,$(notdir $(wildcard tests/*/*.c tests/*/*.cpp tests/*/*.h)) bits.c same_bits.c one_product.c): ;

# ---- programs with one
out/test/graph.o out/test/ranks.o: C_FLAGS += -isystem $(call q,$(CUDA)/include)

SET_TEST_OBJ := $(patsubst %,out/obj/bench/halftone/%.o,$(addprefix accuracy/,certificate families metrics reference) io/threads) out/obj/runtime/sim/sim_f16.o
there = $(basename $(notdir $(wildcard $(foreach folder,$(TEST_FOLDERS),$(1:%=tests/$(folder)/%.c)))))
SIM_PROGRAMS := $(patsubst %,$(SET)/%-sim,$(call there,$(SET_TESTS) $(SIM_TESTS)))
CUDA_PROGRAMS := $(patsubst %,$(SET)/%,$(call there,$(CUDA_TESTS)))

ifneq ($(GPU),)
# test_host stands before these functions of the device layer.
$(SET)/test_host-sim: TEST_LINK := $(patsubst %,-Wl$(comma)--wrap=ht_dev_%,stream_create stream_sync alloc copy_in copy_out event_sync)
$(SIM_PROGRAMS): $(SET)/%-sim: out/test/%.o $(SET_TEST_OBJ) $(SET)/libhalftone-sim.a
	$(call run,TEST,$@,$(CXX) $(TEST_LINK) -o $@ $^ -lcmocka -ldl -lpthread -lm)

$(CUDA_PROGRAMS): $(SET)/%: out/test/%.o $(SET_TEST_OBJ) $(SET)/libhalftone.a
	$(call run,TEST,$@,$(CXX) -o $@ $^ -lcmocka $(DEVICE_LINK) -lm)

test-set: build-sim $(SIM_PROGRAMS)
endif

# ---- without a GPU: packages first, then everything is built, then all of it runs, whatever fails.
# +: make does not see $(MAKE) in the name of a recipe, and would build on one core.
define run_tests
@sh tests/setup.sh $(if $(filter TEST_PART=1,$(part)),,rest)
+@$(MAKE) test-build $(passed)
+@$(MAKE) -k test-programs $(passed); programs=$$?; $(MAKE) test-python $(passed) && exit $$programs
endef
# ccache keeps what compilers make of equal text, in copies of the repository, too; without it everything is compiled.
test test-all test-rest: export PATH := /usr/lib/ccache:$(value PATH)
test test-all test-rest: passed = WERROR=$(or $(WERROR),1) $(part)
test: part := TEST_PART=1
test-all: part :=
test-rest: part := TEST_REST=1
test:
	@echo "make test: installs packages (apt-get, as root or by sudo) and Python wheels, then builds and runs the tests; tests/README.md says how long"
	$(run_tests)

# Fuzzing last: with all schemes in the sets. test-rest, after `make test`: of pytest's tests those that --sample left out.
test-all test-rest:
	@echo "make $@: $(if $(part),what make test left out,as make test$(comma) but everything); tests/README.md says how long"
	$(run_tests)
	@$(MAKE) fuzz $(passed)

# MAKEFLAGS: these tests start make themselves, not as a part of this one.
test-python:
	@MAKEFLAGS= MAKELEVEL= NVCC=$(if $(CUDA),$(call q,$(CUDA)/bin/nvcc)) out/venv/bin/python -m pytest -q -p no:cacheprovider -rs -n auto --dist loadfile \
	    $(if $(TEST_PART),--sample) $(if $(TEST_REST),--rest --no-loadscope-reorder) tests

test-build: out/bin/halftone-gen $(TEST_NAMES:%=out/test/%) out/test/run_kernel.o test-sets out/venv/pytest-xdist
test-sets: $(TEST_SETS:%=test-set-%)

part_of_set = $(if $(TEST_PART),COVER=1 SCHEMES=$(PART_SCHEMES))
# What the sets share is built before they start beside one another.
$(TEST_SETS:%=test-set-%): test-set-%: out/bin/halftone-gen out/test/libtest.a out/obj/bench/halftone/cmd/main.o \
        $(patsubst %,out/test/%.o,$(call there,$(SET_TESTS) $(SIM_TESTS)))
	@$(MAKE) generate GPU=$* $(part_of_set)
	@$(MAKE) test-set GPU=$* $(part_of_set)

# xdist runs the tests on all cores, those of a file in one process: they share what they build.
out/venv/pytest-xdist: tests/requirements.txt | out/venv/bin/pip
	$(call run,PIP,pytest pytest-xdist,out/venv/bin/python -m pip install -q --disable-pip-version-check --require-hashes \
	    --only-binary=:all: -r tests/requirements.txt && touch $@)

# $(call program,LABEL,COMMAND): a cmocka program. One in which no test ran has failed.
define program
log=out/test/$(1).log; if { $(2); } >$$log 2>&1 && { grep -qE '^\[=+\] [1-9][0-9]* test\(s\) run' $$log || \
        { echo 'no test ran' >>$$log; false; }; }; then \
    printf '%-22s ' '$(1)'; grep -E '^\[  (PASSED|SKIPPED) +\]' $$log | tr '\n' ' '; echo; \
else cat $$log; echo '$(1) FAILED (out/test/$(1).log)' >&2; exit 1; fi
endef

# Programs on sets, those that take longest first.
SET_RUNS := $(foreach name,dcheck direct dgemm product check auto reproducible accuracy,$(TEST_SETS:%=$(name)-%)) \
    streams-t4 streams-h200 host-t4 environment-t4
program_of = $(firstword $(subst -, ,$(1)))
on_set = $(lastword $(subst -, ,$(1)))
# $(call tests_of,PROGRAM,SET): the pattern of the tests that run; empty: none.
tests_of = $(if $(TEST_PART),$(if $(filter $(WHOLE_ON),$(2)),$(if $(LARGE_OF_$(1)),!$(LARGE_OF_$(1)),*),$(PART_OF_$(1))),*)
RUN_TESTS := $(TEST_NAMES:%=run-%)
RUN_SETS := $(foreach r,$(SET_RUNS),$(if $(call tests_of,$(call program_of,$(r)),$(call on_set,$(r))),run-$(r)))
.PHONY: test-programs $(RUN_TESTS) $(SET_RUNS:%=run-%) run-product-a800-on-sm90
test-programs: $(RUN_SETS) $(RUN_TESTS) run-product-a800-on-sm90

$(RUN_TESTS): run-%: out/test/%
	@$(call program,$*,$<)
$(SET_RUNS:%=run-%): run-%:
	@$(call program,$*,$(if $(TEST_PART),HALFTONE_TEST_COVER=1) out/$(call on_set,$*)/test_$(call program_of,$*)-sim '$(call tests_of,$(call program_of,$*),$(call on_set,$*))')
# Kernels of the a800 with the arithmetic of Hopper, as the H200 runs them: what depends on the arithmetic.
run-product-a800-on-sm90:
	@$(call program,product-a800-on-sm90,HALFTONE_SIM_MODEL=sm90 out/a800/test_product-sim 'errors_*')

# ---- on a GPU
check-gpu: out/bin/card
	$(need_gpu)
	$(need_compiler)
	@echo '#include <cmocka.h>' | $(CC) $(CPPFLAGS) -include stddef.h -include stdarg.h -include stdint.h -include setjmp.h -E - >/dev/null 2>&1 || \
	    { echo "the tests need cmocka: sh tests/setup.sh (Debian and Ubuntu: libcmocka-dev)" >&2; exit 2; }
	@$(MAKE) generate GPU=$(call q,$(GPU))
	@$(MAKE) check-gpu-build GPU=$(call q,$(GPU))
	@sh tests/gpu/check_gpu.sh $(SET)

check-gpu-build: build-device build-sim $(CUDA_PROGRAMS) $(SIM_PROGRAMS)
	@:
.PHONY: check-gpu-build

include tests/fuzz/fuzz.mk
