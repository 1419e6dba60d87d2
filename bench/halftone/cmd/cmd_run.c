/* run: `halftone run`, a command with the faces before it, and at its end what they served and what not, summed over the command's
 * processes: they add to counters in a file that this makes and removes. Writes to stderr alone; the command's output, exit code
 * and signals are its own. */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmd/cmd.h"
#include "../../../runtime/dropin/common.h"

static const char CUBLAS[] = "libhalftone_cublas.so", BLAS[] = "libhalftone_blas.so";
static const char SIMULATOR[] = "libhalftone-sim.so";
static const char HELP[] =
    "Usage: halftone run [--blas] [--accuracy A] [--fp64 A] [--sites FILE] [--log FILE] -- COMMAND [ARGUMENT...]\n\n"
    "Runs a command whose FP32 products of cuBLAS are computed by halftone, and says at the end, on stderr, "
    "what was served,\n"
    "what the command's own cuBLAS did, and why. The command is not changed, nor are its output and exit "
    "code.\n\n"
    "  --blas        also products of the host's BLAS (NumPy, R, HPL), from the host's memory\n"
    "  --accuracy A  what served products keep: as `halftone mm --accuracy`, or auto; default fp32\n"
    "  --fp64 A      FP64 products: original (cuBLAS' default; emulated ones are served where that is faster), emulated (all as\n"
    "                if emulation were asked for), auto, fp64, fp64-fast, fp64-exact, invariant, bits=N, bound=X,\n"
    "                relative=X:rho=Y. With --blas also the host's, by default served by FP64 arithmetic\n"
    "  --sites FILE  products that have an accuracy of their own, or stay the original's (default: HALFTONE_SITES); what each line\n"
    "                decided is said at the end\n"
    "  --log FILE    a table (TSV) of the calls; lines are appended\n\n"
    "HALFTONE_DLSYM=1 is for programs that look cuBLAS' functions up themselves (JAX, ctypes); HALFTONE_STRATEGY=eager serves\n"
    "small products, too. More, and what is served: runtime/dropin/README.md.\n"
    "Exit code 127: the command was not found, 126: it cannot be run.\n";

struct options {
    const char *accuracy, *fp64, *log, *sites;
    bool blas;
    unsigned faces; /* that are preloaded: DROPIN_OF_... */
    char **command;
};

/* ---- words ---- */

/* What lines of the site table decided; counts NULL: nothing is printed. */
struct site_counts {
    const struct dropin_counts *counts;
    int line, idle; /* lines so far, and those of them that decided nothing */
};

static int print_site(void *context, const struct ht_site_line *line, const char *text) {
    struct site_counts *const s = (struct site_counts *)context;
    const int at = s->line++;
    if (s->counts == NULL || at >= DROPIN_SITES_COUNTED)
        return 0;
    const uint64_t *const products = s->counts->sites[at];
    s->idle += products[0] + products[1] == 0;
    if (products[0] + products[1] > 0)
        fprintf(stderr, "  site     %10llu  line %d: %.*s%s\n", (unsigned long long)(products[0] + products[1]), line->number,
                (int)strcspn(text, "#\r\n"), text, products[0] > 0 && products[1] > 0 ? " (some by the original)" : "");
    return 0;
}

/* Where the value of an option goes, whose name has so many letters; NULL: none is called that. */
static const char **find_option(struct options *o, const char *word, size_t length) {
    const struct {
        const char *name;
        const char **value;
    } with_value[] = {{"--log", &o->log}, {"--accuracy", &o->accuracy}, {"--fp64", &o->fp64}, {"--sites", &o->sites}};
    for (size_t i = 0; i < sizeof with_value / sizeof *with_value; i++)
        if (strlen(with_value[i].name) == length && strncmp(with_value[i].name, word, length) == 0)
            return with_value[i].value;
    return NULL;
}

static int read_options(int argc, char **argv, struct options *o, struct cli_error *f) {
    int i = 0;
    for (; i < argc && argv[i][0] == '-' && strcmp(argv[i], "--") != 0; i++) {
        if (strcmp(argv[i], "--blas") == 0) {
            o->blas = true;
            continue;
        }
        const char *const equals = strchr(argv[i], '=');
        const char **const value = find_option(o, argv[i], equals != NULL ? (size_t)(equals - argv[i]) : strlen(argv[i]));
        if (value == NULL)
            return cli_error_usage(f,
                                   "unknown option '%s'; options are --blas, --accuracy A, --fp64 A, --sites FILE "
                                   "and --log FILE, then -- and the command",
                                   argv[i]);
        if (equals == NULL && i + 1 >= argc)
            return cli_error_usage(f, "%s needs a value", argv[i]);
        *value = equals != NULL ? equals + 1 : argv[++i];
    }
    if (i < argc && strcmp(argv[i], "--") == 0)
        i++;
    if (i >= argc)
        return cli_error_usage(f, "no command; halftone run [--blas] [--accuracy A] [--fp64 A] [--sites FILE] [--log FILE] -- COMMAND");
    if (o->accuracy != NULL && !ht_site_is_accuracy(o->accuracy))
        return cli_error_usage(f, "no accuracy of FP32 products is called '%.60s', FP64's go to --fp64; `halftone info` lists them, 'fp32' is the default", o->accuracy);
    if (o->fp64 != NULL && strcmp(o->fp64, "original") != 0 && strcmp(o->fp64, "emulated") != 0 &&
        !ht_site_is_accuracy64(o->fp64))
        return cli_error_usage(f, "--fp64 '%.60s' is not " DROPIN_FP64_VALUES, o->fp64);
    o->command = argv + i;
    char fault[HT_SITE_LINE];
    struct site_counts none = {NULL, 0, 0};
    return o->sites != NULL && ht_site_file_read(o->sites, print_site, &none, fault) != 0 ? cli_error_set(f, "%s", fault) : 0;
}

/* ---- what is preloaded ---- */

/* The folder of this program, with the slash, and whether the program is the simulator's. */
static bool own_folder(char folder[DROPIN_PATH], bool *simulated) {
    const ssize_t length = readlink("/proc/self/exe", folder, DROPIN_PATH - 1);
    if (length <= 0)
        return false;
    folder[length] = '\0';
    char *const slash = strrchr(folder, '/');
    *simulated = strcmp(slash + 1, "halftone-sim") == 0;
    slash[1] = '\0';
    return true;
}

/* Beside the program, or where it is installed; else where the dynamic linker looks. */
static bool find_file(const char *folder, const char *name, char path[2 * DROPIN_PATH]) {
    static const char *const places[] = {"", "../lib/", "../lib64/", "../lib/x86_64-linux-gnu/"};
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        snprintf(path, 2 * DROPIN_PATH, "%s%s%s", folder, places[i], name);
        if (access(path, R_OK) == 0)
            return true;
    }
    snprintf(path, 2 * DROPIN_PATH, "%s", name);
    void *const found = dlopen(name, RTLD_LAZY | RTLD_LOCAL);
    if (found != NULL)
        (void)dlclose(found);
    return found != NULL;
}

static int set_variable(const char *name, const char *value, struct cli_error *f) {
    return setenv(name, value, 1) == 0 ? 0 : cli_error_set(f, "%s cannot be set: %s", name, strerror(errno));
}

/* A file by a path that holds wherever the command goes. */
static int set_file(const char *name, const char *file, struct cli_error *f) {
    char folder[DROPIN_PATH], path[2 * DROPIN_PATH];
    if (file[0] == '/')
        return set_variable(name, file, f);
    if (getcwd(folder, sizeof folder) == NULL)
        return cli_error_set(f, "%s: %s", file, strerror(errno));
    snprintf(path, sizeof path, "%s/%s", folder, file);
    return set_variable(name, path, f);
}

static int missing(const char *name, struct cli_error *f) {
    return cli_error_set(f,
                         "%s was not found beside this program nor in ../lib: build it by make GPU=... and "
                         "install it, or put its folder into LD_LIBRARY_PATH",
                         name);
}

/* In front of what is preloaded already. */
static int preload(const char *folder, const char *name, struct cli_error *f) {
    char face[2 * DROPIN_PATH], all[4 * DROPIN_PATH];
    if (!find_file(folder, name, face))
        return missing(name, f);
    if (strpbrk(face, " :") != NULL)
        return cli_error_set(
            f, "%s: LD_PRELOAD takes no path with a blank or a colon; put the folder elsewhere", face);
    const char *const others = getenv("LD_PRELOAD");
    snprintf(all, sizeof all, "%s%s%s", face, others != NULL && others[0] != '\0' ? ":" : "",
             others != NULL ? others : "");
    return set_variable("LD_PRELOAD", all, f);
}

static int set_environment(struct options *o, const char *counts, struct cli_error *f) {
    char folder[DROPIN_PATH], library[2 * DROPIN_PATH];
    bool simulated = false;
    if (!own_folder(folder, &simulated))
        return cli_error_set(f, "/proc/self/exe: %s", strerror(errno));
    if (o->blas && preload(folder, BLAS, f) != 0)
        return -1;
    const bool has_cublas = !o->blas || find_file(folder, CUBLAS, library); /* a set for AMD has none */
    if (has_cublas && preload(folder, CUBLAS, f) != 0)
        return -1;
    o->faces = (o->blas ? DROPIN_OF_BLAS : 0u) | (has_cublas ? DROPIN_OF_CUBLAS : 0u);
    if (set_variable("HALFTONE_COUNTS", counts, f) != 0)
        return -1;
    if (simulated && getenv("HALFTONE_LIBRARY") == NULL) {
        if (!find_file(folder, SIMULATOR, library))
            return missing(SIMULATOR, f);
        if (set_variable("HALFTONE_LIBRARY", library, f) != 0)
            return -1;
    }
    if (o->accuracy != NULL && set_variable("HALFTONE_ACCURACY", o->accuracy, f) != 0)
        return -1;
    if (o->fp64 != NULL && set_variable("HALFTONE_FP64", o->fp64, f) != 0)
        return -1;
    if (o->sites != NULL && set_file("HALFTONE_SITES", o->sites, f) != 0)
        return -1;
    return o->log != NULL ? set_file("HALFTONE_LOG", o->log, f) : 0;
}

/* ---- counters ---- */

static struct dropin_counts *make_counts(char path[DROPIN_PATH], struct cli_error *f) {
    const char *const folder = getenv("TMPDIR");
    snprintf(path, DROPIN_PATH, "%.900s/halftone-run-XXXXXX",
             folder != NULL && folder[0] != '\0' ? folder : "/tmp");
    const int file = mkstemp(path);
    void *at = MAP_FAILED;
    if (file >= 0 && ftruncate(file, sizeof(struct dropin_counts)) == 0)
        at = mmap(NULL, sizeof(struct dropin_counts), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (at == MAP_FAILED) {
        (void)cli_error_set(f, "%.400s: %s; name another folder by TMPDIR", path, strerror(errno));
        if (file >= 0)
            (void)unlink(path);
    }
    if (file >= 0)
        (void)close(file);
    if (at == MAP_FAILED)
        return NULL;
    struct dropin_counts *const counts = (struct dropin_counts *)at;
    counts->layout = sizeof *counts;
    return counts;
}

static const char *const apis[] = {
#define NAME(name) #name,
    DROPIN_APIS(NAME)
#undef NAME
};
static const char *const reasons[] = {
#define TEXT(name, text) text,
    DROPIN_REASONS(TEXT)
#undef TEXT
};

/* Of --sites or the environment; a table that cannot be read the command's processes have told of. */
static void print_sites(const struct dropin_counts *c) {
    const char *const path = getenv("HALFTONE_SITES");
    char fault[HT_SITE_LINE];
    struct site_counts s = {c, 0, 0};
    if (path != NULL && path[0] != '\0' && ht_site_file_read(path, print_site, &s, fault) == 0 && s.idle > 0)
        fprintf(stderr, "  %d of the %d lines of %s decided no product\n", s.idle, s.line, path);
}

static void print_served(const struct dropin_counts *c) {
    const unsigned long long single = c->bound_units[0], wide = c->bound_units[1];
    fprintf(stderr, "  %.4g GFLOP served; predicted %.4g ms for %llu of the calls; error bounds", (double)c->served_flop * 1e-9,
            (double)c->predicted_ns * 1e-6, (unsigned long long)c->predicted);
    if (single > 0)
        fprintf(stderr, " up to %llu x 2^-24 |A||B|%s", single, wide > 0 ? " for FP32," : "");
    if (wide > 0)
        fprintf(stderr, " up to %llu x 2^-53 |A||B|%s", wide, single > 0 ? " for FP64" : "");
    if (c->fixed_point > 0)
        fprintf(stderr, "%s %llu in fixed point, relative to the largest elements of rows and columns", single + wide > 0 ? "; of" : " of",
                (unsigned long long)c->fixed_point);
    fprintf(stderr, "%s\n", single + wide + c->fixed_point > 0 ? "" : " are not known");
}

/* What is set, and none of these faces reads; a simulator has variables of its own. */
static void print_unread(unsigned faces) {
    static const struct {
        const char *name;
        unsigned faces;
    } known[] = {
#define VARIABLE(name, faces) {#name, faces},
        DROPIN_VARIABLES(VARIABLE)
#undef VARIABLE
    };
    for (char **at = environ; *at != NULL; at++) {
        const size_t length = strcspn(*at, "="), count = sizeof known / sizeof *known;
        size_t i = 0;
        while (i < count && (strlen(known[i].name) != length || strncmp(known[i].name, *at, length) != 0))
            i++;
        if (strncmp(*at, "HALFTONE", 8) != 0 || strncmp(*at, "HALFTONE_SIM_", 13) == 0 || (*at)[length] == '\0' || (*at)[length + 1] == '\0')
            continue;
        if (i == count)
            fprintf(stderr, "  %.*s: no variable of a face is called that\n", (int)length, *at);
        else if ((known[i].faces & faces) == 0)
            fprintf(stderr, "  %.*s: not read; it is for products of %s\n", (int)length, *at,
                    known[i].faces == DROPIN_OF_BLAS ? "the host's BLAS (--blas)" : "cuBLAS");
    }
}

static void print_counts(const struct dropin_counts *c, unsigned faces) {
    uint64_t served = 0, original = 0;
    for (int api = 0; api < DROPIN_API_COUNT; api++)
        for (int why = 0; why < DROPIN_REASON_COUNT; why++)
            if (why != DROPIN_NESTED)
                *(why == DROPIN_SERVED ? &served : &original) += c->calls[api][why];
    if (served + original == 0 && c->begun > 0) {
        fprintf(stderr, "halftone run: no product was finished: the command ended while its first waited for libhalftone.so and the GPU's start\n");
        return;
    }
    if (served + original == 0) {
        fprintf(stderr, "halftone run: no product was seen. A program that links cuBLAS%s statically cannot be served; one that looks "
                        "its functions up itself (JAX, ctypes) is with HALFTONE_DLSYM=1%s\n",
                faces & DROPIN_OF_BLAS ? " or its BLAS" : "", faces & DROPIN_OF_BLAS ? "" : ", one of the host's BLAS with --blas");
        return;
    }
    fprintf(stderr, "halftone run: %llu products served, %llu by the original, in %llu process%s\n",
            (unsigned long long)served, (unsigned long long)original, (unsigned long long)c->processes,
            c->processes == 1 ? "" : "es");
    for (int why = 0; why < DROPIN_REASON_COUNT; why++)
        for (int api = 0; api < DROPIN_API_COUNT; api++)
            if (why != DROPIN_NESTED && c->calls[api][why] > 0)
                fprintf(stderr, "  %-8s %10llu  %s%s%s\n", why == DROPIN_SERVED ? "served" : "original",
                        (unsigned long long)c->calls[api][why], apis[api], why == DROPIN_SERVED ? "" : ": ",
                        why == DROPIN_SERVED ? "" : reasons[why]);
    if (served > 0)
        print_served(c);
    print_sites(c);
}

/* ---- the command ---- */

static volatile sig_atomic_t child;

static void pass_on(int signal) {
    if (child > 0)
        (void)kill((pid_t)child, signal);
}

/* Keys on the terminal go to all its processes: the command decides what they mean. */
static void set_signals(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    (void)sigemptyset(&action.sa_mask);
    action.sa_handler = pass_on;
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGHUP, &action, NULL);
    action.sa_handler = SIG_IGN;
    (void)sigaction(SIGINT, &action, NULL);
    (void)sigaction(SIGQUIT, &action, NULL);
}

/* The wait status, or -1 with the fault filled. */
static int run_command(char **command, struct cli_error *f) {
    int ends[2], error = 0, status = 0;
    if (pipe(ends) != 0 || fcntl(ends[1], F_SETFD, FD_CLOEXEC) != 0)
        return cli_error_set(f, "no pipe: %s", strerror(errno));
    sigset_t ending, before;
    (void)sigemptyset(&ending);
    (void)sigaddset(&ending, SIGTERM);
    (void)sigaddset(&ending, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &ending, &before); /* until there is a child to pass them on to */
    const pid_t made = fork();
    if (made == 0) {
        (void)sigprocmask(SIG_SETMASK, &before, NULL);
        (void)close(ends[0]);
        (void)execvp(command[0], command);
        error = errno;
        (void)!write(ends[1], &error, sizeof error);
        _exit(127);
    }
    child = (sig_atomic_t)made;
    set_signals();
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    (void)close(ends[1]);
    if (made < 0)
        return cli_error_set(f, "no process: %s", strerror(errno));
    if (read(ends[0], &error, sizeof error) != (ssize_t)sizeof error)
        error = 0;
    (void)close(ends[0]);
    while (waitpid(made, &status, 0) < 0)
        if (errno != EINTR)
            return cli_error_set(f, "waiting for the command: %s", strerror(errno));
    if (error == 0)
        return status;
    (void)cli_error_set(f, "%s: %s", command[0], strerror(error));
    f->code = (enum exit_code)(error == ENOENT ? 127 : 126);
    return -1;
}

/* As the command ended. */
static void end_alike(int status) {
    if (WIFSIGNALED(status)) {
        const struct rlimit none = {0, 0};
        (void)setrlimit(RLIMIT_CORE, &none);
        (void)signal(WTERMSIG(status), SIG_DFL);
        (void)raise(WTERMSIG(status));
    }
    exit(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_FAULT);
}

static int run_run(int argc, char **argv, struct cli_error *f) {
    struct options o = {0};
    char path[DROPIN_PATH];
    if (read_options(argc, argv, &o, f) != 0)
        return -1;
    struct dropin_counts *const counts = make_counts(path, f);
    if (counts == NULL)
        return -1;
    const int status = set_environment(&o, path, f) == 0 ? run_command(o.command, f) : -1;
    (void)unlink(path);
    if (status < 0)
        return -1;
    print_counts(counts, o.faces);
    print_unread(o.faces);
    end_alike(status);
    return 0;
}

const struct command cmd_run = {"run", "a command with its products of cuBLAS by halftone", HELP, run_run, 0};
