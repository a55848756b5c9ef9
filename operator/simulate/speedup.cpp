// SPDX-License-Identifier: Apache-2.0
#include "operator/simulate/speedup.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <vector>

#include "operator/decide/queue/demand.hpp"
#include "runtime/base/text.hpp"

namespace emj::simulate {
namespace {

using empi::format;

constexpr double kLeastAmdahl = .1, kMostAmdahl = .99;  // of Amdahl's law at the request
constexpr double kMostSpread = .98;                     // no program of a spread is more efficient
constexpr double kMostParallelism = 1e6, kMostVariance = 100;

std::optional<double> number_of(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r'))
    text.remove_suffix(1);
  double value = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (problem != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

std::vector<std::string_view> fields_of(std::string_view text) {
  std::vector<std::string_view> fields;
  for (std::size_t from = 0;;) {
    const std::size_t comma = text.find(',', from);
    fields.push_back(text.substr(from, comma - from));
    if (comma == std::string_view::npos) return fields;
    from = comma + 1;
  }
}

// Downey's equations for low and for high variance.
double speedup(const DowneyLaw& law, double n) {
  const double a = law.parallelism, s = law.variance;
  if (s <= 1) {
    if (n <= a) return a * n / (a + s / 2 * (n - 1));
    if (n <= 2 * a - 1) return a * n / (s * (a - .5) + n * (1 - s / 2));
    return a;
  }
  if (n <= a + a * s - s) return n * a * (s + 1) / (s * (n + a - 1) + a);
  return a;
}

// Along powers of the size between what was measured; in proportion to it before, and no faster beyond.
double speedup(const SpeedTable& law, int processors) {
  const auto next = law.speeds.lower_bound(processors);
  if (next == law.speeds.end()) return law.speeds.rbegin()->second;
  if (next->first == processors) return next->second;
  if (next == law.speeds.begin()) return next->second * processors / next->first;
  const auto low = std::prev(next);
  const double part = std::log(double(processors) / low->first) / std::log(double(next->first) / low->first);
  return low->second * std::pow(next->second / low->second, part);
}

}  // namespace

empi::Expected<SpeedupModel, std::string> SpeedupModel::parse(std::string_view text) {
  const std::string said = "--speedup " + std::string(text) + ": ";
  const std::size_t colon = text.find(':');
  const std::string_view law = text.substr(0, colon);
  const auto fields =
      fields_of(colon == std::string_view::npos ? std::string_view() : text.substr(colon + 1));
  if (law == "amdahl") {
    const auto efficiency = fields.size() == 1 ? number_of(fields[0]) : std::nullopt;
    if (!efficiency || *efficiency < kLeastAmdahl || *efficiency > kMostAmdahl)
      return said + format(
                        "the parallel efficiency at the requested size is to be between %g and %g, as in "
                        "amdahl:.8",
                        kLeastAmdahl, kMostAmdahl);
    return SpeedupModel(AmdahlLaw{*efficiency});
  }
  if (law == "downey") {
    const auto parallelism = fields.size() == 2 ? number_of(fields[0]) : std::nullopt;
    const auto variance = fields.size() == 2 ? number_of(fields[1]) : std::nullopt;
    if (!parallelism || !variance || *parallelism < 1 || *parallelism > kMostParallelism || *variance < 0 ||
        *variance > kMostVariance)
      return said + format(
                        "expected the average parallelism (1 to %g processors) and its variance (0 to %g), "
                        "as in downey:64,1",
                        kMostParallelism, kMostVariance);
    return SpeedupModel(DowneyLaw{*parallelism, *variance});
  }
  return said +
         "there are amdahl:EFFICIENCY, downey:PARALLELISM,VARIANCE, and files FILE.csv with the columns "
         "workers,speed";
}

empi::Expected<SpeedupModel, std::string> SpeedupModel::parse_table(std::string_view text,
                                                                    const std::string& name) {
  SpeedTable table;
  int number = 0;
  for (std::size_t from = 0; from < text.size();) {
    const std::size_t end = std::min(text.find('\n', from), text.size());
    std::string_view line = text.substr(from, end - from);
    from = end + 1;
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const std::string place = name + ":" + std::to_string(number) + ": ";
    if (number == 1) {
      if (line != "workers,speed") return place + "expected the line workers,speed";
      continue;
    }
    if (line.empty()) continue;
    const auto fields = fields_of(line);
    const auto workers = fields.size() == 2 ? number_of(fields[0]) : std::nullopt;
    const auto speed = fields.size() == 2 ? number_of(fields[1]) : std::nullopt;
    if (!workers || !speed || *workers < 1 || *workers > 1e6 || *workers != std::floor(*workers) ||
        *speed <= 0)
      return place + "expected a number of workers and how fast the program is on them, as in 4,3.6";
    if (!table.speeds.empty() && table.speeds.rbegin()->first >= *workers)
      return place + "the numbers of workers are to ascend";
    table.speeds[static_cast<int>(*workers)] = *speed;
  }
  if (table.speeds.empty()) return name + ": has no line but the first, as in 4,3.6";
  return SpeedupModel(std::move(table));
}

Speed SpeedupModel::of(int reference, double off) const {
  if (const auto* amdahl = std::get_if<AmdahlLaw>(&law_)) {
    const double efficiency =
        std::clamp(amdahl->efficiency + off, kLeastAmdahl, std::max(kMostSpread, amdahl->efficiency));
    return [=](int processors) { return queue::amdahl_speed(processors, reference, efficiency); };
  }
  if (const auto* downey = std::get_if<DowneyLaw>(&law_))
    return [law = *downey, unit = speedup(*downey, reference)](int processors) {
      return speedup(law, processors) / unit;
    };
  const auto& table = std::get<SpeedTable>(law_);
  return
      [table, unit = speedup(table, reference)](int processors) { return speedup(table, processors) / unit; };
}

int SpeedupModel::size_at(double efficiency, int reference, int most) const {
  if (const auto* amdahl = std::get_if<AmdahlLaw>(&law_)) {
    const double serial = (1 / amdahl->efficiency - 1) / std::max(1, reference - 1);
    return static_cast<int>(std::clamp(std::floor(1 + (1 / efficiency - 1) / serial + 1e-9), 1.0,
                                       static_cast<double>(std::max(1, most))));
  }
  const Speed speed = of(reference);
  const double one = speed(1);
  int largest = 1;
  for (int n = 2; n <= most; ++n)
    if (speed(n) >= efficiency * n * one * (1 - 1e-9)) largest = n;
  return largest;
}

}  // namespace emj::simulate
