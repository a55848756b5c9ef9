// SPDX-License-Identifier: Apache-2.0
// The same grids in Tasmanian, an independent library: the same points and, to rounding, the same
// interpolant, for Genz' families in 2 to 8 dimensions. Its rule localp0 is Boundary::None here, localp is
// Points.
#include <gtest/gtest.h>

#include <cmath>
#include <TasmanianSparseGrid.hpp>

#include "apps/surrogate/grid/genz.hpp"
#include "apps/surrogate/grid/grid.hpp"

namespace sparse {
namespace {

using testing::Genz;
using testing::kFamilies;

void compare(int d, int level, Boundary boundary) {
  const Genz genz(d, 100 + static_cast<unsigned>(d));
  const auto row = [&](std::span<const double> x) {
    std::vector<double> y;
    for (int family = 0; family < kFamilies; ++family) y.push_back(genz(family, x) / (family == 1 ? 100 : 1));
    return y;
  };
  const auto n = static_cast<std::size_t>(d);

  Grid grid(d, kFamilies, boundary);
  grid.add_regular(level);
  std::vector<double> x(n), largest(kFamilies, 0.0);
  while (!grid.complete()) {
    grid.position(grid.filled(), x);
    const auto y = row(x);
    grid.append_values(y);
    for (std::size_t j = 0; j < kFamilies; ++j) largest[j] = std::max(largest[j], std::abs(y[j]));
  }
  grid.hierarchise();

  auto oracle = TasGrid::makeLocalPolynomialGrid(
      d, kFamilies, level - 1, 1, boundary == Boundary::None ? TasGrid::rule_localp0 : TasGrid::rule_localp);
  oracle.setDomainTransform(std::vector<double>(n, 0.0), std::vector<double>(n, 1.0));
  ASSERT_EQ(static_cast<std::size_t>(oracle.getNumPoints()), grid.size());
  const std::vector<double> points = oracle.getNeededPoints();
  std::vector<double> values;
  for (std::size_t at = 0; at < points.size(); at += n) {
    const auto y = row({points.data() + at, n});
    values.insert(values.end(), y.begin(), y.end());
  }
  oracle.loadNeededValues(values);

  const auto at = testing::random_points(200, d, 55);
  std::vector<double> expected, got(kFamilies);
  oracle.evaluateBatch(at, expected);
  for (std::size_t k = 0; k < 200; ++k) {
    grid.evaluate({at.data() + k * n, n}, got);
    for (std::size_t j = 0; j < kFamilies; ++j)
      ASSERT_NEAR(got[j], expected[k * kFamilies + j], 1e-12 * std::max(1.0, largest[j]))
          << "family " << j << ", d = " << d << ", " << name_of(boundary);
  }
}

TEST(Tasmanian, HatsAgree) {
  for (int d = 2; d <= 8; ++d) compare(d, d < 4 ? 7 : d < 7 ? 5 : 4, Boundary::None);
}

TEST(Tasmanian, PointsOnTheBorderAgree) {
  for (int d = 2; d <= 8; ++d) compare(d, d < 4 ? 7 : d < 7 ? 5 : 4, Boundary::Points);
}

}  // namespace
}  // namespace sparse
