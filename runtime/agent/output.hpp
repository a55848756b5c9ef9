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

// Has a thread of its own, so that a reader of our stdout that is slow holds up the ranks that print, and
// never the agent. Thread-safe.
class Output {
 public:
  explicit Output(bool prefix, std::string pod);
  ~Output();  // forwards what is there, then stops
  Output(const Output&) = delete;
  Output& operator=(const Output&) = delete;

  // Takes ownership of the reading end `fd` of a rank's stdout (target 1) or stderr (target 2).
  void add(const ProcId& proc, int fd, int target);
  // Forwards `text` as if the rank had printed it. Does not wait.
  void say(const ProcId& proc, int target, std::string_view text);
  // Waits until everything the rank has printed so far is read, at most `limit`.
  void drain(const ProcId& proc, std::chrono::milliseconds limit);
  std::vector<std::string> tail(const ProcId& proc) const;
  // After the rank's exit: keeps forwarding until its pipes close, then forgets it (its tail stays a while).
  void forget(const ProcId& proc);

 private:
  struct Stream {
    ProcId proc;
    int fd = -1, target = 1;
    LineSplitter lines;
    Repeats repeats;  // of stderr; what a program prints to stdout is its result
  };
  void run();
  bool read_some(Stream& stream);  // false at end of file
  void emit(const ProcId& proc, int target, const std::vector<std::string>& lines);
  static std::vector<std::string> thinned(Stream& stream, std::vector<std::string> lines);
  void wake();

  const bool prefix_;
  const std::string pod_;
  int wake_ = -1;
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
  std::map<ProcId, std::deque<std::string>> tails_;
  std::vector<Stream> streams_;  // the thread's own
  std::thread thread_;
};

}  // namespace empi::agent
