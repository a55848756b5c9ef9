// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/exposition.hpp"

#include <charconv>
#include <cmath>

namespace empi::metrics {
namespace {

std::string_view type_name(metrics::Type type) {
  switch (type) {
    case metrics::Type::Counter:
      return "counter";
    case metrics::Type::Gauge:
      return "gauge";
    case metrics::Type::Histogram:
      return "histogram";
    case metrics::Type::Summary:
      return "summary";
  }
  return "untyped";
}

std::string number(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, value).ptr};
}

std::string escaped(std::string_view text, bool quotes) {
  std::string out;
  for (const char c : text) {
    if (c == '\\')
      out += "\\\\";
    else if (c == '\n')
      out += "\\n";
    else if (c == '"' && quotes)
      out += "\\\"";
    else
      out += c;
  }
  return out;
}

}  // namespace

void Exposition::metric(const metrics::Metric& metric) {
  name_ = metric.name;
  text_ += "# HELP " + name_ + ' ' + escaped(metric.help, false) + '\n';
  text_ += "# TYPE " + name_ + ' ' + std::string(type_name(metric.type)) + '\n';
}

void Exposition::histogram(const std::vector<double>& bounds, const std::vector<std::uint64_t>& counts,
                           double sum, const Labels& labels) {
  std::uint64_t below = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    below += counts[i];
    Labels bucket = labels;
    bucket.emplace_back("le", i < bounds.size() ? number(bounds[i]) : "+Inf");
    line("_bucket", static_cast<double>(below), bucket);
  }
  line("_sum", sum, labels);
  line("_count", static_cast<double>(below), labels);
}

void Exposition::summary(double sum, std::uint64_t count, const Labels& labels) {
  line("_sum", sum, labels);
  line("_count", static_cast<double>(count), labels);
}

void Exposition::line(std::string_view suffix, double value, const Labels& labels) {
  text_.append(name_).append(suffix);
  char separator = '{';
  for (const Labels* some : {static_cast<const Labels*>(&common_), &labels}) {
    for (const auto& [key, text] : *some) {
      text_ += separator + key + "=\"" + escaped(text, true) + '"';
      separator = ',';
    }
  }
  if (separator == ',') text_ += '}';
  text_ += ' ' + number(value) + '\n';
}

}  // namespace empi::metrics
