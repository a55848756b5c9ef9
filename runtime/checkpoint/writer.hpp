// SPDX-License-Identifier: Apache-2.0
// Writing a checkpoint to a volume that may be slow, full or gone, beside the program: a thread with what it
// needs. Each returns in words what went wrong, "" when nothing did. No HDF5 in here: the program may be
// using it, and it is not for two threads at a time.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/base/large_bytes.hpp"
#include "runtime/checkpoint/file.hpp"

namespace empi::checkpoint {

// Set by whoever does not need the result any more; looked at between two writes.
using Abandoned = std::atomic<bool>;

// What one rank writes. `data` of a rank is the concatenation of its share of every part.
struct Share {
  std::string path;
  Contents contents;
  Places places;
  std::size_t rank = 0;
  LargeBytes data;
  std::vector<Segment> header;  // of rank 0
};

// Writes the share, its checksums last, and waits until the volume has it.
std::string write_share(const Share& share, const Abandoned& abandoned);

// When all ranks have: looks whether all of it is in the file, gives it its name, and deletes what is older
// than the `keep` newest whole ones of the program. folder: of both; part: name of the file now.
std::string finish(const std::string& folder, const std::string& part, const Contents& contents,
                   const Places& places, int keep, const Abandoned& abandoned);

// Names of all files of a folder; makes the folder if it is missing. Sets `error` in words.
std::vector<std::string> list(const std::string& folder, std::string& error);

// At most one piece of work at a time, on a thread. When it goes, it waits a second for the thread to end;
// one that hangs in the volume is left behind with what it uses.
class Beside {
 public:
  using Work = std::function<std::string(const Abandoned&)>;
  Beside() = default;
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;
  ~Beside();

  // Requires that nothing is in work. Work owns all that it uses.
  void start(Work work);
  bool busy() const;     // in work; false when it has ended and its result waits, and when there is none
  std::string result();  // of the work that has ended; once
  // The result is not needed: what is in work ends by itself, and does not keep this busy.
  void abandon();
  double seconds() const;  // since the work began, until it ended

 private:
  struct Task;
  std::shared_ptr<Task> task_;
};

}  // namespace empi::checkpoint
