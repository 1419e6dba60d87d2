/* facts: what the NVIDIA driver and NVML say about the device in use (driver, clock, power), and the driver's
 * device-to-device copy. Looked up at run time with dlopen; what is missing is reported as missing. No vendor
 * header. */
#ifndef BENCH_FACTS_H
#define BENCH_FACTS_H

#include <stddef.h>

struct device_facts;                   /* NULL everywhere below means: not there */
struct device_facts *facts_open(void); /* NULL: no NVIDIA driver */
void facts_close(struct device_facts *d);
const char *facts_driver(const struct device_facts *d); /* "580.82.07" or "n/a" */
int facts_cuda_version(const struct device_facts *d);   /* of the driver, 13000 for 13.0; 0: unknown */
double facts_clock_mhz(const struct device_facts *d);   /* SM clock now; -1: unknown */
double facts_power_watts(const struct device_facts *d); /* board power now; -1: unknown */
/* Asynchronous device-to-device copy on the default stream; not 0 when impossible. */
int facts_copy(const struct device_facts *d, void *to, const void *from, size_t bytes);

#endif
