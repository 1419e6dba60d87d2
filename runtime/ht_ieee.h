/* ht_ieee.h: refuses flags under which compilers take it that there is no NaN, no Inf or no -0. Whatever decides on them includes
 * it: runtime, simulator, generator. */
#ifndef HT_IEEE_H
#define HT_IEEE_H

/* GCC has the last two from any flag that implies them, clang only the first two: what remains there is turned off. */
#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__ > 0) || defined(__NO_SIGNED_ZEROS__) || \
    defined(__ASSOCIATIVE_MATH__)
#error "NaN, Inf and -0 would be lost: compile without -ffast-math, -Ofast and their parts, or with -fno-fast-math after them"
#endif
#if defined(__clang__) && !defined(__HIP_DEVICE_COMPILE__) /* such a target takes no pragma */
#pragma float_control(precise, on)
#endif

#endif
