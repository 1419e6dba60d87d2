/* common_probe: prints what the common part of the faces makes of the environment and of calls.
 *     common_probe M N K OP...    each OP is NN, NT, TN or TT, of a call cublasSgemm_v2; "step" begins a new step
 * A line for each: the decision's text, the accuracy or scheme, the ordinal. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../runtime/dropin/common.h"

void halftone_dropin_step(void);
int halftone_dropin_accuracy(const char *text);

/* Stands for the program's code: sites are told by addresses. */
static const char here;

int main(int argc, char **argv) {
    const char *const accuracy = getenv("PROBE_ACCURACY");
    if (argc < 4)
        return 2;
    if (accuracy != NULL)
        printf("accuracy %d\n", halftone_dropin_accuracy(accuracy));
    for (int i = 4; i < argc; i++) {
        if (strcmp(argv[i], "step") == 0) {
            halftone_dropin_step();
            continue;
        }
        const struct dropin_call call = {.api = DROPIN_API_cublasSgemm_v2, .name = "cublasSgemm_v2", .kind = getenv("PROBE_FP64") != NULL ? DROPIN_KIND_FP64 : DROPIN_KIND_FP32, .caller = &here, .op_a = argv[i][0], .op_b = argv[i][1],
                                         .m = atoll(argv[1]), .n = atoll(argv[2]), .k = atoll(argv[3]), .batch = 1};
        struct dropin_policy policy;
        const enum dropin_reason why = dropin_decide(&call, &policy);
        printf("%s|%s|%lld\n", dropin_reason_text(why), policy.scheme != NULL ? policy.scheme : policy.accuracy, (long long)policy.ordinal);
        dropin_note(&call, &policy, why, NULL, NULL);
    }
    return 0;
}
