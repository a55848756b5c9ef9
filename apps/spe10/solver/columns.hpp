// SPDX-License-Identifier: Apache-2.0
// The reservoir's prisms: one column of nz of them over every triangle of the adaptive mesh, z contiguous.
// The mesh is the tsunami's; a column is one of its cells with a longer payload.
#pragma once
#include <array>
#include <functional>
#include <span>
#include <vector>

#include "apps/mesh/mesh.hpp"
#include "apps/spe10/model/rock.hpp"
#include "apps/spe10/solver/prism.hpp"

namespace spe10 {

// What lies beyond a side of the reservoir: rock without flow, or a given pressure with liquid that flows in.
struct BorderCondition {
  std::function<double(double x, double y, double depth)> pressure = nullptr;  // psi; null: no flow
  double saturation = 1;                                                       // of water in what flows in
  bool open() const { return static_cast<bool>(pressure); }
};
// west, east, south, north (as mesh::Border), top, bottom.
using Borders = std::array<BorderCondition, 6>;
inline constexpr int kBorderTop = 4, kBorderBottom = 5;

struct Columns {
  mesh::Mesh mesh;
  Frame frame;
  RockOfColumn rock_of;
  std::vector<double> s;  // water saturation: own, halo and exterior columns
  std::vector<double> p;  // psi, likewise; at centre()
  // Per own prism: volume of water and oil together over that of the pores, less 1. Not 0 where liquid moved
  // in a step whose pressure could not know it yet; the next pressure drives it out (volume balance: G. Acs,
  // S. Doleschall, E. Farkas, SPEJ 25(4), 1985). So neither liquid is lost.
  std::vector<double> excess;
  // Follow from the mesh alone; set by connect().
  std::vector<TriangleShape> shape;  // per own column
  std::vector<Rock> rock;            // per own prism
  // Per own column: 1 if it makes a block with the one across its hypotenuse: a rectangle along the axes of
  // one permeability without mixed terms. Both have one pressure (block_flow.hpp).
  std::vector<std::uint8_t> in_block;
  // Per own and halo prism: 1 if it has pores. Nothing flows through the faces of one that has none.
  std::vector<std::uint8_t> active;
  bool all_active = true;  // on this rank

  Columns(mesh::Domain domain, const Frame& f, RockOfColumn rock_of_column)
      : mesh(domain), frame(f), rock_of(std::move(rock_of_column)) {}

  std::size_t nz() const { return static_cast<std::size_t>(frame.nz); }
  std::size_t own() const { return mesh.cells(); }
  std::size_t at(std::size_t column, std::size_t z) const { return column * nz() + z; }
  double pore_volume(std::size_t column, std::size_t z) const {  // ft3
    return rock[at(column, z)].phi * shape[column].area * frame.dz;
  }

  // Whether liquid can pass an edge in a layer, as far as the rock goes: borders are another matter.
  bool open(std::size_t edge, std::size_t z) const {
    if (all_active) return true;
    const auto l = static_cast<std::size_t>(mesh.edges().left[edge]),
               r = static_cast<std::size_t>(mesh.edges().right[edge]);
    return (at(l, z) >= active.size() || active[at(l, z)] != 0) &&
           (at(r, z) >= active.size() || active[at(r, z)] != 0);
  }

  // As mesh.cell_slots(): of face k of the triangle.
  std::int32_t slot(std::size_t column, int k) const {
    return mesh.cell_slots()[3 * column + static_cast<std::size_t>(k)];
  }
  // Where a column's pressure is: its centroid, or the middle of its block. ft.
  std::array<double, 2> centre(std::size_t column) const;

  // What a column's prism carries to other meshes and ranks, in this order.
  std::array<std::vector<double>*, 3> state() { return {&s, &p, &excess}; }
  std::array<const std::vector<double>*, 3> state() const { return {&s, &p, &excess}; }

  // After the mesh or the own columns' state changed: shapes, rock, room for the halo.
  void connect();
  std::span<double> own_p() { return std::span(p).first(own() * nz()); }
  // Fetches the halo columns' part of s or p. Collective with the neighbours.
  void exchange(std::vector<double>& field);
  // Sends this rank's values of halo edges, of all edges' [edge * nz + z], to the other side; returns what
  // came from there, per halo slot and layer. `values` is the same afterwards. Collective with the
  // neighbours.
  std::vector<double> exchange_edges(std::vector<double>& values) const;

 private:
  void find_blocks();
  void find_active();
  std::vector<std::int32_t> send_, receive_;  // per halo slot: a column's place in s
  std::vector<double*> layers_;
};

}  // namespace spe10
