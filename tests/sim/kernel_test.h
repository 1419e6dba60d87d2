/* kernel_test.h: what tests of kernels in the simulator share. Each test begins with no error, in the usual order of warps. */
#ifndef TESTS_SIM_KERNEL_TEST_H
#define TESTS_SIM_KERNEL_TEST_H
#include "../../runtime/sim/ht_sim.h"
#include "../test.h"

#include <vector>

/* Host memory that kernels may touch. */
template <class T> struct device_array {
    std::vector<T> v;
    explicit device_array(size_t count, T value = T()) : v(count, value) {
        ht_sim_register(v.data(), count * sizeof(T));
    }
    ~device_array() {
        ht_sim_unregister(v.data());
    }
    device_array(const device_array &) = delete;
    device_array &operator=(const device_array &) = delete;
};

static inline void set_schedule(const char *seed, const char *threads = "2") {
    setenv("HALFTONE_SIM_SEED", seed, 1);
    setenv("HALFTONE_SIM_THREADS", threads, 1);
}

static inline void expect_text(const char *part) {
    if (strstr(ht_sim_error(), part) == nullptr)
        print_error("'%s' is not in: %s\n", part, ht_sim_error());
    assert_non_null(strstr(ht_sim_error(), part));
}

#define EXPECT_OK(launch)                                                                                    \
    do {                                                                                                     \
        int code = (launch);                                                                                 \
        assert_string_equal(ht_sim_error(), "");                                                             \
        assert_int_equal(code, 0);                                                                           \
    } while (0)

#define EXPECT_VIOLATION(launch, part)                                                                       \
    do {                                                                                                     \
        ht_sim_clear_error();                                                                                \
        assert_int_equal((launch), HT_SIM_VIOLATION);                                                        \
        expect_text(part);                                                                                   \
    } while (0)

/* The program, whose tests run on this model. */
#define ON_MODEL(model)                                                                                      \
    static int start_test(void **) {                                                                         \
        ht_sim_clear_error();                                                                                \
        set_schedule("0");                                                                                   \
        unsetenv("HALFTONE_SIM_MODEL");                                                                      \
        return ht_sim_set_model(model);                                                                      \
    }                                                                                                        \
    FOR_EACH(start_test, nullptr)
#endif
