// SPDX-License-Identifier: Apache-2.0
// A small child process that cleans up after the agent, whatever way the agent ends.
//
// It is forked first of all and waits for the agent's end of a pipe to close. Then it kills the process
// groups it was told of (ranks die with the agent anyway, but not what they have started) and removes the
// folders. When the agent is PID 1 of its container the kernel does the same by taking everything down.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "runtime/base/unique_fd.hpp"

namespace empi::agent {

class Janitor {
 public:
  // Fork before any thread exists. `folders` are removed with everything in them (the folders too).
  explicit Janitor(const std::vector<std::string>& folders);
  ~Janitor();  // has it clean up, and waits for it
  Janitor(const Janitor&) = delete;
  Janitor& operator=(const Janitor&) = delete;

  void group_started(pid_t group);
  void group_ended(pid_t group);
  pid_t pid() const { return pid_; }  // -1: it was killed
  // It has ended before the agent: takes it in, so that others can be waited for. From now on the agent
  // cleans up by itself, if it ends well.
  void was_killed();

 private:
  void tell(pid_t entry);

  const std::vector<std::string> folders_;
  pid_t pid_ = -1;
  UniqueFd pipe_;
};

}  // namespace empi::agent
