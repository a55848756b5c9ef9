// SPDX-License-Identifier: Apache-2.0
// The MPI program of a simulated history: ranks that report, build worlds, probe, agree in windows and end,
// as the rank library does, seen from their agents.
#pragma once
#include <map>
#include <set>
#include <string>

#include "runtime/agent/lead/testing/pod.hpp"

namespace empi::agent::histories {

class Program {
 public:
  Program(World& world, bool tasks) : world_(world), tasks_(tasks) {}

  // --- What agents ask.
  void launch(Pod& pod, bool joining);
  void build(Pod& pod, const ChangePlan& plan);
  bool arm(std::uint64_t iteration) const { return iteration > probes(); }
  void confirm(Pod& pod, const ChangePlan& plan, std::uint64_t iteration);
  void interrupt(Pod& pod, const ChangePlan& plan);
  void give_up(Pod& pod, const ChangePlan& plan);
  void release(Pod& pod);
  void end_ranks(Pod& pod, const std::vector<ProcId>& ranks, int signal);
  void attach(Pod& pod, const ChangePlan& plan);
  void depart(Pod& pod, const ChangePlan& plan);
  std::uint64_t probes() const;  // of every rank: they iterate in step
  int connected(const Pod& pod) const;

  // --- What befalls ranks.
  void kill(const ProcId& proc);      // by a signal from outside
  void pod_died(Pod& pod);            // or its agent has ended its ranks
  void hang(const ProcId& proc);      // neither votes nor ends, until it is killed
  void linger() { lingers_ = true; }  // leavers do not end by themselves, once
  // All ranks come to the program's end; those of `failing` return code 7.
  void finish(const std::set<ProcId>& failing);

  bool finished() const { return finished_; }
  bool has_failed() const { return failed_; }  // a rank has returned an error, and was not killed before
  bool in_window() const;
  bool released(const std::string& pod) const { return released_.contains(pod); }
  bool is_alive(const ProcId& proc) const { return ranks_.contains(proc) && ranks_.at(proc).alive; }

 private:
  struct Rank {
    std::string pod;
    bool alive = true, connected = false, hangs = false, finalized = false, member = false, leaving = false;
  };
  // One change, as far as MPI knows it.
  struct Attempt {
    ChangePlan plan;
    std::vector<ProcId> everybody;  // old ranks and joiners
    std::set<ProcId> ordered, voted, deciding;
    bool built = false, cancelled = false, confirmed = false, decided = false, agreed = true;
    std::set<std::string> interrupted;  // pods
  };

  Pod* pod_of(const ProcId& proc);
  void say(const ProcId& proc, RankReport::Kind kind, const std::string& change, bool ok, Ms delay);
  Attempt& attempt_of(const ChangePlan& plan);
  void say_built(const Attempt& attempt);
  void try_build(Attempt& attempt);
  void vote(const std::string& change, const ProcId& proc);
  void try_decide(Attempt& attempt);
  void exit(const ProcId& proc, int code, int signal);
  void finalize(const ProcId& proc, int code);

  World& world_;
  const bool tasks_;
  bool finished_ = false, lingers_ = false, failed_ = false;
  int casualties_ = 0;  // ranks that have ended, or stand still
  std::map<ProcId, Rank> ranks_;
  std::map<std::string, Attempt> attempts_;  // by change
  std::set<std::string> released_;
  ProcId keeper_;  // of the queue
};

}  // namespace empi::agent::histories
