// SPDX-License-Identifier: Apache-2.0
// The forward model of seed 000, section 7.3: obstacles somewhere in a channel through which a viscous fluid
// flows, and sensors that measure its velocity, from which the obstacles are to be found.
#pragma once
#include <array>
#include <functional>
#include <span>
#include <vector>

#include "apps/surrogate/flow/flow.hpp"

namespace flow {

struct Place {
  double x = 0, y = 0;  // m
};

struct Interval {
  double low = 0, high = 0;
};

/// In seed 000 it has four obstacles in a channel of 10 m x 2 m, and ten sensors that measure at four times.
///
/// The obstacles have different shapes and each has its own section of the channel, in order along it.
/// Exchanging two of them is therefore another state, with another outcome: the posterior has one mode for
/// the true state, and not 4! copies of it.
struct ChannelCase {
  double length = 10, height = 2;              // m
  int cells_across = 20;                       // 5 times as many along the channel
  double inflow = 1;                           // m/s, the same over the whole western side
  double reynolds = 40;                        // inflow * height / viscosity
  std::array<double, 4> times = {1, 2, 3, 4};  // s
  struct Obstacle {
    double width, height;  // m
    Interval x, y;         // m: where its centre may be
  };
  std::vector<Obstacle> obstacles;
  std::vector<Place> sensors;

  int parameters() const { return 2 * static_cast<int>(obstacles.size()); }
  int outputs() const { return static_cast<int>(sensors.size() * times.size()); }
};

ChannelCase four_obstacles();

/// The forward model: centres of the obstacles (x1, y1, x2, y2, ...; m) to the velocity along the channel at
/// every sensor, one time after the other (m/s). Continuously differentiable in the centres. Not for two
/// threads at once.
class Channel {
 public:
  /// Throws std::invalid_argument for a case without cells, a sensor outside of the channel, and so on.
  explicit Channel(const ChannelCase& of);

  /// Called with the state at every measuring time.
  using Watch = std::function<void(const Flow&)>;
  /// centres: case.parameters() long, finite; out: case.outputs(). Throws std::invalid_argument for wrong
  /// lengths and std::runtime_error when the flow gets faster than the time step allows.
  void run(std::span<const double> centres, std::span<double> out, const Watch& watch = nullptr);

  const ChannelCase& of() const { return case_; }
  const Flow& flow() const { return flow_; }
  /// Time steps of one run.
  long steps() const { return steps_per_time_.back(); }

 private:
  ChannelCase case_;
  Flow flow_;
  std::array<long, 4> steps_per_time_;
};

}  // namespace flow
