/* page: runs pages.py as a child process. See page.h. */
#define _POSIX_C_SOURCE 200809L
#include "io/page.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "io/outfile.h"

enum { PATH_BYTES = 4096, UNWRITTEN = 3, NO_PYTHON = 127 }; /* UNWRITTEN: pages.py's */

/* Cuts the last part off and returns it; "": there is none. */
static const char *cut(char *path) {
    char *slash = strrchr(path, '/');
    if (slash == NULL)
        return "";
    *slash = '\0';
    return slash + 1;
}

static int find_script(char script[PATH_BYTES], struct cli_error *f) {
    char folder[PATH_BYTES / 2];
    const ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
    folder[length > 0 ? length : 0] = '\0';
    cut(folder);
    const char *where = strcmp(cut(folder), "bin") == 0   ? "share/halftone"
                        : strcmp(cut(folder), "out") == 0 ? "bench"
                                                          : NULL;
    snprintf(script, PATH_BYTES, "%s/%s/pages.py", folder, where != NULL ? where : "");
    if (where == NULL)
        return cli_error_set(f, "--html: the command is not where it was built or installed, so pages.py, which draws pages, is not found");
    return access(script, R_OK) == 0 ? 0 : cli_error_set(f, "--html: %s, which draws the page, cannot be read: %s", script, strerror(errno));
}

/* -I, -B: neither the environment, nor the current folder, nor files beside the script have a say, and none is left there. */
static void become_python(const char *script, const char *kind, int input, int output) {
    if (dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0)
        execlp("python3", "python3", "-I", "-B", script, kind, (char *)NULL);
    _exit(NO_PYTHON);
}

static int run_script(const char *kind, int input, int output, const char *path, struct cli_error *f) {
    char script[PATH_BYTES];
    int status = 0;
    if (find_script(script, f) != 0)
        return -1;
    fflush(NULL); /* the child must not repeat buffered output */
    const pid_t child = fork();
    if (child == 0)
        become_python(script, kind, input, output);
    if (child < 0 || waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return cli_error_set(f, "--html: python3 could not be started, or was stopped");
    switch (WEXITSTATUS(status)) {
    case 0:
        return 0;
    case NO_PYTHON:
        return cli_error_set(f, "--html needs python3: apt-get install python3, or leave --html out");
    case UNWRITTEN:
        return cli_error_set(f, "%s: writing failed; check the free space and permissions of its folder", path);
    default:
        return cli_error_set(f, "--html: python3 did not draw the page (%s)", script);
    }
}

int page_check(const char *path, struct cli_error *f) {
    if (path == NULL)
        return 0;
    const int nothing = open("/dev/null", O_RDWR | O_CLOEXEC);
    if (nothing < 0)
        return cli_error_set(f, "/dev/null cannot be opened: %s", strerror(errno));
    const int status = outfile_check(path, f) != 0 ? -1 : run_script("check", nothing, nothing, path, f);
    close(nothing);
    return status;
}

FILE *page_table(struct cli_error *f) {
    FILE *table = tmpfile();
    if (table == NULL)
        cli_error_set(f, "no temporary file for the page could be made; check the free space of /tmp");
    return table;
}

int page_write(const char *kind, FILE *table, const char *path, struct cli_error *f) {
    struct outfile o;
    if (fflush(table) != 0 || ferror(table) || fseek(table, 0, SEEK_SET) != 0)
        return cli_error_set(f, "no temporary file for a page could be written; check the free space of /tmp");
    if (outfile_open(&o, path, f) != 0)
        return -1;
    if (run_script(kind, fileno(table), fileno(o.stream), path, f) == 0)
        return outfile_commit(&o, f);
    outfile_discard(&o);
    return -1;
}
