// SPDX-License-Identifier: Apache-2.0
// What agents say to each other under trouble, with real agents: token files that differ, messages that make
// no sense, agents that stood still, pods that come and go.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "runtime/agent/testing/elastic_fixture.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/testing/places.hpp"
#include "runtime/base/unique_fd.hpp"
#include "runtime/protocol/agent_messages.hpp"
#include "runtime/protocol/json.hpp"
#include "runtime/protocol/names.hpp"

namespace empi {
namespace {

using nlohmann::json;
using testing::HttpAnswer;

class Delivery : public testing::Elastic {
 protected:
  // As a mounted Secret changes.
  void write(const std::string& name, const std::string& text) {
    std::ofstream(scratch + "/new") << text;
    std::filesystem::rename(scratch + "/new", scratch + "/" + name);
  }

  // A pod whose token file is its own.
  std::vector<Member> launch_with_token(const std::string& file, const std::string& text) {
    write(file, text);
    pods.environment[names::kTokenFile] = scratch + "/" + file;
    return pods.launch(1);
  }

  HttpAnswer post_batch(const Member& to, const std::string& from, std::uint64_t sequence,
                        const std::vector<std::string>& messages) {
    json batch = {{"from", from},
                  {"to", to.uid},
                  {"session", "test"},
                  {"sequence", sequence},
                  {"messages", json::array()}};
    for (const std::string& m : messages) batch["messages"].push_back(json::binary({m.begin(), m.end()}));
    const auto bytes = json_text::cbor(batch);
    return pods.call("POST", to, paths::kMessage, {bytes.begin(), bytes.end()}, {}, "application/cbor");
  }

  int threads(const std::string& uid) {
    const std::filesystem::path tasks = "/proc/" + std::to_string(pods.agent_pid(uid)) + "/task";
    return static_cast<int>(std::distance(std::filesystem::directory_iterator(tasks), {}));
  }
};

// Kubelets bring a new Secret at different times. The job lives, and goes on changing, at each of these
// moments.
TEST_F(Delivery, ARotationOfTheKeyMayReachThePodsAtDifferentTimes) {
  const std::string old = pods.token() + "\n", both = "new-" + old + old;
  pods.command = {testing::beside("elastic_worker"), scratch + "/stop"};
  std::vector<Member> members = launch_with_token("token-0", old);
  members.push_back(launch_with_token("token-1", old)[0]);
  pods.start(members);
  commit({.add = launch_with_token("token-2", old)});
  write("token-0", both);
  commit({.add = launch_with_token("token-3", both)});
  write("token-2", both);
  commit({.remove = {members[1].uid}});
  expect_finish(6);
}

TEST_F(Delivery, MessagesThatMakeNoSenseDoNotEndAnAgent) {
  const auto members = begin(2);
  const auto cbor = [](const json& j) {
    const auto bytes = json_text::cbor(j);
    return std::string(bytes.begin(), bytes.end());
  };
  const json batch = {{"from", members[1].uid}, {"to", members[0].uid}, {"session", "x"}, {"sequence", 1}};
  for (const json& wrong :
       {json(1), json("text"), json::object(), json::array({1}), json::array({json::object()})}) {
    json posted = batch;
    posted["messages"] = wrong;
    pods.call("POST", members[0], paths::kMessage, posted.dump());
  }
  std::vector<std::string> elements = {"", "\xff", "\x82\x01"};
  for (const json& wrong : {json(1), json(), json("text"), json::array(), json::object(), json{{"op", 3}},
                            json{{"op", "no such thing"}},
                            json{{"op", "passed_on"}, {"from", "x"}, {"message", json::binary({3})}}})
    elements.push_back(cbor(wrong));
  for (const char* op :
       {"collective", "publish", "lookup", "unpublish", "modex", "modex_of_pod", "reply", "event",
        "rank_exit", "report", "abort", "step", "step_done", "lead", "hand_over", "passed_on", "dropped"})
    for (const json& id : {json(), json(1), json("x"), json::array({-1, 2}), json::object()})
      elements.push_back(cbor({{"op", op},
                               {"id", id},
                               {"proc", id},
                               {"procs", id},
                               {"space", id},
                               {"status", id},
                               {"number", id}}));
  for (const Member& to : members)
    EXPECT_EQ(post_batch(to, members[to.uid == members[0].uid].uid, 1, elements).status, 200);
  commit({.add = pods.launch(1)});
  for (const Member& m : members) EXPECT_NE(pods.log(m.uid).find("malformed message"), std::string::npos);
  expect_finish(6);
}

// The lead's reactor hangs while its other threads go on: it writes to a log that nobody reads. Its kubelet
// and its members find out.
TEST_F(Delivery, ALeadWhoseReactorHangsIsGivenUp) {
  pods.environment[names::kPartitionSeconds] = "2";
  const std::string log = scratch + "/log";
  ASSERT_EQ(mkfifo(log.c_str(), 0600), 0);
  const UniqueFd reader(open(log.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC));  // without it nobody could write
  ASSERT_TRUE(reader);
  pods.command = {testing::beside("elastic_worker"), scratch + "/stop"};
  pods.wrapper = {"sh", "-c", "exec \"$@\" 2>" + log, "sh"};
  std::vector<Member> members = pods.launch(1);
  pods.wrapper.clear();
  members.push_back(pods.launch(1)[0]);
  pods.start(members);
  pods.wait_until("the ranks are there", [&] { return pods.ranks(members[1].uid).size() == 2; });
  const auto health = [&] { return pods.call("GET", members[0], paths::kHealth, "", ""); };
  EXPECT_EQ(health().status, 200);
  const std::string line(4096, '\n');
  while (::write(reader.get(), line.data(), line.size()) > 0) continue;
  while (::write(reader.get(), line.data(), 1) > 0) continue;
  const std::string logged = encode(Step{.kind = StepKind::Terminate, .reason = "nobody is to go"});
  ASSERT_EQ(post_batch(members[0], "x", 1, {logged}).status, 200);
  pods.wait_until("the lead's health is bad", [&] { return health().status == 503; });
  EXPECT_NE(health().body.find("has not turned"), std::string::npos);
  EXPECT_NE(pods.wait_for_end(members[1].uid), 0);
  const std::string end = pods.termination_log(members[1].uid);
  EXPECT_NE(end.find("lost the lead"), std::string::npos) << end;
  EXPECT_NE(end.find("has not turned"), std::string::npos) << end;
}

TEST_F(Delivery, AStrangerIsToldSo) {
  const auto members = begin(1);
  Member other = members[0];
  other.uid = "another pod";
  EXPECT_EQ(post_batch(other, "x", 1, {}).status, 409);
  expect_finish(2);
}

// Whoever comes and goes leaves no thread behind: neither in the lead ...
TEST_F(Delivery, TheLeadKeepsNoThreadOfAPodThatHasLeft) {
  pods.slots = 1;
  const auto members = begin(1);
  int before = 0;
  for (int round = 0; round < 6; ++round) {
    const auto joiner = pods.launch(1);
    commit({.add = joiner});
    commit({.remove = {joiner[0].uid}});
    if (round == 0) before = threads(members[0].uid);
  }
  pods.wait_until("the lead has no more threads than after the first round",
                  [&] { return threads(members[0].uid) <= before + 2; });
  expect_finish(1);
}

// ... nor, of former leads, in a member.
TEST_F(Delivery, AMemberKeepsNoThreadOfAFormerLead) {
  pods.slots = 1;
  const auto members = begin(5);
  pods.wait_until("the ranks are there", [&] { return !pods.ranks(members[4].uid).empty(); });
  commit({.remove = {members[0].uid}});
  const int before = threads(members[4].uid);
  for (int i = 1; i < 4; ++i) commit({.remove = {members[i].uid}});
  pods.wait_until("a thread less for each that has left",
                  [&] { return threads(members[4].uid) <= before - 3 + 1; });
  expect_finish(1);
}

// While it stood still it heard nobody: that is no sign of theirs.
TEST_F(Delivery, ALeadThatStoodStillLosesNobody) {
  pods.environment[names::kPartitionSeconds] = "3";
  const auto members = begin(3);
  pods.wait_until("the ranks are there", [&] { return !pods.ranks(members[2].uid).empty(); });
  for (int i = 0; i < 2; ++i) {
    pods.signal(members[0].uid, SIGSTOP);
    std::this_thread::sleep_for(std::chrono::seconds(4));  // the fault itself
    pods.signal(members[0].uid, SIGCONT);
    commit({.add = pods.launch(1)});
  }
  expect_finish(10);
}

// The last words of all ranks that end at a time are waited for together, not half a second for each: the pod
// would be silent for longer than silence is borne, and a job that has ended well would fail.
TEST_F(Delivery, AReaderOfTheLogWhoHasStoppedFailsNoJob) {
  constexpr int kRanks = 24;
  pods.environment[names::kPartitionSeconds] = "4";
  pods.mode = "rigid";
  pods.job = "delivery-" + std::to_string(getpid());
  pods.command = {"sh", "-c",
                  R"(test $PMIX_RANK = 0 || yes | head -n 15000; while ! test -e "$0"; do sleep 0.2; done)",
                  scratch + "/stop"};
  const std::string pipe = scratch + "/stdout";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  UniqueFd reader(open(pipe.c_str(), O_RDWR | O_CLOEXEC));
  pods.slots = 1;
  std::vector<Member> members = pods.launch(1);
  pods.slots = kRanks;
  pods.wrapper = {"sh", "-c", "exec \"$0\" \"$@\" >" + pipe};
  members.push_back(pods.launch(1)[0]);
  pods.start(members);
  pods.wait_until("the ranks are there", [&] { return pods.ranks(members[1].uid).size() >= kRanks; });
  stop_program();
  EXPECT_EQ(pods.wait_for_end(members[0].uid), 0) << pods.termination_log(members[0].uid);
  reader.reset();
  EXPECT_EQ(pods.wait_for_end(members[1].uid), 0) << pods.termination_log(members[1].uid);
}

}  // namespace
}  // namespace empi
