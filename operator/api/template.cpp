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

std::string shown(const json& value) {
  std::string text = empi::json_text::text(value);
  return text.size() > 60 ? text.substr(0, 57) + "..." : text;
}

class TemplateReader {
 public:
  TemplateReader(std::vector<Violation>& violations, PodTemplate& pod) : violations_(violations), pod_(pod) {}

  void read(const json& object, const std::string& path, bool refuse_unknown) {
    if (!object.is_object()) return refuse(path, "is " + shown(object), "a pod template");
    for (const auto& [key, value] : object.items())
      if (refuse_unknown && key != "metadata" && key != "spec")
        refuse(path + "." + key, "unknown field", "",
               key == "containers" ? "did you mean spec.worker.template.spec.containers?"
                                   : "known here: metadata, spec");
    if (const json* metadata = an_object(object, "metadata", path)) {
      an_object_of_texts(*metadata, "labels", path + ".metadata");
      an_object_of_texts(*metadata, "annotations", path + ".metadata");
    }
    if (!object.contains("spec") || !object["spec"].is_object())
      return refuse(path + ".spec", "missing", "a pod spec with one container named worker");
    read_pod_spec(object["spec"], path + ".spec");
    pod_.document = empi::json_text::text(object);
  }

 private:
  void refuse(std::string field, std::string reason, std::string expected, std::string hint = {}) {
    violations_.push_back({std::move(field), std::move(reason), std::move(expected), std::move(hint)});
  }

  void read_pod_spec(const json& spec, const std::string& path) {
    if (spec.contains("restartPolicy") && spec["restartPolicy"] != "Never")
      refuse(path + ".restartPolicy", "is " + shown(spec["restartPolicy"]), "Never",
             "a worker that restarts in place is no member of the job any more; see "
             "spec.runPolicy.backoffLimit");
    for (const char* list : {"initContainers", "volumes"}) objects(spec, list, path);
    if (const json* tolerations = objects(spec, "tolerations", path)) read_tolerations(*tolerations, path);
    an_object(spec, "securityContext", path);
    const std::string containers = path + ".containers";
    if (!spec.contains("containers") || !spec["containers"].is_array() || spec["containers"].empty())
      return refuse(containers, "missing", "one container named worker");
    if (spec["containers"].size() != 1)
      return refuse(containers, "has " + std::to_string(spec["containers"].size()) + " containers",
                    "one container named worker", "helpers can be native sidecars in initContainers");
    const json& container = spec["containers"][0];
    if (!container.is_object()) return refuse(containers + "[0]", "is " + shown(container), "a container");
    read_container(container, containers + "[0]");
  }

  void read_container(const json& container, const std::string& path) {
    if (!container.contains("name"))
      refuse(path + ".name", "missing", "worker");
    else if (container["name"] != "worker")
      refuse(path + ".name", "is " + shown(container["name"]), "worker");
    text(container, "image", path, pod_.image);
    text(container, "workingDir", path, pod_.working_directory);
    texts(container, "command", path, pod_.command);
    texts(container, "args", path, pod_.args);
    if (!container.contains("command") || container["command"].is_null() ||
        (container["command"].is_array() && container["command"].empty()))
      refuse(path + ".command", "missing", "the program to run on every rank",
             "the image's own entry point cannot be used: the agent starts the program");
    if (const json* environment = given(container, "env")) read_environment(*environment, path + ".env");
    if (const json* resources = an_object(container, "resources", path))
      read_resources(*resources, path + ".resources");
    for (const char* list : {"volumeMounts", "ports"}) objects(container, list, path);
    an_object(container, "securityContext", path);
  }

  void read_tolerations(const json& tolerations, const std::string& path) {
    for (std::size_t i = 0; i < tolerations.size(); ++i) {
      std::string key;
      if (tolerations[i].is_object())
        text(tolerations[i], "key", path + ".tolerations[" + std::to_string(i) + "]", key);
    }
  }

  // Null is as good as absent, here as for the API server: an empty value in YAML.
  static const json* given(const json& object, const char* name) {
    const auto found = object.find(name);
    return found == object.end() || found->is_null() ? nullptr : &*found;
  }

  const json* an_object(const json& object, const char* name, const std::string& path) {
    const json* found = given(object, name);
    if (!found || found->is_object()) return found;
    refuse(path + "." + name, "is " + shown(*found), "an object");
    return nullptr;
  }

  void an_object_of_texts(const json& object, const char* name, const std::string& path) {
    const json* found = an_object(object, name, path);
    if (!found) return;
    for (const auto& [key, value] : found->items())
      if (!value.is_string())
        refuse(path + "." + name + "." + key, "is " + shown(value), "a text", "put it in quotes");
  }

  const json* objects(const json& object, const char* name, const std::string& path) {
    const json* found = given(object, name);
    if (!found) return nullptr;
    if (!found->is_array()) {
      refuse(path + "." + name, "is " + shown(*found), "a list of objects");
      return nullptr;
    }
    for (std::size_t i = 0; i < found->size(); ++i)
      if (!(*found)[i].is_object())
        refuse(path + "." + name + "[" + std::to_string(i) + "]", "is " + shown((*found)[i]), "an object");
    return found;
  }

  void text(const json& object, const char* name, const std::string& path, std::string& value) {
    const auto found = object.find(name);
    if (found == object.end() || found->is_null()) return;
    if (found->is_string())
      value = found->get<std::string>();
    else
      refuse(path + "." + name, "is " + shown(*found), "a text");
  }

  void texts(const json& object, const char* name, const std::string& path,
             std::vector<std::string>& values) {
    const auto found = object.find(name);
    if (found == object.end() || found->is_null()) return;
    if (!found->is_array())
      return refuse(path + "." + name, "is " + shown(*found), "a list of texts",
                    "write [\"program\", \"argument\"]");
    values.clear();
    for (std::size_t i = 0; i < found->size(); ++i) {
      const json& item = (*found)[i];
      if (item.is_string())
        values.push_back(item.get<std::string>());
      else
        refuse(path + "." + name + "[" + std::to_string(i) + "]", "is " + shown(item), "a text",
               "put it in quotes");
    }
  }

  void read_environment(const json& environment, const std::string& path) {
    if (!environment.is_array()) return refuse(path, "is " + shown(environment), "a list of {name, value}");
    for (std::size_t i = 0; i < environment.size(); ++i) {
      const json& entry = environment[i];
      const std::string at = path + "[" + std::to_string(i) + "]";
      EnvironmentVariable variable;
      if (!entry.is_object()) {
        refuse(at, "is " + shown(entry), "{name, value}");
        continue;
      }
      text(entry, "name", at, variable.name);
      text(entry, "value", at, variable.value);
      if (variable.name.empty()) refuse(at + ".name", "missing", "the variable's name");
      if (!entry.contains("valueFrom")) pod_.environment.push_back(variable);
    }
  }

  void read_resources(const json& resources, const std::string& path) {
    for (const char* kind : {"requests", "limits"}) {
      const json* amounts = an_object(resources, kind, path);
      if (!amounts) continue;
      const std::string at = path + "." + kind;
      for (const auto& [name, amount] : amounts->items()) {
        const bool good =
            amount.is_number()
                ? amount.get<double>() >= 0
                : amount.is_string() && parse_quantity(amount.get<std::string>()).value_or(-1) >= 0;
        if (!good) refuse(at + "." + name, "is " + shown(amount), "a quantity such as 2, 500m or 4Gi");
      }
    }
  }

  std::vector<Violation>& violations_;
  PodTemplate& pod_;
};

}  // namespace

std::vector<Violation> read_pod_template(const json& object, const std::string& path, PodTemplate& pod,
                                         bool refuse_unknown) {
  std::vector<Violation> violations;
  TemplateReader(violations, pod).read(object, path, refuse_unknown);
  return violations;
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
