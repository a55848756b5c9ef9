// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/io/faults.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <optional>
#include <stdexcept>

#include "apps/io/file_error.hpp"
#include "apps/io/text_scanner.hpp"

namespace io {
namespace {

constexpr std::array<const char*, 9> kColumns = {"lon",    "lat", "depth_km", "length_km", "width_km",
                                                 "strike", "dip", "rake",     "slip_m"};
constexpr const char* kHelp =
    "the first line names the columns: lon,lat,depth_km,length_km,width_km,strike,dip,rake,slip_m and, if "
    "wanted, "
    "reference";

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
  std::size_t reference = std::string::npos, count = 0;
};

Columns read_names(const TextScanner& scanner, std::string_view line) {
  const auto names = fields(line);
  Columns columns;
  columns.count = names.size();
  for (const std::string& name : names)
    if (name != "reference" && std::ranges::find(kColumns, name) == kColumns.end())
      scanner.fail("a name of a column", in_quotes(name), kHelp);
  for (std::size_t k = 0; k < kColumns.size(); ++k) {
    const auto found = std::ranges::find(names, kColumns[k]);
    if (found == names.end())
      scanner.fail(std::string("a column '") + kColumns[k] + "'", in_quotes(line), kHelp);
    columns.at[k] = static_cast<std::size_t>(found - names.begin());
  }
  if (const auto found = std::ranges::find(names, "reference"); found != names.end())
    columns.reference = static_cast<std::size_t>(found - names.begin());
  return columns;
}

}  // namespace

std::vector<Fault> read_faults(const std::string& path) {
  const auto bytes = read_bytes(path);
  TextScanner scanner(path, {bytes.data(), bytes.size()});
  std::optional<Columns> columns;
  std::vector<Fault> faults;
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
      if (!TextScanner::parse(parts[columns->at[k]], v[k]))
        scanner.fail(std::string(kColumns[k]) + " as a finite number", in_quotes(parts[columns->at[k]]),
                     "correct the line");
    Fault fault{v[0], v[1], v[2] * 1e3, v[5],       v[6],
                v[7], v[8], v[3] * 1e3, v[4] * 1e3, FaultReference::TopCenter};
    try {
      if (columns->reference != std::string::npos)
        fault.reference = fault_reference(parts[columns->reference]);
      if (std::abs(fault.lat) > 90 || std::abs(fault.lon) > 360)
        throw std::invalid_argument("its place is not on the earth");
      okada(fault, fault.lon, fault.lat);
    } catch (const std::invalid_argument& error) {
      scanner.fail("a subfault", in_quotes(*line), error.what());
    }
    // On the first one's side of 180 degrees: all belong to one rupture.
    if (!faults.empty()) fault.lon -= 360 * std::round((fault.lon - faults.front().lon) / 360);
    faults.push_back(fault);
  }
  if (faults.empty()) scanner.fail("at least one subfault", "none", kHelp);
  return faults;
}

Raster uplift(std::span<const Fault> faults) {
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
  return sample([&](double lon, double lat) { return okada(faults, lon, lat).up; }, around,
                nodes(around.east - around.west), nodes(around.north - around.south));
}

}  // namespace io
