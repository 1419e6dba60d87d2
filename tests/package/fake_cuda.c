/* fake_cuda.c: a libcuda.so.1 for tests of runtime/card.c and of the Python module. In the environment FAKE_CARD: "MAJOR MINOR
 * MULTIPROCESSORS PRODUCT"; FAKE_MEMORY: "ADDRESS GPU", where what is not on GPU 0 lies: (nil), all; GPU -1: on none. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int number[3];
static char product[128];

int cuInit(unsigned flags) {
    const char *card = getenv("FAKE_CARD");
    return flags != 0 || !card || sscanf(card, "%d %d %d %127[^\n]", &number[0], &number[1], &number[2], product) != 4;
}

int cuDeviceGetCount(int *count) {
    *count = 1;
    return 0;
}

int cuDeviceGet(int *device, int ordinal) {
    *device = ordinal;
    return ordinal != 0;
}

int cuDeviceGetName(char *name, int length, int device) {
    return snprintf(name, (size_t)length, "%s", product) < 0 || device != 0;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == 75 ? number[0] : attribute == 76 ? number[1] : attribute == 16 ? number[2] : 0;
    return device;
}

int cuPointerGetAttribute(int *value, int attribute, void *pointer) {
    const char *memory = getenv("FAKE_MEMORY");
    void *there = NULL;
    int gpu = 0;
    *value = memory && sscanf(memory, "%p %d", &there, &gpu) == 2 && (!there || there == pointer) ? gpu : 0;
    return attribute != 9 || *value < 0;
}

int fake_current, fake_entered;

int cuDevicePrimaryCtxRetain(int **context, int device) {
    static int contexts[2] = {0, 1};
    if (device > 1)
        return 101;
    *context = &contexts[device];
    return 0;
}

int cuCtxPushCurrent_v2(const int *context) {
    fake_current = *context;
    fake_entered++;
    return 0;
}

int cuCtxPopCurrent_v2(int **context) {
    *context = NULL;
    return fake_entered-- <= 0;
}
