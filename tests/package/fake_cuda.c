/* fake_cuda.c: a libcuda.so.1 for tests of runtime/card.c; FAKE_CARD in the environment: "MAJOR MINOR MULTIPROCESSORS PRODUCT". */
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
