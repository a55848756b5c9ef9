// SPDX-License-Identifier: Apache-2.0
// The mirror: a worker on another pod that has the queue as the master has it, so that the loss of the master
// costs tasks in hand only (decision R8'). Pure. The queue is the same on both because it is told the same
// steps in the same order: none of them depends on a clock.
//
//   M -> S  Mirror     at the begin of a phase, or when S is chosen in one: the queue, the results so far
//   M -> S  Mirrored   the steps of a round of the master's server
//   S -> M  Mirrors    it has them; asked for once all tasks are done, and the phase does not end before
//   M -> *  Successor  who will be the master if this one is lost, and where: S listens already
#pragma once
#include <optional>
#include <span>
#include <vector>

#include "runtime/queue/handover.hpp"
#include "runtime/queue/packing.hpp"

namespace empi::queue {

// Steps of a queue that its mirror has not been told.
class MirrorLog {
 public:
  void came(const WorkerId& worker);
  void went(const WorkerId& worker);  // what it has goes back
  void took(const WorkerId& worker, int workers);
  void kept(const WorkerId& worker, const std::vector<Range>& kept);  // the rest goes back
  void did(const WorkerId& worker, Range tasks, const TaskTimes& times, std::span<const std::byte> results);
  bool empty() const { return empty_; }
  Bytes take();

 private:
  enum class Step : std::uint8_t { Came, Went, Took, Kept, Did };
  void begin(Step step, const WorkerId& worker);
  friend void replay(HandoverState& state, std::span<const std::byte> log);

  Packer out_;
  bool empty_ = true;
};

// The same steps at the mirror. Throws std::runtime_error when they are not those of this queue.
void replay(HandoverState& state, std::span<const std::byte> log);

// What a worker has that mirrors the queue.
struct Mirror {
  explicit Mirror(const std::string& host) : listener(host), address{host, listener.port(), random_key()} {}
  Listener listener;
  Address address;
  HandoverState state;
};

}  // namespace empi::queue
