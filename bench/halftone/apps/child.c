/* child: a command, its output by a pipe. See child.h. */
#define _POSIX_C_SOURCE 200809L
#include "apps/child.h"
#include "apps/call_log.h"
#include "io/shapes.h"
#include "io/outfile.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LINE_BYTES = 4096, NOT_FOUND = 127 };

int child_open(struct child *c, char **command, const char *path, struct cli_error *f) {
    c->command = command;
    c->folder = outfile_work_folder(path, f);
    if (c->folder == NULL)
        return -1;
    c->table_path = outfile_join(c->folder, "sites");
    c->log_path = outfile_join(c->folder, "calls");
    return c->table_path != NULL && c->log_path != NULL ? 0 : cli_error_memory(f, LINE_BYTES, "a path");
}

void child_close(struct child *c) {
    if (c->table_path != NULL)
        (void)unlink(c->table_path);
    if (c->log_path != NULL)
        (void)unlink(c->log_path);
    if (c->folder != NULL)
        (void)rmdir(c->folder);
    free(c->folder);
    free(c->table_path);
    free(c->log_path);
}

static int set_environment(const struct child *c, int has_table) {
    const int status = has_table ? setenv("HALFTONE_SITES", c->table_path, 1) : unsetenv("HALFTONE_SITES");
    return status == 0 && setenv("HALFTONE_LOG", c->log_path, 1) == 0 ? setenv("HALFTONE", "record", 1) : -1;
}

static void execute(const struct child *c, int has_table, const int *pipe_ends) {
    if (set_environment(c, has_table) == 0 && dup2(pipe_ends[1], STDOUT_FILENO) >= 0) {
        close(pipe_ends[0]);
        close(pipe_ends[1]);
        execvp(c->command[0], c->command);
    }
    _exit(NOT_FOUND);
}

static int site_number(const struct child *c, const char *name) {
    for (int i = 0; i < c->sites; i++)
        if (strcmp(c->site[i], name) == 0)
            return i;
    return -1;
}

struct reading {
    struct child *c;
    int is_first, errors, seen[LOWERING_SITES];
    struct lowering_run *out;
};

static int take_site(struct reading *r, const char *name, double seconds, struct cli_error *f) {
    struct child *const c = r->c;
    int i = site_number(c, name);
    if (i < 0 && r->is_first) {
        if (c->sites == LOWERING_SITES)
            return cli_error_set(f, "%s: prints more than %d sites; print the longest and count the others to one", c->command[0], LOWERING_SITES);
        snprintf(c->site[i = c->sites++], SITE_NAME_BYTES, "%s", name);
    }
    if (i < 0)
        return cli_error_set(f, "%s: has site '%s', which its first run did not have; a program must have the same sites each time",
                             c->command[0], name);
    r->out->seconds[i] += seconds;
    r->seen[i] = 1;
    return 0;
}

static int take_line(struct reading *r, const char *line, struct cli_error *f) {
    char name[64];
    double number;
    int used = 0;
    if (sscanf(line, "error %lf %n", &number, &used) == 1 && line[used] == '\0') {
        r->out->error = number;
        r->errors++;
    }
    if (sscanf(line, "site %63s %lf %n", name, &number, &used) == 2 && line[used] == '\0')
        return strpbrk(name, "*?[\\#=") != NULL || !(number >= 0)
                   ? cli_error_set(f, "%s: prints site '%s': a name without * ? [ \\ # = and seconds that are not negative are needed",
                                   r->c->command[0], name)
                   : take_site(r, name, number, f);
    return 0;
}

/* What a drop-in has served. Of a later run only what the first had, which may have been more than are kept. */
static int take_log(struct reading *r, struct cli_error *f) {
    struct call_log log;
    int status = call_log_read(&log, r->c->log_path, f);
    if (status != 0)
        return -1;
    if (r->is_first)
        call_log_keep(&log, LOWERING_SITES);
    r->c->by_log = log.sites > 0;
    for (int i = 0; i < log.sites && status == 0; i++)
        if (r->is_first || site_number(r->c, log.site[i].name) >= 0)
            status = take_site(r, log.site[i].name, log.site[i].seconds, f);
    call_log_free(&log);
    return status;
}

static int check(const struct reading *r, struct cli_error *f) {
    const char *const name = r->c->command[0];
    if (r->errors != 1)
        return cli_error_set(f, "%s: prints %s line 'error NUMBER'; it must print one: the number that --tau limits", name,
                             r->errors == 0 ? "no" : "more than one");
    if (r->c->sites == 0)
        return cli_error_set(f, "%s: has no sites: it prints no line 'site NAME SECONDS', and no drop-in served it; run a program of cuBLAS as "
                                "`halftone run -- COMMAND`, or print one for each product whose accuracy is to be found",
                             name);
    for (int i = 0; i < r->c->sites; i++)
        if (!r->seen[i])
            return cli_error_set(f, "%s: no longer has site '%s'; a program must have the same sites each time", name, r->c->site[i]);
    return 0;
}

static int wait_for(pid_t id, const char *name, struct cli_error *f) {
    int status;
    while (waitpid(id, &status, 0) < 0)
        if (errno != EINTR)
            return cli_error_set(f, "%s: %s", name, strerror(errno));
    if (WIFSIGNALED(status))
        return cli_error_set(f, "%s: ended by signal %d; the same command goes on from the run before", name, WTERMSIG(status));
    if (WEXITSTATUS(status) == NOT_FOUND)
        return cli_error_set(f, "%s: cannot be run; give its path", name);
    return WEXITSTATUS(status) == 0 ? 0 : cli_error_set(f, "%s: failed with exit code %d; what it says is above", name, WEXITSTATUS(status));
}

int child_run(struct child *c, int has_table, struct lowering_run *out, struct cli_error *f) {
    struct reading r = {.c = c, .is_first = c->sites == 0, .out = out};
    char line[LINE_BYTES];
    int ends[2], status = 0;
    enum line_kind kind;
    memset(out, 0, sizeof *out);
    out->error = NAN;
    fflush(stdout);
    (void)unlink(c->log_path);
    if (pipe(ends) != 0)
        return cli_error_set(f, "a pipe: %s", strerror(errno));
    const pid_t id = fork();
    if (id == 0)
        execute(c, has_table, ends);
    close(ends[1]);
    FILE *const in = id > 0 ? fdopen(ends[0], "r") : NULL;
    if (in == NULL) {
        close(ends[0]);
        return cli_error_set(f, "%s: cannot be started: %s", c->command[0], strerror(errno));
    }
    while ((kind = line_read(in, line, sizeof line)) != LINE_END) /* all of it: a full pipe would stop the command */
        if (kind == LINE_WHOLE && status == 0)
            status = take_line(&r, line, f);
    fclose(in);
    if (wait_for(id, c->command[0], f) != 0)
        status = -1;
    if (status == 0 && (r.is_first ? c->sites == 0 : c->by_log))
        status = take_log(&r, f);
    return status == 0 ? check(&r, f) : -1;
}
