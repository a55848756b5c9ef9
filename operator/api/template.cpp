// SPDX-License-Identifier: Apache-2.0
#include "operator/api/template.hpp"

#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "operator/api/parse.hpp"
#include "runtime/base/json_text.hpp"

namespace emj {
namespace {

using nlohmann::json;

void texts(const json& object, const char* name, std::vector<std::string>& values) {
  if (const auto found = object.find(name); found != object.end() && !found->is_null())
    values = found->get<std::vector<std::string>>();
}

void text(const json& object, const char* name, std::string& value) {
  if (const auto found = object.find(name); found != object.end() && !found->is_null())
    value = found->get<std::string>();
}

}  // namespace

PodTemplate pod_template(const json& object) {
  PodTemplate pod;
  pod.document = empi::json_text::text(object);
  const json& container = object.at("spec").at("containers").at(0);
  text(container, "image", pod.image);
  text(container, "workingDir", pod.working_directory);
  texts(container, "command", pod.command);
  texts(container, "args", pod.args);
  if (const auto env = container.find("env"); env != container.end() && !env->is_null())
    for (const json& entry : *env) {
      EnvironmentVariable variable;
      text(entry, "name", variable.name);
      text(entry, "value", variable.value);
      if (!entry.contains("valueFrom")) pod.environment.push_back(variable);
    }
  return pod;
}

std::vector<std::string> fields_ignored_locally(const PodTemplate& pod) {
  static const std::set<std::string> used = {"name", "command", "args", "env", "workingDir"};
  std::vector<std::string> ignored;
  const json document = empi::json_text::parse(pod.document);
  if (document.contains("metadata")) ignored.emplace_back("metadata");
  if (!document.contains("spec")) return ignored;
  for (const auto& [key, value] : document["spec"].items())
    if (key != "containers" && key != "restartPolicy") ignored.push_back("spec." + key);
  if (!document["spec"].contains("containers")) return ignored;
  for (const auto& [key, value] : document["spec"]["containers"][0].items())
    if (!used.contains(key)) ignored.push_back("spec.containers[0]." + key);
  for (const auto& entry : document["spec"]["containers"][0].value("env", json::array()))
    if (entry.contains("valueFrom"))
      ignored.push_back("spec.containers[0].env[" + entry.value("name", std::string()) + "].valueFrom");
  return ignored;
}

std::optional<double> parse_quantity(const std::string& text) {
  if (text.empty() || std::string("0123456789+-.").find(text[0]) == std::string::npos) return std::nullopt;
  char* end = nullptr;
  const std::size_t digits = text.find_first_not_of("0123456789+-.");
  const std::string number = text.substr(0, digits);
  double value = std::strtod(number.c_str(), &end);
  if (end != number.c_str() + number.size()) return std::nullopt;
  const std::string suffix = digits == std::string::npos ? "" : text.substr(digits);
  static const std::array<std::pair<const char*, double>, 16> units{{{"", 1},
                                                                     {"n", 1e-9},
                                                                     {"u", 1e-6},
                                                                     {"m", 1e-3},
                                                                     {"k", 1e3},
                                                                     {"M", 1e6},
                                                                     {"G", 1e9},
                                                                     {"T", 1e12},
                                                                     {"P", 1e15},
                                                                     {"E", 1e18},
                                                                     {"Ki", 1024.0},
                                                                     {"Mi", 1048576.0},
                                                                     {"Gi", 1073741824.0},
                                                                     {"Ti", 1099511627776.0},
                                                                     {"Pi", 1125899906842624.0},
                                                                     {"Ei", 1152921504606846976.0}}};
  for (const auto& [name, factor] : units)
    if (suffix == name) return value * factor;
  if (suffix[0] != 'e' && suffix[0] != 'E') return std::nullopt;
  const std::string exponent = suffix.substr(1);
  if (exponent.empty() || exponent.find_first_not_of("0123456789+-") != std::string::npos)
    return std::nullopt;
  value = std::strtod(text.c_str(), &end);
  if (end != text.c_str() + text.size()) return std::nullopt;
  return value;
}

}  // namespace emj
