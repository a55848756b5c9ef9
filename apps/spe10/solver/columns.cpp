// SPDX-License-Identifier: Apache-2.0
#include "apps/spe10/solver/columns.hpp"

#include <algorithm>

namespace spe10 {

void Columns::connect() {
  const std::size_t n = own(), layers = nz();
  shape.resize(n), rock.resize(n * layers), p.resize(mesh.all_cells() * layers),
      s.resize(mesh.all_cells() * layers), excess.resize(n * layers);
  mesh::LeafWalk walk(mesh.domain());
  for (std::size_t i = 0; i < n; ++i) {
    const mesh::Leaf leaf = mesh.leaves()[i];
    shape[i] = shape_of(walk.triangle(leaf), frame);
    rock_of(leaf, std::span(rock).subspan(i * layers, layers));
  }
  find_blocks();
  find_active();
  const auto cells = mesh.halo().cells();
  send_.clear(), receive_.clear();
  for (std::size_t slot = 0; slot < cells.size(); ++slot) {
    send_.push_back(cells[slot] * frame.nz);
    receive_.push_back(static_cast<std::int32_t>((n + slot) * layers));
  }
}

// On even levels legs lie along the axes. A cell of the same level across the hypotenuse has it as its own.
void Columns::find_blocks() {
  const std::size_t n = own(), layers = nz(), inner = mesh.edges().size() - mesh.boundary().size();
  in_block.assign(n, 0);
  std::vector<Rock> halo_rock(layers);
  const auto alike = [](const Rock& a, const Rock& b) {
    return a.kxx == b.kxx && a.kyy == b.kyy && a.kzz == b.kzz && a.kxy == 0 && a.kxz == 0 && a.kyz == 0 &&
           b.kxy == 0 && b.kxz == 0 && b.kyz == 0;
  };
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t across = slot(i, kHypotenuse);
    const auto edge = static_cast<std::size_t>(across / 2);
    if (mesh.leaves()[i].level() % 2 != 0 || edge >= inner) continue;
    const auto other =
        static_cast<std::size_t>(across % 2 == 0 ? mesh.edges().right[edge] : mesh.edges().left[edge]);
    const mesh::Leaf leaf = other < n ? mesh.leaves()[other] : mesh.halo_leaves()[other - n];
    if (leaf.level() != mesh.leaves()[i].level()) continue;
    if (other >= n) rock_of(leaf, halo_rock);
    const auto mine = std::span(rock).subspan(i * layers, layers),
               others = other < n ? std::span(rock).subspan(other * layers, layers) : std::span(halo_rock);
    in_block[i] = std::ranges::equal(mine, others, alike);
  }
}

void Columns::find_active() {
  active.clear();
  for (const Rock& r : rock) active.push_back(r.active());
  std::vector<Rock> halo_rock(nz());
  for (const mesh::Leaf leaf : mesh.halo_leaves()) {
    rock_of(leaf, halo_rock);
    for (const Rock& r : halo_rock) active.push_back(r.active());
  }
  all_active = std::ranges::count(active, 0) == 0;
}

std::array<double, 2> Columns::centre(std::size_t i) const {
  const mesh::Triangle t = mesh.triangle(i);
  if (in_block[i] != 0)
    return {0.5 * frame.unit_x * (static_cast<double>(t.a.x) + t.c.x),
            0.5 * frame.unit_y * (static_cast<double>(t.a.y) + t.c.y)};
  return {frame.unit_x / 3 * (static_cast<double>(t.a.x) + t.b.x + t.c.x),
          frame.unit_y / 3 * (static_cast<double>(t.a.y) + t.b.y + t.c.y)};
}

// A layer is a field whose cells lie nz apart.
void Columns::exchange(std::vector<double>& field) {
  layers_.resize(nz());
  for (std::size_t z = 0; z < nz(); ++z) layers_[z] = field.data() + z;
  mesh.halo().start<double>(layers_, send_, receive_);
  mesh.halo().finish();
}

// One array for sending and receiving, as Halo wants it: what is received goes behind all edges.
std::vector<double> Columns::exchange_edges(std::vector<double>& values) const {
  mesh::Halo halo = mesh.halo();
  const std::size_t interior = mesh.edges().interior, behind = mesh.edges().size();
  values.resize((behind + halo.size()) * nz());
  std::vector<std::int32_t> send, receive;
  for (std::size_t slot = 0; slot < halo.size(); ++slot) {
    send.push_back(static_cast<std::int32_t>((interior + slot) * nz()));
    receive.push_back(static_cast<std::int32_t>((behind + slot) * nz()));
  }
  std::vector<double*> layers(nz());
  for (std::size_t z = 0; z < nz(); ++z) layers[z] = values.data() + z;
  halo.start<double>(layers, send, receive);
  halo.finish();
  std::vector<double> received(values.begin() + static_cast<std::ptrdiff_t>(behind * nz()), values.end());
  values.resize(behind * nz());
  return received;
}

}  // namespace spe10
