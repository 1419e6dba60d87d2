/* device_info: what the NVIDIA driver and NVML say about the device in use (driver, clock, power), and the driver's
 * device-to-device copy. Looked up at run time with dlopen; what is missing is reported as missing. No vendor
 * header. */
#ifndef BENCH_DEVICE_INFO_H
#define BENCH_DEVICE_INFO_H

#include <stddef.h>

struct device_info;                   /* NULL everywhere below means: not there */
struct device_info *device_info_open(void); /* NULL: no NVIDIA driver */
void device_info_close(struct device_info *d);
const char *device_info_driver(const struct device_info *d); /* "580.82.07" or "n/a" */
int device_info_cuda_version(const struct device_info *d);   /* of the driver, 13000 for 13.0; 0: unknown */
double device_info_clock_mhz(const struct device_info *d);   /* SM clock now; -1: unknown */
double device_info_power_watts(const struct device_info *d); /* board power now; -1: unknown */
/* Asynchronous device-to-device copy on the default stream; not 0 when impossible. */
int device_info_copy(const struct device_info *d, void *to, const void *from, size_t bytes);

#endif
