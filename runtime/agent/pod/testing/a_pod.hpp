// SPDX-License-Identifier: Apache-2.0
// A pod of three, and what it does.
#pragma once
#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/agent/pod/pod.hpp"

namespace empi::agent {

// Remembers what the pod does. Ranks obey.
class Edges : public PodEdges {
 public:
  std::vector<std::pair<std::string, Message>> sent;  // to whom, what
  std::vector<std::pair<ProcId, RankOrder::Kind>> ordered;
  std::set<std::string> known, dismissed;
  std::set<ProcId> deaf;
  std::map<ProcId, int> killed;  // by which signal
  std::deque<std::function<void()>> posted;
  std::optional<JobOutcome> outcome;
  RunningTime running{0};

  void run() {
    while (!posted.empty()) {
      const auto what = std::move(posted.front());
      posted.pop_front();
      what();
    }
  }
  template <class Kind>
  std::vector<Kind> sent_to(const std::string& uid) const {
    std::vector<Kind> all;
    for (const auto& [to, message] : sent)
      if (const auto* one = std::get_if<Kind>(&message); one && to == uid) all.push_back(*one);
    return all;
  }

  Moment moment() override { return {.clock = {}, .running = running}; }
  void post(std::function<void()> what) override { posted.push_back(std::move(what)); }
  void after(std::chrono::milliseconds, std::function<void()> what) override { post(std::move(what)); }
  bool knows(const std::string& uid) override { return known.contains(uid); }
  void admit(const std::string& uid, const std::string&) override { known.insert(uid); }
  void send(const std::vector<std::string>& uids, const Message& message) override {
    for (const std::string& uid : uids) sent.emplace_back(uid, message);
  }
  void part(const std::string& uid) override { known.erase(uid); }
  void dismiss(const std::string& uid) override {
    known.erase(uid);
    dismissed.insert(uid);
  }
  void drop(const std::string& uid) override { known.erase(uid); }
  void launch(const ProcId&, bool) override {}
  void kill(const ProcId& proc, int signal) override { killed[proc] = signal; }
  void kill_all() override {}
  std::string order(const ProcId& proc, const RankOrder& order) override {
    if (deaf.contains(proc)) return "it is deaf";
    ordered.emplace_back(proc, order.kind);
    return "";
  }
  void hear_ranks() override {}
  std::uint64_t highest_probe(const std::vector<ProcId>&, ProbeMode) override { return 0; }
  std::vector<ProbeMark> probe_marks(const std::vector<ProcId>&, ProbeMode) override { return {}; }
  bool arm(const std::vector<ProcId>&, const Step&, ProbeMode) override { return true; }
  void confirm(const std::vector<ProcId>&, std::uint64_t) override {}
  void disarm(const std::vector<ProcId>&) override {}
  void set_changing(const std::vector<ProcId>&, bool) override {}
  void add_namespace(const Namespace&) override {}
  void remove_namespace(const std::string&) override {}
  void notify(const RankEvent&) override {}
  void notify_dead(const ProcId&) override {}
  void connection_data(const ProcId&, Blob) override {}
  void ended(const JobOutcome& how) override { outcome = how; }
};

// Pod u1 of a job of three pods with two ranks each, whose lead is u0; its ranks are past MPI_Init.
class APod : public ::testing::Test {
 protected:
  Membership members{Epoch{1},
                     {{"u0", "pod-0", "pod-0:1", 2, "", 0},
                      {"u1", "pod-1", "pod-1:1", 2, "", 0},
                      {"u2", "pod-2", "pod-2:1", 2, "", 0}}};
  Edges edges;
  Pod pod{{.uid = "u1", .name = "pod-1", .job = "job", .slots = 2}, edges};

  void SetUp() override {
    const Namespace space = lay_out("job.1", members.members);
    JobRecord record{Fence{1}, Epoch{1}, "u0", 2, kLeaverGrace, ProbeMode::All, {"u0", "u1", "u2"}, {space}};
    pod.receive(Step{.kind = StepKind::Prepare, .number = 1, .record = record}, "u0");
    pod.receive(Step{.kind = StepKind::Launch, .number = 2, .space = "job.1"}, "u0");
    for (const ProcId& proc : ranks()) {
      pod.rank_connected(proc);
      report(RankReport::Kind::Hello, proc);
    }
    ASSERT_EQ(edges.sent_to<StepDone>("u0").size(), 2u);
    edges.sent.clear();
  }
  std::vector<ProcId> ranks() const { return ranks_of(members.members[1]); }
  void report(RankReport::Kind kind, const ProcId& proc, const std::string& change = "") {
    RankReport report;
    report.kind = kind;
    report.proc = proc;
    report.change = change;
    pod.rank_reported(report);
  }
  // The lead leaves, and this pod is the next.
  void hand_over() {
    next = next_membership(members, {}, {"u0"});
    HandOver all;
    all.record = JobRecord{Fence{1},     next.epoch,     "u0",         2,
                           kLeaverGrace, ProbeMode::All, {"u1", "u2"}, {lay_out("job.1", members.members)}};
    pod.receive(all, "u0");
  }
  void come_to_lead() { pod.receive(NewLead{"u1", next}, "u0"); }
  Membership next;
};

}  // namespace empi::agent
