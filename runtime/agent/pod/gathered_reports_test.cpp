// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/pod/gathered_reports.hpp"

#include <gtest/gtest.h>

namespace empi::agent {
namespace {

using ReportKind = RankReport::Kind;
using namespace std::chrono_literals;

class Gathered : public ::testing::Test {
 protected:
  GatheredReports reports;
  GatheredReports::TimePoint now{};

  static RankReport report(ReportKind kind, std::uint32_t rank) {
    RankReport r;
    r.kind = kind;
    r.proc = {"job.1", rank};
    r.change = "c1";
    return r;
  }
  void add(ReportKind kind, std::uint32_t rank) { reports.add(report(kind, rank), now); }
};

TEST_F(Gathered, WhatAllRanksOfAPodReportIsOneMessage) {
  for (std::uint32_t rank = 64; rank-- > 0;) {
    EXPECT_TRUE(reports.take(64, now).empty());
    RankReport agreed = report(ReportKind::Agreed, rank);
    agreed.pause_ms = rank;
    agreed.bytes = 10;
    reports.add(agreed, now);
  }
  const auto taken = reports.take(64, now);
  ASSERT_EQ(taken.size(), 1u);
  EXPECT_EQ(taken[0].ranks.size(), 64u);
  EXPECT_EQ(taken[0].report.pause_ms, 63);
  EXPECT_EQ(taken[0].report.bytes, 640);
  EXPECT_TRUE(taken[0].ranks.contains(taken[0].report.proc));
  EXPECT_TRUE(reports.empty());
}

TEST_F(Gathered, NobodyIsWaitedForForLong) {
  add(ReportKind::Built, 0);
  EXPECT_TRUE(reports.take(2, now + GatheredReports::kLongest - 1ms).empty());
  EXPECT_EQ(reports.take(2, now + GatheredReports::kLongest).size(), 1u);
  add(ReportKind::Finalizing, 0);
  EXPECT_EQ(reports.take(2, now + GatheredReports::kSoon).size(), 1u);
  RankReport bad = report(ReportKind::Built, 0);
  bad.ok = false;
  reports.add(bad, now);
  EXPECT_EQ(reports.take(2, now + GatheredReports::kSoon).size(), 1u);
}

TEST_F(Gathered, WhatDiffersIsNotAddedUp) {
  add(ReportKind::Built, 0);
  RankReport bad = report(ReportKind::Built, 1);
  bad.ok = false;
  bad.error = "it was called off";
  reports.add(bad, now);
  RankReport other = report(ReportKind::Built, 2);
  other.change = "c2";
  reports.add(other, now);
  const auto taken = reports.take_all();
  ASSERT_EQ(taken.size(), 3u);
  EXPECT_EQ(taken[1].report.error, "it was called off");
}

TEST_F(Gathered, WhatIsOfOneRankAloneWaitsForNobody) {
  add(ReportKind::Hello, 0);
  add(ReportKind::Queue, 1);
  add(ReportKind::Hello, 2);
  const auto taken = reports.take(3, now);
  ASSERT_EQ(taken.size(), 2u);  // what came before it goes first
  EXPECT_EQ(taken[0].ranks.size(), 2u);
  EXPECT_EQ(taken[1].report.kind, ReportKind::Queue);
}

// Each rank's own reports stay in their order, however those of several are mixed.
TEST_F(Gathered, ARanksReportsKeepTheirOrder) {
  add(ReportKind::Built, 0);
  add(ReportKind::AtBegin, 0);
  add(ReportKind::Built, 1);
  add(ReportKind::AtBegin, 1);
  add(ReportKind::Finalizing, 2);
  add(ReportKind::Built, 2);  // a group of its own: the first is before its Finalizing
  const auto taken = reports.take_all();
  ASSERT_EQ(taken.size(), 4u);
  EXPECT_EQ(taken[0].report.kind, ReportKind::Built);
  EXPECT_EQ(taken[0].ranks.size(), 2u);
  EXPECT_EQ(taken[1].report.kind, ReportKind::AtBegin);
  EXPECT_EQ(taken[1].ranks.size(), 2u);
  EXPECT_EQ(taken[2].report.kind, ReportKind::Finalizing);
  EXPECT_EQ(taken[3].report.kind, ReportKind::Built);
}

TEST_F(Gathered, WhatIsNotCompleteYetStays) {
  add(ReportKind::Built, 0);
  add(ReportKind::AtBegin, 0);
  add(ReportKind::Built, 1);
  EXPECT_EQ(reports.take(2, now).size(), 1u);
  EXPECT_FALSE(reports.empty());
  add(ReportKind::AtBegin, 1);
  EXPECT_EQ(reports.take(2, now).size(), 1u);
}

}  // namespace
}  // namespace empi::agent
