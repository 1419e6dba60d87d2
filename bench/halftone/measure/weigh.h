/* weigh: the calls among which the library chooses, one for each kernel that is weighed: for people. */
#ifndef HALFTONE_WEIGH_H
#define HALFTONE_WEIGH_H

#include <stdbool.h>
#include <stdint.h>

#include "../../../runtime/halftone.h"

/* What halftone_query would say of a call, as the handle is set, if this kernel of the set were the cheapest;
 * false: it is not weighed. */
bool weigh_kernel(halftone *h, bool is_fp64, int64_t m, int64_t n, int64_t k, int kernel,
                  struct halftone_plan *plan);

#endif
