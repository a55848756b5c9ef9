// SPDX-License-Identifier: Apache-2.0
// Refinement by amplitude, and the transfer of cell states between levels: momentum is conserved, and mass
// but for what a shore that is refined in mid-run adds; water at rest stays at rest over any bed, wet or dry.
#include <algorithm>
#include <cmath>

#include "apps/mesh/mpi_check.hpp"
#include "apps/mesh/pieces.hpp"
#include "apps/mesh/tight.hpp"
#include "apps/tsunami/solver/activity.hpp"
#include "apps/tsunami/solver/solver.hpp"

namespace swe {
int buffer_for(int steps) { return static_cast<int>(std::ceil(0.2 * steps / 0.5)); }

// The children get their true beds, and the parent's surface, with its slope, where that covers both. Else,
// in the sea and across its shore, water stands as high as the parent's in what lies lower: rest is kept, and
// water is added. Flooded land gives all of its water to the lower child; below sea level, both stand at it,
// as at the start.
template <class Stored>
std::pair<Sloped, Sloped> BasicSolver<Stored>::refine(mesh::Leaf leaf, const mesh::Triangle& t,
                                                      const Sloped& sloped, double& added) const {
  const Cell& parent = sloped.cell;
  const mesh::Leaf leaf0 = leaf.child(0), leaf1 = leaf.child(1);
  const mesh::Triangle t0 = t.child(0), t1 = t.child(1);
  const double area0 = metric_.area(leaf0, t0), area1 = metric_.area(leaf1, t1);
  const double b0 = bed_of(leaf0, t0), b1 = bed_of(leaf1, t1);
  const double depth = parent.eta - parent.b, low = std::min(b0, b1), high = std::max(b0, b1);
  const bool wet = depth > 0, land = parent.b >= setup_.sea_level, covered = wet && high < parent.eta;
  double level = wet ? parent.eta : low;
  if (land && wet && high >= parent.eta) level = low + depth * (area0 + area1) / (b0 < b1 ? area0 : area1);
  if (land && low < setup_.sea_level) level = std::max(level, setup_.sea_level);
  // What the first child has more, the other has less: weighted by areas, their sum is 0.
  const double more0 = 2 * area1 / (area0 + area1), less1 = 2 * area0 / (area0 + area1);
  const double room = covered ? 0.5 * (parent.eta - high) : 0;
  const double tilt = std::clamp(sloped.first[0], -room, room);
  const double eta0 = std::max(level + more0 * tilt, b0), eta1 = std::max(level - less1 * tilt, b1);
  if (!covered) added += area0 * (eta0 - b0) + area1 * (eta1 - b1) - (area0 + area1) * depth;
  const double mean = join(area0, eta0 - b0, area1, eta1 - b1);
  std::pair<Sloped, Sloped> children{{{eta0, parent.hu, parent.hv, b0}}, {{eta1, parent.hu, parent.hv, b1}}};
  auto& [first, second] = children;
  if (setup_.physics.order == 2 && std::min(eta0 - b0, eta1 - b1) > 0.5 * mean) {
    // Discharge is continuous where the bed is not.
    first.cell.hu += more0 * sloped.first[1], first.cell.hv += more0 * sloped.first[2];
    second.cell.hu -= less1 * sloped.first[1], second.cell.hv -= less1 * sloped.first[2];
  } else {
    const double share0 = mean > 0 ? (eta0 - b0) / mean : 0, share1 = mean > 0 ? (eta1 - b1) / mean : 0;
    first.cell.hu *= share0, first.cell.hv *= share0;
    second.cell.hu *= share1, second.cell.hv *= share1;
  }
  // Of children that are bisected once more for conformity.
  first.first = sloped.first_of_first;
  for (int f = 0; f < 3; ++f) second.first[f] = sloped.first[f] - sloped.first_of_first[f];
  return children;
}

template <class Stored>
Cell BasicSolver<Stored>::coarsen(mesh::Leaf parent, const mesh::Triangle& t, const Cell& first,
                                  const Cell& second) const {
  const double area0 = metric_.area(parent.child(0), t.child(0)),
               area1 = metric_.area(parent.child(1), t.child(1));
  const auto mean = [&](double v0, double v1) { return join(area0, v0, area1, v1); };
  const double b = mean(first.b, second.b);
  return {std::max(mean(first.eta, second.eta), b), mean(first.hu, second.hu), mean(first.hv, second.hv), b};
}

// Collective: the buffer reaches across ranks.
template <class Stored>
std::vector<std::int8_t> BasicSolver<Stored>::marks() {
  const Criterion& c = setup_.criterion;
  const int finest = c.finest < 0 ? setup_.finest : c.finest;
  const auto leaves = mesh_.leaves();
  std::vector<std::int8_t> marks(cells());
  const double dry = setup_.physics.dry_tolerance;
  const std::span<const Stored> eta(eta_.data(), cells()), b(b_.data(), cells());
  mark_amplitudes(eta, b, setup_.sea_level, dry, c.refine_amplitude, c.coarsen_amplitude,
                  std::span<std::int8_t>(marks));
  if (c.coarsen_speed < 1e300 || c.refine_speed < 1e300)
    for (std::size_t i = 0; i < marks.size(); ++i) {
      const double depth = eta_[i] - b_[i];
      if (depth <= dry) continue;
      const double speed = std::hypot(hu_[i], hv_[i]) / depth;
      marks[i] = std::max<std::int8_t>(marks[i], activity_of(speed, c.refine_speed, c.coarsen_speed));
    }
  if (c.refine_flux < 1e300 && fluxes_known_) {
    for (std::size_t i = 0; i < marks.size(); ++i) {
      if (eta_[i] - b_[i] <= dry) continue;
      const double change = std::abs(gains_[0][i]) * inverse_area_[i];
      marks[i] = std::max<std::int8_t>(marks[i], activity_of(std::ldexp(change, finest - leaves[i].level()),
                                                             c.refine_flux, 0.25 * c.refine_flux));
    }
  }
  expect_waves(marks);
  mesh_.dilate(marks, c.buffer);

  // Where the floor has yet to move, as if it had.
  if (const Motion& m = bed_.motion; m.lift && time_ < m.end) {
    const auto ahead = [&](double x, double y) {
      const bool inside = x >= m.west && x <= m.east && y >= m.south && y <= m.north;
      return inside ? std::abs(m.lift(x, y, m.end) - m.lift(x, y, time_)) : 0;
    };
    const auto spacing = [&](double, double, double, double) { return m.spacing; };
    const Function lift = m.spacing > 0 ? Function(Interpolated{ahead, spacing}) : Function(ahead);
    for (std::size_t i = 0; i < marks.size(); ++i)
      if (const mesh::Triangle t = mesh_.triangle(i); moves(t))
        marks[i] = std::max<std::int8_t>(marks[i],
                                         activity_of(cell_average(lift, metric_, setup_.finest, leaves[i], t),
                                                     c.refine_amplitude, c.coarsen_amplitude));
  }

  if (!c.regions.empty())  // these may ask for finer cells
    for (std::size_t i = 0; i < marks.size(); ++i)
      if (marks[i] == refined && leaves[i].level() >= finest) marks[i] = lively;
  for (const Region& r : c.regions) {
    if (time_ < r.from || time_ >= r.until) continue;
    mesh::LeafWalk walk(setup_.domain);
    for (std::size_t i = 0; i < marks.size(); ++i) {
      if (leaves[i].level() > r.level) continue;
      const mesh::Triangle t = walk.triangle(leaves[i]);
      const auto [west, east] = std::minmax({t.a.x, t.b.x, t.c.x});
      const auto [south, north] = std::minmax({t.a.y, t.b.y, t.c.y});
      if (metric_.x(west) > r.east || metric_.x(east) < r.west || metric_.y(south) > r.north ||
          metric_.y(north) < r.south)
        continue;
      marks[i] = std::max<std::int8_t>(marks[i], leaves[i].level() < r.level ? refined : lively);
    }
  }

  const int limit = c.regions.empty() ? finest : setup_.finest;
  // Pairs that cannot be joined without moving the shore or the water line stay.
  const auto may_join = [&](std::size_t i, std::size_t j) {
    const bool wet0 = eta_[i] > b_[i], wet1 = eta_[j] > b_[j];
    return wet0 == wet1 && (b_[i] < setup_.sea_level) == (b_[j] < setup_.sea_level);
  };
  mark_levels(leaves, setup_.coarsest, limit, marks);
  const std::span<const std::int8_t> seen(marks);
  for (std::size_t i = mesh::next_nonzero(seen, 1); i < marks.size(); i = mesh::next_nonzero(seen, i + 1))
    if (marks[i] < 0 && marks[i - 1] < 0 && mesh::are_siblings(leaves[i - 1], leaves[i]) &&
        !may_join(i - 1, i))
      marks[i - 1] = marks[i] = 0;
  return marks;
}

// Cells at a border through which a wave comes in, as if it had come.
template <class Stored>
void BasicSolver<Stored>::expect_waves(std::vector<std::int8_t>& marks) const {
  const Criterion& c = setup_.criterion;
  for (const auto& [edge, border] : mesh_.boundary()) {
    const Wave& wave = setup_.borders[static_cast<std::size_t>(border)].wave;
    const auto inside = static_cast<std::size_t>(mesh_.edges().left[edge]);
    if (!wave.surface || time_ >= wave.end || b_[inside] >= setup_.sea_level) continue;
    marks[inside] = std::max<std::int8_t>(marks[inside],
                                          activity_of(wave.height, c.refine_amplitude, c.coarsen_amplitude));
  }
}

// Whether the bed of the finest cells inside lies on both sides of the sea level.
template <class Stored>
bool BasicSolver<Stored>::has_shore(mesh::Leaf leaf, const mesh::Triangle& t) const {
  return lies_on_both_sides(bed_.still, metric_, setup_.finest, setup_.sea_level, leaf, t);
}

template <class Stored>
void BasicSolver<Stored>::mark_shore(std::vector<std::int8_t>& marks) const {
  const int level = setup_.coast < 0 ? setup_.finest : setup_.coast;
  mesh::LeafWalk walk(setup_.domain);
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const mesh::Leaf leaf = mesh_.leaves()[i];
    if (leaf.level() < level && marks[i] < 1 && has_shore(leaf, walk.triangle(leaf))) marks[i] = 1;
  }
}

template <class Stored>
void BasicSolver<Stored>::transfer(const mesh::Transfer& t, const RefineCell& refine,
                                   const CoarsenCell& coarsen) {
  Values* const fields[] = {&eta_, &hu_, &hv_, &b_};
  for (auto* field : fields) mesh::resize_tight(*field, std::max(field->size(), mesh_.cells()));
  mesh::resize_tight(inverse_area_, std::max(inverse_area_.size(), mesh_.cells()));
  const bool second = setup_.physics.order == 2;
  if (second) mesh::resize_tight(kinds_, std::max(kinds_.size(), mesh_.cells()));
  t.apply<Sloped>([&](std::int32_t i) { return sloped(static_cast<std::size_t>(i)); },
                  [&](std::int32_t from, std::int32_t to, std::int32_t count) {
                    for (auto* field : fields) mesh::move_values(field->data(), {from, to, count});
                    mesh::move_values(inverse_area_.data(), {from, to, count});
                    if (second) mesh::move_values(kinds_.data(), {from, to, count});
                  },
                  [&](std::int32_t i, const Sloped& s) {
                    set_cell(static_cast<std::size_t>(i), s.cell);
                    inverse_area_[static_cast<std::size_t>(i)] = 1 / area(static_cast<std::size_t>(i));
                  },
                  refine,
                  [&](mesh::Leaf parent, const Sloped& first, const Sloped& second) {
                    return Sloped{coarsen(parent, first.cell, second.cell)};
                  });
  std::vector<Slopes>().swap(slopes_), std::vector<std::int32_t>().swap(bisected_);
  connect();
  if (second) find_kinds(t);
  find_rough_cells(t);
}

template <class Stored>
bool BasicSolver<Stored>::adapt() {
  const auto wanted = marks();
  mesh::Mesh::Bisecting slope;
  if (setup_.physics.order == 2) {
    fill_halo(time_);
    mesh_.halo().finish();
    slope = [this](std::span<const std::int32_t> bisected) {
      bisected_.assign(bisected.begin(), bisected.end());
      slopes_.resize(bisected.size());
      find_slopes(setup_.physics, fields(), connections(), bisected_, slopes_);
    };
  }
  const auto t = mesh_.adapt(wanted, slope);
  added_ = 0;
  conformity_seconds_ = t.conformity_seconds;
  if (!t.changed) return false;
  mesh::LeafWalk walk(setup_.domain);
  transfer(
      t, [&](mesh::Leaf leaf, const Sloped& s) { return refine(leaf, walk.triangle(leaf), s, added_); },
      [&](mesh::Leaf parent, const Cell& first, const Cell& second) {
        return coarsen(parent, walk.triangle(parent), first, second);
      });
  elastic::check_mpi(MPI_Allreduce(MPI_IN_PLACE, &added_, 1, MPI_DOUBLE, MPI_SUM, mesh_.comm()),
                     "counting the water that refining adds");
  return true;
}

template class BasicSolver<double>;
template class BasicSolver<float>;

}  // namespace swe
