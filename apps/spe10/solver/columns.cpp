// SPDX-License-Identifier: Apache-2.0
#include "apps/spe10/solver/columns.hpp"

namespace spe10 {

void Columns::connect() {
  const std::size_t n = own(), layers = nz();
  shape.resize(n), rock.resize(n * layers), p.resize(mesh.all_cells() * layers),
      s.resize(mesh.all_cells() * layers);
  mesh::LeafWalk walk(mesh.domain());
  for (std::size_t i = 0; i < n; ++i) {
    const mesh::Leaf leaf = mesh.leaves()[i];
    shape[i] = shape_of(walk.triangle(leaf), frame);
    rock_of(leaf, std::span(rock).subspan(i * layers, layers));
  }
  const auto cells = mesh.halo().cells();
  send_.clear(), receive_.clear();
  for (std::size_t slot = 0; slot < cells.size(); ++slot) {
    send_.push_back(cells[slot] * frame.nz);
    receive_.push_back(static_cast<std::int32_t>((n + slot) * layers));
  }
}

// A layer is a field whose cells lie nz apart.
void Columns::exchange(std::vector<double>& field) {
  layers_.resize(nz());
  for (std::size_t z = 0; z < nz(); ++z) layers_[z] = field.data() + z;
  mesh.halo().start(layers_, send_, receive_);
  mesh.halo().finish();
}

}  // namespace spe10
