// SPDX-License-Identifier: Apache-2.0
// Pictures of a snapshot: saturation on layers, on a cut, and the mesh by owner.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "apps/io/draw/canvas.hpp"
#include "apps/spe10/app/snapshot.hpp"

namespace spe10 {

struct WellMark {
  std::string name;
  double x = 0, y = 0;  // ft
  bool injector = false;
};

struct PictureOptions {
  std::vector<int> layers;  // prisms of the columns, 0 = top
  std::vector<WellMark> wells;
  int workers = 0;                         // squares in the row of workers; at least the owners that occur
  std::optional<double> cut_y;             // ft; none: through the middle
  double lowest_s = 0.2, highest_s = 0.8;  // of the colours
};

// The layers side by side, then the mesh, coloured by the worker that owns each column.
io::draw::Canvas draw_layers(const Snapshot& snapshot, const PictureOptions& options);
// The vertical section along x through cut_y: saturation above, permeability below.
io::draw::Canvas draw_cut(const Snapshot& snapshot, const PictureOptions& options);

}  // namespace spe10
