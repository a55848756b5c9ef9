// SPDX-License-Identifier: Apache-2.0
// Reads a YAML file of a user's, and says the line of what is not as it must be (FileError).
#pragma once
#include <yaml-cpp/yaml.h>

#include <set>
#include <string>

#include "apps/io/input_file.hpp"

namespace io {

class YamlReader {
 public:
  explicit YamlReader(InputFile file) : file_(std::move(file)) {}

  /// What is in the file. Throws FileError when it is no YAML.
  YAML::Node root() const;

  [[noreturn]] void fail(const YAML::Node& node, const std::string& expected, const std::string& found,
                         const std::string& advice) const;

  /// Fails unless the node is a map whose keys are all among `keys`.
  void expect_map(const YAML::Node& node, const std::string& what, const std::set<std::string>& keys) const;

  /// parent[key] from lowest to highest into `value`, which stays when there is none.
  void number(const YAML::Node& parent, const char* key, double lowest, double highest, double& value) const;
  double number(const YAML::Node& node, const std::string& what, double lowest, double highest) const;

  /// A scalar that is not empty.
  std::string text(const YAML::Node& node, const std::string& what) const;

 private:
  InputFile file_;
};

}  // namespace io
