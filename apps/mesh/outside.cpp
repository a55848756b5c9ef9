// SPDX-License-Identifier: Apache-2.0
#include "apps/mesh/outside.hpp"

#include <algorithm>

#include "runtime/base/target_clones.hpp"

namespace mesh {
namespace {

constexpr std::int32_t kBlock = 32;

inline bool is_outside(std::int32_t value, std::int32_t low, std::int32_t length) {
  return static_cast<std::uint32_t>(value) - static_cast<std::uint32_t>(low) >=
         static_cast<std::uint32_t>(length);
}

inline __attribute__((always_inline)) bool any_outside(const std::int32_t* values, std::int32_t low,
                                                       std::int32_t length) {
  std::uint32_t any = 0;
  for (std::int32_t k = 0; k < kBlock; ++k) any |= is_outside(values[k], low, length) ? 1u : 0u;
  return any != 0;
}

}  // namespace

EMPI_TARGET_CLONES void find_outside(const std::int32_t* values, std::int32_t begin, std::int32_t end,
                                     std::int32_t low, std::int32_t length,
                                     std::vector<std::int32_t>& places) {
  while (begin < end) {
    const std::int32_t next = std::min(begin + kBlock, end);
    if (next - begin < kBlock || any_outside(values + begin, low, length))
      for (std::int32_t k = begin; k < next; ++k)
        if (is_outside(values[k], low, length)) places.push_back(k);
    begin = next;
  }
}

EMPI_TARGET_CLONES void shift_inside(std::int32_t* values, std::int32_t begin, std::int32_t end,
                                     std::int32_t low, std::int32_t length, std::int32_t shift,
                                     std::vector<std::int32_t>& places) {
  while (begin < end) {
    const std::int32_t next = std::min(begin + kBlock, end);
    if (next - begin == kBlock && !any_outside(values + begin, low, length)) {
      for (std::int32_t k = 0; k < kBlock; ++k) values[begin + k] += shift;
    } else {
      for (std::int32_t k = begin; k < next; ++k)
        if (is_outside(values[k], low, length))
          places.push_back(k);
        else
          values[k] += shift;
    }
    begin = next;
  }
}

}  // namespace mesh
