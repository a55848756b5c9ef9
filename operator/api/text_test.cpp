// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "operator/api/job.hpp"
#include "operator/api/parse.hpp"

namespace emj {
namespace {

TEST(IndexSet, HasAShortTextForm) {
  EXPECT_EQ(to_string(IndexSet{}), "");
  EXPECT_EQ(to_string(IndexSet{3}), "3");
  EXPECT_EQ(to_string(IndexSet{15, 0, 2, 1}), "0-2,15");
  EXPECT_EQ(IndexSet::parse("0-2,15"), (IndexSet{0, 1, 2, 15}));
  EXPECT_EQ(IndexSet::parse(""), IndexSet{});
}

TEST(IndexSet, RefusesWhatIsNoList) {
  for (const char* text : {"a", "1-", "-1", "3-1", "1,,2", "1,", "1 2", "0-99999999999", "0-999999999"})
    EXPECT_FALSE(IndexSet::parse(text)) << text;
}

TEST(IndexSet, KeepsItsElementsOrderedAndUnique) {
  IndexSet set{5, 1};
  set.insert(3);
  set.insert(3);
  set.erase(1);
  set.erase(99);
  EXPECT_EQ(to_string(set), "3,5");
  EXPECT_EQ(set_union(set, IndexSet{4}), (IndexSet{3, 4, 5}));
  EXPECT_EQ(set_difference(IndexSet{3, 4, 5}, set), IndexSet{4});
}

TEST(Time, SurvivesBeingWritten) {
  const Time time{Millis(1'769'860'800'250)};
  EXPECT_EQ(to_string(time), "2026-01-31T12:00:00.250Z");
  EXPECT_EQ(parse_time("2026-01-31T12:00:00.250Z"), time);
  EXPECT_EQ(parse_time("2026-01-31T13:00:00.25+01:00"), time);
  EXPECT_EQ(parse_time(to_string(Time{})), Time{});
}

TEST(Time, RefusesWhatIsNoTime) {
  for (const char* text : {"", "now", "2026-13-01T00:00:00Z", "2026-02-30T00:00:00Z", "2026-01-01T00:00:00",
                           "2026-01-01T25:00:00Z", "2026-01-01T00:00:00.Z", "2026-01-01 00:00:00Z"})
    EXPECT_FALSE(parse_time(text)) << text;
}

TEST(WorkerName, IsReadBack) {
  EXPECT_EQ(worker_name("demo", 12), "demo-w-12");
  EXPECT_EQ(worker_index("demo", "demo-w-12"), 12);
  for (const char* name : {"demo-w-", "demo-w-x", "demo-w-01", "demo-w--1", "other-w-1", "demo-w-1x"})
    EXPECT_FALSE(worker_index("demo", name)) << name;
}

TEST(Quantity, ReadsWhatKubernetesReads) {
  EXPECT_DOUBLE_EQ(*parse_quantity("100m"), 0.1);
  EXPECT_DOUBLE_EQ(*parse_quantity("1Gi"), 1073741824.0);
  EXPECT_DOUBLE_EQ(*parse_quantity("1e3"), 1000);
  EXPECT_DOUBLE_EQ(*parse_quantity("2E"), 2e18);
  EXPECT_DOUBLE_EQ(*parse_quantity("1.5"), 1.5);
  for (const char* text : {"", "lots", "1 Gi", "1gi", "1e", "Gi", "1.2.3"})
    EXPECT_FALSE(parse_quantity(text)) << text;
}

TEST(FeasibleSize, StaysWithinTheLimitsAndRoundsDown) {
  JobSpec spec;
  spec.worker.min_replicas = 2;
  spec.worker.max_replicas = 10;
  EXPECT_EQ(feasible_size(spec, 1), 2);
  EXPECT_EQ(feasible_size(spec, 99), 10);
  spec.resize.allowed_replicas = {1, 4, 8, 16};
  EXPECT_EQ(feasible_size(spec, 7), 4);
  EXPECT_EQ(feasible_size(spec, 99), 8);
  EXPECT_EQ(feasible_size(spec, 2), 4) << "nothing allowed below: the smallest";
}

}  // namespace
}  // namespace emj
