// SPDX-License-Identifier: Apache-2.0
// The ranks of one pod, as its agent knows them: what PMIx, their library and the kernel have said. A value.
#pragma once
#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/protocol/agent_messages.hpp"

namespace empi::agent {

// A rank of this pod.
struct LocalRank {
  bool running = true;
  bool connected = false;  // to PMIx: an MPI program
  bool hello = false;      // linked with libelastic_mpi, and malleable
  bool finalized = false;  // its MPI_Finalize is complete
  bool parked = false;     // has helper threads that never came back
  std::optional<RankExited> end = {};
  // After MPI_Finalize a rank may return what it likes; before it, only a program without MPI may end,
  // well.
  bool may_exit(int code) const { return finalized || (code == 0 && !connected && !hello); }
};

class LocalRanks {
 public:
  void add(const ProcId& proc) { ranks_[proc] = {}; }
  LocalRank* find(const ProcId& proc);
  const LocalRank* find(const ProcId& proc) const;
  void heard(const RankReport& report);  // of a rank of ours
  // What is to be said of the end of a rank that has run.
  RankExited ended(const ProcId& proc, int code, int signal, std::vector<std::string> tail);
  void forget(const std::string& space);  // those of the namespace that have ended

  std::vector<ProcId> running() const;
  std::vector<ProcId> parked() const;       // those that run, and have parked threads
  std::vector<ProcId> unconnected() const;  // that PMIx has not seen, and that may have ended
  std::size_t count_running() const;
  int count_connected() const;
  // All that a lead is to know of them, each second again.
  Beat whole_state() const;

 private:
  std::map<ProcId, LocalRank> ranks_;
  std::optional<RankReport> queue_;  // the last word of one that keeps the queue
};

}  // namespace empi::agent
