// SPDX-License-Identifier: Apache-2.0
// Who may hold one of a few places next: of the namespace that holds fewest, or is called to, and of these
// who came first. Who must wait comes back by itself, late perhaps, so it is called when its turn has come;
// who does not come then loses it, and so does who looks by and wants nothing. Not for use by two threads at
// once.
#pragma once
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "operator/controller/cluster.hpp"

namespace emj {

class Turns {
 public:
  using Instant = std::chrono::steady_clock::time_point;
  explicit Turns(int places) : places_(places) {}

  // Whether it has a place now, until leave(). If not, it waits in line.
  bool take(const JobKey& job, Instant now);
  void leave(const JobKey& job);
  // Those whose turn it is and who have not been called yet: they are, by this.
  std::vector<JobKey> call(Instant now);
  // A pass over the job begins. Whether it has left the line, by the one before, which took nothing.
  bool pass(const JobKey& job);
  bool forget(const JobKey& job);  // it waits for nothing any more; whether it did

 private:
  struct Waiting {
    JobKey job;
    std::optional<Instant> called{};
    bool tried = true;  // in the pass that is under way
  };
  // In line those that are before others.
  std::vector<Waiting*> order();
  int held(const JobKey& job) const;
  std::size_t free() const;

  const int places_;
  std::vector<Waiting> line_;
  std::map<std::string, int> held_;  // by namespace
};

}  // namespace emj
