# How the tests are built and run; included by the Makefile.
#   tests/test_NAME.c[pp]   cmocka programs without a generated kernel set
#   tests/test_product.c    needs one: run for several sets in the simulator, and on a GPU by check-gpu
#   tests/test_*.py         pytest

TEST_SETS := a800 t4
TEST_NAMES := $(filter-out test_product,$(basename $(notdir $(wildcard tests/test_*.c tests/test_*.cpp))))
TEST_LIB := $(GEN_OBJ) $(filter-out %/dev_cuda.o,$(CORE_OBJ)) out/obj/runtime/dev_sim.o $(SIM_OBJ) $(BENCH_OBJ)
PYTEST := out/venv/bin/python -m pytest -q -p no:cacheprovider

out/test/libtest.a: $(TEST_LIB)
	@mkdir -p $(@D)
	rm -f $@ && ar rcsD $@ $^

out/test/%: tests/%.c out/test/libtest.a
	@mkdir -p $(@D)
	$(CC) $(C_FLAGS) -Igen -Iruntime -o $@ $< out/test/libtest.a -lcmocka -lstdc++ -ldl -lpthread -lm

out/test/%: tests/%.cpp out/test/libtest.a
	@mkdir -p $(@D)
	$(CXX) $(CXX_FLAGS) -Igen -Iruntime -o $@ $< out/test/libtest.a -lcmocka -ldl -lpthread -lm

out/test/one_product.o: tests/one_product.c
	@mkdir -p $(@D)
	$(CC) $(C_FLAGS) -c $< -o $@

out/test/test_product.o: tests/test_product.c
	@mkdir -p $(@D)
	$(CC) $(C_FLAGS) -c $< -o $@

PRODUCT_OBJ := out/test/test_product.o $(patsubst %,out/obj/bench/%.o,families metrics reference)

ifneq ($(GPU),)
$(SET)/test_product-sim: $(PRODUCT_OBJ) $(SET)/libhalftone-sim.a
	$(CXX) -o $@ $^ -lcmocka -lpthread -lm

$(SET)/test_product: $(PRODUCT_OBJ) $(SET)/libhalftone.a
	$(CXX) -o $@ $^ -lcmocka -L$(CUDA_LIB) -lcudart_static -ldl -lrt -lpthread -lm

.PHONY: test-set
test-set: build-sim $(SET)/test_product-sim
endif

out/venv/bin/pytest:
	$(PYTHON) -m venv out/venv
	out/venv/bin/python -m pip install -q pytest

test: setup out/bin/halftone-gen out/venv/bin/pytest $(TEST_NAMES:%=out/test/%) out/test/one_product.o
	@set -e; for set in $(TEST_SETS); do $(MAKE) --no-print-directory generate GPU=$$set; \
	    $(MAKE) --no-print-directory test-set GPU=$$set; done
	@set -e; for t in $(TEST_NAMES); do echo "== $$t"; out/test/$$t; done
	@set -e; for set in $(TEST_SETS); do echo "== products of $$set in the simulator"; out/$$set/test_product-sim; done
	@echo "== products of a800 with Hopper's arithmetic"; HALFTONE_SIM_MODEL=sm90 out/a800/test_product-sim
	$(PYTEST) -rs tests
