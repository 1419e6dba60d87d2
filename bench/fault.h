/* fault: what went wrong, in one line for the user, with the cure in it. Every function of the command that
 * can fail returns 0 or -1 and fills a fault; only main.c prints. Knows nothing of files, matrices or
 * devices. */
#ifndef BENCH_FAULT_H
#define BENCH_FAULT_H

#ifdef __cplusplus
extern "C" {
#endif

enum exit_code { EXIT_OK = 0, EXIT_FAULT = 1, EXIT_USAGE = 2, EXIT_NO_DEVICE = 3 };

struct fault {
    enum exit_code code; /* 0 is read as EXIT_FAULT when a command failed */
    char text[640];
};

#if defined(__GNUC__)
#define FAULT_FORMAT __attribute__((format(printf, 2, 3)))
#else
#define FAULT_FORMAT
#endif

/* Both always return -1, so that a caller can write `return fault_set(...)`. */
int fault_set(struct fault *f, const char *format, ...) FAULT_FORMAT;
int fault_usage(struct fault *f, const char *format, ...) FAULT_FORMAT;
int fault_memory(struct fault *f, double bytes, const char *what);

#ifdef __cplusplus
}
#endif
#endif
