// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/io/faults.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <numbers>
#include <optional>
#include <stdexcept>

#include "apps/io/file_error.hpp"
#include "apps/io/text_scanner.hpp"
#include "runtime/base/text.hpp"

namespace io {
namespace {

// What it may be on this earth: beyond, it is in another unit (metres of depth), or stands for no value.
struct Column {
  const char* name;
  double least, most;
};
constexpr std::array<Column, 9> kColumns = {{{"lon", -360, 360},
                                             {"lat", -85, 85},
                                             {"depth_km", 0, 800},
                                             {"length_km", 0, 2000},
                                             {"width_km", 0, 1000},
                                             {"strike", -360, 360},
                                             {"dip", 0, 90},
                                             {"rake", -360, 360},
                                             {"slip_m", -200, 200}}};
// Those that may be missing.
constexpr std::size_t kReference = 0, kRuptureTime = 1, kRiseTime = 2;
constexpr std::array<const char*, 3> kOptional = {"reference", "rupture_time_s", "rise_time_s"};
constexpr double kMostSeconds = 1e6;
constexpr const char* kHelp =
    "the first line names the columns: lon,lat,depth_km,length_km,width_km,strike,dip,rake,slip_m and, if "
    "wanted, reference, rupture_time_s, rise_time_s";
constexpr std::size_t kMostFrames = 32;

std::vector<std::string> fields(std::string_view line) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = line.find(',');
    std::string_view part = line.substr(0, comma);
    const std::size_t first = part.find_first_not_of(" \t\r"), last = part.find_last_not_of(" \t\r");
    parts.emplace_back(first == part.npos ? std::string_view() : part.substr(first, last - first + 1));
    if (comma == line.npos) return parts;
    line.remove_prefix(comma + 1);
  }
}

struct Columns {
  std::array<std::size_t, kColumns.size()> at{};
  std::array<std::optional<std::size_t>, kOptional.size()> optional;
  std::size_t count = 0;
};

Columns read_names(const TextScanner& scanner, std::string_view line) {
  const auto names = fields(line);
  Columns columns;
  columns.count = names.size();
  for (const std::string& name : names) {
    if (std::ranges::find(kOptional, name) == kOptional.end() &&
        std::ranges::find(kColumns, name, &Column::name) == kColumns.end())
      scanner.fail("a name of a column", in_quotes(name), kHelp);
    if (std::ranges::count(names, name) > 1)
      scanner.fail("each column once", in_quotes(name) + " again", kHelp);
  }
  for (std::size_t k = 0; k < kColumns.size(); ++k) {
    const auto found = std::ranges::find(names, kColumns[k].name);
    if (found == names.end())
      scanner.fail(std::string("a column '") + kColumns[k].name + "'", in_quotes(line), kHelp);
    columns.at[k] = static_cast<std::size_t>(found - names.begin());
  }
  for (std::size_t k = 0; k < kOptional.size(); ++k)
    if (const auto found = std::ranges::find(names, kOptional[k]); found != names.end())
      columns.optional[k] = static_cast<std::size_t>(found - names.begin());
  return columns;
}

double number(const TextScanner& scanner, const Column& column, const std::string& text) {
  double value = 0;
  if (!TextScanner::parse(text, value))
    scanner.fail(std::string(column.name) + " as a finite number", in_quotes(text), "correct the line");
  if (value < column.least || value > column.most)
    scanner.fail(column.name + empi::format(" from %g to %g", column.least, column.most), in_quotes(text),
                 "correct the line");
  return value;
}

// Nodes 2' or more apart around all that the faults move.
Raster sample_around(std::span<const Fault> faults, const std::function<double(double, double)>& function) {
  constexpr double margin = 2, metres_per_degree = 111.1e3;  // degrees
  Region around{1e9, -1e9, 1e9, -1e9};
  for (const Fault& fault : faults) {
    const double reach = margin + (0.5 * fault.length + fault.width) / metres_per_degree;
    const double reach_lon = reach / std::max(0.05, std::cos(fault.lat * std::numbers::pi / 180));
    around = {std::min(around.west, fault.lon - reach_lon), std::max(around.east, fault.lon + reach_lon),
              std::min(around.south, fault.lat - reach), std::max(around.north, fault.lat + reach)};
  }
  const auto nodes = [](double degrees) {
    return std::clamp(static_cast<int>(std::ceil(degrees * 30)) + 1, 2, 401);
  };
  return sample(function, around, nodes(around.east - around.west), nodes(around.north - around.south));
}

double slipped(const Fault& fault, double time) {
  if (time >= fault.rupture_time + fault.rise_time) return 1;
  return std::max(0.0, (time - fault.rupture_time) / fault.rise_time);
}

std::vector<double> times_of(std::span<const Fault> faults) {
  std::vector<double> times;
  for (const Fault& fault : faults)
    times.insert(times.end(), {fault.rupture_time, fault.rupture_time + fault.rise_time});
  std::ranges::sort(times);
  times.erase(std::ranges::unique(times).begin(), times.end());
  if (times.size() <= kMostFrames) return times;
  const double first = times.front(), last = times.back();
  times.resize(kMostFrames);
  for (std::size_t k = 0; k < kMostFrames; ++k)
    times[k] = first + (last - first) * static_cast<double>(k) / (kMostFrames - 1);
  return times;
}

}  // namespace

std::vector<Fault> read_faults(const InputFile& file) {
  TextScanner scanner(file.path(), file.text());
  std::optional<Columns> columns;
  std::vector<Fault> faults;
  std::vector<std::size_t> lines;
  while (const auto line = scanner.next_line()) {
    const auto first = line->find_first_not_of(" \t\r");
    if (first == line->npos || (*line)[first] == '#') continue;
    if (!columns) {
      columns = read_names(scanner, *line);
      continue;
    }
    const auto parts = fields(*line);
    if (parts.size() != columns->count)
      scanner.fail(std::to_string(columns->count) + " values separated by commas",
                   std::to_string(parts.size()), "complete the line or remove it");
    double v[kColumns.size()];
    for (std::size_t k = 0; k < kColumns.size(); ++k)
      v[k] = number(scanner, kColumns[k], parts[columns->at[k]]);
    const auto seconds = [&](std::size_t k) {
      const auto column = columns->optional[k];
      return column ? number(scanner, {kOptional[k], 0, kMostSeconds}, parts[*column]) : 0;
    };
    Fault fault{v[0], v[1], v[2] * 1e3, v[5],       v[6],
                v[7], v[8], v[3] * 1e3, v[4] * 1e3, FaultReference::TopCenter};
    fault.rupture_time = seconds(kRuptureTime), fault.rise_time = seconds(kRiseTime);
    try {
      if (const auto column = columns->optional[kReference])
        fault.reference = fault_reference(parts[*column]);
      okada(fault, fault.lon, fault.lat);
    } catch (const std::invalid_argument& error) {
      scanner.fail("a subfault", in_quotes(*line), error.what());
    }
    // On the first one's side of 180 degrees: all belong to one rupture.
    if (!faults.empty()) fault.lon -= 360 * std::round((fault.lon - faults.front().lon) / 360);
    lines.push_back(scanner.line());
    faults.push_back(fault);
  }
  if (faults.empty()) scanner.fail("at least one subfault", "none", kHelp);
  // The floor moves linearly from one time to the next: a jump has a place before the first of them only.
  const double first = std::ranges::min(faults, {}, &Fault::rupture_time).rupture_time;
  for (std::size_t k = 0; k < faults.size(); ++k)
    if (faults[k].rise_time == 0 && faults[k].rupture_time > first)
      throw FileError::at_line(file.path(), lines[k],
                               "rise_time_s above 0, since another subfault slips earlier", "0",
                               "say how long this one takes");
  return faults;
}

Raster uplift(std::span<const Fault> faults) {
  return sample_around(faults, [&](double lon, double lat) { return okada(faults, lon, lat).up; });
}

Dtopo rupture(std::span<const Fault> faults) {
  Dtopo motion{times_of(faults), {}};
  if (motion.times.size() == 1) return {motion.times, {uplift(faults)}};
  motion.frames.assign(motion.times.size(), sample_around(faults, [](double, double) { return 0; }));
  for (const Fault& fault : faults) {
    const Raster whole =
        sample_around(faults, [&](double lon, double lat) { return okada(fault, lon, lat).up; });
    for (std::size_t k = 0; k < motion.frames.size(); ++k) {
      const double part = slipped(fault, motion.times[k]);
      if (part > 0)
        std::ranges::transform(motion.frames[k].z, whole.z, motion.frames[k].z.begin(),
                               [part](double all, double one) { return all + part * one; });
    }
  }
  return motion;
}

}  // namespace io
