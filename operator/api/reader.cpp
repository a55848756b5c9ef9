// SPDX-License-Identifier: Apache-2.0
#include "operator/api/reader.hpp"

#include "operator/api/yaml.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/text.hpp"

namespace emj::reading {
namespace {

using empi::lower;

std::size_t edit_distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest(const std::string& name, const std::vector<std::string>& candidates) {
  std::string best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 3) + 1;
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(lower(name), lower(candidate));
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(const std::string& name, const std::vector<std::string>& siblings) {
  if (const std::string near = nearest(name, siblings); !near.empty()) return "did you mean " + near + "?";
  std::string list;
  for (const std::string& sibling : siblings) list += (list.empty() ? "" : ", ") + sibling;
  return list.empty() ? "remove it" : "known here: " + list;
}

std::string shown(const json& value) {
  std::string text = empi::json_text::text(value);
  return text.size() > 60 ? empi::json_text::cut(std::move(text), 57) + "..." : text;
}

void Context::refuse(const std::string& path, std::string reason, std::string expected, std::string hint) {
  violations.push_back(
      {path, std::move(reason), std::move(expected), std::move(hint), lines ? line_of(*lines, path) : 0});
}

void Context::refuse_type(const std::string& path, const json& found, std::string expected,
                          std::string hint) {
  if (boolean_words)
    if (const auto word = boolean_words->find(path); word != boolean_words->end())
      hint = "YAML reads the bare word " + word->second + " as " + empi::json_text::text(found) +
             ": write \"" + word->second + "\"";
  refuse(path, "is " + shown(found), std::move(expected), std::move(hint));
}

}  // namespace emj::reading
