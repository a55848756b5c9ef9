// SPDX-License-Identifier: Apache-2.0
// Runs a program of ours in a test: reads its first line, stops it by its pid.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

namespace empi::sidecar::testing {

class Process {
 public:
  // Starts it with this environment added; throws std::runtime_error when it cannot be. Its output goes to
  // `log` when there is one (with stderr), and to line() otherwise.
  Process(const std::vector<std::string>& command, const std::vector<std::string>& environment,
          const std::string& log = "");
  Process(const Process&) = delete;
  ~Process();  // kills it if it still runs

  // The next line of its stdout; throws when none comes within the time.
  std::string line(int timeout_seconds);
  // Sends the signal and waits: the exit status, or 128 + signal. Throws when it does not end in time.
  int stop(int signal, int timeout_seconds);
  int wait(int timeout_seconds);

 private:
  pid_t pid_ = -1;
  int out_ = -1;
};

}  // namespace empi::sidecar::testing
