// SPDX-License-Identifier: Apache-2.0
// The process of a forward model that is a program of its own: started, spoken to in lines, and gone when
// nobody needs it any more.
#pragma once
#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <vector>

#include "runtime/base/unique_fd.hpp"

namespace surrogate {

using Deadline = std::chrono::steady_clock::time_point;

/// seconds: from now.
Deadline deadline_in(double seconds);

/// A program of the user's, in a process group of its own, with pipes to its input and from its output; its
/// messages go to ours. It never sees that we are a rank: the variables of Open MPI, PMIx and Elastic MPI are
/// not in its environment, so that it may use MPI itself. It is killed, with all of its group, when this
/// goes, and by the kernel when the thread that started it ends.
class Child {
 public:
  struct Start {
    std::vector<std::string> words;        ///< program and arguments; looked up in PATH
    std::string folder;                    ///< where it runs; empty: here
    std::vector<std::string> environment;  ///< NAME=VALUE besides ours
  };
  /// Throws std::runtime_error when there is no such program, with the system's reason.
  explicit Child(const Start& start);
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;
  ~Child();

  /// False when it has closed its input, or ended.
  bool write_line(const std::string& line);
  /// Its next line; nothing when it has ended or the time is over, and when the line has more than 64 MiB.
  std::optional<std::string> read_line(Deadline until);
  /// "" for an end with status 0, else how it ended: "exit status 3", "signal 9 (Killed)", or that it had not
  /// at the deadline; then it is killed. What it still writes to its output is dropped, and whoever of its
  /// group has outlived it is killed.
  std::string wait(Deadline until);
  bool running();

 private:
  void kill_all();
  bool reap(bool block);

  pid_t pid_ = -1;
  std::optional<int> status_;
  empi::UniqueFd input_, output_;
  std::string buffer_;
};

}  // namespace surrogate
