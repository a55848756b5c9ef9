// SPDX-License-Identifier: Apache-2.0
// A lead of a master-worker program, by what it hears and says.
#pragma once
#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/agent/lead/lead.hpp"

namespace empi::agent {

// Three pods with a rank each, whose agents do what the lead wants; the first is the lead's, and keeps the
// queue.
class Losses : public ::testing::Test {
 protected:
  const Moment now{};
  Lead lead{{"uid-0", "job"}};
  std::vector<Member> members;
  std::optional<HandOver> handed_over;
  std::map<std::string, std::set<ProcId>> told_lost;  // by whom was told
  std::map<std::string, std::string> told_next;       // who takes the queue over
  std::string attached_to;                            // by the last Attach

  void SetUp() override {
    lead.start({Fence{1},
                {{"uid-0", "pod-0", "pod-0:1", 1, "", 0},
                 {"uid-1", "pod-1", "pod-1:1", 1, "", 0},
                 {"uid-2", "pod-2", "pod-2:1", 1, "", 0}}},
               now);
    obey();
    members = lead.membership().members;
    for (std::size_t i = 0; i < members.size(); ++i) report(i, RankReport::Kind::Hello);
    report(0, RankReport::Kind::Queue);
  }
  void obey() {
    for (auto actions = lead.take_actions(); !actions.empty(); actions = lead.take_actions())
      for (const LeadAction& action : actions) {
        const auto* sent = std::get_if<SendMessage>(&action);
        const auto* step = sent ? std::get_if<Step>(&sent->message) : nullptr;
        if (const auto* all = sent ? std::get_if<HandOver>(&sent->message) : nullptr) handed_over = *all;
        if (const auto* said = sent ? std::get_if<Dropped>(&sent->message) : nullptr)
          for (const std::string& uid : sent->uids) {
            told_lost[uid].insert(said->procs.begin(), said->procs.end());
            if (!said->queue_to.empty()) told_next[uid] = said->queue_to;
          }
        if (step && step->kind == StepKind::Attach) attached_to = step->address;
        for (const std::string& uid : step ? sent->uids : std::vector<std::string>{})
          lead.on(StepDone{step->change, step->number, {}}, uid, now);
      }
  }
  ProcId rank(std::size_t i) const { return {members[i].nspace, members[i].first_rank}; }
  RankReport report_of(std::size_t i, RankReport::Kind kind) const {
    RankReport report;
    report.kind = kind;
    report.proc = rank(i);
    report.tasks = true;
    report.change = kind == RankReport::Kind::Agreed ? "c" : "";
    report.address = kind == RankReport::Kind::Queue ? members[i].address + "/queue" : "";
    return report;
  }
  ProcId joiner(int rank) const { return {"job.2", static_cast<std::uint32_t>(rank)}; }
  void say(RankReport::Kind kind, const ProcId& proc, const std::string& uid) {
    RankReport report = report_of(0, kind);
    report.proc = proc;
    report.change = kind == RankReport::Kind::Built ? "c" : "";
    lead.on(RankReported{report, {proc}}, uid, now);
    obey();
  }
  void report(std::size_t i, RankReport::Kind kind) {
    lead.on(RankReported{report_of(i, kind), {rank(i)}}, members[i].uid, now);
    obey();
  }
  void keeps_queue(std::size_t i, std::optional<std::size_t> mirror) {
    RankReport report = report_of(i, RankReport::Kind::Queue);
    if (mirror) report.mirror = name_of(rank(*mirror));
    lead.on(RankReported{report, {rank(i)}}, members[i].uid, now);
    obey();
  }
  std::optional<LeadNews> news() {
    lead.second(now);
    std::optional<LeadNews> found;
    for (const LeadAction& action : lead.take_actions())
      if (const auto* sent = std::get_if<SendMessage>(&action))
        if (const auto* beat = std::get_if<Beat>(&sent->message)) found = beat->news;
    return found;
  }
  void ends(std::size_t i, int code, int signal, bool finalised) {
    lead.on(RankExited{rank(i), code, signal, finalised, true, {"last words"}}, members[i].uid, now);
    obey();
  }
  void begin(std::vector<std::string> remove, std::vector<Member> add) {
    ChangeRequest change;
    change.id = "c";
    change.fence = Fence{1};
    change.epoch = lead.membership().epoch;
    change.remove = std::move(remove);
    change.add = std::move(add);
    change.deadline_ms = 10'000;
    ASSERT_EQ(lead.begin_change(change, now).status, 200);
    obey();
  }
  // Pods are to go, and their ranks have been told to; others have come.
  void begin_leave(std::vector<std::string> uids = {"uid-1", "uid-2"}, const std::vector<Member>& add = {}) {
    begin(std::move(uids), add);
    for (const RankReport::Kind kind : {RankReport::Kind::Hello, RankReport::Kind::Built})
      for (const Member& member : add)
        for (int r = 0; r < member.slots; ++r) say(kind, joiner(r), member.uid);
    ASSERT_EQ(lead.state(), ChangeState::Window);
  }
};

}  // namespace empi::agent
