// SPDX-License-Identifier: Apache-2.0
// The MPI program of a simulated history: ranks that report, build worlds, probe, agree in windows and end,
// as the rank library does, seen from their agents.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>

#include "runtime/agent/lead/testing/simulated_pod.hpp"
#include "runtime/agent/lead/testing/traffic.hpp"

namespace empi::agent::histories {

class Program {
 public:
  Program(World& world, bool tasks, bool recoverable = false)
      : world_(world), tasks_(tasks), recoverable_(recoverable), traffic_(world) {}

  // --- What agents ask.
  void launch(SimulatedPod& pod, const ProcId& proc, bool joining);
  // Why it does not reach the rank; else nothing.
  std::string order(SimulatedPod& pod, const ProcId& proc, const RankOrder& order);
  void confirm(SimulatedPod& pod, const ChangePlan& plan, std::uint64_t iteration);
  void kill(const ProcId& proc, int signal);
  std::uint64_t probes() const;  // of every rank: they iterate in step
  std::vector<ProbeMark> probe_marks(const std::vector<ProcId>& procs) const;
  Traffic& traffic() { return traffic_; }

  // --- What befalls ranks.
  void abort(const ProcId& proc);     // it calls MPI_Abort
  void pod_died(SimulatedPod& pod);   // or its agent has ended its ranks
  void hang(const ProcId& proc);      // neither votes nor ends, until it is killed
  void linger() { lingers_ = true; }  // leavers do not end by themselves, once
  // A rank that stays, in another pod than the lead's, is lost in the next vote that holds and from which on
  // the job can bear it, once all have voted: the others do not learn alike how that ended.
  void split_a_vote() { splits_ = true; }
  std::uint64_t split_votes() const { return split_; }
  // Its rank was that one, or has believed otherwise than what was decided then, perhaps.
  bool is_lost_by_vote(const std::string& pod) const { return lost_by_vote_.contains(pod); }
  bool has_lost_a_rank(const std::string& pod) const;
  // For a while ranks do not probe at the same places.
  void diverge(Ms time) { diverges_until_ = world_.events.now() + time; }
  // All ranks come to the program's end; those of `failing` return code 7.
  void finish(const std::set<ProcId>& failing);

  bool finished() const { return finished_; }
  // The pods of which a rank has returned an error, and was not killed before.
  const std::set<std::string>& failed_in() const { return failed_in_; }
  bool in_window() const;
  // Its queue goes from pod to pod by this change.
  bool passes_queue_on(const ChangePlan& plan) const;
  bool has_left(const std::string& pod) const;  // by a change of a master-worker program
  const ProcId& keeper() const { return keeper_; }
  Time keeps_since() const { return keeps_since_; }
  // It does so, and has not left.
  bool mirrors(const std::optional<ProcId>& proc) const {
    return proc == mirror_ && is_settled(mirror_) && !ranks_.at(mirror_).leaving;
  }
  const std::string& pod_of_queue() const { return ranks_.at(keeper_).pod; }
  bool recovering() const;  // a rank has yet to get its data
  bool released(const std::string& pod) const { return released_.contains(pod); }
  bool is_alive(const ProcId& proc) const { return ranks_.contains(proc) && ranks_.at(proc).alive; }
  bool is_connected(const ProcId& proc) const { return is_alive(proc) && ranks_.at(proc).connected; }
  bool is_settled(const ProcId& proc) const { return is_alive(proc) && ranks_.at(proc).hello; }

 private:
  struct Rank {
    std::string pod, recovery = {};  // its name, until the rank has its data
    bool alive = true, connected = false, hello = false, hangs = false, ending = false, finalized = false,
         member = false, leaving = false, finishing = false;
  };
  // One change, as far as MPI knows it.
  struct Attempt {
    ChangePlan plan;
    std::vector<ProcId> everybody;  // old ranks and joiners
    std::set<ProcId> ordered, voted, deciding;
    bool built = false, cancelled = false, confirmed = false, decided = false, agreed = true;
    std::set<std::string> interrupted;  // pods
    std::map<ProcId, Time> returns;     // when each leaves the window
  };

  SimulatedPod* pod_of(const ProcId& proc);
  void say(const ProcId& proc, RankReport::Kind kind, const std::string& change, bool ok, Ms delay);
  void connect(const ProcId& proc);
  void leave_init(SimulatedPod& pod);
  Attempt& attempt_of(const ChangePlan& plan);
  void try_build(Attempt& attempt);
  void say_built(const std::string& change, SimulatedPod& pod, bool well);
  void cancel(SimulatedPod& pod, const ProcId& proc, const std::string& change);
  void vote(const std::string& change, const ProcId& proc);
  void try_decide(Attempt& attempt);
  bool is_voting(const ProcId& proc) const;
  std::optional<ProcId> to_be_lost(const Attempt& attempt) const;
  void decide(Attempt& attempt, const ProcId& proc, bool yes);
  void split(Attempt& attempt, const ProcId& lost);
  void release(SimulatedPod& pod, const ProcId& proc);
  void attach(const ProcId& proc, const std::string& change);
  void depart(SimulatedPod& pod, const ProcId& proc, const std::string& change);
  void exit(const ProcId& proc, int code, int signal);
  void recover(const ProcId& proc, const std::string& name);
  void end(const ProcId& proc, int code);
  void finalize_later(const ProcId& proc);
  void finalize(const ProcId& proc, int code);

  World& world_;
  std::string mirror_of(const ProcId& keeper);
  void keep_queue(const ProcId& proc);

  const bool tasks_, recoverable_;
  bool finished_ = false, lingers_ = false;
  std::uint64_t split_ = 0;
  bool splits_ = false;
  std::set<std::string> lost_by_vote_;
  std::set<std::string> failed_in_;
  int casualties_ = 0;  // ranks that have ended, or stand still
  std::map<ProcId, Rank> ranks_;
  std::map<std::string, Attempt> attempts_;     // by change
  std::set<std::string> released_, lingering_;  // pods
  Time diverges_until_{};
  ProcId keeper_, mirror_;  // of the queue
  Time keeps_since_{};
  std::string queue_moved_by_;  // the last change that its keeper left by
  Traffic traffic_;
};

}  // namespace empi::agent::histories
