/* err: how the generator speaks of what went wrong.
 *
 * Two kinds. A user's fault (a bad budget line, an impossible tile, an unknown name) is reported with its
 * place and its cure; all of them are reported before the program exits 1. A bug of ours aborts at once.
 * Knows nothing of budgets, tiles or templates. */
#ifndef HT_ERR_H
#define HT_ERR_H

#include <stdbool.h>

/* One line "path:line: message" to stderr (line 0: "path: message"; path NULL: "halftone-gen: message").
 * Returns false, as do most who call it. */
bool err_user(const char *path, int line, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* Number of err_user calls since the start or the last err_reset. */
int err_count(void);
void err_reset(void);

/* Appends the lines to a text instead; NULL: to stderr again. For tests. */
struct text;
void err_keep(struct text *lines);

/* A broken promise inside the generator: prints file:line and aborts. */
_Noreturn void err_bug_at(const char *file, int line, const char *message);
#define err_bug(message) err_bug_at(__FILE__, __LINE__, (message))

#endif
