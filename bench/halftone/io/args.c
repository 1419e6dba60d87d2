/* args: command-line options and lists. See args.h. */
#include "io/args.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct option *find(const struct option *options, const char *argument,
                                 const char **inline_value) {
    size_t length = strcspn(argument, "=");
    for (; options->name != NULL; options++) {
        if (strlen(options->name) != length || memcmp(options->name, argument, length) != 0)
            continue;
        *inline_value = argument[length] == '=' ? argument + length + 1 : NULL;
        return options;
    }
    return NULL;
}

int args_parse(int argc, char **argv, const struct option *options, const char **positional,
               int positional_most, int *positional_count, struct cli_error *f) {
    int only_positional = 0;
    *positional_count = 0;
    for (int i = 0; i < argc; i++) {
        const char *inline_value = NULL;
        if (!only_positional && strcmp(argv[i], "--") == 0) {
            only_positional = 1;
        } else if (only_positional || argv[i][0] != '-' || argv[i][1] == '\0') {
            if (argv[i][0] == '\0')
                return cli_error_usage(f, "argument %d is empty; write a name, or see --help", i + 1);
            if (*positional_count == positional_most)
                return cli_error_usage(f, "unexpected argument '%s'; see --help", argv[i]);
            positional[(*positional_count)++] = argv[i];
        } else {
            const struct option *o = find(options, argv[i], &inline_value);
            if (o == NULL)
                return cli_error_usage(f, "unknown option '%s'; see --help", argv[i]);
            if (o->value == NULL && inline_value != NULL)
                return cli_error_usage(f, "option %s takes no value; leave out '=%s'", o->name, inline_value);
            if (o->value == NULL)
                *o->flag = 1;
            else
                *o->value = inline_value != NULL ? inline_value : i + 1 < argc ? argv[++i] : "";
            if (o->value != NULL && **o->value == '\0')
                return cli_error_usage(f, "option %s needs a value after it; see --help", o->name);
        }
    }
    return 0;
}

int args_refuse(const struct option *options, const char *names, const char *why, struct cli_error *f) {
    for (; options->name != NULL; options++) {
        const size_t length = strlen(options->name);
        const int is_given = options->value != NULL ? *options->value != NULL : *options->flag;
        for (const char *at = names; is_given && (at = strstr(at, options->name)) != NULL; at += length)
            if (at[length] == ' ' || at[length] == '\0')
                return cli_error_usage(f, "%s: leave out %s", why, options->name);
    }
    return 0;
}

static int is_digit(char c) {
    return c >= '0' && c <= '9';
}

/* strtoll alone would take blanks and '+' before it. */
static int parse_number(const char *option, const char **at, int64_t least, int64_t most, int64_t *out,
                        struct cli_error *f) {
    char *end = NULL;
    errno = 0;
    long long value = strtoll(*at, &end, 10);
    if ((**at != '-' && !is_digit(**at)) || end == *at || errno != 0 || (*end != '\0' && *end != ','))
        return cli_error_usage(f, "%s: '%s' is not a whole number; write for example 64", option, *at);
    if (value < least || value > most)
        return cli_error_usage(f, "%s: %lld is outside %lld..%lld", option, value, (long long)least,
                           (long long)most);
    *out = (int64_t)value;
    *at = end;
    return 0;
}

int args_numbers(const char *option, const char *text, int64_t least, int64_t most, int64_t *out,
                 int out_most, int *count, struct cli_error *f) {
    *count = 0;
    for (const char *at = text;; at++) {
        if (*count == out_most)
            return cli_error_usage(f, "%s: more than %d numbers; run it in parts", option, out_most);
        if (parse_number(option, &at, least, most, &out[*count], f) != 0)
            return -1;
        ++*count;
        if (*at == '\0')
            return 0;
    }
}

int args_number(const char *option, const char *text, int64_t least, int64_t most, int64_t *out,
                struct cli_error *f) {
    int count = 0;
    return args_numbers(option, text, least, most, out, 1, &count, f);
}

int args_real(const char *text, double *out) {
    char *end = NULL;
    *out = strtod(text, &end);
    return (is_digit(text[0]) || text[0] == '.') && text[strspn(text, "0123456789.eE+-")] == '\0' && *end == '\0' ? 0 : -1;
}

int args_seconds(const char *option, const char *text, double *out, struct cli_error *f) {
    double value = 0;
    if (args_real(text, &value) != 0 || !(value > 0 && value <= 3600))
        return cli_error_usage(f, "%s: '%s' is not a number of seconds between 0 and 3600", option, text);
    *out = value;
    return 0;
}

int args_names(const char *option, const char *text, struct name_list *out, struct cli_error *f) {
    size_t length = strlen(text);
    int commas = 0;
    for (const char *p = text; *p != '\0'; p++)
        commas += *p == ',';
    memset(out, 0, sizeof *out);
    out->storage = malloc(length + 1);
    out->name = malloc(((size_t)commas + 1) * sizeof *out->name);
    if (out->storage == NULL || out->name == NULL) {
        args_names_free(out);
        return cli_error_memory(f, (double)length, "a list of names");
    }
    memcpy(out->storage, text, length + 1);
    for (char *p = out->storage; p != NULL;) {
        char *comma = strchr(p, ',');
        if (comma != NULL)
            *comma = '\0';
        if (*p == '\0') {
            args_names_free(out);
            return cli_error_usage(f, "%s: '%s' holds an empty name; write for example %s a,b", option, text,
                               option);
        }
        out->name[out->count++] = p;
        p = comma != NULL ? comma + 1 : NULL;
    }
    return 0;
}

void args_names_free(struct name_list *list) {
    free(list->storage);
    free(list->name);
    memset(list, 0, sizeof *list);
}
