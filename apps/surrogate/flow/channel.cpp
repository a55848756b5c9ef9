// SPDX-License-Identifier: Apache-2.0
#include "apps/surrogate/flow/channel.hpp"

#include <cmath>
#include <stdexcept>
#include <string>

namespace flow {
namespace {

void check(const ChannelCase& c) {
  const auto refuse = [](const std::string& what) { throw std::invalid_argument("channel: " + what); };
  if (c.cells_across < 4 || c.cells_across > 2000) refuse("4 to 2000 cells across expected");
  if (!(c.reynolds > 0) || !(c.inflow > 0)) refuse("Reynolds number and inflow must be positive");
  if (c.sensors.empty()) refuse("there are no sensors");
  for (const Place& s : c.sensors)
    if (!(s.x >= 0 && s.x <= c.length && s.y >= 0 && s.y <= c.height))
      refuse("sensor at " + std::to_string(s.x) + ", " + std::to_string(s.y) + " is outside of the channel");
  double last = 0;
  for (const double t : c.times) {
    if (!(t > last)) refuse("the times of the measurements must be positive and ascending");
    last = t;
  }
  for (const auto& o : c.obstacles)
    if (!(o.x.low < o.x.high) || !(o.y.low < o.y.high) || !(o.width > 0) || !(o.height > 0))
      refuse("every obstacle needs a size and a range for its centre");
}

// Obstacles that leave a narrow gap make the fluid this much faster than the inflow.
constexpr double kFastest = 3;

double time_step(const ChannelCase& c) {
  const double h = c.height / c.cells_across;
  const double viscosity = c.inflow * c.height / c.reynolds;
  const double limit = std::min(0.3 * h / (kFastest * c.inflow), 0.1 * h * h / viscosity);
  // The first measuring time and then the others are hit exactly when they are multiples of it.
  return c.times[0] / std::ceil(c.times[0] / limit);
}

Box setup_of(const ChannelCase& c) {
  check(c);
  Box s;
  s.length = c.length;
  s.height = c.height;
  s.ny = c.cells_across;
  s.nx = static_cast<int>(std::lround(c.cells_across * c.length / c.height));
  s.viscosity = c.inflow * c.height / c.reynolds;
  s.dt = time_step(c);
  s.inflow.assign(static_cast<std::size_t>(s.ny), c.inflow);
  s.open_east = true;
  return s;
}

}  // namespace

ChannelCase four_obstacles() {
  ChannelCase c;
  c.obstacles = {{0.40, 0.60, {1.0, 2.0}, {0.5, 1.5}},
                 {0.60, 0.40, {3.2, 4.2}, {0.5, 1.5}},
                 {0.50, 0.50, {5.4, 6.4}, {0.5, 1.5}},
                 {0.30, 0.80, {7.6, 8.6}, {0.5, 1.5}}};
  c.sensors = {{2.6, 0.5}, {2.6, 1.5}, {4.8, 0.5}, {4.8, 1.0}, {4.8, 1.5},
               {7.0, 0.5}, {7.0, 1.5}, {9.2, 0.5}, {9.2, 1.0}, {9.2, 1.5}};
  return c;
}

Channel::Channel(const ChannelCase& of) : case_(of), flow_(setup_of(of)), steps_per_time_{} {
  for (std::size_t k = 0; k < case_.times.size(); ++k)
    steps_per_time_[k] = std::lround(case_.times[k] / flow_.box().dt);
}

void Channel::run(std::span<const double> centres, std::span<double> out, const Watch& watch) {
  if (centres.size() != static_cast<std::size_t>(case_.parameters()) ||
      out.size() != static_cast<std::size_t>(case_.outputs()))
    throw std::invalid_argument("channel: " + std::to_string(case_.parameters()) + " coordinates and " +
                                std::to_string(case_.outputs()) + " results expected");
  std::vector<Block> blocks;
  for (std::size_t k = 0; k < case_.obstacles.size(); ++k)
    blocks.push_back(
        {centres[2 * k], centres[2 * k + 1], case_.obstacles[k].width, case_.obstacles[k].height});
  flow_.set_blocks(blocks);
  flow_.reset();
  long step = 0;
  std::size_t filled = 0;
  for (const long until : steps_per_time_) {
    for (; step < until; ++step) {
      flow_.step();
      const double courant = flow_.courant();
      if (!(courant <= 1))
        throw std::runtime_error(
            "channel: the flow runs through " + std::to_string(courant) +
            " cells in a time step at t = " + std::to_string(flow_.time()) +
            " s, at most 1 can be computed: a lower Reynolds number or more cells are needed");
    }
    for (const Place& s : case_.sensors) out[filled++] = flow_.u_at(s.x, s.y);
    if (watch) watch(flow_);
  }
}

}  // namespace flow
