// SPDX-License-Identifier: Apache-2.0
// What the ranks of a simulated history ask of PMIx, as Open MPI asks it: fences, the meeting of two worlds
// (a published port, looked up, and connect), connection data, published data, events. Each request is
// answered once, in time, and with what was put.
#pragma once
#include <cstdint>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runtime/agent/lead/testing/simulated_pod.hpp"

namespace empi::agent::histories {

class Traffic {
 public:
  explicit Traffic(World& world) : world_(world) {}

  using Done = std::function<void(bool well)>;
  // The pod's part of a collective of all `procs`.
  void collective(SimulatedPod& pod, const std::string& kind, const RankRuns& procs, Done done);
  // Accept and connect of the ranks of two worlds: `root` publishes what the others look up.
  void meet(const std::vector<SimulatedPod*>& pods, SimulatedPod& root, const std::string& port,
            const RankRuns& procs, const std::function<void(SimulatedPod&, bool well)>& done);
  // Something of everything, by ranks of members.
  void chat(const std::vector<SimulatedPod*>& members, const std::vector<ProcId>& ranks);

  // --- What pods ask.
  void give_connection_data(SimulatedPod& pod, const ProcId& proc, const PodEdges::Blob& reply);
  void hears(SimulatedPod& pod, const RankEvent& event);

  // Requests of pods that live and are not over, and that nobody has answered, in words.
  std::vector<std::string> unanswered() const;
  std::uint64_t answered() const { return answered_; }

 private:
  template <class Request>
  void ask(SimulatedPod& pod, const std::string& what, Request request,
           std::function<void(const Reply&)> done);
  std::uint64_t open(SimulatedPod& pod, const std::string& what);
  bool close(std::uint64_t number, const std::string& what);
  void fence_members(const std::vector<SimulatedPod*>& members, const std::vector<ProcId>& ranks);
  void exchange(SimulatedPod& from, SimulatedPod& to);
  void ask_connection_data(SimulatedPod& from, const ProcId& of);
  void raise(SimulatedPod& from);

  struct Open {
    std::string pod, what;
  };
  World& world_;
  std::map<std::uint64_t, Open> open_;
  std::map<std::string, std::set<std::uint64_t>> heard_;  // events, by pod
  std::uint64_t next_ = 1, next_key_ = 1, next_event_ = 1, answered_ = 0;
};

}  // namespace empi::agent::histories
