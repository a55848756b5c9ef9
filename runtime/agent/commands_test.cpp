// SPDX-License-Identifier: Apache-2.0
// What controllers ask of a running job, and are refused: changes, cancellations, fences, the end.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <limits>

#include "runtime/agent/testing/elastic_fixture.hpp"
#include "runtime/protocol/json.hpp"
#include "runtime/protocol/names.hpp"

namespace empi {
namespace {

using nlohmann::json;
using testing::HttpAnswer;

class Commands : public testing::Elastic {
 protected:
  HttpAnswer cancel(const Member& lead, const std::string& query) {
    return pods.call("DELETE", lead, paths::kChange + query);
  }

  json change_json(const std::vector<std::string>& remove, int fence, int epoch,
                   const std::string& id = "x") {
    ChangeRequest r;
    r.id = id;
    r.fence = Fence{fence};
    r.epoch = Epoch{epoch};
    r.remove = remove;
    r.deadline_ms = 60'000;
    return r;
  }
};

TEST_F(Commands, CancelledChangeIsRolledBack) {
  const auto members = begin(2);
  pods.environment["EMPI_TEST_TRAP"] = "no_init";
  const std::string id = pods.request_change({.add = pods.launch(1)});
  EXPECT_EQ(cancel(members[0], "?id=" + id + "&fence=1").status, 200);
  const ChangeStatus s = pods.wait_for_change(id);
  EXPECT_EQ(s.outcome, ChangeOutcome::RolledBack);
  EXPECT_EQ(s.reason, "cancelled by the controller");
  expect_finish(4);
}

TEST_F(Commands, AnEarlierControllerCannotCancelAChange) {
  const auto members = begin(2);
  pods.environment["EMPI_TEST_TRAP"] = "no_init";
  pods.fence = Fence{5};
  const std::string id = pods.request_change({.add = pods.launch(1)});
  const HttpAnswer stale = cancel(members[0], "?id=" + id + "&fence=4");
  EXPECT_EQ(stale.status, 409) << stale.body;
  EXPECT_NE(stale.body.find("fence 4 is stale: another controller holds fence 5"), std::string::npos)
      << stale.body;
  EXPECT_EQ(cancel(members[0], "?id=" + id).status, 400) << "whoever commands says by which fence";
  EXPECT_EQ(cancel(members[0], "?id=" + id + "&fence=five").status, 400);
  EXPECT_EQ(pods.membership().change, id) << "still in hand";
  EXPECT_EQ(cancel(members[0], "?id=" + id + "&fence=6").status, 200);
  EXPECT_EQ(pods.wait_for_change(id).outcome, ChangeOutcome::RolledBack);
  const HttpAnswer raised =
      pods.call("PUT", members[0], paths::kChange, change_json({members[1].uid}, 5, 1).dump());
  EXPECT_EQ(raised.status, 409) << "fence 6 was seen with the cancellation";
  expect_finish(4);
}

TEST_F(Commands, RefusalsChangeNothing) {
  const auto members = begin(2);
  pods.wait_until("the other member knows of the start", [&] { return !pods.ranks(members[1].uid).empty(); });
  pods.fence = Fence{5};
  const auto put = [&](const json& r, int pod = 0, const std::optional<std::string>& token = {}) {
    return pods.call("PUT", members[pod], paths::kChange, r.dump(), token);
  };
  const std::vector<std::string> one = {members[1].uid};
  EXPECT_EQ(put(change_json(one, 5, 1), 0, "wrong").status, 401);
  EXPECT_EQ(put(change_json(one, 5, 1), 0, "").status, 401);
  EXPECT_EQ(pods.call("POST", members[0], paths::kMessage, "{}", "wrong").status, 401);
  EXPECT_EQ(pods.call("GET", members[0], paths::kMembership, "", "wrong").status, 401);
  EXPECT_EQ(pods.call("GET", members[0], paths::kReport, "", "wrong").status, 401);
  EXPECT_EQ(put(change_json({"nobody"}, 5, 1)).status, 400);
  EXPECT_EQ(put(change_json({}, 5, 1)).status, 400);
  EXPECT_EQ(put(change_json({members[0].uid, members[1].uid}, 5, 1)).status, 400);
  EXPECT_EQ(put(json{{"id", 3}}).status, 400);
  EXPECT_EQ(pods.call("PUT", members[0], paths::kChange, "no json").status, 400);
  const HttpAnswer stale_epoch = put(change_json(one, 5, 9));
  EXPECT_EQ(stale_epoch.status, 409);
  EXPECT_NE(stale_epoch.body.find("epoch 9 is stale"), std::string::npos) << stale_epoch.body;
  const HttpAnswer stale_fence = put(change_json(one, 4, 1));
  EXPECT_EQ(stale_fence.status, 409) << "fence 5 was seen already";
  // Who only looks changes nothing.
  EXPECT_EQ(pods.call("GET", members[0], std::string(paths::kReport) + "?since=-1&fence=9").status, 200);
  EXPECT_EQ(pods.membership().fence, Fence{5});
  // Another controller has taken the job, and asked for nothing so far.
  const auto take = [&](std::int64_t fence) {
    return pods.call("PUT", members[0], paths::kFence, json{{"fence", fence}}.dump()).status;
  };
  EXPECT_EQ(take(4), 409);
  EXPECT_EQ(take(std::numeric_limits<std::int64_t>::max()), 400) << "no controller could exceed it";
  EXPECT_EQ(take(6), 200);
  EXPECT_EQ(take(6), 200) << "again";
  EXPECT_EQ(put(change_json(one, 5, 1)).status, 409);
  pods.fence = Fence{6};
  const HttpAnswer not_lead = put(change_json(one, 6, 1), 1);
  EXPECT_EQ(not_lead.status, 409);
  EXPECT_NE(not_lead.body.find(members[0].uid), std::string::npos) << "names the lead";
  EXPECT_EQ(pods.membership().membership.epoch.value, 1);
  EXPECT_EQ(pods.membership().state, ChangeState::Stable);
  const auto report =
      json::parse(pods.call("GET", members[1], std::string(paths::kReport) + "?since=-1").body).get<Report>();
  EXPECT_EQ(report.view.uid, members[1].uid);
  EXPECT_EQ(report.view.membership, pods.membership().membership) << "whoever is asked";
  EXPECT_TRUE(report.changes.empty());

  pods.environment["EMPI_TEST_TRAP"] = "no_init";
  const std::string id = pods.request_change({.add = pods.launch(1), .deadline = std::chrono::seconds(3)});
  const HttpAnswer second = put(change_json(one, 6, 1, "second"));
  EXPECT_EQ(second.status, 409);
  EXPECT_NE(second.body.find(id), std::string::npos) << "names the change in hand";
  EXPECT_EQ(pods.wait_for_change(id).outcome, ChangeOutcome::RolledBack);
  expect_finish(4);
}

TEST_F(Commands, TerminationAsksForAPlannedLeave) {
  const auto members = begin(2);
  pods.wait_until("the pod is in the job", [&] { return !pods.ranks(members[1].uid).empty(); });
  pods.signal(members[1].uid, SIGTERM);
  pods.wait_until("the lead knows that the pod wants to leave",
                  [&] { return pods.membership().leave_requests == std::vector{members[1].uid}; });
  EXPECT_TRUE(pods.running(members[1].uid));
  commit({.remove = {members[1].uid}});
  EXPECT_EQ(pods.membership().leave_requests.size(), 0u);
  expect_finish(2);
}

TEST_F(Commands, AStartWithAnImpossibleGraceIsRefused) {
  pods.command = {"true"};
  const auto members = pods.launch(1);
  for (const std::int64_t seconds : {std::int64_t{0}, std::int64_t{1} << 60}) {
    const StartRequest wrong{pods.fence, members, std::chrono::seconds(seconds)};
    const HttpAnswer answer = pods.call("POST", members[0], paths::kStart, json(wrong).dump());
    EXPECT_EQ(answer.status, 400);
    EXPECT_NE(answer.body.find("expected 1 to 86400"), std::string::npos) << answer.body;
  }
  pods.signal(members[0].uid, SIGTERM);
  EXPECT_EQ(pods.wait_for_end(members[0].uid), 0);
}

TEST_F(Commands, TerminationBeforeTheStartEndsAtOnce) {
  pods.command = {"true"};
  const auto members = pods.launch(1);
  pods.signal(members[0].uid, SIGTERM);
  EXPECT_EQ(pods.wait_for_end(members[0].uid), 0);
}

TEST_F(Commands, StopEndsTheJob) {
  const auto members = begin(2);
  EXPECT_EQ(pods.call("POST", members[0], paths::kStop, R"({"fence":0,"reason":"old"})").status, 409);
  EXPECT_EQ(pods.call("POST", members[0], paths::kStop, R"({"fence":1,"reason":"enough"})").status, 200);
  for (const Member& m : members) EXPECT_EQ(pods.wait_for_end(m.uid), 0);
  EXPECT_NE(pods.termination_log(members[1].uid).find("enough"), std::string::npos);
}

// A word that comes late may reach a pod of the job's next run, which has the address now.
TEST_F(Commands, WhoIsNotMeantByAStopGoesOn) {
  const auto members = begin(1);
  const char* late = R"({"fence":9,"pod":"uid-of-before"})";
  const auto answer = pods.call("POST", members[0], paths::kStop, late);
  EXPECT_EQ(answer.status, 404);
  EXPECT_NE(answer.body.find("uid-of-before"), std::string::npos) << answer.body;
  const std::string stop = R"({"fence":1,"reason":"enough","pod":")" + members[0].uid + "\"}";
  EXPECT_EQ(pods.call("POST", members[0], paths::kStop, stop).status, 200) << "nor has the fence risen";
  EXPECT_EQ(pods.wait_for_end(members[0].uid), 0);
}

TEST_F(Commands, APodEndsByItselfWhenTheLeadCannotBeTold) {
  const auto members = begin(2);
  pods.wait_until("the member's ranks run", [&] { return pods.ranks(members[1].uid).size() == 2; });
  pods.signal(members[0].uid, SIGSTOP);
  EXPECT_EQ(pods.call("POST", members[1], paths::kStop, R"({"fence":1})").status, 409);
  const char* request = R"({"fence":1,"reason":"enough","thisPod":true})";
  EXPECT_EQ(pods.call("POST", members[1], paths::kStop, request).status, 200);
  EXPECT_EQ(pods.wait_for_end(members[1].uid), 0);
  EXPECT_NE(pods.termination_log(members[1].uid).find("enough"), std::string::npos);
  pods.signal(members[0].uid, SIGKILL);
}

pid_t janitor_of(pid_t agent) {
  const std::string tasks = "/proc/" + std::to_string(agent) + "/task/" + std::to_string(agent) + "/children";
  std::ifstream children(tasks);
  for (pid_t child = 0; children >> child;) {
    std::string name;
    std::getline(std::ifstream("/proc/" + std::to_string(child) + "/comm"), name);
    if (name == "empi-janitor") return child;
  }
  return -1;
}

// Whatever taking it down waits for: a pod that has ended is not one that hangs.
TEST_F(Commands, AnAgentWhoseJanitorStandsStillEndsAllTheSame) {
  const auto members = begin(1);
  const pid_t janitor = janitor_of(pods.agent_pid(members[0].uid));
  ASSERT_GT(janitor, 0);
  ASSERT_EQ(kill(janitor, SIGSTOP), 0);
  pods.patience = std::chrono::seconds(25);
  stop_program();
  EXPECT_EQ(pods.wait_for_end(members[0].uid), 0);
  EXPECT_NE(pods.log(members[0].uid).find("leaving by force"), std::string::npos);
  kill(janitor, SIGKILL);
}

}  // namespace
}  // namespace empi
