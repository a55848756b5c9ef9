// SPDX-License-Identifier: Apache-2.0
// Whatever bytes arrive, the decoders of the protocol take or refuse them.
#include <gtest/gtest.h>

#include "runtime/protocol/json.hpp"
#include "runtime/protocol/log_lines.hpp"
#include "runtime/protocol/rank_messages.hpp"
#include "runtime/protocol/testing/damage.hpp"

namespace empi {
namespace {

using testing::decode_damaged;
using testing::expect_bounded;

Member member(int number) {
  const std::string n = std::to_string(number);
  return {"u" + n, "job-w-" + n, "10.0.0." + n + ":7400", 2, "job.1", static_cast<std::uint32_t>(2 * number)};
}

ChangeStatus change() {
  ChangeStatus status;
  status.request = {"c1", {2}, {4}, {member(3)}, {"u1"}, 1000, "drain"};
  status.reason = "rank 3 was killed";
  status.times.pause_ms = 3.5;
  status.released = {"u1"};
  return status;
}

WindowSample window() {
  WindowSample sample;
  sample.index = 1'763'800'000;
  sample.width_s = 1;
  sample.ranks = 4;
  sample.elapsed_s = sample.useful_s = 3.5;
  sample.tasks.queue = {Pattern::MasterWorker, 2, 100, 50, 10};
  return sample;
}

MembershipView view() {
  MembershipView v;
  v.uid = "u0";
  v.fence = {3};
  v.membership = {{2}, {member(0), member(1)}};
  v.outcome = {JobResult::Failed, "rank 1 exited with code 3", 3, {"last words"}};
  v.leave_requests = {"u1"};
  return v;
}

TEST(DamagedMessages, MembershipAndStart) {
  expect_bounded(view());
  expect_bounded(StartRequest{{1}, {member(0), member(1)}, std::chrono::seconds(3), ProbeMode::Root});
}

TEST(DamagedMessages, Changes) {
  expect_bounded(change().request);
  expect_bounded(change());
}

TEST(DamagedMessages, Samples) { expect_bounded(window()); }

TEST(DamagedMessages, Reports) { expect_bounded(Report{view(), {change()}, {window(), window()}}); }

TEST(DamagedMessages, OfRanks) {
  RankReport report;
  report.kind = RankReport::Kind::Agreed;
  report.proc = {"job.1", 3};
  report.change = "c1";
  report.address = "10.0.0.2:4000/key";
  RankOrder order;
  order.kind = RankOrder::Kind::Leave;
  order.change = "c1";
  order.procs = {{"job.1", 0}, {"job.2", 1}};
  decode_damaged({encode(report), encode(order)}, [](const std::string& bytes) {
    if (const auto taken = decode_report(bytes)) encode(*taken);
    if (const auto taken = decode_order(bytes)) encode(*taken);
  });
}

TEST(DamagedMessages, LogLines) {
  decode_damaged(
      {rank_log_prefix("pod-0", "job.1/0") + "a line", "2026-01-01T00:00:00.000 pod-0 agent info: x"},
      [](const std::string& line) { kind_of_log_line("pod-0", line); });
}

}  // namespace
}  // namespace empi
