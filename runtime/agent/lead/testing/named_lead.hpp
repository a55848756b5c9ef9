// SPDX-License-Identifier: Apache-2.0
// What tests of a lead's succession share: the next lead, what its pod knows, and what it sends.
#pragma once
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "runtime/agent/lead/lead.hpp"

namespace empi::agent {

// Pod u1 of four with a rank each, whose lead u0 is lost.
class NamedLead : public ::testing::Test {
 protected:
  Moment now;
  Lead lead{{"u1", "job"}};
  PodKnowledge own;
  std::vector<std::pair<std::string, Message>> sent;

  void SetUp() override {
    own.membership = {Epoch{5}, {}};
    for (const char* n : {"0", "1", "2", "3"})
      own.membership.members.push_back({std::string("u") + n, std::string("pod-") + n, "a:1", 1, "", 0});
    own.spaces = {lay_out("job.1", own.membership.members)};
    own.news.next_space = 4;
    own.news.resumed_at = 40;
    own.news.resumed_times = 2;
  }
  void plan_growth(ChangeState followed) {
    PlannedChange planned{"c", Epoch{6}, "port", {{"u9", "pod-9", "a:9", 1, "", 0}}, {}, false};
    const Namespace joiners = lay_out("job.3", planned.add);
    own.plan.emplace(planned, own.membership);
    own.spaces.push_back(joiners);
    own.followed = followed;
    own.iteration = 17;
    if (followed == ChangeState::Draining) own.membership = own.plan->next_members();
  }
  void name(std::vector<std::string> dead = {"u0"}) {
    lead.succeed(own, {Fence{8}, "u1", std::move(dead), "pod pod-0 is gone"}, now);
    take();
  }
  // What it wants is done: steps are answered, but not by `mute`.
  void take(const std::string& mute = "u0") {
    for (auto actions = lead.take_actions(); !actions.empty(); actions = lead.take_actions())
      for (const LeadAction& action : actions) {
        const auto* one = std::get_if<SendMessage>(&action);
        if (!one) continue;
        for (const std::string& uid : one->uids) {
          sent.emplace_back(uid, one->message);
          const auto* step = std::get_if<Step>(&one->message);
          if (step && uid != mute && uid != "u9") lead.on(StepDone{step->change, step->number, {}}, uid, now);
        }
      }
  }
  template <class M>
  std::vector<M> sent_to(const std::string& uid) const {
    std::vector<M> all;
    for (const auto& [to, message] : sent)
      if (const auto* one = std::get_if<M>(&message); one && to == uid) all.push_back(*one);
    return all;
  }
  std::vector<StepKind> steps_of(const std::string& uid) const {
    std::vector<StepKind> kinds;
    for (const Step& step : sent_to<Step>(uid)) kinds.push_back(step.kind);
    return kinds;
  }
  void follows(const std::string& uid, std::vector<RankReport> reports = {},
               const std::optional<Membership>& known = {}) {
    lead.on(TakenOver{Fence{8}, known.value_or(own.membership), std::move(reports)}, uid, now);
    take();
  }
  RankReport report(const std::string& uid, RankReport::Kind kind, bool ok = true) const {
    RankReport report;
    report.kind = kind;
    report.change = "c";
    report.ok = ok;
    report.error = ok ? "" : "it was called off";
    const ChangePlan& plan = *own.plan;
    for (const auto* members : {&plan.old.members, &plan.add})
      for (const Member& member : *members)
        if (member.uid == uid) report.proc = ranks_of(member).front();
    return report;
  }
  void say(const std::string& uid, RankReport::Kind kind, bool ok = true) {
    const RankReport one = report(uid, kind, ok);
    lead.on(RankReported{one, {one.proc}}, uid, now);
    take();
  }
  std::vector<std::string> members() const { return uids_of(lead.membership().members); }
  const std::vector<std::string> kLeft = {"u1", "u2", "u3"};
};

}  // namespace empi::agent
