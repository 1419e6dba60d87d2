/* cli_error: what went wrong, in one line for the user, with the cure in it. Every function of the command that
 * can fail returns 0 or -1 and fills a fault; only main.c prints. Knows nothing of files, matrices or
 * devices. */
#ifndef BENCH_CLI_ERROR_H
#define BENCH_CLI_ERROR_H

#ifdef __cplusplus
extern "C" {
#endif

enum exit_code { EXIT_OK = 0, EXIT_FAULT = 1, EXIT_USAGE = 2, EXIT_NO_DEVICE = 3 };

struct cli_error {
    enum exit_code code; /* 0 is read as EXIT_FAULT when a command failed */
    char text[640];
};

#if defined(__GNUC__)
#define CLI_ERROR_FORMAT __attribute__((format(printf, 2, 3)))
#else
#define CLI_ERROR_FORMAT
#endif

/* Both always return -1, so that a caller can write `return cli_error_set(...)`. */
int cli_error_set(struct cli_error *f, const char *format, ...) CLI_ERROR_FORMAT;
int cli_error_usage(struct cli_error *f, const char *format, ...) CLI_ERROR_FORMAT;
int cli_error_memory(struct cli_error *f, double bytes, const char *what);

/* status = next, unless something failed before. */
#define AND_THEN(status, next) ((status) = (status) == 0 ? (next) : (status))

#ifdef __cplusplus
}
#endif
#endif
