// SPDX-License-Identifier: Apache-2.0
#include "apps/io/draw/ticks.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <optional>

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

constexpr int kMost = 6;  // decimals, and digits before them, of a label without an exponent

double largest_of(const std::vector<double>& values) {
  double largest = 0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  return largest;
}

double spacing_of(const std::vector<double>& values) {
  return values.size() > 1 ? std::abs(values[1] - values[0]) : std::abs(values.empty() ? 0 : values[0]);
}

std::vector<std::string> written(const std::vector<double>& values, const char* pattern, int digits) {
  std::vector<std::string> texts;
  for (const double value : values) {
    char text[64];
    // What is left of a sum of steps that is 0.
    std::snprintf(text, sizeof text, pattern, digits,
                  std::abs(value) <= 1e-6 * spacing_of(values) ? 0.0 : value);
    texts.push_back(text);
  }
  return texts;
}

// The fewest digits, up to `most`, with which every value is shown within a thousandth of the spacing.
std::optional<std::vector<std::string>> exact(const std::vector<double>& values, const char* pattern,
                                              int fewest, int most) {
  for (int digits = fewest; digits <= most; ++digits) {
    std::vector<std::string> texts = written(values, pattern, digits);
    bool all = true;
    for (std::size_t k = 0; k < values.size(); ++k)
      all = all && std::abs(std::strtod(texts[k].c_str(), nullptr) - values[k]) <= 1e-3 * spacing_of(values);
    if (all) return texts;
  }
  return std::nullopt;
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
  const double largest = largest_of(ticks);
  const double unit = largest >= 2e6 ? 1e6 : largest >= 1e4 ? 1e3 : 1;
  const char* suffix = largest >= 2e6 ? " M" : largest >= 1e4 ? " k" : "";
  std::vector<double> scaled;
  for (const double tick : ticks) scaled.push_back(tick / unit);
  auto labels = largest / unit < std::pow(10, kMost) ? exact(scaled, "%.*f", 0, kMost) : std::nullopt;
  if (!labels) return exact(ticks, "%.*g", 1, 17).value_or(written(ticks, "%.*g", 17));
  for (std::size_t k = 0; k < ticks.size(); ++k)
    if (scaled[k] != 0) (*labels)[k] += suffix;
  return *labels;
}

}  // namespace io::draw
