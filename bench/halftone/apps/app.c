/* app: what the programs share. See app.h. */
#include "apps/app.h"

#include <stdlib.h>
#include <string.h>

#include "io/outfile.h"

enum { DIGEST_BYTES = 1 << 22 };

double app_seconds(const struct app *app, const struct app_run *run) {
    double sum = 0;
    for (int i = 0; i < app->sites; i++)
        sum += run->seconds[i];
    return sum;
}

int app_execute(const struct app *app, void *state, struct products *p, const char *const *level, int repeats, int digest,
                struct app_run *out, struct cli_error *f) {
    for (int i = 0; i < repeats; i++) {
        struct app_run run;
        if (products_start(p, level, f) != 0 || app->run(state, p, &run, digest && i == 0, f) != 0)
            return -1;
        memcpy(run.seconds, p->seconds, sizeof run.seconds);
        memcpy(run.calls, p->calls, sizeof run.calls);
        const double rest = run.other_seconds - app_seconds(app, &run);
        run.other_seconds = rest > 0 ? rest : 0;
        if (i > 0) {
            run.digest = out->digest;
            if (memcmp(&run.error, &out->error, sizeof run.error) != 0)
                return cli_error_set(f, "two runs with the same levels have errors %.17g and %.17g: a defect of %s or of this device",
                                     out->error, run.error, app->name);
        }
        if (i == 0 || app_seconds(app, &run) < app_seconds(app, out))
            *out = run;
    }
    return 0;
}

int app_alloc(void *memory, double bytes, struct cli_error *f) {
    void *block = NULL;
    const int status = session_device_check(ht_dev_alloc(&block, (size_t)bytes), "device memory", f);
    memcpy(memory, &block, sizeof block);
    return status;
}

int app_launched(int code, const char *what, struct cli_error *f) {
    return session_device_check(ht_dev_check(code), what, f);
}

int app_digest(const void *device, size_t bytes, uint64_t *digest, struct cli_error *f) {
    unsigned char *const part = malloc(DIGEST_BYTES);
    int status = part != NULL ? session_wait(f) : cli_error_memory(f, DIGEST_BYTES, "a copy of the result");
    for (size_t at = 0; at < bytes && status == 0; at += DIGEST_BYTES) {
        const size_t length = bytes - at < DIGEST_BYTES ? bytes - at : DIGEST_BYTES;
        status = session_device_check(ht_dev_download(part, (const char *)device + at, length), "copy from the device", f);
        for (size_t i = 0; i < length; i++)
            *digest = (*digest ^ part[i]) * 0x100000001b3u;
    }
    free(part);
    return status;
}

int app_download(const float *device, int64_t rows, int64_t cols, struct npy_matrix *out, struct cli_error *f) {
    const size_t bytes = (size_t)(rows * cols) * sizeof *out->data;
    *out = (struct npy_matrix){.data = malloc(bytes), .rows = rows, .cols = cols, .column_major = 1};
    if (out->data == NULL)
        return cli_error_memory(f, (double)bytes, "the result");
    return session_wait(f) == 0 ? session_device_check(ht_dev_download(out->data, device, bytes), "copy from the device", f) : -1;
}

int app_read(const char *data, const char *name, int64_t rows_least, int64_t cols, struct npy_matrix *out, struct cli_error *f) {
    char *const path = outfile_join(data, name);
    if (path == NULL)
        return cli_error_memory(f, 4096, "a path");
    int status = npy_read(path, out, f);
    if (status == 0 && (out->rows < rows_least || (cols > 0 && out->cols != cols))) {
        status = cli_error_set(f, "%s: is %lld x %lld, and at least %lld rows%s are needed; make the folder anew: python3 bench/data/app_data.py %s",
                               path, (long long)out->rows, (long long)out->cols, (long long)rows_least,
                               cols > 0 ? " of other columns" : "", data);
        npy_free(out);
    }
    free(path);
    return status;
}
