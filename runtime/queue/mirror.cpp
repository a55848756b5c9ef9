// SPDX-License-Identifier: Apache-2.0
#include "runtime/queue/mirror.hpp"

#include <stdexcept>
#include <utility>

namespace empi::queue {

void MirrorLog::begin(Step step, const WorkerId& worker) {
  empty_ = false;
  out_.put(step);
  out_.put(worker);
}

void MirrorLog::came(const WorkerId& worker) { begin(Step::Came, worker); }

void MirrorLog::went(const WorkerId& worker) { begin(Step::Went, worker); }

void MirrorLog::took(const WorkerId& worker, int workers) {
  begin(Step::Took, worker);
  out_.put(workers);
}

void MirrorLog::kept(const WorkerId& worker, const std::vector<Range>& kept) {
  begin(Step::Kept, worker);
  out_.list(kept);
}

void MirrorLog::did(const WorkerId& worker, Range tasks, const TaskTimes& times,
                    std::span<const std::byte> results) {
  begin(Step::Did, worker);
  out_.put(tasks);
  out_.put(times);
  out_.block(results);
}

Bytes MirrorLog::take() {
  empty_ = true;
  return std::exchange(out_, Packer()).take();
}

void replay(HandoverState& state, std::span<const std::byte> log) {
  using Step = MirrorLog::Step;
  Unpacker in(log);
  while (!in.rest().empty()) {
    const auto step = in.get<Step>();
    const WorkerId worker = in.text();
    switch (step) {
      case Step::Came:
        state.workers.insert(worker);
        break;
      case Step::Went:
        state.workers.erase(worker);
        state.queue.give_back(worker);
        break;
      case Step::Took:
        if (!state.queue.take(worker, in.get<int>()))
          throw std::runtime_error("the mirror of the queue differs from it: nothing is left for worker " +
                                   worker);
        break;
      case Step::Kept:
        state.queue.keep_only(worker, in.list<std::vector<Range>>());
        break;
      case Step::Did: {
        const auto tasks = in.get<Range>();
        const auto times = in.get<TaskTimes>();
        record_results(state.queue, state.results, state.phase.width, worker, tasks, times, in.block());
        break;
      }
      default:
        throw std::runtime_error("the mirror of the queue was told something that is no step of a queue");
    }
  }
}

}  // namespace empi::queue
