// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/json.hpp"

#include <gtest/gtest.h>

#include "runtime/protocol/rank_messages.hpp"

namespace empi {
namespace {

using nlohmann::json;

Membership three_pods() {
  return {Epoch{4},
          {{"u0", "job-w-0", "10.0.0.2:7400", 2, "job.1", 0},
           {"u1", "job-w-1", "10.0.0.3:7400", 2, "job.1", 2},
           {"u2", "job-w-2", "10.0.0.4:7400", 1, "job.4", 0}}};
}

TEST(Json, MembershipSurvivesTheTrip) {
  const Membership m = three_pods();
  EXPECT_EQ(json::parse(json(m).dump()).get<Membership>(), m);
}

TEST(Json, ReportHoldsWhatTheThreeHold) {
  Report report;
  report.view.uid = "u0";
  report.view.membership = three_pods();
  report.changes.resize(1);
  report.changes[0].request.id = "c1";
  report.windows.resize(2);
  const json body = report;
  EXPECT_EQ(body.at("membership"), json(report.view));
  EXPECT_EQ(json(json::parse(body.dump()).get<Report>()), body);
  EXPECT_EQ(body.at("windows").size(), 2u);
}

TEST(Json, ChangeRequestNeedsItsIdentity) {
  const json whole = ChangeRequest{"c1", {2}, {4}, {}, {"u1"}, 1000, "drain"};
  EXPECT_EQ(whole.get<ChangeRequest>().cause, "drain");
  EXPECT_EQ(whole.get<ChangeRequest>().remove, std::vector<std::string>{"u1"});
  for (const char* field : {"id", "fence", "epoch", "deadlineMillis"}) {
    json part = whole;
    part.erase(field);
    EXPECT_THROW(part.get<ChangeRequest>(), json::exception) << field;
  }
}

// What a later version may add is no reason to take a job or a change that has ended for one that goes on.
// Found by ./dev fuzz report: undefined behaviour, or 1 slot for 4294967297.
TEST(Json, ANumberThatDoesNotFitIsRefused) {
  const Member member{"u0", "job-w-0", "10.0.0.2:7400", 2, "job.1", 0};
  for (const json& slots :
       {json(7.8e55), json(1.5), json(std::int64_t{1} << 32 | 1), json(UINT64_MAX), json("2")}) {
    json spoiled = member;
    spoiled["slots"] = slots;
    EXPECT_THROW(spoiled.get<Member>(), json::exception) << slots;
  }
  json spoiled = member;
  spoiled["firstRank"] = -1;
  EXPECT_THROW(spoiled.get<Member>(), json::exception);
  spoiled["firstRank"] = UINT32_MAX;
  EXPECT_EQ(spoiled.get<Member>().first_rank, UINT32_MAX);
}

TEST(Json, AStartThatSaysNoGraceHasTheUsualOne) {
  json j = StartRequest{Fence{2}, {}, std::chrono::seconds(7)};
  EXPECT_EQ(j.get<StartRequest>().leaver_grace, std::chrono::seconds(7));
  ASSERT_EQ(j.erase("leaverGraceSeconds"), 1u);
  EXPECT_EQ(j.get<StartRequest>().leaver_grace, kLeaverGrace);
}

TEST(Json, UnknownEndsAreFailures) {
  for (const char* text : {"", "succeeded", "failed", "stopped"})
    EXPECT_EQ(json(json{{"result", text}}.get<JobOutcome>()).at("result"), text);
  EXPECT_EQ(json({{"result", "evaporated"}}).get<JobOutcome>().result, JobResult::Failed);
  ChangeStatus status;
  status.outcome = ChangeOutcome::RolledBack;
  status.origin = ChangeOrigin::LostMember;
  json j = status;
  EXPECT_EQ(j.at("outcome"), "rolled back");
  EXPECT_EQ(j.get<ChangeStatus>().outcome, ChangeOutcome::RolledBack);
  EXPECT_EQ(j.get<ChangeStatus>().origin, ChangeOrigin::LostMember);
  j["outcome"] = "evaporated";
  EXPECT_EQ(j.get<ChangeStatus>().outcome, ChangeOutcome::Failed);
}

TEST(Json, RankMessagesSurviveTheTrip) {
  RankReport report;
  report.kind = RankReport::Kind::Agreed;
  report.proc = {"job.1", 3};
  report.change = "c1";
  report.ok = false;
  report.pause_ms = 1.5;
  const auto back = decode_report(encode(report));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->kind, RankReport::Kind::Agreed);
  EXPECT_EQ(back->proc, report.proc);
  EXPECT_FALSE(back->ok);
  EXPECT_EQ(back->pause_ms, 1.5);
}

TEST(Json, TasksSurviveTheTripAndAreAbsentWithoutThem) {
  WindowSample sample;
  EXPECT_FALSE(json(sample).contains("tasks"));
  EXPECT_FALSE(json(sample).get<WindowSample>().master_worker());
  sample.tasks = {{Pattern::MasterWorker, 2, 100, 40, 50}, 7, 1.5, .5, .4, 1.2};
  const auto back = json::parse(json(sample).dump()).get<WindowSample>();
  EXPECT_EQ(json(back), json(sample));
  EXPECT_TRUE(back.master_worker());
  EXPECT_EQ(back.tasks.queue.queued, 50u);
  EXPECT_EQ(back.tasks.busy_s, 1.2);
}

TEST(Json, AWishSurvivesTheTripAndIsAbsentWithoutOne) {
  WindowSample sample;
  EXPECT_FALSE(json(sample).contains("wishMax"));
  EXPECT_EQ(json(sample).get<WindowSample>().wish_max, 0);
  sample.add_wish(2, 5);
  sample.add_wish(1, 9);
  const auto back = json::parse(json(sample).dump()).get<WindowSample>();
  EXPECT_EQ(back.wish_min, 2);
  EXPECT_EQ(back.wish_max, 5);
}

// Names of objects and texts of errors are the program's, in whatever encoding.
TEST(Json, TextThatIsNoUtf8TravelsAsFarAsItCan) {
  RankReport report;
  report.error = "communicator '\xe9' contains a leaver";
  const auto back = decode_report(encode(report));
  ASSERT_TRUE(back);
  EXPECT_EQ(back->error, "communicator '\ufffd' contains a leaver");
}

TEST(Json, GarbageIsNoRankMessage) {
  for (const char* text : {"", "{", "[]", "{}", R"({"kind":"built","ok":"yes"})"})
    EXPECT_FALSE(decode_report(text)) << text;
}

TEST(Membership, NextKeepsTheOrderOfThoseWhoStay) {
  const Membership next =
      next_membership(three_pods(), {{"u9", "job-w-9", "10.0.0.9:7400", 2, "job.5", 0}}, {"u0"});
  EXPECT_EQ(next.epoch, Epoch{5});
  ASSERT_EQ(next.members.size(), 3u);
  EXPECT_EQ(next.lead().uid, "u1");
  EXPECT_EQ(next.world_rank("u2"), 2);
  EXPECT_EQ(next.world_rank("u9"), 3);
  EXPECT_EQ(next.world_rank("u0"), -1);
  EXPECT_EQ(next.ranks(), 5);
}

}  // namespace
}  // namespace empi
