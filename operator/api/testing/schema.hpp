// SPDX-License-Identifier: Apache-2.0
// The schema of a kind, from its file in crds, as operator/api lists its own fields.
#pragma once
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "operator/api/parse.hpp"
#include "runtime/base/testing/places.hpp"

namespace emj::testing {

using nlohmann::json;

class Schema {
 public:
  explicit Schema(const std::string& file)
      : file_(file),
        version_(YAML::LoadFile(empi::testing::of_checkout("crds/") + file)["spec"]["versions"][0]) {
    for (const char* part : {"spec", "status"}) walk(root()["properties"][part], part);
  }

  YAML::Node version() const { return version_; }
  YAML::Node root() const { return version_["schema"]["openAPIV3Schema"]; }
  const std::map<std::string, FieldInfo>& fields() const { return fields_; }

  YAML::Node at(const std::string& path) const {
    YAML::Node schema = root();
    std::size_t start = 0;
    while (start <= path.size()) {
      const std::size_t end = std::min(path.find('.', start), path.size());
      schema.reset(schema["properties"][path.substr(start, end - start)]);
      start = end + 1;
    }
    return schema;
  }

  void expect_the_fields(const std::vector<FieldInfo>& known_fields) const {
    std::map<std::string, FieldInfo> in_schema = fields_;
    for (const FieldInfo& known : known_fields) {
      const auto found = in_schema.find(known.path);
      if (found == in_schema.end()) {
        ADD_FAILURE() << known.path << " is missing in crds/" << file_;
        continue;
      }
      EXPECT_EQ(found->second.type, known.type) << known.path;
      in_schema.erase(found);
    }
    for (const auto& [path, info] : in_schema) ADD_FAILURE() << path << " is unknown to operator/api";
  }

  // A newer operator may write another word into the status: refused, it could write nothing at all.
  void expect_an_open_status() const {
    for (const auto& [path, info] : fields_) {
      EXPECT_FALSE(path.starts_with("status.") && at_item(path)["enum"]) << path;
    }
  }

  // `value`: as written; `required`: paths without a default.
  void expect_the_defaults(const json& value, const std::string& path,
                           const std::vector<std::string>& required) const {
    if (std::ranges::find(required, path) != required.end()) return;
    if (value.is_object()) {
      for (const auto& [key, inner] : value.items())
        expect_the_defaults(inner, std::string(path).append(".").append(key), required);
      return;
    }
    const YAML::Node schema = at(path);
    ASSERT_TRUE(schema["default"]) << path << " has a default in operator/api, but none in the schema";
    const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
    EXPECT_EQ(schema["default"].as<std::string>(), text) << path;
  }

  // The API server fills in defaults only below objects that exist.
  void expect_defaults_are_reached(const std::vector<std::string>& optional) const {
    for (const auto& [path, info] : fields_) {
      const bool map = info.type == "object" && at_item(path)["additionalProperties"];
      if (info.type != "object" || map || !path.starts_with("spec.")) continue;
      if (std::ranges::find(optional, path) != optional.end()) continue;
      EXPECT_TRUE(at_item(path)["default"]) << path;
    }
  }

  // `kubectl explain` reads like a manual. (What is below a pod's template is Kubernetes' to describe.)
  void expect_descriptions() const { expect_descriptions(root(), ""); }

 private:
  static void expect_descriptions(const YAML::Node& schema, const std::string& path) {
    const std::string text = schema["description"].as<std::string>("");
    if (path == "metadata") {  // the API server refuses a CRD that says anything of it
      EXPECT_EQ(schema.size(), 1u) << "metadata may have its type only";
      return;
    }
    EXPECT_GT(text.size(), 5u) << path << " has no description";
    EXPECT_TRUE(text.empty() || text.ends_with(".")) << path << ": " << text;
    if (path == "spec.worker.template") return;
    for (const auto& property : schema["properties"]) {
      const std::string name = property.first.as<std::string>();
      expect_descriptions(property.second, path.empty() ? name : std::string(path).append(".").append(name));
    }
    if (schema["items"]) expect_descriptions(schema["items"], path + "[]");
  }

  void walk(const YAML::Node& schema, const std::string& path) {
    FieldInfo info{path, schema["type"] ? schema["type"].as<std::string>() : ""};
    if (schema["x-kubernetes-int-or-string"]) info.type = "int-or-string";
    const YAML::Node items = schema["items"];
    const bool plain_items = items && !items["properties"];
    if (!path.ends_with("[]") && path.find('.') != std::string::npos) fields_[path] = info;
    if (path == "spec.worker.template") return;
    for (const auto& property : schema["properties"])
      walk(property.second, path + "." + property.first.as<std::string>());
    if (items && !plain_items) walk(items, path + "[]");
  }

  // With the items of lists on the way.
  YAML::Node at_item(const std::string& path) const {
    YAML::Node schema = root();
    std::size_t start = 0;
    while (start <= path.size()) {
      const std::size_t end = std::min(path.find('.', start), path.size());
      std::string name = path.substr(start, end - start);
      const bool list = name.ends_with("[]");
      if (list) name.resize(name.size() - 2);
      schema.reset(schema["properties"][name]);
      if (list) schema.reset(schema["items"]);
      start = end + 1;
    }
    return schema;
  }

  std::string file_;
  YAML::Node version_;
  std::map<std::string, FieldInfo> fields_;
};

}  // namespace emj::testing
