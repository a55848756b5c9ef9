// SPDX-License-Identifier: Apache-2.0
// A pod of a simulated history: the real Pod (pod/pod.hpp) and Lead, on simulated edges. What its ranks do is
// in program.hpp, its line to other pods in simulated_peers.hpp.
#pragma once
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/agent/lead/testing/simulated_peers.hpp"
#include "runtime/agent/lead/testing/world.hpp"
#include "runtime/agent/pod/pod.hpp"

namespace empi::agent::histories {

class SimulatedPod final : public PodEdges {
 public:
  SimulatedPod(World& world, Member member, std::vector<std::string> tokens);

  // --- As a controller sees it.
  ApiAnswer start(const StartRequest& request) { return pod_.start(request); }
  ApiAnswer change(const ChangeRequest& request);
  ApiAnswer cancel(const std::string& id, Fence fence) { return pod_.cancel_change(id, fence); }
  ApiAnswer name_lead(const LeadRequest& request) { return pod_.name_lead(request); }
  MembershipView view() const { return pod_.view(); }
  bool is_lead() const { return pod_.is_lead(); }
  const Lead& lead() const { return pod_.lead(); }

  // --- What befalls it.
  void die() { alive_ = false; }
  void stall(Ms time);
  void terminate();  // as a kubelet does: SIGTERM
  void set_tokens(std::vector<std::string> tokens) { peers_.set_tokens(std::move(tokens)); }
  // For how long, of the time in which it ran, this pod has heard nothing of the other, or could tell it
  // nothing.
  Ms silence_of(const std::string& other) const { return peers_.silence_of(other); }
  Ms distance_to(const std::string& other) const { return peers_.distance_to(other); }

  // --- What its ranks do. The agent acts on it in its turn, unless it is over.
  void act(std::function<void(Pod&)> what);

  const Member& member() const { return member_; }
  const std::string& uid() const { return member_.uid; }
  bool alive() const { return alive_; }
  bool over() const { return pod_.over(); }
  bool started() const { return pod_.started(); }  // else it waits for a lead, and may be deleted
  bool responds() const { return alive_ && world_.events.now() >= stalled_until_; }
  const JobOutcome& outcome() const { return pod_.outcome(); }
  const Membership& membership() const { return pod_.membership(); }
  const std::optional<ChangePlan>& plan() const { return pod_.plan(); }
  const std::set<ProcId>& ranks() const { return ranks_; }  // all that it has started
  SimulatedPeers& peers() { return peers_; }
  Time stalled_until() const { return stalled_until_; }
  Ms stalled() const { return stalled_; }  // in all
  RunningTime running_time() const { return clock_.now(); }
  Meter* meter() const;  // ours, while it measures us
  void receive(const std::shared_ptr<const Batch>& batch);
  void hear_again(const std::string& uid);
  void unreachable(const std::string& uid, Standing standing, bool reached);
  void reached(const std::string& uid) { pod_.reached(uid); }

  // --- PodEdges.
  Moment moment() override { return {world_.events.now(), clock_.now(), 0}; }
  void post(std::function<void()> what) override;
  void after(Ms delay, std::function<void()> what) override;
  bool knows(const std::string& uid) override { return peers_.knows(uid); }
  void admit(const std::string& uid, const std::string& address) override;
  void send(const std::vector<std::string>& uids, const Message& message) override;
  void part(const std::string& uid) override { peers_.part(uid, false); }
  void dismiss(const std::string& uid) override { peers_.part(uid, true); }
  void drop(const std::string& uid) override;
  void launch(const ProcId& proc, bool joining) override;
  void kill(const ProcId& proc, int signal) override;
  void kill_all() override;
  std::string order(const ProcId& proc, const RankOrder& order) override;
  void hear_ranks() override {}
  std::uint64_t highest_probe(const std::vector<ProcId>& procs, ProbeMode mode) override;
  std::vector<ProbeMark> probe_marks(const std::vector<ProcId>& procs, ProbeMode mode) override;
  bool arm(const std::vector<ProcId>& procs, const Step& step, ProbeMode mode) override;
  void confirm(const std::vector<ProcId>& procs, std::uint64_t iteration) override;
  void disarm(const std::vector<ProcId>&) override {}
  void set_changing(const std::vector<ProcId>&, bool) override {}
  void add_namespace(const Namespace&) override {}
  void remove_namespace(const std::string&) override {}
  void notify(const RankEvent& event) override;
  void notify_dead(const ProcId&) override {}
  void connection_data(const ProcId& proc, Blob reply) override;
  void ended(const JobOutcome& outcome) override;

 private:
  bool has_its_turn() const;
  void act_on(const std::function<void()>& what);
  void take_the_next();
  void every_tick();
  void every_second();

  World& world_;
  const Member member_;
  bool alive_ = true;
  Time stalled_until_{}, reactor_free_{};
  std::deque<std::function<void()>> inbox_;
  Ms stalled_{0};
  std::set<ProcId> ranks_;
  RunningClock clock_;
  SimulatedPeers peers_;
  Pod pod_;
};

}  // namespace empi::agent::histories
