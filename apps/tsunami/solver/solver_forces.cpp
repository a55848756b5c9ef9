// SPDX-License-Identifier: Apache-2.0
// What acts on the water beside what flows: friction, the earth's rotation, sponges.
#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "apps/mesh/tight.hpp"
#include "apps/tsunami/solver/solver.hpp"

namespace swe {

template <class Stored>
bool BasicSolver<Stored>::knows_friction() const {
  const Physics& p = setup_.physics;
  return bed_.manning || p.manning > 0 || p.speed_limit > 0;
}

template <class Stored>
bool BasicSolver<Stored>::is_shallow(std::size_t cell) const {
  return b_[cell] > setup_.sea_level - 1.5 * setup_.physics.friction_depth;
}

template <class Stored>
void BasicSolver<Stored>::find_rough_cells() {
  rough_.clear(), roughness_.clear();
  if (!knows_friction()) return;
  std::size_t count = 0;
  for (std::size_t i = 0; i < cells(); ++i) count += is_shallow(i) ? 1 : 0;
  mesh::fit_tight(rough_, count);
  mesh::fit_tight(roughness_, bed_.manning ? count : 0);
  mesh::LeafWalk walk(setup_.domain);
  for (std::size_t i = 0; i < cells() && count > 0; ++i) add_if_rough(i, walk);
}

template <class Stored>
void BasicSolver<Stored>::add_if_rough(std::size_t cell, mesh::LeafWalk& walk) {
  if (!is_shallow(cell)) return;
  double n = setup_.physics.manning;
  if (bed_.manning) {
    const auto [x, y] = metric_.centroid(walk.triangle(mesh_.leaves()[cell]));
    n = bed_.manning(x, y);
  }
  if (!(n > 0) && !(setup_.physics.speed_limit > 0)) return;
  rough_.push_back(static_cast<std::int32_t>(cell));
  if (bed_.manning) roughness_.push_back(static_cast<float>(n));
}

// After an adaption: cells that stayed are as rough as they were.
template <class Stored>
void BasicSolver<Stored>::find_rough_cells(const mesh::Transfer& t) {
  if (!knows_friction()) return;
  const auto before = std::exchange(rough_, {});
  const auto n_before = std::exchange(roughness_, {});
  std::size_t fresh = 1;
  for (const mesh::Run& run : t.runs)
    if (run.kind != mesh::Run::Kind::Keep) fresh += static_cast<std::size_t>(run.new_cells());
  mesh::reserve_tight(rough_, std::min(before.size() + fresh, cells()));
  mesh::reserve_tight(roughness_, bed_.manning ? std::min(before.size() + fresh, cells()) : 0);
  mesh::LeafWalk walk(setup_.domain);
  const std::int32_t gives = t.give_first_to >= 0 ? 1 : 0;
  std::size_t at = 0;
  for (const mesh::Run& run : t.runs) {
    const std::int32_t begin = run.new_begin - gives, end = run.old_begin + run.count;
    const bool stays = run.kind == mesh::Run::Kind::Keep;
    for (; at < before.size() && before[at] < end; ++at) {
      const std::int32_t cell = begin + before[at] - run.old_begin;
      if (!stays || cell < 0) continue;
      rough_.push_back(cell);
      if (bed_.manning) roughness_.push_back(n_before[at]);
    }
    for (std::int32_t cell = std::max(begin, 0); !stays && cell < begin + run.new_cells(); ++cell)
      add_if_rough(static_cast<std::size_t>(cell), walk);
  }
  if (t.take_last_from >= 0) add_if_rough(cells() - 1, walk);
}

// Beside what flows. m^3 that the sponges bring.
template <class Stored>
double BasicSolver<Stored>::apply_forces(double dt) {
  const Fields<Stored> fields = this->fields();
  if (setup_.physics.rotation != 0 && setup_.frame.coordinates == Coordinates::Sphere) turn(dt);
  const std::span<const std::int32_t> rough(rough_);
  const std::span<const float> n(roughness_);
  constexpr std::size_t part = mesh::kSectionCells;
#pragma omp parallel for num_threads(threads_) if (threads_ > 1)
  for (std::size_t i = 0; i < rough.size(); i += part) {
    const std::size_t count = std::min(part, rough.size() - i);
    apply_friction(setup_.physics, fields, dt, rough.subspan(i, count), n.empty() ? n : n.subspan(i, count));
  }
  return sponge_.apply(setup_.physics, fields, inverse_area_.data(), setup_.sea_level, dt);
}

// By the force of the earth's rotation, which is found anew for each section: kept, it would be eight bytes
// more of each cell.
template <class Stored>
void BasicSolver<Stored>::turn(double dt) {
  const Fields<Stored> fields = this->fields();
  const auto shapes = mesh_.shapes();
#pragma omp parallel num_threads(threads_) if (threads_ > 1)
  {
    std::vector<double> f;
#pragma omp for
    for (std::int32_t s = 0; s < sections_.count(); ++s) {
      const Section section = sections_[s];
      f.clear();
      for (std::int32_t i = section.cell_begin; i < section.cell_end; ++i)
        f.push_back(2 * setup_.physics.rotation * metric_.sine(shapes[static_cast<std::size_t>(i)].y_sum));
      apply_rotation(fields, f.data(), dt, section.cell_begin, section.cell_end);
    }
  }
}

template class BasicSolver<double>;
template class BasicSolver<float>;

}  // namespace swe
