// SPDX-License-Identifier: Apache-2.0
// Every kind of message that agents exchange: nothing of it is lost on the way, and damaged ones are refused.
#include "runtime/protocol/agent_messages.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <sstream>

#include "runtime/base/json_text.hpp"
#include "runtime/base/testing/places.hpp"
#include "runtime/protocol/describe.hpp"
#include "runtime/protocol/testing/damage.hpp"

namespace empi {
namespace {

using nlohmann::json;

const std::vector<ProcId> kRanks = {{"job.1", 0}, {"job.1", 1}, {"job.2", 7}};
const Namespace kSpace = {"job.1", {{"u0", "pod-0", "10.0.0.1:7400", 0, 2}}};
const Membership kMembers = {Epoch{2}, {{"u0", "pod-0", "10.0.0.1:7400", 2, "job.1", 0}}};
const std::string kBytes = std::string("\0\xff\x80", 3);

LeadState lead_state() {
  LeadState state;
  ChangeStatus past;
  past.request.id = "change-1";
  past.outcome = ChangeOutcome::Committed;
  state.history = {past};
  state.hello = {{"job.1", 0}, {"job.2", 0}};
  state.exit_codes = {{{"job.1", 1}, 7}, {{"job.1", 2}, 0}};
  state.first_failure = {JobResult::Failed, "rank 1 exited with code 7", 7, {"last words"}};
  state.last_tail = {"a line"};
  state.parked = {{{"job.2", 0}, 2}};
  state.leave_requests = {"a"};
  state.ending = state.tasks = true;
  state.queue_keeper = ProcId{"job.1", 0};
  state.queue_address = "10.0.0.1:4000";
  state.lost_ranks = {{"job.2", 1}};
  state.without_init = {{"job.3", 0}};
  state.lost = {{"b", "pod b is lost"}};
  return state;
}

RankReport rank_report() {
  return {RankReport::Kind::Agreed, {"job.1", 3}, "c1", false, "no", 1, 2, 3, 4, 5, 6, 7, true,
          "10.0.0.2:4000/key"};
}

// One of each, in which nothing has its default value.
std::vector<Message> examples() {
  const Published datum = {"key", {"job.1", 0}, kBytes, true};
  const JobRecord record = {{3}, {2}, "u0", 4, std::chrono::seconds(5), ProbeMode::Root, {"u0"}, {kSpace}};
  const PlannedChange plan = {"c1", {3}, "port", kMembers.members, {"u1"}, true};
  WindowSample sample;
  sample.index = 1'763'800'000;
  sample.ranks = 4;
  const ProbeMark mark = {{"job.1", 3}, 7, true, false, true, 2, 3, 4, 5, 6};
  return {
      Beat{true,
           3,
           sample,
           kRanks,
           {{kRanks[0], 3, 9, true, true, {"a line"}}},
           rank_report(),
           kRanks,
           LeadNews{
               7, 40, 2, {.number = 3}, QueueNews{{"job.1", 0}, ProcId{"job.1", 2}, "10.0.0.1:4000/key"}}},
      Collective{1, "fence", kRanks, kBytes, 2, true},
      Publish{1, {datum}},
      Lookup{1, {"key"}, true, 3},
      Unpublish{1, {"key"}, kRanks[0]},
      Modex{1, kRanks[2]},
      ModexOfPod{1, "job.1"},
      Reply{1, kPmixNotFound, kBytes, {datum}, {{3, kBytes}}},
      RankEvent{-402, kRanks[0], 2, kBytes},
      RankExited{kRanks[0], 3, 9, true, true, {"a line"}},
      RankReported{rank_report(), {kRanks.begin(), kRanks.end()}},
      RankAborted{kRanks[0], 75, "no more", {"a line"}},
      Step{StepKind::Arm,
           3,
           "c1",
           record,
           plan,
           "job.2",
           17,
           true,
           "10.0.0.1:4000/key",
           kRanks,
           kRanks,
           "late",
           {"job.1"},
           {"u1"}},
      StepDone{"c1", 3, {false, 12, "it cannot", {mark}}},
      HandOver{record, lead_state(), {{datum}, {"port"}, {"job.9"}}, {sample}, {ProcId{"job.3", 2}}},
      HandedOver{},
      NewLead{"u0", kMembers},
      LeadKnown{},
      PassedOn{"u1", encode(Message(Beat{true}))},
      Dropped{"u1", kRanks, kMembers, "recover-4", "job.2/0", Fence{3}},
      TakeOver{{5}, {"u0"}, "c1", "its pod is gone"},
      TakenOver{{5}, kMembers, {rank_report()}},
      End{{JobResult::Failed, "rank 1 was killed by signal 9", 137, {"a line"}}}};
}

json as_json(const Message& message) {
  return std::visit([](const auto& m) { return wire::written(m); }, message);
}

TEST(AgentMessages, EveryKindArrivesWhole) {
  std::set<std::size_t> kinds;
  for (const Message& sent : examples()) {
    SCOPED_TRACE(op_of(sent));
    kinds.insert(sent.index());
    const Message received = decode_message(encode(sent));
    EXPECT_EQ(received.index(), sent.index());
    EXPECT_EQ(as_json(received), as_json(sent));
    std::visit(
        [&]<class M>(const M&) {
          const json nothing = wire::written(M{}), all = as_json(sent);
          for (const auto& [name, value] : all.items())
            EXPECT_NE(value, nothing.at(name)) << name << " is not tried here";
        },
        sent);
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<Message>);
}

json with_its_op(const Message& message) {
  json object = as_json(message);
  object["op"] = op_of(message);
  return object;
}

std::string text_of(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

// By what it describes: their JSON and their CBOR are the same values.
TEST(AgentMessages, AreInCborWhatTheyAreInJson) {
  for (const Message& sent : examples())
    EXPECT_EQ(json_text::from_cbor(encode(sent)), with_its_op(sent)) << op_of(sent);
}

// As older agents write them, by name; and later ones may say more.
TEST(AgentMessages, MayHaveTheirFieldsInAnyOrderAndFurtherOnes) {
  for (const Message& sent : examples()) {
    SCOPED_TRACE(op_of(sent));
    json object = with_its_op(sent);
    EXPECT_EQ(as_json(decode_message(text_of(json_text::cbor(object)))), as_json(sent));
    object["aFurtherOne"] =
        object["zAnother"] = {{"a", {1, 2.5, "text", nullptr}}, {"b", json::binary({1, 2})}};
    EXPECT_EQ(as_json(decode_message(text_of(json_text::cbor(object)))), as_json(sent));
    EXPECT_THROW(decode_message(encode(sent) + '\xf6'), std::invalid_argument);
  }
}

TEST(AgentMessages, AMarkOfProbesNamesItsRankAsAllDo) {
  const ProbeMark mark = {{"job.1", 3}, 7, true, false, true, 2, 3, 4, 5, 6};
  EXPECT_EQ(wire::written(mark).at("rank"), json::parse(R"(["job.1", 3])"));
}

TEST(AgentMessages, RanksTravelAsRuns) {
  const json written = as_json(Dropped{"", kRanks, {}});
  EXPECT_EQ(written.at("procs"), json::parse(R"([["job.1", 0, 2], ["job.2", 7, 1]])"));
  std::vector<ProcId> many;
  for (std::uint32_t rank = 0; rank < 6400; ++rank) many.push_back({"job.1", rank});
  EXPECT_LT(encode(Dropped{"", many, {}}).size(), 200u);
  EXPECT_EQ(std::get<Dropped>(decode_message(encode(Dropped{"", many, {}}))).procs, many);
}

// The pods of a job travel once: who is a member is told by name, where it is by its namespace.
TEST(AgentMessages, ARecordKnowsItsMembers) {
  JobRecord record;
  record.epoch = {4};
  record.members = {"u2", "u0"};
  record.spaces = {kSpace};
  EXPECT_THROW(record.membership(), std::invalid_argument);
  record.spaces.push_back({"job.2", {{"u2", "pod-2", "10.0.0.3:7400", 0, 3}}});
  EXPECT_EQ(record.membership(), (Membership{Epoch{4},
                                             {{"u2", "pod-2", "10.0.0.3:7400", 3, "job.2", 0},
                                              {"u0", "pod-0", "10.0.0.1:7400", 2, "job.1", 0}}}));
}

// So do those that a change adds; the pods before it are known to whoever hears of it.
TEST(AgentMessages, APlanIsCompleteWithTheMembershipBefore) {
  const PlannedChange planned = {"c1", {3},  "port", {{"u2", "pod-2", "10.0.0.3:7400", 3, "job.2", 0}},
                                 {},   false};
  const ChangePlan plan(planned, kMembers);
  EXPECT_EQ(plan.joiners, (Namespace{"job.2", {{"u2", "pod-2", "10.0.0.3:7400", 0, 3}}}));
  EXPECT_EQ(plan.next_members().ranks(), 5);
  EXPECT_EQ(plan.next_members().epoch, Epoch{3});
  EXPECT_THROW(ChangePlan(planned, {Epoch{1}, kMembers.members}), std::invalid_argument);
}

TEST(AgentMessages, ARunOfFourThousandMillionRanksIsRefused) {
  json message = with_its_op(Dropped{});
  message["procs"] = json::parse(R"([["job.1", 0, 4294967295]])");
  EXPECT_THROW(decode_message(text_of(json_text::cbor(message))), std::invalid_argument);
}

TEST(AgentMessages, WhatIsMissingIsNoMessage) {
  for (const Message& sent : examples()) {
    const json whole = with_its_op(sent);
    for (const auto& [name, value] : whole.items()) {
      json message = whole;
      message.erase(name);
      EXPECT_THROW(decode_message(text_of(json_text::cbor(message))), std::exception)
          << op_of(sent) << " without " << name;
    }
  }
}

std::string table() {
  std::string text = "\n| op | what it says | fields |\n|---|---|---|\n";
  for (const Message& message : examples()) {
    std::string fields;
    std::visit(
        [&]<class M>(const M& m) {
          M::describe(m, [&](const char* name, const auto&) {
            fields += (fields.empty() ? "`" : ", `") + std::string(name) + "`";
          });
          text += "| `" + std::string(M::kOp) + "` | " + std::string(M::kDoc) + " | " + fields + " |\n";
        },
        message);
  }
  return text + "\n";
}

TEST(AgentMessages, ThePageOfTheProtocolNamesThemAll) {
  const std::string file = empi::testing::of_checkout("docs/protocol.md");
  std::stringstream page;
  page << std::ifstream(file).rdbuf();
  const std::string text = page.str(), begin = "<!-- agent messages -->\n", end = "<!-- end -->";
  const auto from = text.find(begin), to = text.find(end);
  ASSERT_LT(from, to) << file;
  const auto start = from + begin.size();
  if (std::getenv("EMPI_WRITE_PAGES"))
    std::ofstream(file) << text.substr(0, start) << table() << text.substr(to);
  else
    EXPECT_EQ(text.substr(start, to - start), table()) << "EMPI_WRITE_PAGES=1 writes it anew";
}

TEST(AgentMessages, DamagedOnesAreTakenOrRefused) {
  std::vector<std::string> sent;
  for (const Message& message : examples()) sent.push_back(encode(message));
  testing::decode_damaged(sent, [](const std::string& bytes) { encode(decode_message(bytes)); });
}

}  // namespace
}  // namespace empi
