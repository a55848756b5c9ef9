// SPDX-License-Identifier: Apache-2.0
// crds/elasticmpijob.yaml and operator/api describe the same fields, types, ranges, choices and defaults.

#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "operator/api/parse.hpp"

namespace emj {
namespace {

using nlohmann::json;

// Read once: a node is shared by its copies, and nobody here writes into it.
YAML::Node version() {
  static const YAML::Node crd = YAML::LoadFile(EMJ_CRDS "/elasticmpijob.yaml");
  return crd["spec"]["versions"][0];
}

// The fields of a schema as operator/api lists its own.
void walk(const YAML::Node& schema, const std::string& path, std::map<std::string, FieldInfo>& fields) {
  FieldInfo info{path, schema["type"] ? schema["type"].as<std::string>() : "", {}, {}, {}};
  if (schema["x-kubernetes-int-or-string"]) {
    info.type = "int-or-string";
    info.minimum = schema["minimum"].as<std::int64_t>();
    info.maximum = schema["maximum"].as<std::int64_t>();
  }
  const bool list_of_numbers = schema["items"] && !schema["items"]["properties"];
  const YAML::Node limits = list_of_numbers ? schema["items"] : schema;
  if (limits["minimum"]) info.minimum = limits["minimum"].as<std::int64_t>();
  if (limits["maximum"]) info.maximum = limits["maximum"].as<std::int64_t>();
  if (schema["enum"]) info.choices = schema["enum"].as<std::vector<std::string>>();
  if (!path.ends_with("[]") && path.find('.') != std::string::npos) fields[path] = info;
  if (path == "spec.worker.template") return;
  for (const auto& property : schema["properties"])
    walk(property.second, path + "." + property.first.as<std::string>(), fields);
  if (schema["items"] && !list_of_numbers) walk(schema["items"], path + "[]", fields);
}

std::map<std::string, FieldInfo> schema_fields() {
  std::map<std::string, FieldInfo> fields;
  const YAML::Node properties = version()["schema"]["openAPIV3Schema"]["properties"];
  walk(properties["spec"], "spec", fields);
  walk(properties["status"], "status", fields);
  return fields;
}

TEST(Schema, HasExactlyTheFieldsOfTheParser) {
  std::map<std::string, FieldInfo> in_schema = schema_fields();
  ASSERT_GT(in_schema.size(), 100u);
  for (const FieldInfo& known : known_fields()) {
    const auto found = in_schema.find(known.path);
    if (found == in_schema.end()) {
      ADD_FAILURE() << known.path << " is missing in crds/elasticmpijob.yaml";
      continue;
    }
    EXPECT_EQ(found->second.type, known.type) << known.path;
    EXPECT_EQ(found->second.minimum, known.minimum) << known.path;
    EXPECT_EQ(found->second.maximum, known.maximum) << known.path;
    // A newer operator may write another word into the status: refused, it could write nothing at all.
    const bool closed = known.path.starts_with("spec.");
    EXPECT_EQ(found->second.choices, closed ? known.choices : std::vector<std::string>{}) << known.path;
    in_schema.erase(found);
  }
  for (const auto& [path, info] : in_schema) ADD_FAILURE() << path << " is unknown to operator/api";
}

YAML::Node at(YAML::Node schema, const std::string& path) {
  std::size_t start = 0;
  while (start <= path.size()) {
    const std::size_t end = std::min(path.find('.', start), path.size());
    schema.reset(schema["properties"][path.substr(start, end - start)]);
    start = end + 1;
  }
  return schema;
}

void compare_defaults(const json& value, const std::string& path) {
  if (path == "spec.worker.template") return;
  if (value.is_object()) {
    const std::string before = path.empty() ? "" : path + ".";
    for (const auto& [key, inner] : value.items()) compare_defaults(inner, before + key);
    return;
  }
  if (path == "spec.worker.minReplicas" || path == "spec.worker.maxReplicas") return;  // required
  const YAML::Node schema = at(version()["schema"]["openAPIV3Schema"], path);
  ASSERT_TRUE(schema["default"]) << path << " has a default in operator/api, but none in the schema";
  const std::string text = value.is_string() ? value.get<std::string>() : value.dump();
  EXPECT_EQ(schema["default"].as<std::string>(), text) << path;
}

TEST(Schema, HasTheSameDefaults) {
  JobSpec spec;
  compare_defaults({{"spec", spec_to_json(spec)}}, "");
}

TEST(Schema, ANestedDefaultIsReachedFromAnEmptySpec) {
  // The API server fills in defaults only below objects that exist.
  for (const auto& [path, info] : schema_fields()) {
    if (info.type != "object" || !path.starts_with("spec.") || path == "spec.worker" ||
        path == "spec.worker.template" || path == "spec.local")
      continue;
    EXPECT_TRUE(at(version()["schema"]["openAPIV3Schema"], path)["default"]) << path;
  }
}

// `kubectl explain` reads like a manual. (What is below a pod's template is Kubernetes' to describe.)
void expect_descriptions(const YAML::Node& schema, const std::string& path) {
  const std::string text = schema["description"].as<std::string>("");
  EXPECT_GT(text.size(), 5u) << path << " has no description";
  EXPECT_TRUE(text.empty() || text.ends_with(".")) << path << ": " << text;
  if (path == "spec.worker.template") return;
  for (const auto& property : schema["properties"]) {
    const std::string name = property.first.as<std::string>();
    expect_descriptions(property.second, path.empty() ? name : path + "." + name);
  }
  if (schema["items"]) expect_descriptions(schema["items"], path + "[]");
}

TEST(Schema, EveryFieldIsDescribed) { expect_descriptions(version()["schema"]["openAPIV3Schema"], ""); }

TEST(Schema, HasTheSubresourcesAndColumns) {
  const YAML::Node v = version();
  EXPECT_TRUE(v["subresources"]["status"]);
  EXPECT_EQ(v["subresources"]["scale"]["specReplicasPath"].as<std::string>(), ".spec.worker.replicas");
  std::vector<std::string> columns;
  for (const auto& column : v["additionalPrinterColumns"])
    columns.push_back(column["name"].as<std::string>());
  EXPECT_EQ(columns, (std::vector<std::string>{"State", "Desired", "Joined", "Min", "Max", "Efficiency",
                                               "Resizing", "Reason", "Lead", "Ranks", "Finish", "Age"}));
  const auto fields = schema_fields();
  for (const auto& column : v["additionalPrinterColumns"]) {
    const std::string path = column["jsonPath"].as<std::string>().substr(1);
    EXPECT_TRUE(path.starts_with("metadata.") || fields.contains(path)) << path;
  }
  for (const char* path : {"specReplicasPath", "statusReplicasPath", "labelSelectorPath"})
    EXPECT_TRUE(fields.contains(v["subresources"]["scale"][path].as<std::string>().substr(1))) << path;
}

TEST(Schema, ConditionsAreAMapByType) {
  const YAML::Node conditions = at(version()["schema"]["openAPIV3Schema"], "status.conditions");
  EXPECT_EQ(conditions["x-kubernetes-list-type"].as<std::string>(), "map");
  EXPECT_EQ(conditions["x-kubernetes-list-map-keys"][0].as<std::string>(), "type");
}

// metav1.Condition: what tools that know conditions rely on.
TEST(Schema, ConditionsAreThoseOfKubernetes) {
  const YAML::Node items = at(version()["schema"]["openAPIV3Schema"], "status.conditions")["items"];
  auto required = items["required"].as<std::vector<std::string>>();
  std::ranges::sort(required);
  EXPECT_EQ(required,
            (std::vector<std::string>{"lastTransitionTime", "message", "reason", "status", "type"}));
  const auto longest = [&](const char* field) {
    return items["properties"][field]["maxLength"].as<std::int64_t>(0);
  };
  EXPECT_EQ(longest("type"), 316);
  EXPECT_EQ(longest("reason"), 1024);
  EXPECT_EQ(longest("message"), 32768);
  // Whatever a condition says, it is written with all of them.
  JobStatus status;
  status.conditions.push_back({"Running", "False", "", "", Time{}, 0});
  const json written = status_to_json(status)["conditions"][0];
  for (const std::string& field : required) EXPECT_TRUE(written.contains(field)) << field;
}

// The rules of updates, as the API server gets them; [admission] tries them there.
TEST(Schema, TheTemplateWaitsForTheObservedSuspension) {
  const YAML::Node root = version()["schema"]["openAPIV3Schema"];
  const auto rules = [](const YAML::Node& schema) {
    std::string all;
    for (const auto& rule : schema["x-kubernetes-validations"]) all += rule["rule"].as<std::string>() + "\n";
    return all;
  };
  EXPECT_EQ(rules(at(root, "spec")).find("oldSelf.suspend"), std::string::npos);
  EXPECT_NE(rules(root).find("oldSelf.status.state == 'Suspended'"), std::string::npos);
}

}  // namespace
}  // namespace emj
