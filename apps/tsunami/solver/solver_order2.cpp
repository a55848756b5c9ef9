// SPDX-License-Identifier: Apache-2.0
// The second order: linear states in the cells (MUSCL, van Leer, J. Comput. Phys. 32 (1979) 101), Heun's
// method in time, and slopes for cells that are refined. The states at the faces cross the borders between
// ranks: both ranks compute an edge's fluxes from the same numbers.
#include <algorithm>
#include <elastic_mpi/comm.hpp>
#include <numeric>

#include "apps/mesh/mpi_check.hpp"
#include "apps/mesh/tight.hpp"
#include "apps/tsunami/solver/solver.hpp"

namespace swe {

// Which states at faces cross borders, from the mesh alone. Collective.
template <class Stored>
void BasicSolver<Stored>::connect_faces() {
  const mesh::Edges& e = mesh_.edges();
  const auto slots = mesh_.cell_slots();
  const auto halo = static_cast<std::int32_t>(mesh_.halo_cells()),
             borders = static_cast<std::int32_t>(mesh_.boundary().size()),
             interior = static_cast<std::int32_t>(e.interior);
  for (auto& f : outer_) f.resize(2 * mesh_.halo_cells() + mesh_.boundary().size());
  face_send_.resize(static_cast<std::size_t>(halo)), face_receive_.resize(static_cast<std::size_t>(halo));
  std::iota(face_receive_.begin(), face_receive_.end(), 0);
  std::iota(face_send_.begin(), face_send_.end(), halo + borders);

  outer_faces_.clear();
  std::vector<std::uint8_t> mine(static_cast<std::size_t>(halo));
  for (std::int32_t k = 0; k < halo; ++k) {
    const std::int32_t edge = interior + k, cell = mesh_.halo().cells()[static_cast<std::size_t>(k)];
    const std::int32_t local = face_of(slots, cell, 2 * edge + (e.left[edge] == cell ? 0 : 1));
    mine[static_cast<std::size_t>(k)] = static_cast<std::uint8_t>(local);
    outer_faces_.push_back({3 * cell + local, 2 * (halo + borders + k)});
  }
  their_faces_ = mesh_.halo().exchange(std::span<const std::uint8_t>(mine));
  std::int32_t behind = halo;
  for (const auto& [edge, border] : mesh_.boundary()) {
    const std::int32_t cell = e.left[edge];
    if (setup_.borders[static_cast<std::size_t>(border)].kind == BorderKind::Wall)
      outer_faces_.push_back({3 * cell + face_of(slots, cell, 2 * edge), 2 * behind});
    ++behind;
  }
  mesh::resize_tight(kinds_, cells());
}

// How an own cell lies beside its neighbours.
template <class Stored>
void BasicSolver<Stored>::find_kind(std::size_t cell) {
  const mesh::Edges& e = mesh_.edges();
  const auto slots = mesh_.cell_slots();
  const auto own = static_cast<std::int32_t>(cells()), halo = static_cast<std::int32_t>(mesh_.halo_cells());
  int across[3];
  for (std::size_t k = 0; k < 3; ++k) {
    const std::int32_t far = slots[3 * cell + k] ^ 1, edge = far >> 1;
    const std::int32_t other = (far & 1) != 0 ? e.right[edge] : e.left[edge];
    across[k] = other < own          ? face_of(slots, other, far)
                : other < own + halo ? their_faces_[static_cast<std::size_t>(edge) - e.interior]
                                     : kMirrored[k];
  }
  kinds_[cell] = cell_kind(across[0], across[1], across[2]);
}

template <class Stored>
void BasicSolver<Stored>::find_border_kinds() {
  for (const auto& [edge, border] : mesh_.boundary())
    if (setup_.borders[static_cast<std::size_t>(border)].kind != BorderKind::Wall)
      kinds_[static_cast<std::size_t>(mesh_.edges().left[edge])] = kConstantCell;
}

template <class Stored>
void BasicSolver<Stored>::find_kinds() {
  for (std::size_t i = 0; i < cells(); ++i) find_kind(i);
  find_border_kinds();
}

// After an adaption: of what is new, and of what has other neighbours. The others' have moved with them.
template <class Stored>
void BasicSolver<Stored>::find_kinds(const mesh::Transfer& t) {
  const mesh::Edges& e = mesh_.edges();
  const auto find_around = [&](std::int32_t cell) {
    find_kind(static_cast<std::size_t>(cell));
    for (std::int32_t k = 0; k < 3; ++k) {
      const std::int32_t slot =
          mesh_.cell_slots()[3 * static_cast<std::size_t>(cell) + static_cast<std::size_t>(k)];
      const auto other = static_cast<std::size_t>(slot % 2 == 0 ? e.right[slot / 2] : e.left[slot / 2]);
      if (other < cells()) find_kind(other);
    }
  };
  const std::int32_t gives = t.give_first_to >= 0 ? 1 : 0;
  for (const mesh::Run& run : t.runs)
    for (std::int32_t k = 0; run.kind != mesh::Run::Kind::Keep && k < run.new_cells(); ++k)
      if (const std::int32_t cell = run.new_begin - gives + k; cell >= 0) find_around(cell);
  if (t.take_last_from >= 0) find_around(static_cast<std::int32_t>(cells()) - 1);
  for (const std::int32_t cell : mesh_.halo().cells()) find_kind(static_cast<std::size_t>(cell));
  find_border_kinds();
}

template <class Stored>
FaceStates BasicSolver<Stored>::outer_faces() {
  return {outer_[0].data(), outer_[1].data(), outer_[2].data(), outer_[3].data(), outer_[4].data(), 0};
}

// States of own cells at faces for other ranks, and behind borders.
template <class Stored>
void BasicSolver<Stored>::find_outer_faces() {
  const FaceStates f = outer_faces();
  reconstruct(setup_.physics, fields(), connections(), outer_faces_, f);
  std::size_t behind = mesh_.halo_cells();
  for (const auto& [edge, border] : mesh_.boundary()) {
    if (setup_.borders[static_cast<std::size_t>(border)].kind == BorderKind::Wall) {
      // The cell behind a wall is this one's mirror image.
      const bool meridional = border == mesh::Border::West || border == mesh::Border::East;
      double& across = meridional ? f.hu[behind] : f.hv[behind];
      across = -across;
    } else {
      const std::int32_t outside = mesh_.edges().right[edge];
      f.eta[behind] = eta_[outside], f.b[behind] = b_[outside];
      f.hu[behind] = hu_[outside], f.hv[behind] = hv_[outside];
    }
    ++behind;
  }
}

// Heun's method, with the gains of the present state. Whether all ranks' cells are sound in the end. Half the
// CFL number keeps depths >= 0 whatever flows there (each face may take a third of a cell): a step that did
// not is taken again, shorter. Collective.
template <class Stored>
bool BasicSolver<Stored>::step_order2(double& dt) {
  constexpr int kAttempts = 3;
  const auto own = static_cast<std::ptrdiff_t>(cells());
  for (int attempt = 1;; ++attempt) {
    double through = inflow();
    bool sound = advance(dt, Stage::First);
    find_gains(time_ + dt);
    through = 0.5 * dt * (through + inflow());
    sound = advance(dt, Stage::Second) && sound;
    const bool settled = settle(sound, through + apply_forces(dt));
    if (settled || attempt == kAttempts) return settled;
    Values* const state[] = {&eta_, &hu_, &hv_};
    for (int f = 0; f < 3; ++f) std::copy_n(spare_[f].begin(), own, state[f]->begin());
    dt *= 0.5;
    find_gains(time_);
  }
}

template <class Stored>
Sloped BasicSolver<Stored>::sloped(std::size_t i) const {
  Sloped s{cell(i)};
  const auto at = std::ranges::lower_bound(bisected_, static_cast<std::int32_t>(i));
  if (at == bisected_.end() || *at != static_cast<std::int32_t>(i) || slopes_.empty()) return s;
  const Slopes& slopes = slopes_[static_cast<std::size_t>(at - bisected_.begin())];
  std::copy_n(slopes.begin(), 3, s.first.begin());
  std::copy_n(slopes.begin() + 3, 3, s.first_of_first.begin());
  return s;
}

template class BasicSolver<double>;
template class BasicSolver<float>;

}  // namespace swe
