// SPDX-License-Identifier: Apache-2.0
#include "runtime/checkpoint/series.hpp"

#include <algorithm>
#include <charconv>
#include <cstdio>

namespace empi::checkpoint {
namespace {

constexpr char kWhole[] = ".h5", kPart[] = ".part";

std::string digits(std::int64_t number) {
  char text[24];
  std::snprintf(text, sizeof text, "%06lld", static_cast<long long>(number));
  return text;
}

// The number between `before` and the rest of the name, which begins with `after`.
std::optional<std::int64_t> number_in(const std::string& name, const std::string& before,
                                      const std::string& ending) {
  if (!name.starts_with(before) || !name.ends_with(ending)) return {};
  std::int64_t number = 0;
  const char* const end = name.data() + name.size();
  const auto [at, error] = std::from_chars(name.data() + before.size(), end, number);
  if (error != std::errc() || number < 0 || at == end || *at != '.') return {};
  return number;
}

}  // namespace

std::string whole_name(const std::string& program, std::int64_t number) {
  return program + "." + digits(number) + kWhole;
}

std::string part_name(const std::string& program, std::int64_t number, std::uint32_t nonce) {
  char text[16];
  std::snprintf(text, sizeof text, "%08x", nonce);
  return "." + program + "." + digits(number) + "." + text + kPart;
}

std::optional<std::int64_t> whole_number(const std::string& program, const std::string& name) {
  const auto number = number_in(name, program + ".", kWhole);
  return number && name == whole_name(program, *number) ? number : std::nullopt;
}

std::optional<std::int64_t> part_number(const std::string& program, const std::string& name) {
  return number_in(name, "." + program + ".", kPart);
}

std::vector<std::string> newest_first(const std::string& program, const std::vector<std::string>& names) {
  std::vector<std::string> found;
  for (const std::string& name : names)
    if (whole_number(program, name)) found.push_back(name);
  std::ranges::sort(found, std::ranges::greater(),
                    [&](const std::string& name) { return *whole_number(program, name); });
  return found;
}

std::int64_t next_number(const std::string& program, const std::vector<std::string>& names) {
  std::int64_t highest = 0;
  for (const std::string& name : names)
    highest =
        std::max({highest, whole_number(program, name).value_or(0), part_number(program, name).value_or(0)});
  return highest + 1;
}

}  // namespace empi::checkpoint
