# Fuzzers: random calls of the four simulated sets, mutated budgets and .npy files, builds by other compilers and flags. A case is a function of the seed and its number; what
# fails prints the line that repeats it alone.
#   make fuzz                                   four minutes on two cores, with what `make test-all` has built
#   make fuzz FUZZ_SEED=7 FUZZ_API='--count 25000' FUZZ_FP64='--count 2000' FUZZ_CLIMB='--count 40' FUZZ_FILES='--count 10000' FUZZ_CFLAGS='--count 6' FUZZ_GEN=out/test/fuzz/halftone-gen
# The last is the generator built with sanitizers; the reader of .npy files always is.

FUZZ_SEED ?= 1
# Counts, so that every machine runs the same cases; a slow one stops at the seconds.
FUZZ_API ?= --count 1500 --seconds 150
FUZZ_FP64 ?= --count 100 --seconds 90
FUZZ_CLIMB ?= --count 8 --seconds 60
FUZZ_FILES ?= --seconds 20
FUZZ_CFLAGS ?= --count 1
FUZZ_GEN ?= out/bin/halftone-gen
$(foreach v,$(filter FUZZ_API FUZZ_FP64 FUZZ_CLIMB FUZZ_FILES FUZZ_CFLAGS,$(given)),$(if $(shell printf '%s\n' $(call q,$($(v))) | \
    grep -xE '(--(seconds|count|first|failures) [0-9]+([.][0-9]+)?( |$$))+'),,$(error $(v)=$($(v)): it is --seconds T or --count N, with --first I and \
    --failures N)))
$(if $(filter FUZZ_SEED,$(given)),$(if $(shell printf '%s\n' $(call q,$(FUZZ_SEED)) | grep -xE '[0-9]+'),,$(error FUZZ_SEED=$(FUZZ_SEED): it is a number)))
FUZZ_OBJ := $(patsubst %,out/test/fuzz/%.o,api calls hostile problem matrix truth ways fuzz)
FUZZ64_OBJ := $(patsubst %,out/test/fuzz/%.o,api64 calls problem matrix truth truth64 fuzz)
CLIMB_OBJ := $(patsubst %,out/test/fuzz/%.o,climb calls ways problem matrix truth fuzz)
FUZZ_NPY := tests/fuzz/npy.c tests/fuzz/fuzz.c bench/halftone/io/npy.c bench/halftone/io/outfile.c bench/halftone/io/cli_error.c
SANITIZED = $(CC) $(filter-out -MMD -MP,$(C_FLAGS)) -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all
.PHONY: fuzz fuzz-build fuzz-npy fuzz-budgets fuzz-cflags $(TEST_SETS:%=fuzz-build-%) $(TEST_SETS:%=fuzz-%) $(TEST_SETS:%=fuzz64-%) $(TEST_SETS:%=climb-%)

# The wrapped functions: allocations that fail (tests/fuzz/api.c), where results are computed again (ways.c).
FUZZ_PLACES := ht_fallback_in_kernel ht_pick_blocks
FUZZ_WRAPS := ht_dev_alloc ht_dev_free $(FUZZ_PLACES)
ifneq ($(GPU),)
$(SET)/fuzz-sim: $(FUZZ_OBJ) $(SET_TEST_OBJ) $(SET)/libhalftone-sim.a
	$(call run,TEST,$@,$(CXX) $(LDFLAGS) -o $@ $^ $(FUZZ_WRAPS:%=-Wl$(comma)--wrap=%) -ldl -lpthread -lm)

$(SET)/fuzz64-sim: $(FUZZ64_OBJ) $(SET_TEST_OBJ) $(SET)/libhalftone-sim.a
	$(call run,TEST,$@,$(CXX) $(LDFLAGS) -o $@ $^ -ldl -lpthread -lm)

$(SET)/climb-sim: $(CLIMB_OBJ) $(SET_TEST_OBJ) $(SET)/libhalftone-sim.a
	$(call run,TEST,$@,$(CXX) $(LDFLAGS) -o $@ $^ $(FUZZ_PLACES:%=-Wl$(comma)--wrap=%) -ldl -lpthread -lm)

test-set: $(SET)/fuzz-sim $(SET)/fuzz64-sim $(SET)/climb-sim
endif
$(TEST_SETS:%=test-set-%): $(FUZZ_OBJ) $(FUZZ64_OBJ) $(CLIMB_OBJ) # before the sets, which are built beside one another

out/test/fuzz/%.o: tests/fuzz/%.c out/obj/flags
	@mkdir -p $(@D)
	$(call run,CC,$<,$(CC) $(C_FLAGS) -iquote bench/halftone -c $< -o $@)

# What fails where the guards of the fuzzers' matrices are broken: test_fuzz.py.
out/test/fuzz/guards: $(patsubst %,out/test/fuzz/%.o,guards matrix fuzz) out/test/libtest.a
	$(call run,TEST,$@,$(CC) $(LDFLAGS) -o $@ $^ -lstdc++ -ldl -lpthread -lm)
test-build: out/test/fuzz/guards

out/test/fuzz/npy: $(FUZZ_NPY) $(wildcard tests/fuzz/*.h bench/halftone/*/*.h)
	@mkdir -p $(@D)
	$(call run,TEST,$@,$(SANITIZED) -iquote bench/halftone $(LDFLAGS) -o $@ $(FUZZ_NPY) -lm)

out/test/fuzz/halftone-gen: $(GEN_SRC) gen/cli/main.c $(wildcard gen/*/*.h) $(wildcard runtime/ht_*.h)
	@mkdir -p $(@D)
	$(call run,LINK,$@,$(SANITIZED) -iquote gen $(LDFLAGS) -o $@ $(filter %.c,$^))

$(TEST_SETS:%=fuzz-build-%): fuzz-build-%: out/bin/halftone-gen out/obj/bench/halftone/cmd/main.o $(FUZZ_OBJ) $(FUZZ64_OBJ) $(SET_TEST_OBJ)
	@$(MAKE) generate GPU=$*
	@$(MAKE) build-sim out/$*/fuzz-sim out/$*/fuzz64-sim out/$*/climb-sim GPU=$*

fuzz-build: out/test/fuzz/npy $(FUZZ_GEN) $(TEST_SETS:%=fuzz-build-%)

# $(call fuzzer,LABEL,COMMAND): its closing lines, all of them when a case failed.
define fuzzer
log=out/test/fuzz-$(1).log; if $(2) --seed $(FUZZ_SEED) >$$log 2>&1; then sed -n '/^fuzz /,$$p' $$log; \
else cat $$log; echo '$(1) FAILED (out/test/fuzz-$(1).log)' >&2; exit 1; fi
endef

fuzz:
	@$(MAKE) fuzz-build
	@$(MAKE) -k $(TEST_SETS:%=fuzz-%) $(TEST_SETS:%=fuzz64-%) $(TEST_SETS:%=climb-%) fuzz-npy fuzz-budgets fuzz-cflags

$(TEST_SETS:%=fuzz-%): fuzz-%:
	@$(call fuzzer,$*,out/$*/fuzz-sim $(FUZZ_API))
$(TEST_SETS:%=fuzz64-%): fuzz64-%:
	@$(call fuzzer,64-$*,out/$*/fuzz64-sim $(FUZZ_FP64))
$(TEST_SETS:%=climb-%): climb-%:
	@$(call fuzzer,climb-$*,out/$*/climb-sim $(FUZZ_CLIMB))
fuzz-npy:
	@$(call fuzzer,npy,out/test/fuzz/npy $(FUZZ_FILES))
fuzz-budgets:
	@$(call fuzzer,budgets,$(PYTHON) tests/fuzz/budgets.py --generator $(FUZZ_GEN) $(FUZZ_FILES))
fuzz-cflags:
	@$(call fuzzer,cflags,$(PYTHON) tests/fuzz/cflags.py $(FUZZ_CFLAGS))
