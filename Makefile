# halftone: budget -> tile model -> kernels -> library. `make` alone prints help. Everything built lands in out/.

.DEFAULT_GOAL := $(if $(GPU),all,help)
.DELETE_ON_ERROR:
MAKEFLAGS += --no-builtin-rules
export LC_ALL := C

# ---- tools
CC ?= gcc
CXX ?= g++
ifeq ($(origin CC),default)
CC := gcc
endif
ifeq ($(origin CXX),default)
CXX := g++
endif
PYTHON ?= python3
NVCC ?= $(firstword $(wildcard out/toolchain/nvidia/cu13/bin/nvcc) $(shell command -v nvcc 2>/dev/null) \
        $(wildcard /usr/local/cuda/bin/nvcc))
CUDA := $(if $(NVCC),$(abspath $(dir $(realpath $(NVCC)))/..))
CUDA_LIB := $(firstword $(wildcard $(CUDA)/lib64 $(CUDA)/lib))

WARN := -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Werror
CFLAGS ?= -O2
C_FLAGS := -std=c11 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE $(CFLAGS) $(WARN) -fPIC -MMD -MP
CXX_FLAGS := -std=c++17 $(CFLAGS) $(WARN) -fPIC -MMD -MP
COMMIT := $(shell git rev-parse --short HEAD 2>/dev/null || echo unknown)

# ---- sources
GEN_SRC := $(filter-out gen/main.c,$(wildcard gen/*.c))
GEN_OBJ := $(GEN_SRC:%.c=out/obj/%.o)
SIM_OBJ := $(patsubst %.c,out/obj/%.o,$(wildcard runtime/sim/*.c)) \
           $(patsubst %.cpp,out/obj/%.o,$(wildcard runtime/sim/*.cpp))
CORE_OBJ := out/obj/runtime/halftone.o out/obj/runtime/ht_pick.o
BENCH_OBJ := $(patsubst %.c,out/obj/%.o,$(filter-out bench/main.c,$(wildcard bench/*.c)))
TEMPLATES := $(wildcard templates/*) runtime/ht_desc.h
BUDGETS := $(wildcard gen/gpus/*.gpu)

# ---- the GPU asked for
ifneq ($(GPU),)
SET := out/$(notdir $(basename $(GPU)))
BUDGET := $(if $(findstring /,$(GPU)),$(GPU),gen/gpus/$(GPU).gpu)
ifeq ($(wildcard $(BUDGET)),)
$(error unknown GPU '$(GPU)'; known budgets: $(sort $(notdir $(basename $(BUDGETS)))), or the path of a .gpu file)
endif
-include $(SET)/rules.mk
KERNEL_OBJ := $(HT_KERNELS:%=$(SET)/obj/%.o)
SIM_KERNEL_OBJ := $(HT_KERNELS:%=$(SET)/sim/%.o)
endif

define need_gpu
@if [ -z "$(GPU)" ]; then echo "GPU is missing: make $@ GPU=NAME, NAME one of: $(sort $(notdir $(basename $(BUDGETS))))" >&2; exit 2; fi
endef
how_to_get_nvcc := nvcc was not found: install NVIDIA's CUDA toolkit, or run 'make toolchain' (NVIDIA's compiler wheels into out/toolchain, needs $(PYTHON) with pip)

.PHONY: help all generate build build-cuda build-sim demo test check-gpu bench explain clean toolchain setup FORCE

help:
	@echo "halftone: FP32-accurate matrix products on tensor cores, generated for your GPU"
	@echo
	@echo "  make demo GPU=a800       handwritten digits, every scheme beside native FP32 (simulator if there is no GPU)"
	@echo "  make GPU=a800            kernels, out/a800/libhalftone.{a,so}, halftone.h and the command out/a800/halftone"
	@echo "  make generate GPU=a800   only the sources (needs nothing but a C compiler)"
	@echo "  make explain GPU=a800    every candidate tile, what it uses, and why one won (SCHEME=f16x3 MODEL=halftone SHAPE=MxNxK)"
	@echo "  make test                all tests, no GPU needed"
	@echo "  make check-gpu GPU=a800  correctness on this machine's GPU, sanitizer included"
	@echo "  make bench GPU=a800      speed beside cuBLAS on this machine's GPU"
	@echo "  make setup               Debian or Ubuntu packages for the tests (apt-get)"
	@echo "  make toolchain           NVIDIA's compiler into out/toolchain, where there is no CUDA toolkit"
	@echo "  make clean               removes what was built in out/"
	@echo
	@echo "GPU: $(sort $(notdir $(basename $(BUDGETS)))), or the path of a budget file"

# ---- generator
out/bin/halftone-gen: $(GEN_OBJ) out/obj/gen/main.o
	@mkdir -p $(@D)
	$(CC) -o $@ $^

out/obj/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(C_FLAGS) $(if $(filter bench/%,$<),-DHALFTONE_COMMIT='"$(COMMIT)"') -c $< -o $@

out/obj/%.o: %.cpp
	@mkdir -p $(@D)
	$(CXX) $(CXX_FLAGS) -c $< -o $@

out/obj/runtime/dev_cuda.o: C_FLAGS += -isystem $(CUDA)/include

generate: $(if $(GPU),$(SET)/manifest)
	$(need_gpu)

ifneq ($(GPU),)
$(SET)/manifest: out/bin/halftone-gen $(TEMPLATES) $(BUDGET)
	out/bin/halftone-gen emit --gpu $(GPU) --out $(SET)
	@touch $@
endif

# ---- library and command; a second make reads the kernel list that the first one generated
all: generate
	$(need_gpu)
	@$(MAKE) --no-print-directory build GPU=$(GPU)

build: $(if $(NVCC),build-cuda) build-sim
	$(if $(NVCC),,@echo "$(how_to_get_nvcc)"; echo "built the simulator only: $(SET)/halftone-sim")

build-cuda: $(SET)/libhalftone.a $(SET)/libhalftone.so $(SET)/halftone.h $(SET)/halftone

build-sim: $(SET)/libhalftone-sim.a $(SET)/halftone.h $(SET)/halftone-sim

ifneq ($(GPU),)
$(SET)/obj/%.o: $(SET)/%.cu
	@mkdir -p $(@D)
	$(NVCC) -O3 -std=c++17 $(HT_KERNEL_FLAGS) -Xcompiler -fPIC -c $< -o $@

$(SET)/sim/%.o: $(SET)/%.cu $(wildcard runtime/sim/*.h)
	@mkdir -p $(@D)
	$(CXX) -std=c++17 -O2 -x c++ -DHT_SIMULATOR -ffp-contract=off -include runtime/sim/ht_sim.h -Iruntime -fPIC -c $< -o $@

$(SET)/obj/dispatch.o: $(SET)/dispatch.c runtime/ht_desc.h
	@mkdir -p $(@D)
	$(CC) $(C_FLAGS) -Iruntime -c $< -o $@

$(SET)/libhalftone.a: $(KERNEL_OBJ) $(SET)/obj/dispatch.o $(CORE_OBJ) $(if $(NVCC),out/obj/runtime/dev_cuda.o)
	rm -f $@ && ar rcsD $@ $^

$(SET)/libhalftone.so: $(KERNEL_OBJ) $(SET)/obj/dispatch.o $(CORE_OBJ) $(if $(NVCC),out/obj/runtime/dev_cuda.o)
	$(CXX) -shared -o $@ $^ -L$(CUDA_LIB) -lcudart_static -ldl -lrt -lpthread

$(SET)/libhalftone-sim.a: $(SIM_KERNEL_OBJ) $(SET)/obj/dispatch.o $(CORE_OBJ) out/obj/runtime/dev_sim.o $(SIM_OBJ)
	rm -f $@ && ar rcsD $@ $^

$(SET)/halftone.h: runtime/halftone.h
	@mkdir -p $(@D)
	cp $< $@

$(SET)/halftone: out/obj/bench/main.o $(BENCH_OBJ) $(SET)/libhalftone.a
	$(CXX) -o $@ $^ -L$(CUDA_LIB) -lcudart_static -ldl -lrt -lpthread -lm

$(SET)/halftone-sim: out/obj/bench/main.o $(BENCH_OBJ) $(SET)/libhalftone-sim.a
	$(CXX) -o $@ $^ -ldl -lpthread -lm
endif

# ---- using it
has_gpu = $(if $(NVCC),[ -x $(SET)/halftone ] && $(SET)/halftone info >/dev/null 2>&1,false)

demo: all
	$(need_gpu)
	@mkdir -p out/data
	@[ -f out/data/digits.npy ] || $(PYTHON) bench/demo/digits.py out/data || true
	@if $(has_gpu); then $(SET)/halftone demo --data out/data/digits.npy; \
	else echo "no GPU for this set here: the same kernels run in the simulator"; \
	     $(if $(NVCC),,echo "$(how_to_get_nvcc)";) $(SET)/halftone-sim demo --data out/data/digits.npy; fi

bench: all
	$(need_gpu)
	@$(if $(NVCC),$(SET)/halftone bench $(BENCH_ARGS),echo "$(how_to_get_nvcc)" >&2; exit 2)

check-gpu: all
	$(need_gpu)
	@sh tests/check_gpu.sh $(SET)

explain: out/bin/halftone-gen
	$(need_gpu)
	@out/bin/halftone-gen explain --gpu $(GPU) $(if $(SCHEME),--scheme $(SCHEME)) $(if $(MODEL),--model $(MODEL)) $(if $(SHAPE),--shape $(SHAPE)) $(if $(TSV),--tsv)

toolchain:
	sh tests/toolchain.sh out/toolchain $(PYTHON)

setup:
	sh tests/setup.sh

include tests/tests.mk

# Budgets of other GPUs, data and the compiler wheels stay.
clean:
	rm -rf out/bin out/obj out/test $(patsubst %.gpu,out/%,$(notdir $(BUDGETS)))

-include $(shell find out/obj out/test -name '*.d' 2>/dev/null)
