// SPDX-License-Identifier: Apache-2.0
// Metrics and how they are written: Prometheus text format 0.0.4.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace empi::metrics {

inline constexpr char kExpositionType[] = "text/plain; version=0.0.4; charset=utf-8";

enum class Type { Counter, Gauge, Histogram, Summary };

struct Metric {
  std::string_view name;
  Type type;
  std::string_view unit;
  std::string_view help;
};

using Labels = std::vector<std::pair<std::string, std::string>>;

class Exposition {
 public:
  // `common` goes to every sample.
  explicit Exposition(Labels common) : common_(std::move(common)) {}

  // Starts a metric: HELP and TYPE. All its samples follow before the next one starts.
  void metric(const metrics::Metric& metric);
  void sample(double value, const Labels& labels = {}) { line("", value, labels); }
  // Not cumulative counts; bounds.size() + 1 of them, the last without bound.
  void histogram(const std::vector<double>& bounds, const std::vector<std::uint64_t>& counts, double sum,
                 const Labels& labels = {});
  // A summary without quantiles.
  void summary(double sum, std::uint64_t count, const Labels& labels);

  const std::string& text() const { return text_; }

 private:
  void line(std::string_view suffix, double value, const Labels& labels);

  Labels common_;
  std::string name_;
  std::string text_;
};

}  // namespace empi::metrics
