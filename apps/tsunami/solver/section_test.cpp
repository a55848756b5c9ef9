// SPDX-License-Identifier: Apache-2.0
// That a time step works on sections of the curve changes no bit and keeps its memory small. On any ranks.
#include <gtest/gtest.h>
#include <malloc.h>

#include <cstring>
#include <vector>

#include "apps/tsunami/solver/test_tools.hpp"

namespace swe {
namespace {

using namespace testing;

// A wave runs over a coast in a basin of four root squares, with the mesh behind it. On the sphere: cells of
// one level differ.
std::vector<Element> after_steps(int section_cells, int order, RiemannSolver riemann) {
  Parameters setup{
      .domain = {2, 2},
      .frame = {.coordinates = Coordinates::Sphere, .west = 0, .south = 20, .width = 2, .height = 2},
      .coarsest = 5,
      .finest = 10,
      .section_cells = section_cells};
  setup.physics.order = order;
  setup.physics.solver = riemann;
  setup.criterion = {.refine_amplitude = 0.2, .coarsen_amplitude = 0.1};
  Solver s(
      MPI_COMM_WORLD, setup, [](double x, double y) { return rough(x, y, .7, -900, 60); },
      [](double x, double y) { return 5 * std::exp(-((x - 2) * (x - 2) + (y - 22) * (y - 22)) * 9); });
  for (int k = 1; k <= 30; ++k) {
    s.step(1e9);
    if (k % 5 == 0 && s.adapt()) s.balance();
  }
  return gather(s);
}

TEST(Sections, OfAnySizeGiveTheSameBits) {
  for (const auto riemann : {RiemannSolver::Hllc, RiemannSolver::Augmented})
    for (const int order : {1, 2}) {
      const auto whole = after_steps(1 << 30, order, riemann);
      EXPECT_GT(whole.size(), 500u);
      for (const int cells : {1, 37, 256}) {
        const auto cut = after_steps(cells, order, riemann);
        ASSERT_EQ(cut.size(), whole.size());
        EXPECT_EQ(std::memcmp(cut.data(), whole.data(), whole.size() * sizeof(Element)), 0)
            << cells << " cells, order " << order;
      }
    }
}

TEST(Memory, OfACellAtSecondOrderIsBelow200Bytes) {
  if (ranks() > 1) return;  // MPI takes some for its messages, however many cells there are
  const auto in_use = [] {
    const struct mallinfo2 m = mallinfo2();
    return static_cast<double>(m.uordblks + m.hblkhd);
  };
  const double before = in_use();
  Parameters setup{.domain = {1, 1},
                   .frame = {.west = 0, .south = 0, .width = 1e5, .height = 1e5},
                   .coarsest = 15,
                   .finest = 16};
  setup.criterion.regions = {{-1e9, 1e9, -1e9, 1e9, 16}};
  setup.physics.order = 2;
  Solver s(
      MPI_COMM_WORLD, setup, [](double, double) { return -1000.0; },
      [](double x, double) { return std::sin(x / 9e3); });
  for (int k = 0; k < 3; ++k) s.step(1e9);
  const double cells = static_cast<double>(s.cells());
  EXPECT_LE((in_use() - before) / cells, 200) << "of " << cells << " cells";
}

}  // namespace
}  // namespace swe
