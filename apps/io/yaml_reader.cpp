// SPDX-License-Identifier: Apache-2.0
#include "apps/io/yaml_reader.hpp"

#include "apps/io/file_error.hpp"
#include "runtime/base/joined.hpp"
#include "runtime/base/text.hpp"

namespace io {

YAML::Node YamlReader::root() const {
  try {
    return YAML::Load(std::string(file_.text()));
  } catch (const YAML::ParserException& error) {
    throw FileError::at_line(file_.path(), static_cast<std::size_t>(error.mark.line) + 1, "YAML", error.msg,
                             "correct the line");
  }
}

void YamlReader::fail(const YAML::Node& node, const std::string& expected, const std::string& found,
                      const std::string& advice) const {
  throw FileError::at_line(file_.path(), static_cast<std::size_t>(node.Mark().line) + 1, expected, found,
                           advice);
}

void YamlReader::expect_map(const YAML::Node& node, const std::string& what,
                            const std::set<std::string>& keys) const {
  if (!node.IsMap()) fail(node, what + " as a map", "something else", "write NAME: VALUE lines");
  std::set<std::string> known;
  for (const auto& entry : node) {
    const auto key = entry.first.as<std::string>("");
    if (!keys.contains(key))
      fail(entry.first, "one of " + empi::joined(keys), "'" + key + "'", "correct the name");
    // Of two, the second would be ignored.
    if (!known.insert(key).second) fail(entry.first, "each name once", "'" + key + "' again", "remove one");
  }
}

void YamlReader::number(const YAML::Node& parent, const char* key, double lowest, double highest,
                        double& value) const {
  if (const YAML::Node node = parent[key]) value = number(node, std::string(key), lowest, highest);
}

double YamlReader::number(const YAML::Node& node, const std::string& what, double lowest,
                          double highest) const {
  const std::string range = what + empi::format(" from %g to %g", lowest, highest);
  double given = 0;
  if (!node.IsScalar() || !YAML::convert<double>::decode(node, given))
    fail(node, range, node.IsScalar() ? "'" + node.Scalar() + "'" : "no number", "give a number");
  if (!(given >= lowest && given <= highest)) fail(node, range, node.Scalar(), "correct the value");
  return given;
}

std::string YamlReader::text(const YAML::Node& node, const std::string& what) const {
  if (!node.IsScalar() || node.Scalar().empty())
    fail(node, what, node.IsScalar() ? "nothing" : "something else", "write a text");
  return node.Scalar();
}

}  // namespace io
