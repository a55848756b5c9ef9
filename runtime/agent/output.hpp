// SPDX-License-Identifier: Apache-2.0
// What the ranks print: read through pipes, forwarded line by line with a prefix, the last lines kept.
#pragma once
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "runtime/agent/mpi_messages.hpp"
#include "runtime/base/unique_fd.hpp"
#include "runtime/base/wakeup.hpp"
#include "runtime/protocol/ids.hpp"

namespace empi::agent {

// Cuts a stream into lines; a line longer than the limit is cut there.
class LineSplitter {
 public:
  // Complete lines (without their newline) that `bytes` has made.
  std::vector<std::string> feed(std::string_view bytes);
  std::string rest();  // what is left without a newline; empties it

 private:
  std::string partial_;
};

// Keeps a flood of the same one or two lines out of the logs: Open MPI repeats some errors for ever.
class Repeats {
 public:
  // `lines` without those that have come many times in a row; says how many those were as soon as others
  // come.
  std::vector<std::string> thin(std::vector<std::string> lines);
  std::vector<std::string> rest();  // the same at the end of the stream

 private:
  std::string last_, before_;
  std::uint64_t repeated_ = 0;
};

// Where lines come from: a rank's stdout (1), its stderr (2), or what MPI says by itself
// (mpi_parameters.hpp).
inline constexpr int kMpiMessages = 3;

// Lines of MPI are no output of the program: they are kept, in a small number, and forwarded to stderr only
// when their rank fails; the log of the agent has them at level debug.
//
// Has a thread of its own, so that a reader of our stdout that is slow holds up the ranks that print, and
// never the agent. Thread-safe.
class Output {
 public:
  explicit Output(bool prefix, std::string pod);
  ~Output();  // forwards what is there, then stops
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // `fd`: the reading end of a rank's stdout (target 1), stderr (2) or kMpiMessages.
  void add(const ProcId& proc, UniqueFd fd, int target);
  // Takes `text` as if it had come from there. Does not wait.
  void say(const ProcId& proc, int target, std::string_view text);
  // The rank has failed by itself: what MPI has said in it is forwarded.
  void failed(const ProcId& proc);
  // Waits until everything that ranks have printed so far is read, at most `limit`.
  void drain(std::chrono::milliseconds limit);
  std::vector<std::string> tail(const ProcId& proc) const;
  // After the rank's exit: keeps forwarding until its pipes close, then forgets it (its tail stays a while).
  void forget(const ProcId& proc);

 private:
  struct Stream {
    ProcId proc;
    UniqueFd fd;
    int target = 1;
    LineSplitter lines = {};
    Repeats repeats = {};              // not of stdout: what a program prints there is its result
    PrintedByMpi printed_by_mpi = {};  // of stderr
  };
  struct Kept {
    std::deque<std::string> tail;      // last lines that were forwarded
    std::deque<std::string> messages;  // of MPI, last lines that were not
    bool failed = false;
  };
  void run();
  bool read_some(Stream& stream);  // false at end of file
  void emit(const ProcId& proc, int target, const std::vector<std::string>& lines);
  void keep_messages(const ProcId& proc, const std::vector<std::string>& lines);
  void show_messages_of_failed();
  void forward(Stream& stream, std::vector<std::string> lines);

  const bool prefix_;
  const std::string pod_;
  Wakeup wakeup_;
  mutable std::mutex mutex_;
  std::condition_variable passed_;
  std::uint64_t requested_ = 0, done_ = 0;  // rounds over all pipes, for drain()
  struct Saying {
    ProcId proc;
    int target;
    std::vector<std::string> lines;
  };
  bool stopping_ = false;
  std::vector<Saying> said_;
  std::vector<Stream> incoming_;
  std::map<ProcId, Kept> kept_;
  std::vector<Stream> streams_;  // the thread's own
  std::thread thread_;
};

}  // namespace empi::agent
