// SPDX-License-Identifier: Apache-2.0
// Numbers outside of an interval, where nearly all are inside: looked for on vectors.
#pragma once
#include <cstdint>
#include <vector>

namespace mesh {

// Appends the places of values[begin..end) that are not in [low, low + length).
void find_outside(const std::int32_t* values, std::int32_t begin, std::int32_t end, std::int32_t low,
                  std::int32_t length, std::vector<std::int32_t>& places);
// And adds `shift` to the others.
void shift_inside(std::int32_t* values, std::int32_t begin, std::int32_t end, std::int32_t low,
                  std::int32_t length, std::int32_t shift, std::vector<std::int32_t>& places);

}  // namespace mesh
