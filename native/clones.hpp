// One function, compiled for several CPUs; the loader picks the best one (ifunc, glibc on x86-64).
// Elsewhere the macro is empty and the compiler's default target runs.
#pragma once

#include <cstdlib>

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#if __GNUC__ >= 12
#define PINCITE_CLONES \
    __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#endif
#endif

#ifndef PINCITE_CLONES
#define PINCITE_CLONES
#endif
