// SPDX-License-Identifier: Apache-2.0
// A loop that is compiled once for each kind of vector unit, and chosen when the program starts: the same
// binary uses AVX-512 where there is one. Sources that use it are compiled without contraction, so that the
// bits are the same.
//
//   EMPI_TARGET_CLONES void scale(double* __restrict x, std::size_t count) { ... }
//
// It is nothing where the attribute is not known (other processors, clang) or where the choice, which is made
// before main(), would run under a sanitizer that is not yet set up.
#pragma once

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define EMPI_TARGET_CLONES __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define EMPI_TARGET_CLONES
#endif
