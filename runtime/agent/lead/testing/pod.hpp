// SPDX-License-Identifier: Apache-2.0
// A simulated pod: the real Lead, Outbox, Inbox, Requests, RunningClock and tokens' rule, around which an
// agent without processes does what the lead asks. What its ranks do is in program.hpp.
#pragma once
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "runtime/agent/lead/lead.hpp"
#include "runtime/agent/lead/testing/network.hpp"
#include "runtime/agent/pod/gathered_reports.hpp"
#include "runtime/agent/wire/inbox.hpp"
#include "runtime/agent/wire/outbox.hpp"
#include "runtime/agent/wire/requests.hpp"
#include "runtime/base/log.hpp"

namespace empi::agent::histories {

class Pod;
class Program;

// What one pod has to do with the others as their lead: the Lead itself, the channel, and the coding of all
// that goes through it. Benchmarks ask for it; then programs do all that real ones do, nobody is late by
// chance, and the batches of this pod travel as bytes.
struct Meter {
  std::string uid;
  std::chrono::nanoseconds busy{0};   // processor time
  std::uint64_t heard = 0, said = 0;  // messages, those of the own pod not counted
  std::uint64_t encoded = 0;          // bytes of messages that were encoded
  bool on = false, running = false;
};

// What all pods of a history share.
struct World {
  explicit World(std::uint64_t seed) : dice(seed), network(dice) {}
  Events events;
  Dice dice;
  Network network;
  Program* program = nullptr;
  std::map<std::string, std::unique_ptr<Pod>> pods;
  MessageCount messages{};
  std::set<std::string> unreachable;       // pods that were given up, and could not be reached then
  std::function<void(const Pod&)> on_end;  // of a pod, whose outcome is there
  std::vector<std::string> violations;
  std::vector<std::string> story;  // what has befallen whom, to be read where something is violated
  Meter* meter = nullptr;

  void tell(const std::string& what) {
    story.push_back(
        std::to_string(std::chrono::duration_cast<Ms>(events.now().time_since_epoch()).count() % 3600000) +
        " ms: " + what);
    log::debug("{}", story.back());
  }

  Pod* find(const std::string& uid);
};

class Pod {
 public:
  Pod(World& world, Member member, std::vector<std::string> tokens);

  // --- As a controller sees it.
  ApiAnswer start(const StartRequest& request);
  ApiAnswer change(const ChangeRequest& request);
  ApiAnswer cancel(const std::string& id, Fence fence);
  bool is_lead() const { return lead_ && lead_uid_ == uid(); }
  const Lead& lead() const { return *lead_; }

  // --- What befalls it.
  void die() { alive_ = false; }
  void stall(Ms time);
  // For how long, of the time in which it ran, this pod has heard nothing of the other, or could tell it
  // nothing.
  Ms silence_of(const std::string& other) const { return since(heard_, other); }
  Ms distance_to(const std::string& other) const { return since(reached_, other); }
  void set_tokens(std::vector<std::string> tokens) { tokens_ = std::move(tokens); }

  // --- What its ranks do.
  void report(RankReport report);
  void rank_ended(const RankExited& exit);
  void collective(const std::string& kind, RankRuns procs, std::function<void()> done);  // of PMIx

  const Member& member() const { return member_; }
  const std::string& uid() const { return member_.uid; }
  bool alive() const { return alive_; }
  bool over() const { return over_; }
  bool started() const { return started_; }  // else it waits for a lead, and its controller may delete it
  bool responds() const { return alive_ && world_.events.now() >= stalled_until_; }
  const JobOutcome& outcome() const { return outcome_; }
  const Membership& membership() const { return membership_; }
  const std::optional<ChangePlan>& plan() const { return plan_; }
  const std::set<ProcId>& ranks() const { return ranks_; }

 private:
  struct Peer {
    std::unique_ptr<Outbox> outbox;
    bool busy = false;
  };

  void post(std::function<void()> what);  // to the reactor
  void later(Ms delay, std::function<void()> what);
  Moment moment() const;
  Beat whole_state() const;
  void every_tick();
  void every_second();
  void follow_lead();
  void make_lead();
  void receive(const Message& message, const std::string& from);
  void send(const std::string& to, const Message& message) { send_all({to}, message); }
  void send_all(const std::vector<std::string>& uids, const Message& message);
  void send_to_lead(const Message& message);
  void send_reports();
  void pump(const std::string& to);
  Meter* meter() const;
  Batch through_bytes(const Batch& batch, const Pod& to) const;
  void attempted(const std::string& to, const std::shared_ptr<Peer>& peer, Attempt attempt);
  Attempt arrive(const Batch& batch, const std::string& token);
  void add_peer(const std::string& to);
  void drop_peer(const std::string& to);
  void part_from(const std::string& to, bool dismiss);
  void pod_lost(const std::string& uid, const std::string& why);
  void end(const JobOutcome& outcome);
  void adopt(const JobRecord& record);
  void adopt(const Namespace& space);
  void answer(const std::string& to, const Step& step, StepAnswer answer);

  void on_message(const ModexOfPod& m, const std::string& from);
  void on_message(const Reply& m, const std::string& from);
  void on_message(const Step& m, const std::string& from);
  void on_message(const NewLead& m, const std::string& from);
  void on_message(const HandOver& m, const std::string& from);
  void on_message(const PassedOn& m, const std::string& from);
  void on_message(const Dropped& m, const std::string& from);
  void on_message(const End& m, const std::string& from);
  void fetch(const Step& m, const std::string& from);
  void do_step(const Step& m, StepAnswer& done);

  World& world_;
  const Member member_;
  std::vector<std::string> tokens_;
  bool alive_ = true, over_ = false, started_ = false;
  Time stalled_until_{}, reactor_free_{};
  Ms stalled_{0};  // in all
  struct Heard {
    Time when{};
    Ms stalled{0};
  };
  using Contacts = std::map<std::string, Heard>;
  Ms since(const Contacts& contacts, const std::string& other) const;
  Contacts heard_, reached_;
  JobOutcome outcome_;
  Membership membership_;
  std::string lead_uid_;
  NamespaceTable spaces_;
  std::optional<ChangePlan> plan_;
  std::set<ProcId> ranks_;
  std::vector<ProcId> hello_;
  std::vector<RankExited> ended_;
  GatheredReports reports_;
  bool reports_timed_ = false;
  std::optional<RankReport> queue_;
  int connected_told_ = -1;
  std::optional<Lead> lead_;
  Requests requests_;
  RunningClock clock_;
  Inbox inbox_;
  std::map<std::string, std::shared_ptr<Peer>> peers_;
  int sessions_ = 0;
};

}  // namespace empi::agent::histories
