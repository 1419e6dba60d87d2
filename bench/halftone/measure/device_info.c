/* device_info: what the NVIDIA driver and NVML say about the device in use, and the driver's device-to-device copy,
 * through dlopen. See device_info.h. Prototypes: CUDA driver API and NVML API references. */
#include "measure/device_info.h"

#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NVML_CLOCK_SM = 1, PCI_ID_BYTES = 32, DRIVER_TEXT_BYTES = 80 };

struct device_info {
    void *driver, *nvml, *nvml_device;
    int cuda_version;
    char driver_text[DRIVER_TEXT_BYTES];
    int (*copy)(uintptr_t to, uintptr_t from, size_t bytes, void *stream);
    int (*clock)(void *device, int type, unsigned *mhz);
    int (*power)(void *device, unsigned *milliwatts);
    int (*shutdown)(void);
};

static int look_up(void *library, const char *name, void *function) {
    void *symbol = library != NULL ? dlsym(library, name) : NULL;
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

/* CUDA_VISIBLE_DEVICES renumbers CUDA's devices but not NVML's: the PCI address is what both agree on. Before the first
 * launch there is no current context; then it is device 0 that will be used. */
static void find_pci(const struct device_info *d, char pci[PCI_ID_BYTES]) {
    int (*init)(unsigned flags), (*current)(int *device), (*address)(char *text, int bytes, int device);
    int device = 0;
    pci[0] = '\0';
    if (!look_up(d->driver, "cuInit", &init) || !look_up(d->driver, "cuCtxGetDevice", &current) ||
        !look_up(d->driver, "cuDeviceGetPCIBusId", &address) || init(0) != 0)
        return;
    if (current(&device) != 0)
        device = 0;
    if (address(pci, PCI_ID_BYTES, device) != 0)
        pci[0] = '\0';
}

static void open_nvml(struct device_info *d) {
    int (*init)(void), (*version)(char *text, unsigned bytes), (*handle)(const char *pci, void **device);
    char pci[PCI_ID_BYTES];
    d->nvml = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!look_up(d->nvml, "nvmlInit_v2", &init) || !look_up(d->nvml, "nvmlShutdown", &d->shutdown) ||
        init() != 0) {
        d->shutdown = NULL;
        return;
    }
    if (!look_up(d->nvml, "nvmlSystemGetDriverVersion", &version) ||
        version(d->driver_text, DRIVER_TEXT_BYTES) != 0)
        snprintf(d->driver_text, DRIVER_TEXT_BYTES, "n/a");
    find_pci(d, pci);
    if (pci[0] == '\0' || !look_up(d->nvml, "nvmlDeviceGetHandleByPciBusId_v2", &handle) ||
        handle(pci, &d->nvml_device) != 0)
        d->nvml_device = NULL;
    look_up(d->nvml, "nvmlDeviceGetClockInfo", &d->clock);
    look_up(d->nvml, "nvmlDeviceGetPowerUsage", &d->power);
}

struct device_info *device_info_open(void) {
    int (*version)(int *number);
    struct device_info *d = calloc(1, sizeof *d);
    if (d == NULL)
        return NULL;
    snprintf(d->driver_text, DRIVER_TEXT_BYTES, "n/a");
    d->driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
    if (d->driver == NULL) {
        free(d);
        return NULL;
    }
    if (!look_up(d->driver, "cuDriverGetVersion", &version) || version(&d->cuda_version) != 0)
        d->cuda_version = 0;
    look_up(d->driver, "cuMemcpyDtoDAsync_v2", &d->copy);
    open_nvml(d);
    return d;
}

void device_info_close(struct device_info *d) {
    if (d == NULL)
        return;
    if (d->shutdown != NULL)
        d->shutdown();
    if (d->nvml != NULL)
        dlclose(d->nvml);
    dlclose(d->driver);
    free(d);
}

const char *device_info_driver(const struct device_info *d) {
    return d != NULL ? d->driver_text : "n/a";
}

int device_info_cuda_version(const struct device_info *d) {
    return d != NULL ? d->cuda_version : 0;
}

double device_info_clock_mhz(const struct device_info *d) {
    unsigned value = 0;
    if (d == NULL || d->nvml_device == NULL || d->clock == NULL ||
        d->clock(d->nvml_device, NVML_CLOCK_SM, &value) != 0)
        return -1;
    return value;
}

double device_info_power_watts(const struct device_info *d) {
    unsigned value = 0;
    if (d == NULL || d->nvml_device == NULL || d->power == NULL || d->power(d->nvml_device, &value) != 0)
        return -1;
    return value / 1000.0;
}

int device_info_copy(const struct device_info *d, void *to, const void *from, size_t bytes) {
    if (d == NULL || d->copy == NULL)
        return -1;
    return d->copy((uintptr_t)to, (uintptr_t)from, bytes, NULL);
}
