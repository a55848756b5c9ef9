// SPDX-License-Identifier: Apache-2.0
// What the application says of its progress and its tasks, into the page; and of its checkpoints, to the
// agent.
#include <chrono>
#include <utility>

#include "runtime/profile/write/counters.hpp"
#include "runtime/rank/rank.hpp"

namespace empi::rank {

using profile::counting;

// The page has one writer, the thread that initialised MPI.
int Rank::progress(double work_units, double progress) {
  if (!profile::thread_state.measured) return MPI_ERR_OTHER;
  counting().pass();
  counting().add_work(work_units, progress);
  return MPI_SUCCESS;
}

int Rank::checkpointed(CheckpointNews news) {
  if (!link_.connected()) return MPI_SUCCESS;  // nobody to tell
  using namespace std::chrono;
  news.wall_millis = duration_cast<milliseconds>(system_clock::now().time_since_epoch()).count();
  RankReport report;
  report.kind = RankReport::Kind::Checkpoint;
  report.checkpoint = std::move(news);
  link_.send(report);
  return MPI_SUCCESS;
}

int Rank::wish(int least, int most) {
  if (!profile::thread_state.measured) return MPI_ERR_OTHER;
  const bool forgets = least == 0 && most == 0;
  if (!forgets && (least < 1 || most < least)) return MPI_ERR_ARG;
  counting().set_wish(static_cast<std::uint32_t>(least), static_cast<std::uint32_t>(most));
  return MPI_SUCCESS;
}

int Rank::task_queue(long long phase, long long total, long long done, long long queued) {
  if (!profile::thread_state.measured) return MPI_ERR_OTHER;
  if (phase < 0 || total < 0 || done < 0 || queued < 0 || done + queued > total) return MPI_ERR_ARG;
  TaskCounters queue;
  queue.pattern = total > 0 ? Pattern::MasterWorker : Pattern::Spmd;
  queue.phase = static_cast<std::uint64_t>(phase);
  queue.total = static_cast<std::uint64_t>(total);
  queue.done = static_cast<std::uint64_t>(done);
  queue.queued = static_cast<std::uint64_t>(queued);
  counting().set_queue(queue);
  return MPI_SUCCESS;
}

int Rank::spent_on_changes(long long nanoseconds) {
  if (!profile::thread_state.measured || nanoseconds < 0) return MPI_ERR_OTHER;
  counting().add_adapt(static_cast<std::uint64_t>(nanoseconds));
  return MPI_SUCCESS;
}

int Rank::begin_task() {
  if (!profile::thread_state.measured) return MPI_ERR_OTHER;
  counting().pass();  // what was computed before is not this task's
  counting().begin_task();
  return MPI_SUCCESS;
}

int Rank::end_task() {
  if (!profile::thread_state.measured) return MPI_ERR_OTHER;
  counting().pass();  // an emulated slow core sleeps within the task
  counting().end_task();
  return MPI_SUCCESS;
}

}  // namespace empi::rank
