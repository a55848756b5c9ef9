// SPDX-License-Identifier: Apache-2.0
// YAML text -> JSON with the line of every field. For operator/api, and for who reads manifests of others.
#pragma once
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/result.hpp"

namespace emj {

struct YamlDocument {
  nlohmann::json object;
  std::map<std::string, int> lines;  // "spec.resize.allowedReplicas[0]" -> 1-based line
  // Bare words that YAML 1.1, which kubectl reads, takes for true or false: "spec.autoscaling.mode" -> "Off".
  std::map<std::string, std::string> boolean_words;
};

// Plain scalars are resolved as kubectl does (YAML 1.1): yes, no, on, off, y and n are booleans.
// A file with something else than one document is refused: `expected` is what it should hold.
Result<YamlDocument> load_yaml(const std::string& text, const std::string& filename,
                               const char* expected = "one ElasticMPIJob");

// The line of `path` or of its nearest parent, 0 when unknown.
int line_of(const std::map<std::string, int>& lines, std::string path);

}  // namespace emj
