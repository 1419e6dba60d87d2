/* vendored.c: folders that exist already: may they be replaced, are they as they were written. See
 * vendor.h. */
#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/err.h"
#include "cli/vendor.h"

enum { PATH_BYTES = 4096 };

/* Whether the manifest lists a file of that name: with the checksum of these bytes, NULL: with any. */
static bool is_listed(const struct text *manifest, const char *name, const struct text *bytes) {
    struct text line = {0};
    if (bytes)
        text_addf(&line, "# checksum %016" PRIx64,
                  text_checksum(TEXT_CHECKSUM_SEED, bytes->data, bytes->len));
    text_addf(&line, " %s\n", name);
    const bool found = manifest->data && strstr(manifest->data, line.data);
    text_free(&line);
    return found;
}

/* The recreating command in a vendored folder's manifest, its first line; NULL: it is none. */
static const char *command_in(const struct text *manifest) {
    static const char mark[] = "# " HT_RECREATE "vendor ";
    const bool has = manifest->len > 0 && strncmp(manifest->data, mark, strlen(mark)) == 0;
    return has ? manifest->data + strlen(mark) : NULL;
}

enum made { MADE_OF_NOTHING, MADE_OF_NEW, MADE_OF_OLD };

/* What the folder's own lines make there: an object of each source, and the library. Of which set's names:
 * only an earlier one's, this one's, or none's. */
static enum made made_of(const struct files *f, const struct text *manifest, const char *name) {
    static const char *const endings[] = {".c", ".cu", ".hip"};
    char source[PATH_BYTES];
    const char *dot = strrchr(name, '.');
    const bool object = dot && strcmp(dot, ".o") == 0;
    enum made made = MADE_OF_NOTHING;
    if (dot && strcmp(dot, ".a") == 0 && strncmp(name, "lib", 3) == 0) {
        snprintf(source, sizeof source, "%.*s.h", (int)(dot - name) - 3, name + 3);
        return files_index(f, source) >= 0 || is_listed(manifest, source, NULL) ? MADE_OF_NEW
                                                                                : MADE_OF_NOTHING;
    }
    for (size_t i = 0; object && i < sizeof endings / sizeof *endings; i++) {
        snprintf(source, sizeof source, "%.*s%s", (int)(dot - name), name, endings[i]);
        if (files_index(f, source) >= 0)
            return MADE_OF_NEW;
        made = is_listed(manifest, source, NULL) ? MADE_OF_OLD : made;
    }
    return made;
}

/* A file that vendor did not write, or somebody edited, is in the way. What an interrupted run already wrote
 * is equal to the new text. Objects of sources that go, go with them: the line that compiles the folder
 * archives all objects there. */
static enum files_verdict judge_vendored(const struct files_writer *w, const char *name) {
    struct text bytes = {0};
    const int at = files_index(w->files, name);
    const enum made made = made_of(w->files, w->manifest, name);
    if (made != MADE_OF_NOTHING)
        return made == MADE_OF_OLD ? FILES_OWN : FILES_PASSED;
    const bool own =
        strcmp(name, "manifest") == 0
            ? command_in(w->manifest) != NULL
            : files_read_in(&bytes, w->folder, name) && (is_listed(w->manifest, name, &bytes) ||
                                                         (at >= 0 && text_same(&bytes, &w->files->text[at])));
    text_free(&bytes);
    return own ? FILES_OWN : FILES_FOREIGN;
}

bool vendor_write(const struct files *f, const char *folder) {
    return files_write(&(struct files_writer){"vendor", judge_vendored, f, folder, NULL});
}

bool vendor_command(struct text *out, const char *folder) {
    struct text manifest = {0};
    files_read_in(&manifest, folder, "manifest");
    const char *command = command_in(&manifest);
    if (command)
        text_add_bytes(out, command, strcspn(command, "\n"));
    else
        err_user(folder, 0,
                 "has no manifest that begins with '# Recreate: out/bin/halftone-gen vendor ...': not a "
                 "vendored folder, or its manifest was edited");
    text_free(&manifest);
    return command != NULL;
}

/* What nobody wrote here but the folder's own line would take: sources are compiled, headers may be included,
 * objects go into the library. An interrupted update leaves such files of one set beside another. */
static bool is_taken(const struct files *f, const struct text *manifest, const char *name) {
    static const char *const endings[] = {".c", ".cu", ".hip", ".h", ".cuh", ".o"};
    const char *dot = strrchr(name, '.');
    const bool taken = dot && TEXT_ROW(dot, endings) < sizeof endings / sizeof *endings;
    return taken && files_index(f, name) < 0 && made_of(f, manifest, name) == MADE_OF_NOTHING;
}

static void report_added(const struct files *f, const char *folder, const struct text *manifest) {
    struct dirent **entry = NULL;
    const int count = scandir(folder, &entry, NULL, alphasort);
    for (int i = 0; i < count; i++) {
        char *name = entry[i]->d_name;
        if (is_taken(f, manifest, name)) {
            for (char *c = name; *c; c++)
                *c = iscntrl((unsigned char)*c) ? '?' : *c;
            err_user(folder, 0, "%s was added: what compiles this folder takes it too", name);
        }
        free(entry[i]);
    }
    free(entry);
}

bool vendor_compare(const struct files *f, const char *folder) {
    struct text manifest = {0};
    const int before = err_count();
    files_read_in(&manifest, folder, "manifest");
    for (int i = 0; i < f->count; i++) {
        struct text bytes = {0};
        const char *name = f->name[i];
        if (!files_read_in(&bytes, folder, name))
            err_user(folder, 0, "%s is missing", name);
        else if (!text_same(&bytes, &f->text[i]) && is_listed(&manifest, name, &bytes))
            err_user(folder, 0, "%s is as it was written, but halftone-gen %s writes it differently", name,
                     HT_GENERATOR_VERSION);
        else if (!text_same(&bytes, &f->text[i]))
            err_user(folder, 0, "%s was edited", name);
        text_free(&bytes);
    }
    report_added(f, folder, &manifest);
    text_free(&manifest);
    return err_count() == before;
}
