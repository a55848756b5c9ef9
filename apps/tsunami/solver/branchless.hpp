// SPDX-License-Identifier: Apache-2.0
// What the solver's loops over vectors are written with.
#pragma once
#include <cstdint>

#define SWE_INLINE inline __attribute__((always_inline))

namespace swe {

inline constexpr std::int64_t kChunk = 128;  // edges or cells whose arithmetic is one loop

SWE_INLINE double larger(double a, double b) { return a > b ? a : b; }
SWE_INLINE double smaller(double a, double b) { return a < b ? a : b; }

struct alignas(64) Lane {
  double v[kChunk];
};

}  // namespace swe
