// SPDX-License-Identifier: Apache-2.0
// The second order: linear states in the cells (MUSCL, van Leer, J. Comput. Phys. 32 (1979) 101), Heun's
// method in time, and slopes for cells that are refined. The states at the faces cross the borders between
// ranks: both ranks compute an edge's fluxes from the same numbers.
#include <algorithm>
#include <elastic_mpi/comm.hpp>

#include "apps/mesh/mpi_check.hpp"
#include "apps/tsunami/solver/solver.hpp"

namespace swe {

// Where the faces of outer edges lie, and which cells may be linear: from the mesh alone. Collective.
void Solver::connect_faces() {
  const mesh::Edges& e = mesh_.edges();
  const auto slots = mesh_.cell_slots();
  const auto outer = 2 * static_cast<std::size_t>(outer_edges());
  for (auto& f : outer_face_) f.resize(outer);
  for (auto& f : outer_to_face_) f.resize(outer);
  linear_.assign(cells(), 1);
  for (std::size_t i = 0; i < cells(); ++i)
    for (int k = 0; k < 3; ++k) {
      const std::int32_t slot = slots[3 * i + k] - 2 * interior_;
      if (slot < 0) continue;
      const mesh::CellShape& shape = mesh_.shapes()[i];
      const auto o = metric_.to_face(mesh_.leaves()[i].level(), shape.direction, shape.y_sum, k);
      outer_to_face_[0][slot] = o.x, outer_to_face_[1][slot] = o.y;
    }
  double* const offsets[] = {outer_to_face_[0].data(), outer_to_face_[1].data()};
  mesh_.halo().start(offsets, face_send_, face_receive_);
  mesh_.halo().finish();
  for (const auto& [edge, border] : mesh_.boundary()) {
    // The cell behind a wall is this one's mirror image.
    const bool meridional = border == mesh::Border::West || border == mesh::Border::East;
    const std::int32_t mine = 2 * (edge - interior_), theirs = mine + 1;
    outer_to_face_[0][theirs] = (meridional ? -1 : 1) * outer_to_face_[0][mine];
    outer_to_face_[1][theirs] = (meridional ? 1 : -1) * outer_to_face_[1][mine];
    if (setup_.borders[static_cast<std::size_t>(border)].kind != BorderKind::Wall) linear_[e.left[edge]] = 0;
  }
}

// Gives the halo and the exterior cells their states. Collective.
void Solver::exchange_states(const Fields& fields, double time) {
  double* const moving[] = {fields.eta, fields.hu, fields.hv};
  mesh_.halo().start(moving, mesh_.halo().cells(), halo_receive_);
  fill_exterior(time);
  mesh_.halo().finish();
}

// The states of own cells at outer edges.
void Solver::find_outer_faces(const Fields& fields) {
  const mesh::Edges& e = mesh_.edges();
  const auto own = static_cast<std::int32_t>(cells());
  const Geometry geo = geometry();
  const Faces faces = outer_faces();
  for (std::int32_t slot = 2 * interior_; slot < 2 * static_cast<std::int32_t>(e.size()); ++slot) {
    const std::int32_t cell = (slot & 1) ? e.right[slot >> 1] : e.left[slot >> 1];
    if (cell >= own) continue;
    const CellFaces f = faces_of(setup_.physics, fields, geo, cell);
    const std::int32_t* const t = geo.slots + 3 * static_cast<std::int64_t>(cell);
    const int k = t[0] == slot ? 0 : t[1] == slot ? 1 : 2;
    const std::int32_t at = slot - 2 * interior_;
    faces.eta[at] = f.eta[k], faces.hu[at] = f.hu[k], faces.hv[at] = f.hv[k], faces.b[at] = f.b[k];
  }
}

double Solver::gains_order2(const Fields& fields, double time) {
  exchange_states(fields, time);
  find_outer_faces(fields);
  const Faces faces = outer_faces();
  double* const at_faces[] = {faces.eta, faces.hu, faces.hv, faces.b};
  mesh_.halo().start(at_faces, face_send_, face_receive_);
  for (const auto& [edge, border] : mesh_.boundary()) {
    const std::int32_t outside = mesh_.edges().right[edge], mine = 2 * (edge - interior_), theirs = mine + 1;
    if (setup_.borders[static_cast<std::size_t>(border)].kind == BorderKind::Wall) {
      const bool meridional = border == mesh::Border::West || border == mesh::Border::East;
      faces.eta[theirs] = faces.eta[mine], faces.b[theirs] = faces.b[mine];
      faces.hu[theirs] = meridional ? -faces.hu[mine] : faces.hu[mine];
      faces.hv[theirs] = meridional ? faces.hv[mine] : -faces.hv[mine];
    } else {
      faces.eta[theirs] = fields.eta[outside], faces.b[theirs] = fields.b[outside];
      faces.hu[theirs] = fields.hu[outside], faces.hv[theirs] = fields.hv[outside];
    }
  }
  const double inside = gains_of(fields, false);
  mesh_.halo().finish();
  const double outer =
      swe::outer_fluxes(setup_.physics, fields, &faces, geometry(), outer_edges(), outer_fluxes());
  return std::max({inside, outer, gains_of(fields, true)});
}

// Heun's method, with the gains of the present state. Whether all ranks' cells are sound in the end. Half
// the CFL number keeps depths >= 0 whatever flows there (each face may take a third of a cell): a step that
// did not is taken again, shorter. Collective.
bool Solver::step_order2(const Fields& fields, double& dt) {
  constexpr int kAttempts = 3;
  const std::size_t own = cells();
  double* const state[] = {fields.eta, fields.hu, fields.hv};
  for (int f = 0; f < 3; ++f) spare_[f].assign(state[f], state[f] + own);
  for (int attempt = 1;; ++attempt) {
    double through = inflow();
    bool sound = advance(fields, dt, {});
    gains_order2(fields, time_ + dt);
    through = 0.5 * dt * (through + inflow());
    sound = advance(fields, dt, {spare_[0].data(), spare_[1].data(), spare_[2].data()}) && sound;
    const bool settled = settle(sound, through + apply_forces(fields, dt));
    if (settled || attempt == kAttempts) return settled;
    for (int f = 0; f < 3; ++f) std::copy(spare_[f].begin(), spare_[f].end(), state[f]);
    dt *= 0.5;
    gains_order2(fields, time_);
  }
}

// For the cells that an adaption may refine. A first child's centroid lies a third of the way from the mid
// point of edge bc to that of ab further than its parent's; in that child, the way is from bc to ac.
// Collective.
void Solver::find_slopes() {
  const Fields state = fields();
  exchange_states(state, time_);
  const Geometry geo = geometry();
  slopes_.resize(cells());
  for (std::size_t i = 0; i < cells(); ++i) {
    const CellFaces f = faces_of(setup_.physics, state, geo, static_cast<std::int64_t>(i));
    const double* const values[] = {f.eta, f.hu, f.hv};
    for (int k = 0; k < 3; ++k) {
      const double ab = values[k][0], bc = values[k][1], ac = values[k][2];
      slopes_[i][k] = (ab - bc) / 3, slopes_[i][3 + k] = (ac - bc) / 3;
    }
  }
}

Sloped Solver::sloped(std::size_t i) const {
  Sloped s{cell(i)};
  if (slopes_.empty()) return s;
  std::copy_n(slopes_[i].begin(), 3, s.first.begin());
  std::copy_n(slopes_[i].begin() + 3, 3, s.first_of_first.begin());
  return s;
}

}  // namespace swe
