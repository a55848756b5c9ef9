// SPDX-License-Identifier: Apache-2.0
#include "apps/surrogate/app/parameter_names.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <string_view>

#include "apps/io/text_scanner.hpp"
#include "runtime/base/json_text.hpp"

namespace surrogate {
namespace {

constexpr std::size_t kLongest = 200;  // bytes; netCDF takes 256
// Columns of samples.csv and dimensions of posterior.nc.
constexpr std::array<std::string_view, 4> kTaken = {"ensemble", "log_density", "chain", "draw"};
constexpr const char* kAccepted =
    "1 to 200 bytes of UTF-8 that begin with a letter, a digit or _, without commas, double quotes and "
    "control characters, and without a blank at the end";

// A byte of 128 and more is of a letter that is not ASCII's.
bool is_word(char c) {
  return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0 || (c & 0x80) != 0;
}

bool is_sign(char c) { return (c & 0x80) != 0 || (c >= ' ' && c < 0x7f && c != ',' && c != '"'); }

bool is_accepted(const std::string& name) {
  return !name.empty() && name.size() <= kLongest && is_word(name.front()) && name.back() != ' ' &&
         std::ranges::all_of(name, is_sign) && empi::json_text::is_utf8(name);
}

}  // namespace

std::optional<BadName> find_bad_name(std::span<const Parameter> parameters) {
  std::map<std::string, std::string> known;  // by what they are in posterior.nc
  for (std::size_t k = 0; k < parameters.size(); ++k) {
    const std::string& name = parameters[k].name;
    const std::string shown = io::in_quotes(name);
    if (!is_accepted(name)) return BadName{k, kAccepted, shown};
    if (std::ranges::find(kTaken, name) != kTaken.end())
      return BadName{k, "another name than ensemble, log_density, chain and draw, which the results have",
                     shown};
    if (const auto [before, is_new] = known.try_emplace(name_in_netcdf(name), name); !is_new)
      return BadName{
          k, "another name for each parameter, '/' and '_' taken for one",
          before->second == name ? shown + " again" : shown + " beside " + io::in_quotes(before->second)};
  }
  return std::nullopt;
}

std::string name_in_netcdf(std::string name) {
  std::ranges::replace(name, '/', '_');
  return name;
}

}  // namespace surrogate
