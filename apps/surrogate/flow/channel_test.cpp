// SPDX-License-Identifier: Apache-2.0
// The forward model is a smooth function of where the obstacles are, whatever the cells' borders.
#include "apps/surrogate/flow/channel.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <stdexcept>
#include <string>

namespace flow {
namespace {

const std::vector<double> kCentres = {1.4, 0.7, 3.9, 1.2, 5.8, 0.8, 8.2, 1.1};

std::vector<double> outputs(Channel& channel, const std::vector<double>& centres) {
  std::vector<double> out(static_cast<std::size_t>(channel.of().outputs()));
  channel.run(centres, out);
  return out;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (std::size_t k = 0; k < a.size(); ++k) largest = std::max(largest, std::abs(a[k] - b[k]));
  return largest;
}

TEST(Channel, OutputsMoveContinuouslyWithTheObstacles) {
  Channel channel(four_obstacles());
  // Sides and centres of blocks on borders of cells, and a hair before and behind them.
  for (std::size_t k = 0; k < kCentres.size(); ++k) {
    std::vector<double> at = kCentres;
    at[k] = std::round(at[k] * 20) / 20;
    const auto here = outputs(channel, at);
    double last = INFINITY;
    for (const double e : {1e-2, 1e-4, 1e-6, 1e-8}) {
      std::vector<double> beside = at;
      beside[k] += e;
      const double right = distance(outputs(channel, beside), here);
      beside[k] = at[k] - e;
      const double left = distance(outputs(channel, beside), here);
      EXPECT_LE(std::max(left, right), 10 * e) << "coordinate " << k << ", " << e;
      EXPECT_LT(std::max(left, right), last);
      // The derivative is the same on both sides.
      if (e == 1e-4) {
        EXPECT_NEAR(left, right, 0.02 * right + 1e-7) << "coordinate " << k;
      }
      last = std::max(left, right);
    }
  }
}

TEST(Channel, SensorsSeeWhereTheObstaclesAre) {
  Channel channel(four_obstacles());
  const auto here = outputs(channel, kCentres);
  for (std::size_t k = 0; k < kCentres.size(); ++k) {
    std::vector<double> moved = kCentres;
    moved[k] += 0.2;
    EXPECT_GT(distance(outputs(channel, moved), here), 0.01) << "coordinate " << k;
  }
}

TEST(Channel, RunsDoNotDependOnEarlierOnes) {
  Channel used(four_obstacles()), fresh(four_obstacles());
  outputs(used, {1.1, 1.4, 3.3, 0.6, 6.3, 1.4, 7.7, 0.6});
  EXPECT_EQ(outputs(used, kCentres), outputs(fresh, kCentres));
}

TEST(Channel, FinerCellsChangeLittle) {
  ChannelCase c = four_obstacles();
  Channel coarse(c);
  c.cells_across = 40;
  Channel fine(c);
  const auto a = outputs(coarse, kCentres), b = outputs(fine, kCentres);
  double difference = 0, size = 0;
  for (std::size_t k = 0; k < a.size(); ++k) {
    difference += (a[k] - b[k]) * (a[k] - b[k]);
    size += b[k] * b[k];
  }
  EXPECT_LT(std::sqrt(difference / size), 0.05);
}

// Numbers that are finite and mean nothing (here: eight cells in a time step) would poison a surrogate.
TEST(Channel, RefusesAFlowThatIsTooFastForItsTimeStep) {
  ChannelCase c = four_obstacles();
  c.obstacles[0] = {1.0, 1.5, {1.0, 2.0}, {0.5, 1.5}};
  c.reynolds = 3200;
  c.times = {0.475, 0.95, 1.425, 1.9};
  Channel channel(c);
  std::vector<double> centres = kCentres;
  centres[1] = 1.0;
  try {
    outputs(channel, centres);
    FAIL() << "a flow of 7.9 cells per time step was accepted";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("cells in a time step at t = 1."), std::string::npos)
        << error.what();
  }
}

TEST(Channel, RefusesWhatItCannotCompute) {
  ChannelCase c = four_obstacles();
  c.sensors.push_back({11, 1});
  EXPECT_THROW(static_cast<void>(Channel(c)), std::invalid_argument);
  Channel channel(four_obstacles());
  std::vector<double> few(3), out(40);
  EXPECT_THROW(channel.run(few, out), std::invalid_argument);
}

}  // namespace
}  // namespace flow
