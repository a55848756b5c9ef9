// SPDX-License-Identifier: Apache-2.0
#include "runtime/queue/handover.hpp"

#include <cstring>
#include <stdexcept>

#include "runtime/queue/packing.hpp"

namespace empi::queue {

Bytes HandoverState::pack() const {
  Packer out;
  out.put(phase);
  out.put(predecessor);
  out.list(workers);
  out.block(queue.pack());
  out.block(results);
  return out.take();
}

HandoverState HandoverState::unpack(const Bytes& bytes) {
  Unpacker in(bytes);
  HandoverState state;
  state.phase = in.get<Phase>();
  state.predecessor = in.text();
  state.workers = in.list<std::set<WorkerId>>();
  state.queue = TaskQueue::unpack(in.block());
  const auto results = in.block();
  state.results.assign(results.begin(), results.end());
  return state;
}

void record_results(TaskQueue& queue, Bytes& all, std::int64_t width, const WorkerId& worker, Range tasks,
                    const TaskTimes& times, std::span<const std::byte> results) {
  const auto size = static_cast<std::size_t>(width);
  if (results.size() != static_cast<std::size_t>(tasks.count) * size)
    throw std::runtime_error("worker " + worker + " sent results of a wrong size");
  for (const Range& fresh : queue.done(worker, tasks, times))
    if (size > 0)
      std::memcpy(all.data() + static_cast<std::size_t>(fresh.first) * size,
                  results.data() + static_cast<std::size_t>(fresh.first - tasks.first) * size,
                  static_cast<std::size_t>(fresh.count) * size);
}

}  // namespace empi::queue
