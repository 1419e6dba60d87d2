/* hostile: calls and questions with arguments that are wrong, held against the codes that halftone.h gives them. */
#ifndef TESTS_FUZZ_HOSTILE_H
#define TESTS_FUZZ_HOSTILE_H

#include "../../runtime/halftone.h"
#include "fuzz.h"

void hostile_run(halftone *h, struct fuzz_rng *r);

#endif
