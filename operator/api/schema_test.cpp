// SPDX-License-Identifier: Apache-2.0
// crds/elasticmpijob.yaml and operator/api describe the same fields, types and defaults. (What values are
// allowed only the file says.)

#include "operator/api/testing/schema.hpp"

#include <gtest/gtest.h>

namespace emj {
namespace {

using nlohmann::json;

const testing::Schema& schema() {
  static const testing::Schema of_jobs("elasticmpijob.yaml");
  return of_jobs;
}
YAML::Node version() { return schema().version(); }

TEST(Schema, HasExactlyTheFieldsOfTheParser) {
  ASSERT_GT(schema().fields().size(), 100u);
  schema().expect_the_fields(known_fields());
}

TEST(Schema, TheStatusIsOpenForWordsOfOtherVersions) { schema().expect_an_open_status(); }

TEST(Schema, HasTheSameDefaults) {
  schema().expect_the_defaults(
      spec_to_json(JobSpec{}), "spec",
      {"spec.worker.template", "spec.worker.minReplicas", "spec.worker.maxReplicas"});
}

TEST(Schema, ANestedDefaultIsReachedFromAnEmptySpec) {
  schema().expect_defaults_are_reached({"spec.worker", "spec.worker.template", "spec.checkpoint",
                                        "spec.local", "spec.runtime.restart", "spec.scheduling.constraints"});
}

TEST(Schema, HasTheSubresourcesAndColumns) {
  const YAML::Node v = version();
  EXPECT_TRUE(v["subresources"]["status"]);
  EXPECT_EQ(v["subresources"]["scale"]["specReplicasPath"].as<std::string>(), ".spec.worker.replicas");
  std::vector<std::string> columns;
  for (const auto& column : v["additionalPrinterColumns"])
    columns.push_back(column["name"].as<std::string>());
  EXPECT_EQ(columns, (std::vector<std::string>{"State", "Desired", "Joined", "Min", "Max", "Efficiency",
                                               "Resizing", "Reason", "Lead", "Standby", "Ranks", "Finish",
                                               "Queue", "Allocated", "Age"}));
  const auto& fields = schema().fields();
  for (const auto& column : v["additionalPrinterColumns"]) {
    const std::string path = column["jsonPath"].as<std::string>().substr(1);
    EXPECT_TRUE(path.starts_with("metadata.") || fields.contains(path)) << path;
  }
  for (const char* path : {"specReplicasPath", "statusReplicasPath", "labelSelectorPath"})
    EXPECT_TRUE(fields.contains(v["subresources"]["scale"][path].as<std::string>().substr(1))) << path;
}

TEST(Schema, ConditionsAreAMapByType) {
  const YAML::Node conditions = schema().at("status.conditions");
  EXPECT_EQ(conditions["x-kubernetes-list-type"].as<std::string>(), "map");
  EXPECT_EQ(conditions["x-kubernetes-list-map-keys"][0].as<std::string>(), "type");
}

// metav1.Condition: what tools that know conditions rely on.
TEST(Schema, ConditionsAreThoseOfKubernetes) {
  const YAML::Node items = schema().at("status.conditions")["items"];
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

TEST(Schema, EveryFieldIsDescribed) { schema().expect_descriptions(); }

// The rules of updates, as the API server gets them; [admission] tries them there.
TEST(Schema, TheTemplateWaitsForTheObservedSuspension) {
  const auto rules = [](const YAML::Node& schema) {
    std::string all;
    for (const auto& rule : schema["x-kubernetes-validations"]) all += rule["rule"].as<std::string>() + "\n";
    return all;
  };
  EXPECT_EQ(rules(schema().at("spec")).find("oldSelf.suspend"), std::string::npos);
  EXPECT_NE(rules(schema().root()).find("oldSelf.status.state == 'Suspended'"), std::string::npos);
}

}  // namespace
}  // namespace emj
