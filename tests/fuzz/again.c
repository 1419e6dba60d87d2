/* again: see again.h. */
#include "again.h"

#include <stdio.h>
#include <stdlib.h>

#include "../../runtime/sim/sim_api.h"

void again_set_schedule(int64_t seed) {
    char text[24];
    snprintf(text, sizeof text, "%lld", (long long)seed);
    setenv("HALFTONE_SIM_SEED", text, 1);
}

void again_captured(halftone *h, again_multiply *multiply, again_check *check, const void *problem, const void *scalars, const struct matrix *c,
                    const void *want) {
    void *stream = NULL;
    FUZZ_CHECK(halftone_get_stream(h, &stream) == HALFTONE_OK && ht_sim_capture_begin(stream) == 0, "capture");
    const int code = multiply(problem, scalars);
    void *const graph = ht_sim_capture_end(stream);
    FUZZ_CHECK(code == HALFTONE_OK, "captured product: %s: %s", halftone_strerror(code), halftone_last_detail(h));
    for (int replay = 0; replay < 2; replay++) {
        matrix_upload(c);
        FUZZ_CHECK(ht_sim_graph_run(graph, stream) == 0 && ht_sim_error()[0] == '\0', "replay: %s", ht_sim_error());
        check(problem, want, "replay");
    }
    ht_sim_graph_free(graph);
}
