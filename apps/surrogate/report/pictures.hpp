// SPDX-License-Identifier: Apache-2.0
// Pictures of a posterior.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "apps/io/draw/canvas.hpp"
#include "apps/surrogate/flow/channel.hpp"
#include "apps/surrogate/report/density.hpp"

namespace surrogate {

/// In as many digits, four at least, as show a hundredth of the range.
std::string value_text(double value, Range range);

struct Marginal {
  std::string name;
  Range range;                         // of the prior
  double mean = 0, low = 0, high = 0;  // 90 % of the samples are between low and high
  std::optional<double> truth;
  std::vector<std::vector<double>> samples;  // per ensemble

  std::vector<double> pooled() const;
  /// In as many digits as tell the ends of the 90 % apart.
  std::string text(double value) const { return value_text(value, {low, high}); }
};

/// One histogram per parameter over the whole range of its prior.
io::draw::Canvas draw_marginals(const std::vector<Marginal>& marginals);
/// All pairs of parameters, each over the range where the samples are.
io::draw::Canvas draw_corner(const std::vector<Marginal>& marginals);
/// The samples of every ensemble, one after the other.
io::draw::Canvas draw_traces(const std::vector<Marginal>& marginals);
/// Above: the flow around the obstacles where they are (the mean of the posterior if that is not known), and
/// the sensors. Below: how probable it is that a place is inside of an obstacle, and where their centres are
/// with 90 %. The marginals are x and y of the obstacles in turn.
io::draw::Canvas draw_channel(flow::Channel& channel, const std::vector<Marginal>& marginals);

}  // namespace surrogate
