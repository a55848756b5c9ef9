// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/solver/cell_average.hpp"

#include <algorithm>
#include <utility>

namespace swe {
namespace {

double at_centroid(const Function& f, const Metric& metric, const mesh::Triangle& t) {
  const Metric::Place place = metric.centroid(t);
  return f(place.x, place.y);
}

mesh::Triangle parent_of(mesh::Leaf leaf, const mesh::Triangle& t) {
  if (leaf.is_second()) return {t.b + t.b - t.c, t.a, t.c};
  return {t.a, t.c, t.b + t.b - t.a};
}

class Descent {
 public:
  Descent(const Function& f, const Metric& metric, int level)
      : f_(f), metric_(metric), level_(level), raster_(f.target<Interpolated>()) {}

  // Where nothing finer is looked at. What is inside of such a one is such a one, too.
  bool ends(mesh::Leaf leaf, const mesh::Triangle& t) const { return leaf.level() >= level_ || is_fine(t); }

  // Less than half the rasters' spacing.
  bool is_fine(const mesh::Triangle& t) const {
    if (raster_ == nullptr) return false;
    const auto [left, right] = std::minmax({t.a.x, t.b.x, t.c.x});
    const auto [low, high] = std::minmax({t.a.y, t.b.y, t.c.y});
    const double west = metric_.x(left), east = metric_.x(right), south = metric_.y(low),
                 north = metric_.y(high);
    return std::max(east - west, north - south) <= raster_->spacing(west, east, south, north) / 2;
  }

  double mean(mesh::Leaf leaf, const mesh::Triangle& t) const {
    return is_fine(t) ? inside(leaf, t) : coarse(leaf, t);
  }

  bool both_sides(double height, mesh::Leaf leaf, const mesh::Triangle& t) const {
    bool below = false, above = false;
    look(height, leaf, t, below, above);
    return below && above;
  }

 private:
  double coarse(mesh::Leaf leaf, const mesh::Triangle& t) const {
    if (ends(leaf, t)) return at_centroid(f_, metric_, t);
    const mesh::Leaf first = leaf.child(0), second = leaf.child(1);
    const mesh::Triangle t0 = t.child(0), t1 = t.child(1);
    const double value0 = coarse(first, t0), value1 = coarse(second, t1);
    return join(metric_.area(first, t0), value0, metric_.area(second, t1), value1);
  }

  // Of a fine one: from the coarsest fine one that it is in.
  double inside(mesh::Leaf leaf, const mesh::Triangle& t) const {
    if (leaf.level() == 0) return at_centroid(f_, metric_, t);
    const mesh::Leaf parent = leaf.parent();
    const mesh::Triangle around = parent_of(leaf, t);
    if (!is_fine(around)) return at_centroid(f_, metric_, t);
    const mesh::Triangle t0 = around.child(0), t1 = around.child(1);
    const double area0 = metric_.area(parent.child(0), t0), area1 = metric_.area(parent.child(1), t1);
    const double difference = at_centroid(f_, metric_, t1) - at_centroid(f_, metric_, t0);
    return inside(parent, around) +
           (leaf.is_second() ? area0 : -area1) / (area0 + area1) * difference;  // the inverse of join()
  }

  void look(double height, mesh::Leaf leaf, const mesh::Triangle& t, bool& below, bool& above) const {
    if (below && above) return;
    const auto see = [&](double value) { (value < height ? below : above) = true; };
    if (!ends(leaf, t)) {
      look(height, leaf.child(0), t.child(0), below, above);
      return look(height, leaf.child(1), t.child(1), below, above);
    }
    see(at_centroid(f_, metric_, t));
    if (leaf.level() >= level_) return;
    for (const mesh::Point p : {t.a, t.b, t.c}) see(f_(metric_.x(p.x), metric_.y(p.y)));
  }

  const Function& f_;
  const Metric& metric_;
  const int level_;
  const Interpolated* const raster_;
};

}  // namespace

double cell_average(const Function& f, const Metric& metric, int level, mesh::Leaf leaf,
                    const mesh::Triangle& t) {
  return Descent(f, metric, level).mean(leaf, t);
}

bool lies_on_both_sides(const Function& f, const Metric& metric, int level, double height, mesh::Leaf leaf,
                        const mesh::Triangle& t) {
  return Descent(f, metric, level).both_sides(height, leaf, t);
}

}  // namespace swe
