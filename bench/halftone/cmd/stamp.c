/* stamp: which program on which device made a table. See stamp.h. The build gives commit and toolkit (out/obj/build.h). */
#include "cmd/stamp.h"

#include <stdio.h>

#ifndef HALFTONE_COMMIT
#define HALFTONE_COMMIT "unknown"
#endif
#ifndef HALFTONE_TOOLKIT
#define HALFTONE_TOOLKIT "unknown"
#endif

struct stamp stamp_built(void) {
    const struct stamp s = {HALFTONE_COMMIT, HALFTONE_TOOLKIT};
    return s;
}

void stamp_write(char out[STAMP_BYTES], const struct stamp *s, const struct session *e,
                 const struct baseline *y, const struct device_info *facts) {
    int cuda = device_info_cuda_version(facts), cublas = baseline_version(y);
    char versions[96] = "cuBLAS n/a";
    if (cublas > 0)
        snprintf(versions, sizeof versions, "driver's CUDA %d.%d; cuBLAS %d", cuda / 1000, cuda % 1000 / 10,
                 cublas);
    snprintf(out, STAMP_BYTES,
             "# halftone: %s, set %s (%s), commit %s\n# device: %s, %d multiprocessors\n"
             "# driver: %s; toolkit %s; %s\n",
             halftone_version(), e->set->gpu, e->set->isa, s->commit, e->device.name, e->device.sms,
             device_info_driver(facts), s->toolkit, versions);
}
