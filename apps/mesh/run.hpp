// SPDX-License-Identifier: Apache-2.0
// What an adaption makes of a rank's cells: runs of them, in order.
#pragma once
#include <array>
#include <cstdint>

#include "apps/mesh/leaf.hpp"

namespace mesh {

struct Run {
  enum class Kind : std::uint8_t { Keep, Refine, Coarsen };
  Kind kind;
  std::int32_t old_begin;
  std::int32_t count;                      // old cells: any number for keep, 1 for refine, 2 for coarsen
  Leaf parent = {};                        // refine: the old leaf; coarsen: the new one
  std::array<bool, 2> child_refined = {};  // refine: conformity bisects this child once more
  std::int32_t new_begin = 0;              // among what the rank's old cells became

  std::int32_t new_cells() const {
    return kind == Kind::Keep ? count : kind == Kind::Coarsen ? 1 : 2 + child_refined[0] + child_refined[1];
  }
};

}  // namespace mesh
