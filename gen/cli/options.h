/* options: the command line as data, and its help. Checks what needs no other module: names, order,
 * emptiness, characters. */
#ifndef HT_OPTIONS_H
#define HT_OPTIONS_H

#include <stdbool.h>

enum verb { VERB_LIST, VERB_EXPLAIN, VERB_EMIT, VERB_VENDOR, VERB_VERIFY, VERBS };
enum { WHAT_IFS_MAX = 32 };

struct options {
    const char *operand; /* the word behind list and verify */
    const char *gpu, *scheme, *model, *shape, *out, *root, *tiles, *prefix, *html, *compare, *tuned, *promote;
    const char *what_if[WHAT_IFS_MAX];
    int what_ifs;
    bool tsv, lean, cover, amalgamation, simulator;
    bool help;
};

/* The verb of that name; VERBS: none, or err_user. */
enum verb options_verb(const char *name);

/* Words behind the verb. The values are the words themselves, a folder's without trailing slashes. False
 * after err_user. */
bool options_read(struct options *o, enum verb verb, int count, char **words);

/* Help to standard output: of the program (VERBS), or of a verb. */
void options_help(enum verb verb);
#endif
