/* plot: runs gnuplot as a child process. See plot.h. */
#define _POSIX_C_SOURCE 200809L
#define _XOPEN_SOURCE 700
#include "plot.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { PATH_BYTES = 4096, NO_GNUPLOT = 127 };

/* Absolute path of bench/plots/SCRIPT; the program is out/NAME/halftone of the same repository. NULL: not
 * there. */
static char *find_script(const char *script) {
    char path[PATH_BYTES + 256];
    char program[PATH_BYTES];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    if (length > 0) {
        program[length] = '\0';
        char *slash = strrchr(program, '/');
        if (slash != NULL) {
            *slash = '\0';
            snprintf(path, sizeof path, "%s/../../bench/plots/%s", program, script);
            if (access(path, R_OK) == 0)
                return realpath(path, NULL);
        }
    }
    snprintf(path, sizeof path, "bench/plots/%s", script);
    return access(path, R_OK) == 0 ? realpath(path, NULL) : NULL;
}

static void become_gnuplot(const char *folder, const char *settings, const char *path) {
    if (chdir(folder) == 0)
        execlp("gnuplot", "gnuplot", "-e", settings, path, (char *)NULL);
    _exit(NO_GNUPLOT);
}

const char *plot_run(const char *script, const char *settings, const char *folder) {
    char *path = find_script(script);
    if (path == NULL)
        return "its script was not found; run the command from the repository's top folder";
    fflush(NULL); /* the child must not repeat buffered output */
    pid_t child = fork();
    if (child == 0)
        become_gnuplot(folder, settings, path);
    free(path);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return "gnuplot could not be started";
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_GNUPLOT)
        return "gnuplot is not installed; install it (Debian, Ubuntu: apt install gnuplot-nox) and run this "
               "again";
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? NULL : "gnuplot failed on it";
}
