// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/solver/cell_average.hpp"

namespace swe {

double cell_average(const Function& f, const Metric& metric, int level, mesh::Leaf leaf,
                    const mesh::Triangle& t) {
  if (leaf.level() >= level) {
    const double x = static_cast<double>(t.a.x) + t.b.x + t.c.x,
                 y = static_cast<double>(t.a.y) + t.b.y + t.c.y;
    return f(metric.x(x / 3), metric.y(y / 3));
  }
  const mesh::Leaf first = leaf.child(0), second = leaf.child(1);
  const mesh::Triangle t0 = t.child(0), t1 = t.child(1);
  const double value0 = cell_average(f, metric, level, first, t0),
               value1 = cell_average(f, metric, level, second, t1);
  return join(metric.area(first, t0), value0, metric.area(second, t1), value1);
}

}  // namespace swe
