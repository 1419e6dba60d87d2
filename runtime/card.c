/* card.c: names the GPUs of this machine, one a line, in the driver's order: `VENDOR ISA MULTIPROCESSORS PRODUCT`, as in
 * `nvidia sm_90 132 NVIDIA H200` and `amd gfx90a 104 gfx90a`. Exit 1 with the reason on stderr where there is none.
 *
 * Needs a C compiler alone: NVIDIA's driver is opened while it runs, AMD's kernel driver writes text files (`card FOLDER`
 * reads them from another folder than /sys). gen/card.sh finds the set for a card. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

enum { MULTIPROCESSOR_COUNT = 16, CAPABILITY_MAJOR = 75, CAPABILITY_MINOR = 76 }; /* CUdevice_attribute, cuda.h */

/* A C function of the driver; a void pointer cannot be cast to one in ISO C. */
#define LOAD(driver, name, pointer)                                                                          \
    do {                                                                                                     \
        void *const symbol_ = dlsym(driver, name);                                                           \
        memcpy(&(pointer), &symbol_, sizeof symbol_);                                                        \
    } while (0)

/* Prints NVIDIA's cards and counts them. *why: what was missing. */
static int print_nvidia(const char **why) {
    int (*init)(unsigned) = NULL, (*count_of)(int *) = NULL, (*device_at)(int *, int) = NULL;
    int (*name_of)(char *, int, int) = NULL, (*attribute_of)(int *, int, int) = NULL;
    int count = 0, printed = 0;
    void *const driver = dlopen("libcuda.so.1", RTLD_NOW);
    *why = "NVIDIA's driver, libcuda.so.1, is not installed";
    if (!driver)
        return 0;
    LOAD(driver, "cuInit", init);
    LOAD(driver, "cuDeviceGetCount", count_of);
    LOAD(driver, "cuDeviceGet", device_at);
    LOAD(driver, "cuDeviceGetName", name_of);
    LOAD(driver, "cuDeviceGetAttribute", attribute_of);
    *why = "NVIDIA's driver, libcuda.so.1, finds no GPU";
    if (!init || !count_of || !device_at || !name_of || !attribute_of || init(0) != 0 || count_of(&count) != 0)
        return 0;
    for (int i = 0; i < count; i++) {
        char name[256] = "";
        int device = 0, sms = 0, major = 0, minor = 0;
        if (device_at(&device, i) == 0 && name_of(name, sizeof name, device) == 0 &&
            attribute_of(&sms, MULTIPROCESSOR_COUNT, device) == 0 &&
            attribute_of(&major, CAPABILITY_MAJOR, device) == 0 &&
            attribute_of(&minor, CAPABILITY_MINOR, device) == 0)
            printed += printf("nvidia sm_%d%d %d %s\n", major, minor, sms, name) > 0;
    }
    return printed;
}

/* AMD's cards: nodes of the kernel's topology that have SIMDs. gfx_target_version is major * 10000 + minor * 100 + stepping,
 * of which a target's name has the last digit in hexadecimal: 90010 is gfx90a. */
static int print_amd(const char *root) {
    int printed = 0;
    for (int node = 0; node < 256; node++) {
        char path[4096], line[256];
        unsigned long simds = 0, per_unit = 0, target = 0;
        const int n = snprintf(path, sizeof path, "%s/class/kfd/kfd/topology/nodes/%d/properties", root, node);
        FILE *const file = n > 0 && n < (int)sizeof path ? fopen(path, "r") : NULL;
        if (!file)
            break;
        while (fgets(line, sizeof line, file)) {
            (void)(sscanf(line, "simd_count %lu", &simds) + sscanf(line, "simd_per_cu %lu", &per_unit) +
                   sscanf(line, "gfx_target_version %lu", &target));
        }
        fclose(file);
        if (simds > 0 && per_unit > 0 && target > 0)
            printed += printf("amd gfx%lu%lu%lx %lu gfx%lu%lu%lx\n", target / 10000, target / 100 % 100, target % 100,
                              simds / per_unit, target / 10000, target / 100 % 100, target % 100) > 0;
    }
    return printed;
}

int main(int argc, char **argv) {
    const char *why;
    const int cards = print_nvidia(&why) + print_amd(argc > 1 ? argv[1] : "/sys");
    if (cards == 0)
        fprintf(stderr, "%s, and there is no AMD GPU\n", why);
    return cards == 0;
}
