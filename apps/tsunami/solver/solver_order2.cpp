// SPDX-License-Identifier: Apache-2.0
// The second order: linear states in the cells (MUSCL, van Leer, J. Comput. Phys. 32 (1979) 101), Heun's
// method in time, and slopes for cells that are refined. The states at the faces cross the borders between
// ranks: both ranks compute an edge's fluxes from the same numbers.
#include <algorithm>
#include <elastic_mpi/comm.hpp>

#include "apps/mesh/mpi_check.hpp"
#include "apps/tsunami/solver/solver.hpp"

namespace swe {

// Where faces lie, and which cells may be linear: from the mesh alone. Collective.
void Solver::connect_faces() {
  const mesh::Edges& e = mesh_.edges();
  const auto slots = mesh_.cell_slots();
  const std::size_t own = cells();
  for (auto& f : face_) f.resize(2 * e.size());
  for (auto& f : to_face_) f.resize(2 * e.size());
  for (auto& f : inner_) f.resize(own);
  linear_.assign(own, 1);
  for (std::size_t i = 0; i < own; ++i)
    for (int k = 0; k < 3; ++k) {
      const mesh::CellShape& shape = mesh_.shapes()[i];
      const auto o = metric_.to_face(mesh_.leaves()[i].level(), shape.direction, shape.y_sum, k);
      to_face_[0][slots[3 * i + k]] = o.x, to_face_[1][slots[3 * i + k]] = o.y;
    }
  double* const offsets[] = {to_face_[0].data(), to_face_[1].data()};
  mesh_.halo().start(offsets, face_send_, face_receive_);
  mesh_.halo().finish();
  for (const auto& [edge, border] : mesh_.boundary()) {
    // The cell behind a wall is this one's mirror image.
    const bool meridional = border == mesh::Border::West || border == mesh::Border::East;
    to_face_[0][2 * edge + 1] = (meridional ? -1 : 1) * to_face_[0][2 * edge];
    to_face_[1][2 * edge + 1] = (meridional ? 1 : -1) * to_face_[1][2 * edge];
    if (setup_.borders[static_cast<std::size_t>(border)].kind != BorderKind::Wall) linear_[e.left[edge]] = 0;
  }
}

// Gives the halo and the exterior cells their states, and own slots theirs at the faces. Collective.
void Solver::reconstruct_faces(const Fields& fields, const Faces& faces, double time) {
  double* const moving[] = {fields.eta, fields.hu, fields.hv};
  mesh_.halo().start(moving, mesh_.halo().cells(), halo_receive_);
  fill_exterior(time);
  mesh_.halo().finish();
  const Reconstruction r{mesh_.cell_slots().data(), to_face_[0].data(), to_face_[1].data(), linear_.data(),
                         inner_[0].data(),          inner_[1].data()};
  reconstruct(setup_.physics, fields, edge_list(), r, static_cast<std::int64_t>(cells()), faces);
}

double Solver::flux_order2(const Fields& fields, const Fluxes& fluxes, double time) {
  const auto interior = static_cast<std::int64_t>(mesh_.edges().interior),
             all = static_cast<std::int64_t>(mesh_.edges().size());
  const Faces faces = this->faces();
  reconstruct_faces(fields, faces, time);
  double* const at_faces[] = {faces.eta, faces.hu, faces.hv, faces.b};
  mesh_.halo().start(at_faces, face_send_, face_receive_);
  for (const auto& [edge, border] : mesh_.boundary()) {
    const std::int32_t outside = mesh_.edges().right[edge], mine = 2 * edge, theirs = mine + 1;
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
  const double rate = face_fluxes(setup_.physics, faces, edge_list(), 0, interior, fluxes);
  mesh_.halo().finish();
  return std::max(rate, face_fluxes(setup_.physics, faces, edge_list(), interior, all, fluxes));
}

// Heun's method, with the fluxes of the present state. Whether all ranks' cells are sound in the end. Half
// the CFL number keeps depths >= 0 whatever flows there (each face may take a third of a cell): a step that
// did not is taken again, shorter. Collective.
bool Solver::step_order2(const Fields& fields, const Fluxes& fluxes, double& dt) {
  constexpr int kAttempts = 3;
  const std::size_t own = cells();
  double* const state[] = {fields.eta, fields.hu, fields.hv};
  for (int f = 0; f < 3; ++f) spare_[f].assign(state[f], state[f] + own);
  for (int attempt = 1;; ++attempt) {
    Stage stage{inner_[0].data(), inner_[1].data()};
    double through = inflow(fluxes);
    bool sound = advance(fields, fluxes, dt, stage);
    flux_order2(fields, fluxes, time_ + dt);
    through = 0.5 * dt * (through + inflow(fluxes));
    stage.eta = spare_[0].data(), stage.hu = spare_[1].data(), stage.hv = spare_[2].data();
    sound = advance(fields, fluxes, dt, stage) && sound;
    const bool settled = settle(sound, through + apply_forces(fields, dt));
    if (settled || attempt == kAttempts) return settled;
    for (int f = 0; f < 3; ++f) std::copy(spare_[f].begin(), spare_[f].end(), state[f]);
    dt *= 0.5;
    flux_order2(fields, fluxes, time_);
  }
}

// For the cells that an adaption may refine. A first child's centroid lies a third of the way from the mid
// point of edge bc to that of ab further than its parent's; in that child, the way is from bc to ac.
// Collective.
void Solver::find_slopes() {
  const Faces faces = this->faces();
  reconstruct_faces(fields(), faces, time_);
  const double* const values[] = {faces.eta, faces.hu, faces.hv};
  const auto slots = mesh_.cell_slots();
  slopes_.resize(cells());
  for (std::size_t i = 0; i < cells(); ++i)
    for (int f = 0; f < 3; ++f) {
      const double ab = values[f][slots[3 * i]], bc = values[f][slots[3 * i + 1]],
                   ac = values[f][slots[3 * i + 2]];
      slopes_[i][f] = (ab - bc) / 3, slopes_[i][3 + f] = (ac - bc) / 3;
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
