/* headers.c: files of the repository, and what of the runtime's headers kernels carry; see emit.h. */
#include <stdio.h>

#include "base/err.h"
#include "emit/emit.h"
#include "emit/tpl.h"

enum { HEADER_PATH_BYTES = 4096 };

bool emit_read(struct text *out, const char *root, const char *folder, const char *name) {
    char path[HEADER_PATH_BYTES];
    const int n = snprintf(path, sizeof path, "%s/%s/%s", root, folder, name);
    const bool ok = n < HEADER_PATH_BYTES && text_read_file(out, path);
    if (!ok)
        err_user(path, 0, "cannot read this file; --root names the folder of gen/, runtime/ and templates/");
    return ok;
}

static bool read_section(struct text *out, const char *root, const char *name, const char *section) {
    struct text file = {0};
    const bool ok =
        emit_read(&file, root, "runtime", name) && tpl_section(out, name, file.data, file.len, section);
    text_free(&file);
    return ok;
}

bool emit_read_abi(struct text *out, const char *root, enum number_type matrices) {
    return read_section(out, root, "ht_abi.h", "shared") &&
           read_section(out, root, matrices == NUMBER_F64 ? "ht_abi64.h" : "ht_abi.h", "abi");
}

bool emit_read_headers(struct text *abi, struct text *headers, const char *root) {
    static const char *const names[] = {"ht_abi.h", "ht_abi64.h", "ht_cost.h", "ht_bound.h"};
    bool ok = emit_read_abi(abi, root, NUMBER_F32) && emit_read_abi(abi, root, NUMBER_F64);
    for (size_t i = 0; ok && i < sizeof names / sizeof *names; i++)
        ok = emit_read(headers, root, "runtime", names[i]);
    return ok;
}
