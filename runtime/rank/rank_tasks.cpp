// SPDX-License-Identifier: Apache-2.0
// A rank of a master-worker program: its changes need no world, only the queue (runtime/queue).
#include <cstdio>
#include <system_error>
#include <utility>

#include "runtime/profile/write/counters.hpp"
#include "runtime/rank/blocked_search.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/rank/rank_calls.hpp"
#include "runtime/rank/world.hpp"

namespace empi::rank {

namespace {

std::string lines(const std::vector<ProcId>& procs) {
  std::string text;
  for (const ProcId& proc : procs) text += name_of(proc) + "\n";
  return text;
}

}  // namespace

int Rank::declare_tasks(MPIX_Tasks_order on_order, void* self) {
  const std::lock_guard lock(tasks_mutex_);
  on_order_ = on_order;
  on_order_self_ = self;
  if (on_order) tasks_ = true;
  return MPI_SUCCESS;
}

void Rank::order_tasks(const RankOrder& order) {
  const std::lock_guard lock(tasks_mutex_);
  if (!on_order_) return;
  switch (order.kind) {
    case RankOrder::Kind::Attach:
      tasks_change_ = order.change;
      return on_order_(on_order_self_, MPIX_TASKS_ATTACH, order.port.c_str());
    case RankOrder::Kind::Leave:
      tasks_change_ = order.change;
      return on_order_(on_order_self_, MPIX_TASKS_LEAVE, (order.port + "\n" + lines(order.procs)).c_str());
    default:
      if (order.port.empty()) return on_order_(on_order_self_, MPIX_TASKS_LOST, lines(order.procs).c_str());
      return on_order_(on_order_self_, MPIX_TASKS_QUEUE_LOST,
                       (order.port + "\n" + lines(order.procs)).c_str());
  }
}

int Rank::queue_at(const char* address) {
  RankReport report;
  report.kind = RankReport::Kind::Queue;
  report.address = address;
  {
    const std::lock_guard lock(queue_mutex_);
    queue_address_ = address;
  }
  link_.send(report);
  return MPI_SUCCESS;
}

int Rank::queue_mirrored(const char* id) {
  RankReport report;
  report.kind = RankReport::Kind::Queue;
  report.mirror = id;
  {
    const std::lock_guard lock(queue_mutex_);
    report.address = queue_address_;
  }
  link_.send(report);
  return MPI_SUCCESS;
}

int Rank::attached(const char* error) {
  RankReport report;
  report.kind = RankReport::Kind::Built;
  {
    const std::lock_guard lock(tasks_mutex_);
    report.change = tasks_change_;
  }
  report.ok = error == nullptr;
  if (error) report.error = error;
  link_.send(report);
  if (error) await_dismissal();
  joining_ = false;
  tasks_changed_ = true;
  if (page_) page_->rank_state.phase.store(RankPhase::Running);
  return MPI_SUCCESS;
}

void Rank::tell_tasks(int what, const std::string& text) {
  const std::lock_guard lock(tasks_mutex_);
  if (on_order_) on_order_(on_order_self_, what, text.c_str());
}

int Rank::build_tasks_world(const std::string& name, const std::string& ids) {
  if (!malleable_) return MPI_ERR_OTHER;  // nobody comes or goes without an agent
  const ProcId self{page_ ? page_->nspace : "", page_ ? page_->rank : 0};
  const std::string own = lines({self});
  int rank = -1, size = 0;
  for (std::size_t at = 0; at < ids.size(); at = ids.find('\n', at) + 1, ++size)
    if (ids.compare(at, own.size(), own) == 0) rank = size;
  const int lost = ranks_lost_.load(std::memory_order_acquire);
  const std::shared_ptr<TasksWorld> before = give_up_tasks_world();
  const auto fresh = std::make_shared<TasksWorld>(name, rank, size, std::vector<TasksWorld::Known>{});
  {
    const std::lock_guard lock(tasks_world_mutex_);
    tasks_world_ = fresh;
    lost_before_build_ = lost;
  }
  try {
    helpers_.start("empi world", [this, fresh, before] {
      const bool ok = fresh->build(before.get());
      if (!ok) {  // the others may still wait for this rank
        fresh->give_up();
        say_dropped(*fresh, true);
      }
      tell_tasks(MPIX_TASKS_WORLD, ok ? fresh->name() : fresh->name() + "\n" + fresh->error());
    });
  } catch (const std::system_error& error) {
    std::fprintf(stderr, "elastic-mpi: cannot start a thread to rebuild MPI_COMM_WORLD: %s\n", error.what());
    PMPI_Abort(current_world(), 1);
  }
  return MPI_SUCCESS;
}

// Ranks that wait for others to come are told by the agents that nobody will.
std::shared_ptr<TasksWorld> Rank::give_up_tasks_world() {
  std::shared_ptr<TasksWorld> old;
  {
    const std::lock_guard lock(tasks_world_mutex_);
    old = std::exchange(tasks_world_, nullptr);
  }
  if (!old) return old;
  old->ask_to_give_up();
  say_dropped(*old, false);
  return old;
}

void Rank::say_dropped(const TasksWorld& world, bool out) {
  RankReport report;
  report.kind = RankReport::Kind::WorldDropped;
  report.address = world.port();
  report.ok = !out;
  link_.send(report);
}

int Rank::adopt_tasks_world(const std::string& name) {
  std::shared_ptr<TasksWorld> built;
  int lost = 0;
  {
    const std::lock_guard lock(tasks_world_mutex_);
    built = std::exchange(tasks_world_, nullptr);
    lost = lost_before_build_;
  }
  if (!built || built->name() != name) return MPI_ERR_OTHER;
  // The old world is never freed: ranks of it have gone.
  replace_world(built->take());
  lost_before_world_ = lost;
  describe_world(*page_);
  tasks_changed_ = false;  // it is whole
  return MPI_SUCCESS;
}

int Rank::tasks_left() {
  if (!malleable_) return MPI_SUCCESS;
  give_up_tasks_world();
  MPI_Comm alone = MPI_COMM_NULL;
  make_alone(&alone);
  replace_world(alone);
  left_ = true;
  page_->rank_state.phase.store(RankPhase::Lingering);
  RankReport report;
  {
    const std::lock_guard lock(tasks_mutex_);
    report.change = tasks_change_;
  }
  report.kind = RankReport::Kind::Agreed;
  link_.send(report);
  report.kind = RankReport::Kind::Past;
  link_.send(report);
  return MPI_SUCCESS;
}

int Rank::tasks_changed() {
  tasks_changed_ = true;
  return MPI_SUCCESS;
}

}  // namespace empi::rank
