// A rank of a master-worker program: its changes need no world, only the queue (runtime/tasks).
#include "runtime/adapt/rank.hpp"
#include "runtime/adapt/world.hpp"
#include "runtime/profile/counters.hpp"

namespace empi::adapt {

namespace {

std::string lines(const std::vector<ProcId>& procs) {
  std::string text;
  for (const ProcId& proc : procs) text += proc.nspace + "/" + std::to_string(proc.rank) + "\n";
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
      return on_order_(on_order_self_, MPIX_TASKS_LOST, lines(order.procs).c_str());
  }
}

int Rank::queue_at(const char* address) {
  RankReport report;
  report.kind = RankReport::Kind::Queue;
  report.address = address;
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

int Rank::tasks_left() {
  if (!malleable_) return MPI_SUCCESS;
  MPI_Comm alone = MPI_COMM_NULL;
  PMPI_Comm_dup(MPI_COMM_SELF, &alone);
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

}  // namespace empi::adapt
