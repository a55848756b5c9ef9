// SPDX-License-Identifier: Apache-2.0
// A small strict parser of the Prometheus text format 0.0.4, for tests. What a lenient scraper would forgive
// is an error here: a sample without TYPE or HELP, metrics that are not contiguous, duplicate series,
// histograms that do not add up.
#pragma once
#include <map>
#include <string>
#include <vector>

namespace empi::sidecar::testing {

struct Series {
  std::string name;
  std::map<std::string, std::string> labels;
  auto operator<=>(const Series&) const = default;
};

struct Scrape {
  std::map<std::string, std::string> types;  // by metric
  std::map<std::string, std::string> helps;
  std::map<Series, double> values;

  // The value of the only series of this name whose labels include `labels`. Throws when there is not one.
  double value(const std::string& name, const std::map<std::string, std::string>& labels = {}) const;
  bool has(const std::string& name) const;
};

// Throws std::runtime_error "line N: ..." on anything the format does not allow.
Scrape parse_prometheus(const std::string& text);

// What may not happen from one scrape to a later one: a counter (or a part of a histogram or summary) that
// decreases or disappears. Empty when all is well.
std::vector<std::string> decreases(const Scrape& before, const Scrape& after);

}  // namespace empi::sidecar::testing
