// SPDX-License-Identifier: Apache-2.0
#include "operator/api/checks.hpp"

#include <algorithm>

namespace emj::checking {

std::string text(std::int64_t value) { return std::to_string(value); }

void refuse(Violations& out, std::string field, std::string reason, std::string expected, std::string hint) {
  out.push_back({std::move(field), std::move(reason), std::move(expected), std::move(hint)});
}

void warn(Violations& out, std::string field, std::string reason, std::string hint) {
  out.push_back({std::move(field), std::move(reason), "", std::move(hint), 0, true});
}

// RFC 1035 label, so that <job>-w-<index> and the Service are DNS names everywhere.
bool is_label(const std::string& name, std::size_t longest) {
  const auto is_lower = [](char c) { return c >= 'a' && c <= 'z'; };
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (name.empty() || name.size() > longest || !is_lower(name[0]) || name.back() == '-') return false;
  return std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_lower(c) || is_digit(c) || c == '-'; });
}

std::string label_words(int longest) {
  return "at most " + text(longest) + " of a-z, 0-9 and -, starting with a letter, not ending with -";
}

}  // namespace emj::checking
