// SPDX-License-Identifier: Apache-2.0
// Starts, watches and kills the ranks of this pod.
#pragma once
#include <sys/types.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/protocol/ids.hpp"

namespace empi::agent {

class Janitor;
class Output;

struct RankExit {
  ProcId proc;
  int code = 0;    // when signal is 0
  int signal = 0;  // that killed it
};

class Launcher {
 public:
  Launcher(Output& output, Janitor& janitor) : output_(output), janitor_(janitor) {}
  ~Launcher();  // kills what is left and waits for it
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;

  // Starts `command` in a process group of its own; it dies when the agent dies. Call from the thread that
  // lives as long as the process (the kernel ties the child to the thread). A command that cannot be run
  // exits with 127 and says why on the rank's stderr.
  void launch(const ProcId& proc, const std::vector<std::string>& command,
              const std::vector<std::string>& environment);

  // Takes in what has ended (after SIGCHLD), other people's orphans too when we are PID 1.
  std::vector<RankExit> reap();

  void kill(const ProcId& proc, int signal);
  void kill_all(int signal);
  // What they do then is their own doing.
  void signal_all(int signal) const;
  // A rank that this signal would end or that ignores it, for it has no handler (yet).
  std::optional<ProcId> without_handler(int signal) const;
  std::size_t running() const { return ranks_.size(); }

 private:
  struct Rank {
    ProcId proc;
    bool killed_by_us = false;
  };
  static void send(pid_t pid, Rank& rank, int signal);
  Output& output_;
  Janitor& janitor_;
  std::map<pid_t, Rank> ranks_;
};

}  // namespace empi::agent
