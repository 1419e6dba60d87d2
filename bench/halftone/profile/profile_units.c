/* profile_units.c: the instructions that are profiled; see profile.h. */
#include "profile/profile.h"

/* The order of the launchers in profile_kernels.cu. */
const struct profile_unit profile_units[PROFILE_UNITS] = {
    {"mma.sync m16n8k8 f16", PROFILE_F16, 16, 8, 750, 0},
    {"mma.sync m8n8k16 s8", PROFILE_S8, 8, 16, 750, 0},
    {"mma.sync m16n8k16 f16", PROFILE_F16, 16, 16, 800, 0},
    {"mma.sync m16n8k16 bf16", PROFILE_BF16, 16, 16, 800, 0},
    {"mma.sync m16n8k8 tf32", PROFILE_TF32, 16, 8, 800, 0},
    {"mma.sync m16n8k32 s8", PROFILE_S8, 16, 32, 800, 0},
    {"wgmma m64n8k16 f16", PROFILE_F16, 64, 16, 900, 1},
    {"wgmma m64n8k16 bf16", PROFILE_BF16, 64, 16, 900, 1},
    {"wgmma m64n8k8 tf32", PROFILE_TF32, 64, 8, 900, 1},
    {"wgmma m64n8k32 s8", PROFILE_S8, 64, 32, 900, 1},
};

int profile_unit_runs(const struct profile_unit *unit, int capability) {
    return unit->exactly ? capability == unit->capability : capability >= unit->capability;
}

int profile_element_bytes(enum profile_type type) {
    return type == PROFILE_S8 ? 1 : type == PROFILE_TF32 ? 4 : 2;
}
