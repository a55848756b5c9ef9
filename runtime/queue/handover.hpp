// SPDX-License-Identifier: Apache-2.0
// What a process needs to become the master in the middle of a phase, in place of one that leaves or is lost.
#pragma once
#include <optional>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "runtime/queue/connection.hpp"
#include "runtime/queue/phase.hpp"
#include "runtime/queue/queue.hpp"

namespace empi::queue {

struct HandoverState {
  Phase phase;
  TaskQueue queue;
  Bytes results;               // of the tasks that are done
  std::set<WorkerId> workers;  // those that will come over
  WorkerId predecessor;
  Bytes pack() const;
  static HandoverState unpack(const Bytes& bytes);  // throws std::runtime_error
};

// A worker has done tasks: `all`, of all tasks of the phase, by index, gets the results of those that were
// not done before. Throws std::runtime_error when they are not `width` bytes each, or no tasks of the phase.
void record_results(TaskQueue& queue, Bytes& all, std::int64_t width, const WorkerId& worker, Range tasks,
                    const TaskTimes& times, std::span<const std::byte> results);

struct Handover {
  HandoverState state;
  std::optional<Connection> predecessor = {};  // none: it is lost
  std::vector<Range> in_hand = {};             // what this process had and has not done
  std::vector<Message> early = {};             // what the predecessor has sent since
  std::int64_t since_ns = 0;                   // when it was offered
  // Of a predecessor that is lost: where the workers were told to come then, who else is lost, and the
  // results of the phases before, for those that may not have got them.
  std::optional<Listener> listener = {};
  Address address = {};
  std::set<WorkerId> lost = {};
  std::vector<std::pair<Phase, SharedBytes>> past = {};
};

}  // namespace empi::queue
