// SPDX-License-Identifier: Apache-2.0
// For tests: the flow around a cylinder, for whose drag and lift others have published intervals.
#pragma once
#include <algorithm>
#include <cmath>
#include <string>

#include "apps/io/test_record.hpp"
#include "apps/surrogate/flow/flow.hpp"

namespace flow::testing {

struct Coefficients {
  double drag, lift, pressure;  ///< two coefficients, and a difference in m^2/s^2
};

/// M. Schaefer, S. Turek, Benchmark computations of laminar flow around a cylinder (1996), case 2D-1:
/// Reynolds number 20. Intervals there: drag 5.57 to 5.59, lift .0104 to .0110, pressure difference .1172 to
/// .1176. ny: cells across.
inline Coefficients around_a_cylinder(int ny) {
  Box box;
  box.length = 2.2;
  box.height = 0.41;
  box.ny = ny;
  box.nx = static_cast<int>(std::lround(ny * box.length / box.height));
  box.viscosity = 1e-3;
  box.open_east = true;
  box.closed = true;
  const double h = box.height / ny;
  // The fastest fluid, .45 m/s, crosses a quarter of a cell; and viscosity bounds it where cells are small.
  box.dt = std::min(0.5 * h, 0.1 * h * h / box.viscosity);
  for (int j = 0; j < ny; ++j) {
    const double y = (j + 0.5) * h;
    box.inflow.push_back(4 * 0.3 * y * (box.height - y) / (box.height * box.height));
  }
  Flow flow(box);
  flow.set_disc({0.2, 0.2, 0.1});
  while (flow.time() < 5) flow.step();  // from then on the drag changes by less than 1e-4 of itself
  const Force force = flow.force();
  const double unit = 2 / (0.2 * 0.2 * 0.1);  // over the mean velocity's square and the diameter
  return {unit * force.x, unit * force.y, flow.pressure_at(0.15, 0.2) - flow.pressure_at(0.25, 0.2)};
}

inline void record_coefficients(const std::string& cells, const Coefficients& found) {
  io::test::record("drag" + cells, found.drag);
  io::test::record("lift" + cells, found.lift);
  io::test::record("pressure" + cells, found.pressure);
}

inline constexpr Coefficients kReference{5.58, 0.0107, 0.1174};  // the middles of the intervals

}  // namespace flow::testing
