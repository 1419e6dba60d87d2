# The faces: objects that are preloaded before programs which call cuBLAS or BLAS; included by the Makefile.
# A face is of libc alone, whatever the set; it lies beside the library, where it looks for it.

DROPIN_COMMON := $(patsubst %.c,out/obj/%.o,$(wildcard runtime/dropin/common_*.c)) out/obj/runtime/dropin/site_line.o
DROPIN_CUBLAS := $(patsubst %.c,out/obj/%.o,$(wildcard runtime/dropin/cublas_*.c runtime/dropin/lt_*.c))
DROPIN_BLAS := $(patsubst %.c,out/obj/%.o,$(wildcard runtime/dropin/blas_*.c) runtime/dropin/cublas_driver.c)
# Products of hipBLAS and rocBLAS go the way of cuBLAS', with another driver (hip_original.c).
DROPIN_HIP := $(patsubst %.c,out/obj/%.o,$(wildcard runtime/dropin/hip_*.c) $(addprefix runtime/dropin/cublas_,product.c forms.c))

# Small rather than fast: no loop of theirs is long. Thread-local memory as of a library that is there from the start: a face is preloaded.
# Through the table of addresses, not a PLT, which would be 700 bytes. Frame pointers, and tables for unwinding only of functions that wait for others' work: such tables are a sixth of a face.
out/obj/runtime/dropin/%.o: C_FLAGS += -Os -ffunction-sections -fdata-sections -fno-ident -D_GNU_SOURCE -fvisibility=hidden -ftls-model=initial-exec -fno-omit-frame-pointer -fno-plt
out/obj/runtime/dropin/site_line.o $(patsubst %.c,out/obj/%.o,$(filter-out runtime/dropin/common_library.c,$(wildcard runtime/dropin/common_*.c)) runtime/dropin/lt_read.c \
    $(addprefix runtime/dropin/cublas_,origin.c dlsym.c forms.c driver.c)): C_FLAGS += -fno-asynchronous-unwind-tables

# The lines of a site table, which the library has, too: here as the face's own, hidden.
out/obj/runtime/dropin/site_line.o: runtime/ht_site_line.c out/obj/flags
	@mkdir -p $(@D)
	$(call run,CC,$<,$(CC) $(C_FLAGS) -c $< -o $@)

# Linkers that do not know this option pad a face to whole pages; the first face asks.
no_padding := -Wl,-z,noseparate-code
takes_no_padding = $(shell mkdir -p out/obj && $(CC) -shared -nostdlib $(no_padding) -x c /dev/null -o out/obj/linked 2>/dev/null && echo 1)
NO_PADDING = $(eval NO_PADDING := $(if $(takes_no_padding),$(no_padding)))$(NO_PADDING)

# $(call link_face,NAME): never unloaded, since programs keep its functions' addresses; small, since every process maps it: no padding to pages, and none
# of the compiler's start files: a face has no constructors, and nothing of it ends with the process.
link_face = $(call run,LINK,$@,$(CC) -shared -s -nostartfiles -Wl$(comma)--gc-sections $(NO_PADDING) -Wl$(comma)-z$(comma)common-page-size=64 -Wl$(comma)-z$(comma)norelro -Wl$(comma)-soname$(comma)$(1) -Wl$(comma)-z$(comma)nodelete -Wl$(comma)--no-undefined \
    -Wl$(comma)--as-needed -Wl$(comma)--build-id $(LDFLAGS) -o $@ $^)

ifneq ($(GPU),)
# The simulator as a shared library: what the faces' tests load. Programs that play device memory register it.
$(SET)/libhalftone-sim.so: $(SIM_LIB_OBJ) out/obj/runtime/unload.o $(SET)/rules.mk
	@echo '{ global: halftone_*; ht_sim_*; local: *; };' >$(SET)/sim/exports
	$(call run,LINK,$@,$(CXX) -shared -static-libstdc++ -static-libgcc -Wl$(comma)-soname$(comma)libhalftone-sim.so \
	    -Wl$(comma)--version-script=$(SET)/sim/exports $(LDFLAGS) -o $@ $(SIM_LIB_OBJ) out/obj/runtime/unload.o -ldl -lpthread -lm)

$(SET)/libhalftone_cublas.so: $(DROPIN_COMMON) $(DROPIN_CUBLAS)
	$(call link_face,libhalftone_cublas.so)

$(SET)/libhalftone_hipblas.so: $(DROPIN_COMMON) $(DROPIN_HIP)
	$(call link_face,libhalftone_hipblas.so)

$(SET)/libhalftone_blas.so: $(DROPIN_COMMON) $(DROPIN_BLAS)
	$(call link_face,libhalftone_blas.so)
endif
