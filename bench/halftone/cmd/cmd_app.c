/* cmd_app: `halftone app`: a program of bench/halftone/apps, once, with an accuracy for each of its product sites. What it prints is what
 * `halftone tune-app` reads of a command. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "apps/site_table.h"
#include "cmd/app_args.h"
#include "cmd/cmd.h"
#include "io/args.h"
#include "io/outfile.h"
#include "io/tsv.h"

/* One for all, or one for each site. */
static int take_accuracies(const struct app *app, const char *text, char level[][LEVEL_BYTES], struct cli_error *f) {
    struct name_list names;
    if (args_names("--accuracy", text, &names, f) != 0)
        return -1;
    int status = names.count == 1 || names.count == app->sites
                     ? 0
                     : cli_error_usage(f, "--accuracy takes one for all, or %d, one for each site", app->sites);
    for (int i = 0; i < app->sites && status == 0; i++) {
        const char *const name = names.name[names.count == 1 ? 0 : i];
        status = strlen(name) < LEVEL_BYTES ? 0 : cli_error_usage(f, "--accuracy: '%s' is no accuracy", name);
        if (status == 0)
            strcpy(level[i], name);
    }
    args_names_free(&names);
    return status;
}

static int choose_levels(const struct app *app, const char *accuracy, const char *sites, char level[][LEVEL_BYTES], struct cli_error *f) {
    const char *const from_environment = getenv("HALFTONE_SITES");
    if (accuracy != NULL && sites != NULL)
        return cli_error_usage(f, "--accuracy and --sites exclude each other: give one");
    if (accuracy != NULL)
        return take_accuracies(app, accuracy, level, f);
    if (sites == NULL && from_environment != NULL && from_environment[0] != '\0')
        sites = from_environment;
    return sites != NULL ? site_table_read(sites, app->site, app->sites, level, f) : take_accuracies(app, SITE_DEFAULT, level, f);
}

static void print_run(const struct app_session *s, char level[][LEVEL_BYTES], const struct app_run *run) {
    const double seconds = app_seconds(s->app, run);
    char rate[RATIO_BYTES], share[RATIO_BYTES];
    printf("# %s: %s; %s\n# times: %s\n", s->app->name, s->text, s->products.session.device.name,
           s->products.simulated ? "what the model predicts of products, packing included" : "between events around each product");
    for (int i = 0; i < s->app->sites; i++) {
        printf("# %s: %s, %lld products\n", s->app->site[i], level[i], run->calls[i]);
        printf("site %s %.9g\n", s->app->site[i], run->seconds[i]);
    }
    printf("error %.9g\n# %s; products %.4g ms, %s", run->error, s->app->error, 1e3 * seconds,
           ratio_text(rate, "%.4g TFLOPS", 1e-12 * run->flop, seconds));
    if (!s->products.simulated)
        printf("; the rest %.4g ms: products are %s of the time", 1e3 * run->other_seconds,
               ratio_text(share, "%.0f %%", 100 * seconds, seconds + run->other_seconds));
    printf("\nbits %016" PRIx64 "\n", run->digest);
    if (run->compared > 0)
        printf("classes changed %lld of %lld\n", (long long)run->changed, (long long)run->compared);
}

static int write_result(const struct app_session *s, const char *path, struct cli_error *f) {
    struct npy_matrix m = {0};
    int status = s->app->result(s->state, &m, f);
    AND_THEN(status, npy_write(path, &m, f));
    npy_free(&m);
    return status;
}

static int run(int argc, char **argv, struct cli_error *f) {
    const char *name[1], *accuracy = NULL, *sites = NULL, *output = NULL;
    struct app_texts texts = {0};
    struct app_options options;
    char level[PRODUCTS_SITES][LEVEL_BYTES] = {{0}};
    const char *levels[PRODUCTS_SITES];
    int count = 0, repeats = 1;
    const struct option table[] = {APP_OPTIONS(texts), {"--accuracy", &accuracy, NULL}, {"--sites", &sites, NULL}, {"-o", &output, NULL}, {NULL, NULL, NULL}};
    if (args_parse(argc, argv, table, name, 1, &count, f) != 0)
        return -1;
    if (count != 1)
        return cli_error_usage(f, "which program? halftone app cholesky or halftone app mlp");
    const struct app *const app = app_named(name[0], f);
    if (app == NULL || app_options_take(&texts, &options, &repeats, f) != 0 || outfile_apart("--sites", sites, "-o", output, f) != 0 ||
        choose_levels(app, accuracy, sites, level, f) != 0 || outfile_check(output, f) != 0)
        return -1;
    struct app_session s;
    struct app_run out;
    for (int i = 0; i < PRODUCTS_SITES; i++)
        levels[i] = level[i];
    if (app_session_open(&s, app, f) != 0)
        return -1;
    int status = products_start(&s.products, levels, f); /* wrong levels are said before data are made */
    AND_THEN(status, app_session_load(&s, &options, f));
    AND_THEN(status, app_execute(app, s.state, &s.products, levels, repeats, 1, &out, f));
    if (status == 0 && output != NULL)
        status = write_result(&s, output, f);
    if (status == 0)
        print_run(&s, level, &out);
    app_session_close(&s);
    return status;
}

const struct command cmd_app = {
    "app", "a program with several products (Cholesky, a perceptron), an accuracy for each",
    "Usage: halftone app cholesky|mlp [--n N] [--data DIR] [--accuracy A[,A...] | --sites FILE]\n\n"
    "Runs a program whose products are halftone's, each site (place in the program) with an accuracy of its own, and prints\n"
    "its error against FP64, the time of each site's products, and a digest of the result's bits.\n\n"
    "  cholesky       A = LL', tiled; sites solve, panel, diagonal, update; the error is |A - LL'|_F / |A|_F; A: RBF kernel of\n"
    "                 image patches, plus a diagonal. Not positive definite at so low an accuracy: error inf\n"
    "  mlp            a perceptron of three layers; sites layer1, layer2, layer3; the error is that of the last layer's outputs;\n"
    "                 how many samples changed their class\n\n"
    "  --accuracy A   an accuracy or a scheme for all sites, or one for each, separated by commas (default fp32); scheme:half is\n"
    "                 the scheme, cublas-sgemm the vendor's own product, to compare with\n"
    "  --sites FILE   a table of `halftone tune-app`: lines site=NAME accuracy=A or scheme=S (default: HALFTONE_SITES)\n"
    "  -o FILE        the result as .npy: L, or the outputs, a column a sample\n"
    "  --n N          size (cholesky: a multiple of 64; mlp: samples and width of every layer); small without it\n"
    "  --block N      cholesky: columns of a panel, a multiple of 64\n"
    "  --diagonal X   cholesky: what is added to the diagonal (default 1)\n"
    "  --data DIR     what python3 bench/data/app_data.py DIR made; without it the data are synthetic, and it says so\n"
    "  --repeats R    times are those of the fastest of R runs (default 1); bits must be the same\n\n"
    "In the simulator times are the model's.\n",
    run, 0};
