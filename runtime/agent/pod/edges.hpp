// SPDX-License-Identifier: Apache-2.0
// What a Pod (pod.hpp) does and asks outside of itself: other pods, ranks, PMIx, time. The agent does it with
// threads, sockets, processes and shared memory, simulated histories (lead/testing) with a clock and dice.
//
// All are called from the thread of the Pod, and return at once. None calls the Pod before it has returned,
// except hear_ranks(). They may throw std::exception; then the step in hand has failed.
#pragma once
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "runtime/agent/lead/lead.hpp"

namespace empi::agent {

class PodEdges {
 public:
  virtual ~PodEdges() = default;

  // --- Time.
  virtual Moment moment() = 0;
  virtual void post(std::function<void()> what) = 0;  // to be called after all that was posted before
  virtual void after(std::chrono::milliseconds delay, std::function<void()> what) = 0;

  // --- Other pods, by their uids.
  virtual bool knows(const std::string& uid) = 0;
  virtual void admit(const std::string& uid, const std::string& address) = 0;  // no-op for one that it knows
  virtual void send(const std::vector<std::string>& uids, const Message& message) = 0;  // to such as it knows
  virtual void part(const std::string& uid) = 0;     // forgets it once it has what is queued, or is silent
  virtual void dismiss(const std::string& uid) = 0;  // the same, and from then on it is a stranger
  virtual void drop(const std::string& uid) = 0;     // forgets it, and what is queued

  // --- Ranks of this pod.
  virtual void launch(const ProcId& proc, bool joining) = 0;
  virtual void kill(const ProcId& proc, int signal) = 0;
  virtual void kill_all() = 0;
  // Why the order is not on its way to the rank, in words; empty when it is.
  virtual std::string order(const ProcId& proc, const RankOrder& order) = 0;
  virtual void hear_ranks() = 0;  // takes in what they have said up to now: Pod::rank_reported()
  // Their pages (rank_pages.hpp has the words).
  virtual std::uint64_t highest_probe(const std::vector<ProcId>& procs, ProbeMode mode) = 0;
  virtual std::vector<ProbeMark> probe_marks(const std::vector<ProcId>& procs, ProbeMode mode) = 0;
  virtual bool arm(const std::vector<ProcId>& procs, const Step& step, ProbeMode mode) = 0;
  virtual void confirm(const std::vector<ProcId>& procs, std::uint64_t iteration) = 0;
  virtual void disarm(const std::vector<ProcId>& procs) = 0;
  virtual void set_changing(const std::vector<ProcId>& procs, bool changing) = 0;

  // --- PMIx.
  virtual void add_namespace(const Namespace& space) = 0;
  virtual void remove_namespace(const std::string& name) = 0;
  virtual void notify(const RankEvent& event) = 0;   // tells the ranks here
  virtual void notify_dead(const ProcId& proc) = 0;  // the same, of a rank's death
  using Blob = std::function<void(int status, std::string bytes)>;
  // `reply` is called later, on the Pod's thread.
  virtual void connection_data(const ProcId& proc, Blob reply) = 0;  // of a rank of this pod

  // The job is over for this pod: no rank survives it.
  virtual void ended(const JobOutcome& outcome) = 0;
};

}  // namespace empi::agent
