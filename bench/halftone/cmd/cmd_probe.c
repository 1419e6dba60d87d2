/* cmd_probe: `halftone probe`: measures this machine's GPU and writes its budget file. */
#include <stdio.h>
#include <string.h>

#include "io/args.h"
#include "cmd/cmd.h"
#include "io/outfile.h"
#include "profile/probe.h"
#include "io/progress.h"

enum { NAME_BYTES = 32 }; /* of a budget's name, with the end */

/* "h200" of "some/folder/h200.gpu": a-z, 0-9 and _ as budgets want it. */
static int name_of(const char *path, char name[NAME_BYTES], struct cli_error *f) {
    static const char suffix[] = ".gpu";
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    const size_t length = strspn(base, "abcdefghijklmnopqrstuvwxyz_0123456789");
    if (length == 0 || length >= NAME_BYTES || strcmp(base + length, suffix) != 0)
        return cli_error_usage(f, "--out %s: name the file NAME.gpu, NAME of a-z, 0-9 and _, at most %d of them",
                           path, (int)NAME_BYTES - 1);
    memcpy(name, base, length);
    name[length] = '\0';
    return 0;
}

static void step(void *context, const char *what) {
    progress_step(context, what);
}

static int write_file(const struct probe_result *result, const char *name, const char *path,
                      struct cli_error *f) {
    struct outfile o;
    if (outfile_open(&o, path, f) != 0)
        return -1;
    if (probe_write(o.stream, result, name, f) != 0) {
        outfile_discard(&o);
        return -1;
    }
    return outfile_commit(&o, f);
}

static int run(int argc, char **argv, struct cli_error *f) {
    const char *out = NULL, *none[1];
    char name[NAME_BYTES];
    int count = 0;
    const struct option options[] = {{"--out", &out, NULL}, {NULL, NULL, NULL}};
    if (args_parse(argc, argv, options, none, 0, &count, f) != 0)
        return -1;
    if (out == NULL)
        return cli_error_usage(f, "--out NAME.gpu is missing; see --help");
    if (name_of(out, name, f) != 0 || outfile_check(out, f) != 0)
        return -1;
    const struct probe_device *device = &probe_device_cuda;
    if (device == NULL) {
        cli_error_set(
            f,
            "needs a GPU: the simulator's build has nothing to measure; run `make GPU=...` with nvcc and use "
            "out/.../halftone");
        f->code = EXIT_NO_DEVICE;
        return -1;
    }
    struct probe_result result;
    struct progress progress;
    progress_start(&progress, PROBE_PASSES * PROBE_COUNT);
    int status = probe_run(device, &result, step, &progress, f);
    progress_end(&progress);
    device->close();
    if (status != 0 || write_file(&result, name, out, f) != 0)
        return -1;
    printf("wrote %s: %s; the second pass differs most, by %+.2g %%, in: %s\n", out, result.facts.name,
           result.value[result.noisiest].drift_percent, probe_words[result.noisiest]);
    return 0;
}

const struct command cmd_probe = {"probe",
                                  "measures this machine's GPU and writes its budget file (not in the simulator)",
                                  "Usage: halftone probe --out NAME.gpu\n\n"
                                  "Reads what the driver says of the current GPU and measures what data "
                                  "sheets hide: copy, L2 and shared-memory\n"
                                  "bandwidth, FMAs per clock of every MMA type and shape, "
                                  "latencies, launch cost, clock under load; two\n"
                                  "passes of 5 runs each, about 20 seconds. Writes a budget for `make "
                                  "GPU=NAME.gpu`; every value names its source,\n"
                                  "its spread and what the second pass changed. Needs a GPU and a build for "
                                  "it; any set will do, `make GPU=a100` say.\n",
                                  run, 0};
