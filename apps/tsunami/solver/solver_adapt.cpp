// SPDX-License-Identifier: Apache-2.0
// Refinement by amplitude, and the transfer of cell states between levels: mass and momentum are conserved,
// and water at rest stays at rest over any bed, wet or dry.
#include <algorithm>
#include <cmath>

#include "apps/tsunami/solver/solver.hpp"

namespace swe {
namespace {

enum Activity : std::int8_t { calm, lively, refined };  // may coarsen, stays, must be fine

Activity activity_of(double value, double refine_above, double coarsen_below) {
  return value > refine_above ? refined : value > coarsen_below ? lively : calm;
}

}  // namespace

// Velocity is kept, so momentum splits like the water. The children get their true beds where that is
// possible without moving water: where both stay covered, or where all is land. Else both keep the parent's
// bed.
std::pair<Cell, Cell> Solver::refine(mesh::Leaf leaf, const Cell& parent) const {
  const mesh::Triangle t = setup_.domain.triangle(leaf);
  const mesh::Leaf leaf0 = leaf.child(0), leaf1 = leaf.child(1);
  const mesh::Triangle t0 = t.child(0), t1 = t.child(1);
  const double b0 = cell_average(bed_, metric_, setup_.finest, leaf0, t0);
  const double b1 = cell_average(bed_, metric_, setup_.finest, leaf1, t1);
  const double depth = parent.eta - parent.b;
  if (depth <= 0) {
    if (std::min(b0, b1) < setup_.sea_level) return {parent, parent};
    return {Cell{b0, 0, 0, b0}, Cell{b1, 0, 0, b1}};
  }
  const bool same_volume = join(metric_.area(leaf0, t0), b0, metric_.area(leaf1, t1), b1) == parent.b;
  if (!same_volume || std::max(b0, b1) >= parent.eta) return {parent, parent};
  const double share0 = (parent.eta - b0) / depth, share1 = (parent.eta - b1) / depth;
  return {Cell{parent.eta, parent.hu * share0, parent.hv * share0, b0},
          Cell{parent.eta, parent.hu * share1, parent.hv * share1, b1}};
}

Cell Solver::coarsen(mesh::Leaf parent, const Cell& first, const Cell& second) const {
  const mesh::Triangle t = setup_.domain.triangle(parent);
  const double area0 = metric_.area(parent.child(0), t.child(0)),
               area1 = metric_.area(parent.child(1), t.child(1));
  const auto mean = [&](double v0, double v1) { return join(area0, v0, area1, v1); };
  const double b = mean(first.b, second.b);
  return {std::max(mean(first.eta, second.eta), b), mean(first.hu, second.hu), mean(first.hv, second.hv), b};
}

// Collective: the buffer reaches across ranks.
std::vector<std::int8_t> Solver::marks() {
  const Criterion& c = setup_.criterion;
  const auto leaves = mesh_.leaves();
  std::vector<std::int8_t> marks(cells());
  const double dry = setup_.physics.dry_tolerance;
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const double depth = eta_[i] - b_[i], amplitude = std::abs(eta_[i] - setup_.sea_level);
    const Activity activity = activity_of(amplitude, c.refine_amplitude, c.coarsen_amplitude);
    marks[i] = depth > dry ? activity : calm;
  }
  if (c.coarsen_speed < 1e300 || c.refine_speed < 1e300)
    for (std::size_t i = 0; i < marks.size(); ++i) {
      const double depth = eta_[i] - b_[i];
      if (depth <= dry) continue;
      const double speed = std::hypot(hu_[i], hv_[i]) / depth;
      marks[i] = std::max<std::int8_t>(marks[i], activity_of(speed, c.refine_speed, c.coarsen_speed));
    }
  mesh_.dilate(marks, c.buffer);

  for (const Region& r : c.regions) {
    if (time_ >= r.until) continue;
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

  // Pairs that cannot be joined without moving the water line stay.
  const auto may_join = [&](std::size_t i, std::size_t j) {
    const bool wet0 = eta_[i] > b_[i], wet1 = eta_[j] > b_[j];
    const bool land = !wet0 && !wet1 && std::min(b_[i], b_[j]) >= setup_.sea_level;
    return b_[i] == b_[j] || land || (wet0 && wet1);
  };
  for (std::size_t i = 0; i < marks.size(); ++i) {
    const int level = leaves[i].level();
    const bool refine = marks[i] == refined && level < setup_.finest;
    const bool coarsen = marks[i] == calm && level > setup_.coarsest;
    marks[i] = static_cast<std::int8_t>(refine - coarsen);
    if (coarsen && i > 0 && marks[i - 1] < 0 && mesh::are_siblings(leaves[i - 1], leaves[i]) &&
        !may_join(i - 1, i))
      marks[i - 1] = marks[i] = 0;
  }
  return marks;
}

void Solver::transfer(const mesh::Transfer& t, const RefineCell& refine, const CoarsenCell& coarsen) {
  std::vector<double>* const fields[] = {&eta_, &hu_, &hv_, &b_};
  for (auto& field : spare_) field.resize(mesh_.all_cells());
  t.apply<Cell>([&](std::int32_t i) { return cell(static_cast<std::size_t>(i)); },
                [&](std::int32_t from, std::int32_t to, std::int32_t count) {
                  for (int f = 0; f < 4; ++f)
                    std::copy_n(fields[f]->data() + from, count, spare_[f].data() + to);
                },
                [&](std::int32_t i, const Cell& c) {
                  spare_[0][i] = c.eta, spare_[1][i] = c.hu, spare_[2][i] = c.hv, spare_[3][i] = c.b;
                },
                refine, coarsen);
  for (int f = 0; f < 4; ++f) fields[f]->swap(spare_[f]);
  connect();
}

bool Solver::adapt() {
  const auto t = mesh_.adapt(marks());
  if (!t.changed) return false;
  transfer(
      t, [&](mesh::Leaf leaf, const Cell& c) { return refine(leaf, c); },
      [&](mesh::Leaf parent, const Cell& first, const Cell& second) {
        return coarsen(parent, first, second);
      });
  return true;
}

}  // namespace swe
