/* plot: runs gnuplot as a child process. See plot.h. */
#define _POSIX_C_SOURCE 200809L
#include "io/plot.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "plot_scripts.h" /* made by make from bench/halftone/plots */

enum { NO_GNUPLOT = 127 };

/* -d: the user's own settings (~/.gnuplot) would change the picture. */
static void become_gnuplot(const char *folder, const char *settings, int input, int output) {
    if (chdir(folder) == 0 && dup2(input, STDIN_FILENO) >= 0 && dup2(output, STDOUT_FILENO) >= 0)
        execlp("gnuplot", "gnuplot", "-d", "-e", settings, "/dev/stdin", (char *)NULL);
    _exit(NO_GNUPLOT);
}

/* A file without a name that holds the script. */
static FILE *script_file(const char *script) {
    FILE *input = tmpfile();
    if (input == NULL || fputs(script, input) == EOF || fflush(input) != 0 || fseek(input, 0, SEEK_SET) != 0) {
        if (input != NULL)
            fclose(input);
        return NULL;
    }
    return input;
}

const char *plot_run(const char *script, const char *settings, const char *folder, FILE *out) {
    FILE *input = script_file(script);
    if (input == NULL)
        return "no temporary file for its script could be made; check the free space of /tmp";
    fflush(NULL); /* the child must not repeat buffered output */
    pid_t child = fork();
    if (child == 0)
        become_gnuplot(folder, settings, fileno(input), fileno(out));
    fclose(input);
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child)
        return "gnuplot could not be started";
    if (WIFEXITED(status) && WEXITSTATUS(status) == NO_GNUPLOT)
        return "gnuplot is not installed; install it (Debian, Ubuntu: apt install gnuplot-nox) and run this "
               "again";
    return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? NULL : "gnuplot failed on it";
}
