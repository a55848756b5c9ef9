// SPDX-License-Identifier: Apache-2.0
// A section of the curve, as the loops see it: sections.hpp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

namespace swe {

// Where in the scratch the state at a face belongs: 2 * edge of the scratch + (0 left | 1 right).
struct FaceAt {
  std::int32_t face;  // 3 * cell + local edge; or of an outer state, its number
  std::int32_t at;
};

// The scratch's edges: those of the range, then one for each seam.
struct Section {
  std::int32_t cell_begin, cell_end, edge_begin, edge_end;
  std::span<const std::int32_t> seams;  // faces of its cells, in order, whose edges are not in the range
  // Faces of cells outside of the section on the scratch's edges (order 2 only): of this rank's, and those
  // whose states come from elsewhere (halo edges, then boundary edges).
  std::span<const FaceAt> near, outer;
  bool waits;  // for what other ranks send, or for borders

  std::int32_t edges() const { return edge_end - edge_begin; }
  std::int32_t scratch_edges() const { return edges() + static_cast<std::int32_t>(seams.size()); }
  std::int32_t cells() const { return cell_end - cell_begin; }
};

// The local edge (0: ab, 1: bc, 2: ac) of an own cell that has this slot.
inline std::int32_t face_of(std::span<const std::int32_t> cell_slots, std::int32_t cell, std::int32_t slot) {
  const std::int32_t* const s = cell_slots.data() + 3 * static_cast<std::ptrdiff_t>(cell);
  return s[2] == slot ? 2 : s[0] == slot ? 0 : 1;
}

}  // namespace swe
