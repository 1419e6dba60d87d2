# halftone: budget -> tile model -> kernels -> library. `make` alone prints help. Everything built lands in out/.
# V=1 shows whole commands. All cores are used unless -j says otherwise.

.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules --no-print-directory
ifeq ($(MAKELEVEL)$(findstring -j,$(MAKEFLAGS)),0)
MAKEFLAGS += -j$(shell nproc 2>/dev/null || echo 2)
endif
export LC_ALL := C
comma := ,
space := $() $()
define newline


endef
joined = $(subst $(space),$(1),$(strip $(2)))
# $(call q,TEXT): one word of the shell, whatever TEXT holds.
q = '$(subst ','\'',$(1))'

# ---- what the command line may set; a slip is an error with the nearest name. INSTALL, AM_UPDATE_INFO_DIR: Debian's dh sets them everywhere.
KNOWN := GPU SCHEMES LEAN COVER TUNED TILES PROMOTE DEVICE DEST SYMBOLS AMALGAMATION DIR PREFIX LIBDIR DESTDIR MODEL SHAPE TSV HTML \
         COMPARE WHAT_IF BENCH_ARGS PAGES CHROMIUM V TARGET BUILD_CC CC CXX AR CPPFLAGS CFLAGS CXXFLAGS LDFLAGS NVCC HIPCC PYTHON \
         TEST_SETS FUZZ_SEED FUZZ_API FUZZ_FP64 FUZZ_CLIMB FUZZ_FILES FUZZ_CFLAGS FUZZ_GEN WARN WERROR COMMIT \
         TEST_PART TEST_REST HT_STEPS SHELL MAKEFLAGS INSTALL AM_UPDATE_INFO_DIR
# The environment may set these. It may hold any other name for another program (GPU, MODEL, V), so make forgets those,
# and the names that only rules set.
FROM_ENVIRONMENT := CC CXX AR CPPFLAGS CFLAGS CXXFLAGS LDFLAGS NVCC HIPCC PYTHON PREFIX LIBDIR DESTDIR
FORGOTTEN := $(filter-out $(FROM_ENVIRONMENT) SHELL MAKEFLAGS,$(KNOWN)) \
             SET BUDGET IS_HIP HT_KERNELS HT_EXTENSION TEST_LINK
$(foreach v,$(FORGOTTEN),$(if $(filter environment,$(firstword $(origin $(v)))),$(eval override undefine $(v))))
.DEFAULT_GOAL := $(if $(GPU),all,help)
given := $(foreach v,$(.VARIABLES),$(if $(filter command,$(firstword $(origin $(v)))),$(v)))
$(foreach v,$(filter-out $(KNOWN) -%,$(given)),$(error unknown variable $(v): do you mean \
    $(shell awk -v word=$(call q,$(v)) -v known='$(KNOWN)' -f gen/nearest.awk)=? Plain `make` lists them all))
$(foreach v,$(given) $(FROM_ENVIRONMENT),$(if $(findstring $(newline),$(value $(v))),$(error $(v) holds a line break)))
$(foreach v,$(filter LEAN COVER DEVICE TSV WERROR,$(given)),$(if $(filter-out 0 1,$($(v))),$(error $(v)=$($(v)): it is 0 or 1)))
$(if $(filter AMALGAMATION,$(given)),$(if $(filter-out 0 1 sim,$(AMALGAMATION)),$(error AMALGAMATION=$(AMALGAMATION): it is 0, 1 or sim)))

# ---- tools
# $(call tool,NAME,PROGRAM): NAME is PROGRAM, unless a word that is not empty is given.
tool = $(if $(and $(filter-out default undefined,$(origin $(1))),$(strip $($(1)))),,$(eval override $(1) := $(2)))
$(if $(TARGET),$(if $(filter aarch64,$(TARGET)),,$(error TARGET=$(TARGET): it is aarch64, or nothing for this machine)))
cross := $(if $(TARGET),$(TARGET)-linux-gnu-)
$(call tool,CC,$(cross)gcc)$(call tool,CXX,$(cross)g++)$(call tool,AR,$(cross)ar)$(call tool,PYTHON,python3)
$(call tool,BUILD_CC,$(if $(TARGET),gcc,$(CC))) # for what runs here: the generator
NVCC ?= $(or $(wildcard out/toolchain/nvidia/cu13/bin/nvcc),$(shell command -v nvcc 2>/dev/null),$(wildcard /usr/local/cuda/bin/nvcc))
HIPCC ?= $(shell command -v hipcc 2>/dev/null)
# Words of the shell, as CC; but a path with a blank is one word.
as_words = $(if $(findstring $(space),$(1)),$(if $(shell [ -x $(call q,$(1)) ] && echo 1),$(call q,$(1)),$(1)),$(1))
override NVCC := $(call as_words,$(NVCC))
override HIPCC := $(call as_words,$(HIPCC))
# The toolkit's folder: two above the program that the last word of NVCC names (the first may be ccache).
CUDA := $(if $(NVCC),$(shell set -- $(NVCC); for last; do :; done; at=$$(command -v "$$last") && at=$$(readlink -f "$$at") && \
        cd "$$(dirname "$$at")/.." && pwd))
ifneq ($(NVCC),)
ifeq ($(CUDA),)
$(error NVCC=$(NVCC) is no program that can be run)
endif
endif
CUDA_LIB := $(shell cd $(call q,$(CUDA)) 2>/dev/null && for at in $(if $(TARGET),targets/sbsa-linux/lib,lib64 lib); do [ ! -d $$at ] || { echo $$at; break; }; done)
CUDA_AT := $(if $(CUDA_LIB),$(CUDA)/$(CUDA_LIB),$(if $(TARGET),$(wildcard out/toolchain-$(TARGET)/nvidia/cu13/lib)))
CUDA_LINK := $(if $(CUDA_AT),-L$(call q,$(CUDA_AT))) -lcudart_static -ldl -lrt -lpthread
# The host's half of a kernel for another machine: its compiler, and the toolkit's headers, which it does not look for then.
override NVCC := $(NVCC)$(if $(and $(TARGET),$(NVCC)), -ccbin $(CXX) -I$(call q,$(CUDA)/include))
COMMIT = $(shell git describe --always --dirty --exclude '*' 2>/dev/null || echo unknown)
TOOLKIT = $(if $(NVCC),$(shell $(NVCC) --version 2>/dev/null | sed -n 's/.*release .*, V/nvcc /p'),none)

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion
# Warnings are errors in our tests only: a newer compiler has more of them, and must still build the library.
ERRORS := $(if $(filter 1,$(WERROR)),-Werror)
CFLAGS ?= -O2
CXXFLAGS ?= $(CFLAGS)
C_FLAGS := -std=c11 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE $(CPPFLAGS) $(CFLAGS) $(WARN) $(ERRORS) -fPIC -MMD -MP
CXX_FLAGS := -std=c++17 $(CPPFLAGS) $(CXXFLAGS) $(WARN) $(ERRORS) -fPIC -MMD -MP
# The simulator tells calls apart by where they return to: gcc must not make two of one, by threading jumps
# nor by placing a short block twice (clang: convergent in ht_sim.h). The compiler says which it is, whatever its name;
# it is asked once, where the first source for the simulator is compiled.
is_clang = $(shell $(CXX) -dM -E -x c++ /dev/null 2>/dev/null | grep -w __clang__)
BY_COMPILER = $(eval BY_COMPILER := $(if $(is_clang),-Wno-pass-failed,\
    -fno-thread-jumps -freorder-blocks-algorithm=simple))$(BY_COMPILER)
OWN_CALLS := -fno-semantic-interposition # -fPIC alone keeps a source's functions from being inlined in it
SIM_FLAGS = -std=c++17 -O2 $(BY_COMPILER) -x c++ -DHT_SIMULATOR -ffp-contract=off -include runtime/sim/ht_sim.h -Iruntime -fPIC
# kernels are named after their instruction set: ht_..._sm80
KERNEL_FLAGS = -O3 -std=c++17 $(HT_FLAGS_$(lastword $(subst _, ,$*))) $(if $(IS_HIP),-Wall -Wextra $(ERRORS) -fPIC,-Xcompiler -fPIC)

# A recipe line is $(call run,WORD,thing,command): one short line, or with V=1 the command itself. HT_STEPS: all in one line of a terminal, of so many.
run = $(if $(V),,@$(if $(HT_STEPS),$(eval steps += x)printf '\033[K[%d/%d] %.60s\r' $(words $(steps)) $(HT_STEPS),echo) '$(1) $(2)';)$(3)
build = +@build() { $(MAKE) $(1) HT_STEPS=$$steps "$$@"; }; steps=; if [ -t 1 ]; then steps=$$(build -n | grep -c "^echo '[A-Z]* "); fi; \
    build && if [ -t 1 ]; then printf '\033[K'; fi

# ---- sources
GEN_SRC := $(filter-out gen/cli/main.c,$(wildcard gen/*/*.c))
GEN_OBJ := $(GEN_SRC:%.c=out/obj/%.o)
SIM_OBJ := $(patsubst %.c,out/obj/%.o,$(wildcard runtime/sim/*.c)) \
           $(patsubst %.cpp,out/obj/%.o,$(wildcard runtime/sim/*.cpp))
CORE_OBJ := $(patsubst %.c,out/obj/%.o,$(wildcard runtime/ht_*.c))
BENCH_FOLDERS := io accuracy measure profile apps cmd # each includes only folders to its left
BENCH_OBJ := $(patsubst %.c,out/obj/%.o,$(filter-out bench/halftone/cmd/main.c,$(wildcard $(BENCH_FOLDERS:%=bench/halftone/%/*.c))))
TEMPLATES := $(wildcard templates/skeletons/* templates/hooks/*/* templates/vendor/*) runtime/ht_abi.h runtime/ht_abi64.h runtime/halftone.h
BUDGETS := $(wildcard gen/gpus/*.gpu)
GPU_NAMES := $(sort $(notdir $(basename $(BUDGETS))))
VERSION := $(shell sed -n 's/^\#define HALFTONE_VERSION_TEXT "\(.*\)"/\1/p' runtime/halftone.h)
# Names what the shared library's users load: the major version.
SONAME := libhalftone.so.$(firstword $(subst ., ,$(VERSION)))

# ---- the GPUs asked for: names, paths of budget files, or `native`: the set for this machine's GPU
ifneq ($(filter native,$(GPU)),)
native := $(shell mkdir -p out/bin && $(CC) -o out/bin/card runtime/card.c -ldl && sh gen/card.sh pick out/bin/card 2>&1)
ifneq ($(.SHELLSTATUS),0)
$(error GPU=native: $(native))
endif
$(info GPU=native: $(native))
override GPU := $(patsubst native,$(lastword $(native)),$(GPU))
endif

schemes := $(subst $(comma), ,$(SCHEMES))
GEN_OPTIONS := $(if $(schemes),--scheme $(call q,$(call joined,$(comma),$(schemes)))) $(if $(filter-out 0,$(LEAN)),--lean) $(if $(filter-out 0,$(COVER)),--cover) \
    $(if $(TUNED),--tuned $(call q,$(TUNED))) $(if $(TILES),--tiles $(call q,$(TILES))) $(if $(PROMOTE),--promote $(call q,$(PROMOTE)))
ifneq ($(strip $(GPU)),)
SET := out/$(call joined,+,$(notdir $(basename $(GPU))))
BUDGET := $(foreach g,$(GPU),$(if $(findstring /,$(g))$(filter %.gpu,$(g)),$(g),gen/gpus/$(g).gpu))
unknown := $(foreach b,$(BUDGET),$(if $(filter $(b),$(wildcard $(b))),,$(patsubst gen/gpus/%.gpu,%,$(b))))
ifneq ($(strip $(unknown)),)
$(error unknown GPU '$(strip $(unknown))'; known budgets: $(GPU_NAMES), or native, or the path of a .gpu file$(shell \
    sed -n 's/^\#define GPU_OTHER "\(.*\)"/\1/p' gen/facts/gpu.h))
endif
# These names stand in rules and in commands; bytes from 128 on are letters of other alphabets.
ifneq ($(shell printf '%s\n' $(call q,$(BUDGET)) | tr -d 'A-Za-z0-9_./+@~ \200-\377-')$(filter .%,$(notdir $(basename $(BUDGET)))),)
$(error the path of a budget may hold letters, digits and _ . / + @ ~ -, and its name may not begin with a dot: $(BUDGET))
endif
ifneq ($(filter bin data dev obj pages test toolchain venv wheel,$(notdir $(SET))),)
$(error a budget file may not be called $(notdir $(SET)).gpu: out/ has a folder of that name already)
endif
-include $(SET)/rules.mk
# The kernels' names stand there: a make that builds kernels writes them first, and begins again where they are others.
ifneq ($(filter build-device build-sim %/halftone-sim,$(MAKECMDGOALS)),)
$(SET)/rules.mk: $(SET)/manifest ;
endif
IS_HIP := $(shell grep -sl '^isa *= *gfx' $(BUDGET))
KERNEL_OBJ := $(HT_KERNELS:%=$(SET)/obj/%.o)
SIM_KERNEL_OBJ := $(HT_KERNELS:%=$(SET)/sim/%.o)
else
asked := $(firstword $(filter all generate build-device build-sim test-set demo check-gpu bench explain vendor install wheel,$(MAKECMDGOALS)))
ifneq ($(asked),)
$(error GPU is missing: make $(asked) GPU=NAME, NAME one of: $(GPU_NAMES), or native, or the path of a .gpu file)
endif
endif

# ---- what differs between the vendors
ifneq ($(IS_HIP),)
VENDOR := AMD
DEVICE_CC := $(if $(TARGET),,$(HIPCC))
DEVICE_OBJ := out/obj/runtime/dev_hip.o
DEVICE_LINK := -lamdhip64
FACES := $(if $(GPU),$(SET)/libhalftone_hipblas.so)
GPU_HERE := $(wildcard /dev/kfd)
no_compiler := $(if $(TARGET),No AMD GPU's half is built for $(TARGET),hipcc was not found. To get it on Debian or Ubuntu: apt-get install hipcc rocm-device-libs libamdhip64-dev)
else
VENDOR := NVIDIA
DEVICE_CC := $(if $(or $(if $(TARGET),,1),$(CUDA_AT)),$(NVCC))
DEVICE_OBJ := out/obj/runtime/dev_cuda.o
DEVICE_LINK := $(CUDA_LINK)
# What is preloaded before programs (runtime/dropin/dropin.mk).
FACES := $(if $(GPU),$(SET)/libhalftone_cublas.so)
GPU_HERE := $(wildcard /dev/nvidiactl /dev/dxg)
no_compiler := $(if $(and $(TARGET),$(NVCC)),CUDA's runtime for $(TARGET) was not found. To get it: make toolchain TARGET=$(TARGET) (2 MB, into out/toolchain-$(TARGET)),nvcc was not found. To get it: install the CUDA toolkit (12 or later) of your system, or run make toolchain (the compiler wheels of NVIDIA, about 100 MB, into out/toolchain))
endif
FACES += $(if $(GPU),$(SET)/libhalftone_blas.so)
define need_compiler
@$(if $(DEVICE_CC),:,echo $(call q,$(no_compiler)) >&2; exit 2)
endef
# DEVICE=0: the simulator's half alone.
WITH_DEVICE := $(if $(filter 0,$(DEVICE)),,$(DEVICE_CC))
# Before anything is compiled for a GPU that will be used here.
define need_gpu
@sh gen/card.sh fits out/bin/card $(BUDGET)
endef

.PHONY: pages vendor verify-vendored install uninstall wheel help all generate build-device build-sim demo test check-gpu bench explain clean toolchain setup FORCE

help:
	@echo "halftone: FP32 and FP64 matrix products on tensor cores (AMD: Matrix Cores), generated for your GPU"
	@echo
	@echo "  make demo GPU=a800       handwritten digits, schemes beside native FP32 (simulator if there is no GPU): a minute"
	@echo "  make GPU=a800            kernels, out/a800/libhalftone.{a,so}, halftone.h and the command out/a800/halftone; needs nvcc"
	@echo "                           (AMD: hipcc). Without it only the simulator's half, out/a800/halftone-sim, and exit code 2"
	@echo "  make GPU=a800 DEVICE=0   the simulator's half alone, as make build-sim; make build-device is the other half alone"
	@echo "  make generate GPU=a800   only the sources (needs nothing but a C compiler)"
	@echo "  make explain GPU=a800    every candidate tile, what it uses, and why one won"
	@echo "  make pages               such pages of $(PAGES) into out/pages, with screenshots where Chromium is"
	@echo "  make vendor GPU=a800 DEST=dir   sources for your own project"
	@echo "  make verify-vendored DIR=dir    whether such a folder is still as it was written"
	@echo "  make install GPU=a800    library, header, command, licence, pkg-config file and CMake package; make uninstall"
	@echo "  make wheel GPU='a100 h100'   out/wheel: a wheel for pip, with the commands and the simulator"
	@echo "  make test                tests, no GPU needed: installs packages as root or by sudo (apt-get)"
	@echo "  make test-rest           what make test left out, then fuzzing (make fuzz: that alone); tests/README.md says how long"
	@echo "  make test-all            both at once"
	@echo "  make check-gpu GPU=a800  correctness on this machine's GPU, sanitizer included (sh tests/setup.sh first)"
	@echo "  make bench GPU=a800      speed beside cuBLAS on this machine's GPU"
	@echo "  make setup               Debian or Ubuntu packages for the tests (apt-get)"
	@echo "  make toolchain           NVIDIA's compiler into out/toolchain, where there is no CUDA toolkit; says what to put on PATH"
	@echo "  make clean               removes what was built in out/; keeps out/data, out/toolchain, out/venv"
	@echo
	@echo "What is built       (default)"
	@echo "  GPU=a800          (none)        $(GPU_NAMES);"
	@echo "                                  native: the set for this machine's GPU; or the path of a budget file; several in quotes:"
	@echo "                                  one library for all. A set is one folder, out/GPU: other SCHEMES replace what is there"
	@echo "  SCHEMES=f16x3,bf16x6u  (most)      fewer make a library small; all: those on request, too; explain: names (f16x3)"
	@echo "  LEAN=1            (0)           only the tiles that are chosen for some shape, no ablations"
	@echo "  TILES=64x128x32_w64x64_s3 (none)  more tiles, as explain names them"
	@echo "  TUNED=t.tsv       (none)        for the shapes that 'halftone tune' measured, the fastest kernel"
	@echo "  PROMOTE=128       (the scheme's)  promotion interval, an ablation; none: no promotion"
	@echo "explain: SHAPE=MxNxK (4096x4096x4096)  MODEL=halftone|egemm|legemm (halftone)  TSV=1 (0): a table  HTML=page.html (none): a page (python3)"
	@echo "         WHAT_IF='l2_gbps=3000 sms=60' or COMPARE=h200 (none): held against that"
	@echo "vendor:  SYMBOLS=myproj_ (halftone_): what exported names begin with  AMALGAMATION=1 (0): one source and one header; sim: for g++"
	@echo "install: PREFIX=/usr/local  LIBDIR=lib (below PREFIX, or a path)  DESTDIR= (for packagers)"
	@echo "bench:   BENCH_ARGS='--sizes 1024,4096' (none; see out/GPU/halftone bench --help)"
	@echo "fuzz:    FUZZ_SEED=$(FUZZ_SEED)  FUZZ_API='$(FUZZ_API)'  FUZZ_FP64='$(FUZZ_FP64)'  FUZZ_CLIMB='$(FUZZ_CLIMB)'  FUZZ_FILES='$(FUZZ_FILES)'  FUZZ_CFLAGS='$(FUZZ_CFLAGS)'  FUZZ_GEN=$(FUZZ_GEN) (tests/fuzz/fuzz.mk)"
	@echo "tests:   TEST_SETS='$(TEST_SETS)', also of fuzz  COVER=1 (0): of a set the smallest tile of each family, scheme and hooks"
	@echo "pages:   PAGES='$(PAGES)'  CHROMIUM=$(CHROMIUM)"
	@echo "Tools:   CC=$(CC) CXX=$(CXX) AR=$(AR) CFLAGS='$(CFLAGS)' CXXFLAGS (CFLAGS) CPPFLAGS LDFLAGS WARN='$(WARN)'"
	@echo "         TARGET=aarch64 (none): CC, CXX and AR for that machine, and nvcc's; BUILD_CC=$(BUILD_CC): of the generator, which runs here"
	@echo "         NVCC HIPCC PYTHON=$(PYTHON) COMMIT=$(COMMIT): what tables name; V=1 shows whole commands"
	@echo "         WERROR=1 (0): warnings are errors, as in make test"
	@echo "Taken from the environment, too: $(FROM_ENVIRONMENT). All else only from the command line"

# ---- what objects depend on besides sources: a changed compiler or flag rebuilds, a changed commit only what prints it
out/obj/flags: facts = $(call q,$(BUILD_CC) $(CC) $(CXX) $(CPPFLAGS) $(CFLAGS) $(CXXFLAGS))
out/obj/nvcc: facts = $(call q,$(NVCC) $(HIPCC))
out/obj/build.h: facts = '\#define HALFTONE_COMMIT "$(COMMIT)"' '\#define HALFTONE_TOOLKIT "$(TOOLKIT)"'
out/obj/options-%: facts = $(call q,options: $(GEN_OPTIONS)) $(if $(TUNED),"$$(cksum 2>/dev/null <$(call q,$(TUNED)))")
define note_facts
@mkdir -p $(@D); printf '%s\n' $(facts) | cmp -s - $@ || printf '%s\n' $(facts) >$@
endef
out/obj/options-%: FORCE
	$(note_facts)
out/obj/flags out/obj/nvcc out/obj/build.h: FORCE
	$(note_facts)

# ---- generator
# A folder of gen/ includes only folders to its left: base, facts, model, family, plan, emit, cli.
out/obj/gen/%.o: C_FLAGS += -iquote gen
out/obj/gen/%.o out/bin/halftone-gen: private override CC := $(BUILD_CC)

out/bin/halftone-gen: $(GEN_OBJ) out/obj/gen/cli/main.o
	@mkdir -p $(@D)
	$(call run,LINK,$@,$(CC) $(LDFLAGS) -o $@ $^)

# Names this machine's GPUs.
out/bin/card: out/obj/runtime/card.o
	@mkdir -p $(@D)
	$(call run,LINK,$@,$(CC) $(LDFLAGS) -o $@ $^ -ldl)

out/obj/%.o: %.c out/obj/flags
	@mkdir -p $(@D)
	$(call run,CC,$<,$(CC) $(C_FLAGS) -c $< -o $@)

out/obj/%.o: %.cpp out/obj/flags
	@mkdir -p $(@D)
	$(call run,CXX,$<,$(CXX) $(CXX_FLAGS) -c $< -o $@)

# Every access of every thread passes through these.
out/obj/runtime/sim/%.o: C_FLAGS += -O3 $(OWN_CALLS)
out/obj/runtime/sim/%.o: CXX_FLAGS += -O3 $(OWN_CALLS)

out/obj/bench/%.o: C_FLAGS += -iquote bench/halftone
out/obj/bench/halftone/cmd/cmd_run.o: C_FLAGS += -D_GNU_SOURCE
out/obj/bench/halftone/cmd/stamp.o: C_FLAGS += -include out/obj/build.h
out/obj/bench/halftone/cmd/stamp.o: out/obj/build.h
# The scripts of `halftone report` as strings in the command, which must not look for them where it is run.
out/obj/bench/halftone/io/plot.o: C_FLAGS += -Iout/obj/bench
out/obj/bench/halftone/io/plot.o: out/obj/bench/plot_scripts.h
out/obj/bench/plot_scripts.h: bench/halftone/plots/error.gp bench/halftone/plots/histogram.gp
	@mkdir -p $(@D)
	@for s in error histogram; do echo "const char plot_$$s[] ="; \
	    sed 's/[\\"]/\\&/g; s/^/"/; s/$$/\\n"/' bench/halftone/plots/$$s.gp; echo ";"; done >$@.tmp && mv $@.tmp $@
out/obj/runtime/dev_cuda.o: C_FLAGS += -isystem $(call q,$(CUDA)/include)
out/obj/runtime/dev_cuda.o: out/obj/nvcc

# The simulator alone, for sources that come from elsewhere (tests/package/vendored/nvcc-sim).
out/obj/libsim.a: $(SIM_OBJ)
	$(call run,AR,$@,rm -f $@ && $(AR) rcsD $@ $^)

generate: $(SET)/manifest
	@:

# Equal files keep their times, so that only changed kernels are compiled; the manifest's time says "up to date".
ifneq ($(GPU),)
$(SET)/manifest: out/bin/halftone-gen $(TEMPLATES) $(BUDGET) out/obj/options-$(notdir $(SET))
	$(call run,GEN,$(SET),out/bin/halftone-gen emit --gpu $(call joined,$(comma),$(GPU)) --out $(SET) $(GEN_OPTIONS))
	@touch $@
endif

# 3 s of a core a kernel, by nvcc and for the simulator: what a sample of set h200's took. The list of kernels is not make's yet.
define say_time
new=0; for k in $$(sed -n 's/^    \(ht_[^ ]*\).*/\1/p' $(SET)/rules.mk); do [ $(SET)/obj/$$k.o -nt $(SET)/$$k.cu ] || new=$$((new + 1)); done; \
[ $$new = 0 ] || echo $(call q,$(NVCC))" ($(TOOLKIT)): $$new kernels to compile, about $$(((new * 3 / $$(nproc) + 59) / 60)) min on $$(nproc) cores"
endef

# ---- library and command; a second make reads the kernel list that the first one generated
all: generate
	@$(if $(WITH_DEVICE),$(if $(IS_HIP),,$(say_time)))
	$(call build,$(if $(WITH_DEVICE),build-device) build-sim GPU=$(call q,$(GPU)))
	@$(if $(WITH_DEVICE),echo "$(SET): libhalftone.a libhalftone.so halftone.h halftone (the command) halftone-sim (in the simulator)$(foreach f,$(FACES), $(notdir $(f)))",\
	$(if $(filter 0,$(DEVICE)),echo "$(SET): libhalftone-sim.a libhalftone-sim.so halftone.h halftone-sim (the command$(comma) in the simulator)",\
	echo $(call q,$(no_compiler)) >&2; \
	echo "Without it only the simulator's half was built: $(SET)/halftone-sim has the same commands. DEVICE=0 asks for that half alone" >&2; exit 2))

build-device: $(if $(DEVICE_CC),$(SET)/libhalftone.a $(SET)/libhalftone.so $(SET)/halftone.h $(SET)/halftone $(FACES))
	$(need_compiler)

build-sim: $(SET)/libhalftone-sim.a $(SET)/halftone.h $(SET)/halftone-sim $(SET)/libhalftone-sim.so $(FACES)
	@:

ifneq ($(GPU),)
# hipcc leaves folders behind in TMPDIR.
$(SET)/obj/%.o: $(SET)/%.$(HT_EXTENSION) out/obj/nvcc
	@mkdir -p $(@D)
	$(call run,$(if $(IS_HIP),HIPCC,NVCC),$*,$(if $(IS_HIP),mkdir -p $@.tmp && TMPDIR=$@.tmp) $(DEVICE_CC) $(KERNEL_FLAGS) -c $< -o $@ $(if $(IS_HIP),&& rm -r $@.tmp))

$(SET)/sim/%.o: $(SET)/%.$(HT_EXTENSION) out/obj/flags $(wildcard runtime/sim/*.h) runtime/ht_abi.h runtime/ht_abi64.h
	@mkdir -p $(@D)
	$(call run,SIM,$*,$(CXX) $(SIM_FLAGS) -c $< -o $@)

$(SET)/obj/dispatch.o: $(SET)/dispatch.c runtime/ht_abi.h runtime/ht_abi64.h out/obj/flags
	@mkdir -p $(@D)
	$(call run,CC,$<,$(CC) $(C_FLAGS) -Iruntime -c $< -o $@)

LIB_OBJ := $(KERNEL_OBJ) $(SET)/obj/dispatch.o $(CORE_OBJ) $(DEVICE_OBJ)
SIM_LIB_OBJ := $(SIM_KERNEL_OBJ) $(SET)/obj/dispatch.o $(CORE_OBJ) out/obj/runtime/dev_sim.o $(SIM_OBJ)

$(SET)/libhalftone.a: $(LIB_OBJ) $(SET)/rules.mk
	$(call run,AR,$@,rm -f $@ && $(AR) rcsD $@ $(LIB_OBJ))

# Only the names of halftone.h leave the shared library; the CUDA runtime is inside it, the HIP runtime is not.
$(SET)/libhalftone.so: $(LIB_OBJ) $(SET)/rules.mk
	@echo '{ global: halftone_*; local: *; };' >$(SET)/obj/exports
	$(call run,LINK,$@,$(CXX) -shared -static-libstdc++ -static-libgcc -Wl$(comma)-soname$(comma)$(SONAME) \
	    -Wl$(comma)--version-script=$(SET)/obj/exports $(LDFLAGS) -o $@ $(LIB_OBJ) $(DEVICE_LINK))
	@ln -sf libhalftone.so $(SET)/$(SONAME)

$(SET)/libhalftone-sim.a: $(SIM_LIB_OBJ) $(SET)/rules.mk
	$(call run,AR,$@,rm -f $@ && $(AR) rcsD $@ $(SIM_LIB_OBJ))

$(SET)/halftone.h: $(SET)/manifest ;

# What `halftone probe` measures with: every NVIDIA GPU from 7.5 on, by native code or PTX. 177: 7.5 has not every MMA.
PROBE_TARGETS := arch=compute_75,code=compute_75 arch=compute_80,code=[sm_80,compute_80] arch=compute_90a,code=sm_90a
PROBE_OBJ := $(if $(IS_HIP),,out/obj/bench/halftone/profile/probe_kernels.o)
out/obj/bench/halftone/profile/probe_kernels.o: bench/halftone/profile/probe_kernels.cu bench/halftone/profile/probe.h bench/halftone/io/cli_error.h out/obj/nvcc
	@mkdir -p $(@D)
	$(call run,NVCC,$<,$(NVCC) -O3 -std=c++17 -Ibench/halftone -diag-suppress 177 $(PROBE_TARGETS:%=-gencode %) -Xcompiler -fPIC -c $< -o $@)

# What hides the latency of launches when `halftone bench` times single calls.
DELAY_OBJ := $(if $(IS_HIP),,out/obj/bench/halftone/measure/delay_kernel.o)
out/obj/bench/halftone/measure/delay_kernel.o: bench/halftone/measure/delay_kernel.cu bench/halftone/measure/delay.h out/obj/nvcc
	@mkdir -p $(@D)
	$(call run,NVCC,$<,$(NVCC) -O3 -std=c++17 -Ibench/halftone $(PROBE_TARGETS:%=-gencode %) -Xcompiler -fPIC -c $< -o $@)

# What the programs of `halftone app` run on the device beside their products.
APP_KERNELS := bench/halftone/apps/app_kernels.cu bench/halftone/apps/app_kernels.h templates/hooks/prim/cuda.cuh
APP_OBJ := $(if $(IS_HIP),,out/obj/bench/halftone/apps/app_kernels.o)
out/obj/bench/halftone/apps/app_kernels.o: $(APP_KERNELS) out/obj/nvcc
	@mkdir -p $(@D)
	$(call run,NVCC,$<,$(NVCC) -O3 -std=c++17 -fmad=false -Ibench/halftone -diag-suppress 177 $(PROBE_TARGETS:%=-gencode %) -Xcompiler -fPIC -c $< -o $@)

out/obj/bench/halftone/apps/app_kernels-sim.o: $(APP_KERNELS) out/obj/flags $(wildcard runtime/sim/*.h)
	@mkdir -p $(@D)
	$(call run,SIM,$<,$(CXX) $(SIM_FLAGS) -iquote bench/halftone -c $< -o $@)

# What `halftone profile` runs on the device, and the simulator's arithmetic that it holds against it.
PROFILE_KERNELS := bench/halftone/profile/profile_kernels.cu bench/halftone/profile/profile.h bench/halftone/io/cli_error.h $(wildcard templates/hooks/prim/cuda.cuh templates/hooks/arch/sm*.cuh)
PROFILE_OBJ := $(if $(IS_HIP),,out/obj/bench/halftone/profile/profile_kernels.o)
out/obj/bench/halftone/profile/profile_kernels.o: $(PROFILE_KERNELS) out/obj/nvcc
	@mkdir -p $(@D)
	$(call run,NVCC,$<,$(NVCC) -O3 -std=c++17 -Ibench/halftone -diag-suppress 177 $(PROBE_TARGETS:%=-gencode %) -Xcompiler -fPIC -c $< -o $@)

out/obj/bench/halftone/profile/profile_kernels-sim.o: $(PROFILE_KERNELS) out/obj/flags $(wildcard runtime/sim/*.h)
	@mkdir -p $(@D)
	$(call run,SIM,$<,$(CXX) $(SIM_FLAGS) -iquote bench/halftone -c $< -o $@)

$(SET)/halftone: out/obj/bench/halftone/cmd/main.o $(BENCH_OBJ) out/obj/runtime/sim/sim_mma.o out/obj/runtime/sim/sim_mma_wide.o out/obj/runtime/sim/sim_f16.o $(PROBE_OBJ) $(PROFILE_OBJ) $(APP_OBJ) $(DELAY_OBJ) $(SET)/libhalftone.a
	$(call run,LINK,$@,$(CXX) -static-libstdc++ -static-libgcc $(LDFLAGS) -o $@ $^ $(DEVICE_LINK) -lm)

$(SET)/halftone-sim: out/obj/bench/halftone/cmd/main.o $(BENCH_OBJ) out/obj/bench/halftone/profile/profile_kernels-sim.o out/obj/bench/halftone/apps/app_kernels-sim.o $(SET)/libhalftone-sim.a
	$(call run,LINK,$@,$(CXX) -static-libstdc++ -static-libgcc $(LDFLAGS) -o $@ $^ -ldl -lpthread -lm)
endif
# ---- using it
# The demo builds for the GPU only where it can run; a GPU that the set does not fit also ends in the simulator. A set that is there stays, else half
# precision, a paper's cure and ours are enough, in the simulator by their smallest tiles, since its times mean nothing.
DEMO_SCHEMES := half,egemm,f16x3,bf16x6u
demo_part = $(if $(SCHEMES)$(shell sed -n '1{/ --scheme $(DEMO_SCHEMES)/!p;}' $(SET)/manifest 2>/dev/null),,SCHEMES=$(DEMO_SCHEMES) $(if $(DEVICE_CC),$(if $(GPU_HERE),,COVER=1),COVER=1))
demo:
	@$(MAKE) generate GPU=$(call q,$(GPU)) $(demo_part)
	$(call build,$(if $(DEVICE_CC),$(if $(GPU_HERE),build-device)) $(SET)/halftone-sim GPU=$(call q,$(GPU)) $(demo_part))
	@[ -f out/data/digits.npy ] || $(MAKE) out/venv/bin/pip >/dev/null 2>&1 || true
	@echo
	@command=$(SET)/halftone-sim; \
	$(if $(GPU_HERE),$(if $(DEVICE_CC),if why=$$($(SET)/halftone info 2>&1 >/dev/null); then command=$(SET)/halftone; \
	    else echo "$$why"; fi,echo $(call q,$(no_compiler))), \
	    echo "No $(VENDOR) GPU was found on this machine."; $(if $(DEVICE_CC),:,echo $(call q,$(no_compiler)))); \
	[ $$command = $(SET)/halftone ] || echo "The same kernels now run in the simulator: the same arithmetic bit for bit, but its times mean nothing."; \
	PYTHON=$(call q,$(PYTHON)) sh bench/data/demo.sh $$command out/data$(if $(demo_part), && \
	echo "Four schemes. All of them: make GPU="$(call q,$(GPU))"; $$command demo --data out/data/digits.npy")

# The GPU is looked for first: what would run there takes minutes to compile.
bench: out/bin/card
	$(need_gpu)
	$(need_compiler)
	@$(MAKE) generate GPU=$(call q,$(GPU))
	@$(MAKE) build-device GPU=$(call q,$(GPU))
	@$(SET)/halftone bench $(BENCH_ARGS)

# ---- for other people's projects
# The folder: out/bin/halftone-gen writes all of it, or nothing.
ifneq ($(filter vendor,$(MAKECMDGOALS)),)
ifeq ($(origin PREFIX),command line)
$(error PREFIX is the folder of make install; what exported names begin with is SYMBOLS=$(PREFIX))
endif
endif
vendor: out/bin/halftone-gen
	@dest=$(call q,$(DEST)); while [ "$${dest%/}" != "$$dest" ] && [ "$$dest" != / ]; do dest=$${dest%/}; done; \
	if [ -z "$$dest" ]; then echo "DEST is missing: make vendor GPU=$(firstword $(GPU)) DEST=folder [SCHEMES=f16x3,bf16x6u] [SYMBOLS=myproj_] [LEAN=1] [AMALGAMATION=1]" >&2; exit 2; fi; \
	out/bin/halftone-gen vendor --gpu $(call q,$(call joined,$(comma),$(GPU))) --out "$$dest" $(GEN_OPTIONS) \
	    $(if $(SYMBOLS),--prefix $(call q,$(SYMBOLS))) $(if $(filter-out 0,$(AMALGAMATION)),--amalgamation$(if $(filter sim,$(AMALGAMATION)),-sim))

verify-vendored: out/bin/halftone-gen
	@$(if $(DIR),,echo "DIR is missing: make verify-vendored DIR=folder" >&2; exit 2)
	@out/bin/halftone-gen verify $(call q,$(DIR))

# DESTDIR for packagers. DEVICE=0: the simulator's half alone.
INSTALL_FACTS = PREFIX=$(call q,$(or $(PREFIX),/usr/local)) LIBDIR=$(call q,$(or $(LIBDIR),lib)) DESTDIR=$(call q,$(DESTDIR)) SONAME=$(SONAME)
install: all
	@$(INSTALL_FACTS) VERSION=$(VERSION) SET=$(SET) VENDOR=$(if $(WITH_DEVICE),$(VENDOR)) \
	    CUDA=$(call q,$(CUDA)) CUDA_LIB=$(CUDA_LIB) sh runtime/install.sh install

# Python's package: out/wheel/halftone_gemm-VERSION-py3-none-manylinux_2_GLIBC_MACHINE.whl
wheel: all
	@$(PYTHON) runtime/python/wheel.py $(SET) out/wheel $(if $(WITH_DEVICE),halftone libhalftone.so)

uninstall:
	@$(INSTALL_FACTS) sh runtime/install.sh uninstall

# Each GPU by each scheme; a page or a table is of one.
EXPLAIN_OPTIONS = $(if $(MODEL),--model $(call q,$(MODEL))) $(if $(SHAPE),--shape $(call q,$(SHAPE))) $(if $(filter-out 0,$(TSV)),--tsv) \
    $(if $(HTML),--html $(call q,$(HTML))) $(if $(COMPARE),--compare $(call q,$(COMPARE))) $(foreach w,$(WHAT_IF),--what-if $(call q,$(w)))
explain: out/bin/halftone-gen
	@$(if $(HTML)$(filter-out 0,$(TSV)),$(if $(word 2,$(GPU))$(word 2,$(schemes)),\
	    echo "HTML and TSV are of one GPU and one scheme: give GPU= and SCHEMES= one name each" >&2; exit 2))
	@$(foreach g,$(GPU),$(foreach s,$(or $(schemes),f16x3),\
	    out/bin/halftone-gen explain --gpu $(call q,$(g)) --scheme $(call q,$(s)) $(EXPLAIN_OPTIONS) &&)) :

# Pages of explain for three GPUs, and what they look like where Chromium is installed (apt-get install chromium).
PAGES := a800 h200 mi210
CHROMIUM := $(firstword $(shell command -v chromium chromium-browser google-chrome 2>/dev/null))
pages: $(PAGES:%=out/pages/%.html)
	@$(if $(CHROMIUM),,echo "no Chromium here: pages without screenshots")

out/pages/%.html: gen/gpus/%.gpu out/bin/halftone-gen bench/pages.py
	@mkdir -p $(@D)
	$(call run,PAGE,$@,out/bin/halftone-gen explain --gpu $* --html $@ >/dev/null)
	$(if $(CHROMIUM),$(call run,SHOT,$(@:.html=.png),$(CHROMIUM) --headless --no-sandbox --disable-gpu \
	    --screenshot=$(@:.html=.png) --window-size=920$(comma)2700 "file://$$PWD/$@" >/dev/null 2>&1))

# ---- what is fetched
out/venv/bin/pip:
	@rm -rf out/venv
	$(call run,VENV,out/venv,$(PYTHON) -m venv out/venv || { rm -rf out/venv; \
	    echo $(call q,$(PYTHON))" cannot make a virtual environment; Debian and Ubuntu: sh tests/setup.sh demo" >&2; exit 1; })

toolchain: out/venv/bin/pip
	@sh tests/toolchain.sh out/toolchain$(TARGET:%=-%) out/venv/bin/python $(TARGET)

setup:
	@sh tests/setup.sh

include runtime/dropin/dropin.mk
include tests/tests.mk

# Data, the compiler wheels and the Python environment were fetched; sets are folders with a manifest.
clean:
	rm -rf out/bin out/obj out/pages out/test out/wheel $(patsubst %/manifest,%,$(wildcard out/*/manifest))

-include $(shell find out/obj out/test -name '*.d' 2>/dev/null)
