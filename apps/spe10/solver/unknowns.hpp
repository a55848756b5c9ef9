// SPDX-License-Identifier: Apache-2.0
// The unknowns of the pressure equation and the numbers of their rows: pressures on the faces of prisms, and
// one pressure for each prism of a block, whose row is that of the edge inside, the hypotenuse of both
// triangles; faces between blocks have none. Rows are numbered along the curve, then in z; the rank of an
// edge's left cell has its rows. Wells come last on rank 0.
#pragma once
#include <cstdint>
#include <vector>

#include "apps/spe10/solver/columns.hpp"

namespace spe10 {

struct Unknowns {
  static constexpr std::int32_t closed = -1, known = -2, joined = -3;  // instead of a row

  // Collective on the mesh's communicator.
  Unknowns(const Columns& columns, const Borders& borders, int wells);

  std::vector<std::int32_t> edge_row;  // per edge: row of its top prism; joined: between two blocks
  std::vector<std::int32_t>
      vertical_row;                     // per own column of no block: row of the face below its first prism
  std::vector<std::int32_t> block_row;  // per own and halo column: row of the block's first prism, or closed
  std::int32_t first = 0, own = 0, first_well = 0;
  std::int64_t total = 0;

  bool owns(std::int32_t row) const { return row >= first && row < first + own; }
  // What the face k of a column's first prism is, and which row stands for it: beyond a joined one the block.
  std::int32_t beyond(const Columns& columns, std::size_t column, int k) const;

 private:
  void mark_edges(const Columns& columns, const Borders& borders);
  void number(const Columns& columns, int wells);
  void learn_of_others(const Columns& columns);
};

}  // namespace spe10
