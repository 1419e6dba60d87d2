/* ratio: see ratio.h. */
#include "io/ratio.h"

#include <math.h>
#include <stdio.h>

const char *ratio_text(char out[RATIO_BYTES], const char *format, double part, double whole) {
    if (whole != 0 && isfinite(part / whole))
        snprintf(out, RATIO_BYTES, format, part / whole);
    else
        snprintf(out, RATIO_BYTES, "n/a");
    return out;
}
