/* delay: a kernel that does nothing for a while on one multiprocessor. The host queues it first and runs ahead, so that what
 * it queues behind it starts without the latency of launches. */
#ifndef BENCH_DELAY_H
#define BENCH_DELAY_H

#ifdef __cplusplus
extern "C" {
#endif

/* On the default stream; 0 or the vendor's error. In builds for NVIDIA GPUs; NULL address elsewhere. */
int delay_start(unsigned nanoseconds) __attribute__((weak));

#ifdef __cplusplus
}
#endif
#endif
