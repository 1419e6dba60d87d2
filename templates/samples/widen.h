// samples/widen.h: what the generator puts before widen, so that the template compiles (and runs in the simulator) by itself.
#include "machine.h"
#include "../hooks/launch/stream.cuh"
