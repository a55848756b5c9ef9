// SPDX-License-Identifier: Apache-2.0
#include "apps/io/draw/ticks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace io::draw {
namespace {

double nice_step(double span, int wanted) {
  const double rough = span / std::max(wanted, 1);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= rough * 0.999) return factor * power;
  }
  return 10 * power;
}

std::string number(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, std::abs(value) < 1e-12 ? 0.0 : value);
  return text;
}

// The fewest decimals (up to 6) that show every value within a thousandth of the spacing.
int decimals_for(const std::vector<double>& values) {
  double spacing = 1;
  if (values.size() > 1) spacing = std::abs(values[1] - values[0]);
  for (int decimals = 0; decimals < 6; ++decimals) {
    const double unit = std::pow(10, -decimals);
    const bool exact = std::all_of(values.begin(), values.end(), [&](double v) {
      return std::abs(v - std::round(v / unit) * unit) <= 1e-3 * spacing;
    });
    if (exact) return decimals;
  }
  return 6;
}

}  // namespace

std::vector<double> nice_ticks(double low, double high, int wanted) {
  std::vector<double> ticks;
  if (!(high > low) || !std::isfinite(high - low)) return ticks;
  const double step = nice_step(high - low, wanted);
  for (double k = std::ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; ++k)
    ticks.push_back(k * step);
  return ticks;
}

std::vector<double> log_ticks(double low, double high, int wanted) {
  std::vector<double> ticks;
  if (!(high > low) || !std::isfinite(high - low)) return ticks;
  const std::vector<double> coarse{1, 2, 5}, fine{1, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9};
  const bool decades_only = high - low > wanted / 2.0;
  for (double decade = std::floor(low); decade <= high; ++decade)
    for (const double factor : high - low < 1 ? fine : coarse) {
      const double tick = decade + std::log10(factor);
      if (tick >= low - 1e-9 && tick <= high + 1e-9 && (factor == 1 || !decades_only)) ticks.push_back(tick);
    }
  return ticks;
}

NiceRange nice_range(double low, double high, int wanted) {
  if (!std::isfinite(low) || !std::isfinite(high)) return {0, 1};
  if (!(high > low)) {
    const double margin = low == 0 ? 1 : 0.1 * std::abs(low);
    low -= margin;
    high += margin;
  }
  const double step = nice_step(high - low, wanted);
  return {std::floor(low / step + 1e-9) * step, std::ceil(high / step - 1e-9) * step};
}

std::vector<std::string> log_tick_labels(const std::vector<double>& ticks) {
  std::vector<std::string> labels;
  for (const double tick : ticks) {
    char text[32];
    std::snprintf(text, sizeof text, "%.10g", std::pow(10, tick));
    labels.push_back(text);
  }
  return labels;
}

std::vector<std::string> tick_labels(const std::vector<double>& ticks) {
  double largest = 0;
  for (const double tick : ticks) largest = std::max(largest, std::abs(tick));
  const double unit = largest >= 2e6 ? 1e6 : largest >= 1e4 ? 1e3 : 1;
  const char* suffix = largest >= 2e6 ? " M" : largest >= 1e4 ? " k" : "";
  std::vector<double> scaled;
  for (const double tick : ticks) scaled.push_back(tick / unit);
  const int decimals = decimals_for(scaled);
  std::vector<std::string> labels;
  for (const double value : scaled) labels.push_back(number(value, decimals) + (value == 0 ? "" : suffix));
  return labels;
}

}  // namespace io::draw
