// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/table.hpp"

#include <gtest/gtest.h>

namespace emj::cli {
namespace {

Time at(int seconds) { return Time(Seconds(seconds)); }

ElasticMPIJob running_job() {
  ElasticMPIJob job;
  job.metadata.name = "demo";
  job.metadata.namespace_name = "team";
  job.metadata.uid = "u";
  job.spec.worker.max_replicas = 8;
  job.status.state = JobState::Running;
  job.status.joined_replicas = job.status.desired_replicas = 4;
  job.status.start_time = at(0);
  job.status.policy_state.changes = {{at(0), 0, 1}, {at(60), 1, 8}, {at(120), 8, 4}};
  return job;
}

TEST(Sparkline, IsAsHighAsTheSizeAtTheEndOfEachPart) {
  EXPECT_EQ(sparkline({{at(0), 1}, {at(50), 8}}, at(0), at(100), 8, 4), "▁███");
  EXPECT_EQ(sparkline({{at(30), 4}, {at(90), 0}}, at(0), at(100), 8, 4), " ▄▄ ");
  EXPECT_EQ(sparkline({}, at(0), at(100), 8, 3), "   ");
  EXPECT_EQ(sparkline({{at(0), 3}}, at(5), at(5), 3, 2), "██") << "a job that has just begun";
  EXPECT_EQ(sparkline({{at(0), 9}}, at(0), at(1), 3, 1), "█") << "limits may change under a job";
}

TEST(Sizes, AreThoseOfTheStatusAndThenThoseThatWereSeen) {
  ElasticMPIJob job = running_job();
  const SizeHistory recorded = recorded_sizes(job, at(200));
  EXPECT_EQ(recorded, (SizeHistory{{at(0), 1}, {at(60), 8}, {at(120), 4}}));
  SizesSeen seen;
  seen.look({job}, at(200));
  job.status.policy_state.changes = {{at(210), 4, 2}};  // older ones are forgotten
  job.status.joined_replicas = 2;
  EXPECT_EQ(seen.of(job, at(220)), (SizeHistory{{at(0), 1}, {at(60), 8}, {at(120), 4}, {at(210), 2}}));
  job.status.start_time = at(205);  // started anew: those before are of another run
  job.status.policy_state.changes = {{at(210), 0, 2}};
  EXPECT_EQ(seen.of(job, at(220)), (SizeHistory{{at(210), 2}}));
}

TEST(Table, HasALineForEachJob) {
  ElasticMPIJob job = running_job();
  job.status.performance = Performance{.efficiency_percent = 83, .window_end = {}};
  ElasticMPIJob waits;
  waits.metadata.name = "waits";
  waits.metadata.namespace_name = "other";
  waits.status.desired_replicas = 2;
  waits.status.reason = "PodCreationBlocked";
  const auto lines = job_table({job, waits}, {}, at(240), true);
  ASSERT_EQ(lines.size(), 3u);
  EXPECT_EQ(lines[0],
            "NAMESPACE  NAME   STATE    WORKERS  LIMITS  EFFICIENCY  TIME  SIZES                     DOING");
  EXPECT_EQ(lines[1],
            "team       demo   Running  4        1-8     83 %        4:00  ▁▁▁▁▁██████▄▄▄▄▄▄▄▄▄▄▄▄▄");
  EXPECT_EQ(lines[2],
            "other      waits  Pending  0 (2)    1-1                                                 "
            "PodCreationBlocked");
}

TEST(Table, CountsWorkersInReserve) {
  ElasticMPIJob job = running_job();
  job.status.standby.emplace().ready = 2;
  EXPECT_NE(job_table({job}, {}, at(9), false)[1].find("Running  4 +2  "), std::string::npos);
  job.status.state = JobState::Succeeded;
  EXPECT_EQ(job_table({job}, {}, at(9), false)[1].find('+'), std::string::npos);
}

TEST(Table, SaysWhatAJobWaitsFor) {
  ElasticMPIJob job = running_job();
  job.status.state = JobState::Queued;
  job.status.reason = "Waiting";
  job.status.queue.emplace().reason = "needs 4 workers: 1 is free";
  EXPECT_TRUE(job_table({job}, {}, at(9), false)[1].ends_with("needs 4 workers: 1 is free"));
}

TEST(Table, SaysWhatIsBeingDone) {
  ElasticMPIJob job = running_job();
  job.status.decisions = {{at(1), 4, 4, "threshold", DecisionAction::Keep, "MTCT 0.2 is between"}};
  EXPECT_TRUE(job_table({job}, {}, at(9), false)[1].ends_with("Keep: MTCT 0.2 is between"));
  ResizeStatus& resize = job.status.resize.emplace();
  resize.from = 4;
  resize.to = 6;
  resize.phase = ResizePhase::Building;
  EXPECT_TRUE(job_table({job}, {}, at(9), false)[1].ends_with("4 -> 6: Building"));
}

}  // namespace
}  // namespace emj::cli
