// SPDX-License-Identifier: Apache-2.0
// crds/elasticqueue.yaml and operator/api describe the same fields, types and defaults.

#include <gtest/gtest.h>

#include "operator/api/queue.hpp"
#include "operator/api/testing/schema.hpp"

namespace emj {
namespace {

const testing::Schema& schema() {
  static const testing::Schema of_queues("elasticqueue.yaml");
  return of_queues;
}

TEST(QueueSchema, HasExactlyTheFieldsOfTheParser) {
  ASSERT_GT(schema().fields().size(), 60u);
  schema().expect_the_fields(known_queue_fields());
}

TEST(QueueSchema, TheStatusIsOpenForWordsOfOtherVersions) { schema().expect_an_open_status(); }

TEST(QueueSchema, HasTheSameDefaults) {
  schema().expect_the_defaults(queue_spec_to_json(QueueSpec{}), "spec", {});
}

TEST(QueueSchema, ANestedDefaultIsReachedFromAnEmptySpec) { schema().expect_defaults_are_reached({}); }

TEST(QueueSchema, EveryFieldIsDescribed) { schema().expect_descriptions(); }

TEST(QueueSchema, HasTheStatusAndItsColumns) {
  EXPECT_TRUE(schema().version()["subresources"]["status"]);
  std::vector<std::string> columns;
  for (const auto& column : schema().version()["additionalPrinterColumns"]) {
    columns.push_back(column["name"].as<std::string>());
    const std::string path = column["jsonPath"].as<std::string>().substr(1);
    EXPECT_TRUE(path.starts_with("metadata.") || path.starts_with("status.conditions[") ||
                schema().fields().contains(path))
        << path;
  }
  EXPECT_EQ(columns, (std::vector<std::string>{"Running", "Queued", "Busy", "Ready", "Age"}));
}

// Entries that are known by a name are there once, for the API server as for operator/api.
TEST(QueueSchema, NamedEntriesAreMaps) {
  for (const auto& [path, key] : {std::pair{"spec.pools", "name"},
                                  {"spec.priorities", "name"},
                                  {"spec.order.fairShare.shares", "namespace"},
                                  {"status.conditions", "type"}}) {
    EXPECT_EQ(schema().at(path)["x-kubernetes-list-type"].as<std::string>(), "map") << path;
    EXPECT_EQ(schema().at(path)["x-kubernetes-list-map-keys"][0].as<std::string>(), key) << path;
  }
}

}  // namespace
}  // namespace emj
