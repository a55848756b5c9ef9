// SPDX-License-Identifier: Apache-2.0
#include "apps/tsunami/app/parse.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <optional>
#include <utility>

#include "runtime/base/options.hpp"
#include "runtime/base/text.hpp"

namespace tsunami {
namespace {

using empi::options::Refused;

// The whole text as a number.
std::optional<double> whole_number(const std::string& text) {
  char* rest = nullptr;
  const double value = std::strtod(text.c_str(), &rest);
  if (text.empty() || *rest != 0) return std::nullopt;
  return value;
}

double manning_number(double n) {
  if (n >= 0 && n <= 1) return n;
  throw Refused("--manning", empi::format("%g is no number from 0 to 1 s/m^(1/3)", n));
}

// What is before the first colon, and what after it.
std::pair<std::string, std::string> split(const std::string& text) {
  const std::size_t colon = text.find(':');
  return {text.substr(0, colon), colon == std::string::npos ? "" : text.substr(colon + 1)};
}

// KIND[:VALUE] of `whole`, which is named in errors.
BorderOption parse_border(const std::string& text, const std::string& whole) {
  const auto refuse = [&](const std::string& what) { throw Refused("--border", "'" + whole + "' " + what); };
  const auto [kind, value] = split(text);
  const bool has_value = text.find(':') != std::string::npos;
  BorderOption border;
  if (kind == "open" || kind == "wall") {
    if (has_value) refuse("says more than " + kind);
    border.kind = kind == "wall" ? BorderOption::Kind::Wall : BorderOption::Kind::Open;
  } else if (kind == "sponge") {
    const auto km = whole_number(value);
    if (!km || !(*km > 0 && *km < 1e5)) refuse("needs a width in km above 0: sponge:KM");
    border.kind = BorderOption::Kind::Sponge, border.sponge_km = *km;
  } else if (kind == "wave") {
    if (value.empty()) refuse("needs a file of seconds and metres: wave:FILE");
    border.kind = BorderOption::Kind::Wave, border.wave = value;
  } else {
    refuse("is not [west|east|south|north:]open, wall, sponge:KM or wave:FILE");
  }
  return border;
}

// BEGIN-END, both finite numbers.
bool parse_window(const std::string& text, GaugeOption& gauge) {
  char* rest = nullptr;
  gauge.begin = std::strtod(text.c_str(), &rest);
  if (rest == text.c_str() || *rest != '-') return false;
  const char* second = rest + 1;
  gauge.end = std::strtod(second, &rest);
  return rest != second && *rest == 0 && std::isfinite(gauge.begin) && std::isfinite(gauge.end);
}

}  // namespace

RegionOption parse_region(const std::string& text) {
  const auto refuse = [&] {
    throw empi::options::Refused("--region",
                                 "'" + text + "' is not WEST:EAST:SOUTH:NORTH:LEVEL[:FROM-UNTIL]");
  };
  double values[5];
  const char* at = text.c_str();
  for (int k = 0; k < 5; ++k) {
    char* rest = nullptr;
    values[k] = std::strtod(at, &rest);
    if (rest == at || (*rest != ':' && (k < 4 || *rest != 0)) || !std::isfinite(values[k])) refuse();
    at = *rest == 0 ? rest : rest + 1;
  }
  if (!(values[4] >= 0 && values[4] <= kFinestLevel) || values[4] != std::floor(values[4]))
    throw Refused("--region", "'" + text + empi::format("': its level is not from 0 to %d", kFinestLevel));
  RegionOption r{values[0], values[1], values[2], values[3], static_cast<int>(values[4])};
  if (!(r.west < r.east) || !(r.south < r.north)) refuse();
  if (*at != 0) {
    GaugeOption window;
    if (!parse_window(at, window) || !(window.end > window.begin)) refuse();
    r.from = window.begin, r.until = window.end;
  }
  return r;
}

GaugeOption parse_gauge(const std::string& text) {
  const auto refuse = [](const std::string& what) { throw empi::options::Refused("--gauge", what); };
  std::vector<std::string> parts;
  std::size_t begin = 0;
  for (int i = 0; i < 3; ++i) {
    const std::size_t colon = text.find(':', begin);
    parts.push_back(text.substr(begin, colon - begin));
    if (colon == std::string::npos) break;
    begin = colon + 1;
    if (i == 2) parts.push_back(text.substr(begin));
  }
  const auto place = [&](const char* what, const std::string& degrees) {
    const auto value = whole_number(degrees);
    if (!value || !std::isfinite(*value)) refuse(what + (" '" + degrees) + "' is no number");
    return *value;
  };
  GaugeOption gauge;
  if (parts.size() < 3) refuse("'" + text + "' is not ID:LON:LAT[:FILE[:BEGIN-END]]");
  gauge.id = parts[0];
  if (gauge.id.empty() || gauge.id.find('/') != std::string::npos)
    refuse("'" + gauge.id + "' cannot be part of a file's name");
  gauge.lon = place("longitude", parts[1]);
  gauge.lat = place("latitude", parts[2]);
  if (parts.size() == 3) return gauge;
  gauge.observed = parts[3];
  const std::size_t colon = gauge.observed.rfind(':');
  if (colon == std::string::npos) return gauge;
  if (!parse_window(gauge.observed.substr(colon + 1), gauge) || !(gauge.end > std::max(gauge.begin, 0.0)))
    refuse("'" + gauge.observed.substr(colon + 1) +
           "' is no window BEGIN-END in seconds after the earthquake");
  gauge.observed.resize(colon);
  return gauge;
}

ManningOption parse_manning(const std::string& text) {
  ManningOption manning;
  if (const auto n = whole_number(text)) {
    manning.n = manning_number(*n);
    return manning;
  }
  manning.file = text;
  const std::size_t colon = text.rfind(':');
  if (colon != std::string::npos)
    if (const auto n = whole_number(text.substr(colon + 1))) {
      manning.file = text.substr(0, colon);
      manning.n = manning_number(*n), manning.elsewhere = true;
    }
  if (manning.file.empty()) throw Refused("--manning", "'" + text + "' is neither N nor FILE[:N]");
  return manning;
}

std::array<BorderOption, 4> parse_borders(const std::vector<std::string>& texts, bool walls) {
  std::array<std::optional<BorderOption>, 4> named;
  std::optional<BorderOption> others;
  if (walls) others = BorderOption{.kind = BorderOption::Kind::Wall};
  for (const std::string& text : texts) {
    const auto [first, rest] = split(text);
    const auto side = std::find(kSides.begin(), kSides.end(), first);
    auto& slot = side == kSides.end() ? others : named[static_cast<std::size_t>(side - kSides.begin())];
    const BorderOption border = parse_border(side == kSides.end() ? text : rest, text);
    if (slot)
      throw Refused("--border", side != kSides.end() ? "the " + first + " is named twice"
                                : walls ? "'" + text + "' names no side, and --walls is for all: keep one"
                                        : "'" + text + "' is the second that names no side");
    slot = border;
  }
  std::array<BorderOption, 4> borders;
  for (std::size_t side = 0; side < borders.size(); ++side)
    borders[side] = named[side] ? *named[side] : others.value_or(BorderOption{});
  return borders;
}

}  // namespace tsunami
