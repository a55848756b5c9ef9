// SPDX-License-Identifier: Apache-2.0
// MPI_Finalize of a malleable rank (decision R5). With fault tolerance on and ranks gone, Open MPI's own
// blocks (quirk finalize-waits): so this does what the standard asks for and leaves the rest to the end of
// the process.
#include <cstdio>
#include <ctime>
#include <functional>

#include "runtime/profile/write/counters.hpp"
#include "runtime/rank/attributes.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/rank/world.hpp"

namespace empi::rank {

namespace {

// Bound on waiting that others got our last messages, and on waiting for all when one of them was lost.
constexpr std::uint64_t kLastMessagesNs = 1000000000;
constexpr std::uint64_t kThreadsNs = 2000000000;  // bound on waiting for our threads: one may hang in MPI

// Keeps MPI progressing without burning the core. MPI_COMM_SELF: no failure elsewhere can touch it.
void make_progress(long sleep_ns) {
  int flag = 0;
  PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
  const timespec length{0, sleep_ns};
  nanosleep(&length, nullptr);
}

// A barrier that makes progress with sleeps. Returns whether all have come. Others may come late for good
// reasons; but when `lost` says that one will not, and MPI has not noticed, the wait has an end.
bool patient_barrier(MPI_Comm comm, const std::function<bool()>& lost) {
  MPI_Request request = MPI_REQUEST_NULL;
  if (PMPI_Ibarrier(comm, &request) != MPI_SUCCESS) return false;
  std::uint64_t lost_at = 0;
  for (int turn = 0;; ++turn) {
    int complete = 0;
    if (PMPI_Test(&request, &complete, MPI_STATUS_IGNORE) != MPI_SUCCESS) return false;
    if (complete) return true;
    if (lost_at != 0 && profile::monotonic_ns() - lost_at > kLastMessagesNs) return false;
    if (lost_at == 0 && lost()) lost_at = profile::monotonic_ns();
    if (turn > 1000) make_progress(200000);
  }
}

// Waits until every rank has heard of every other, for a bounded time; whoever misses the last messages loses
// nothing. Point to point (a dissemination barrier), because ranks may end meanwhile and Open MPI's own
// collectives complain about that on stderr. What is still pending then stays so until the process ends.
void farewell(MPI_Comm comm, std::uint64_t bound_ns) {
  static char token = 0;  // outlives pending requests
  constexpr int kTag = 77;
  int rank = 0, size = 0;
  PMPI_Comm_rank(comm, &rank);
  PMPI_Comm_size(comm, &size);
  const std::uint64_t start = profile::monotonic_ns();
  for (int distance = 1; distance < size; distance *= 2) {
    MPI_Request requests[2] = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    if (PMPI_Irecv(&token, 1, MPI_CHAR, (rank - distance + size) % size, kTag, comm, &requests[0]) !=
        MPI_SUCCESS)
      return;
    if (PMPI_Isend(&token, 1, MPI_CHAR, (rank + distance) % size, kTag, comm, &requests[1]) != MPI_SUCCESS)
      return;
    for (int complete = 0; !complete;) {
      if (PMPI_Testall(2, requests, &complete, MPI_STATUSES_IGNORE) != MPI_SUCCESS) return;
      if (complete) break;
      if (profile::monotonic_ns() - start > bound_ns) return;
      make_progress(100000);
    }
  }
}

}  // namespace

int Rank::finalize() {
  if (finalized()) return MPI_ERR_OTHER;
  ending_.store(true, std::memory_order_release);
  delete_self_attributes();
  RankReport report;
  report.kind = RankReport::Kind::Finalizing;
  profile::counting().stop();
  if (left_) {
    linger();
    link_.send(report);
  } else {
    page_->rank_state.phase.store(RankPhase::Finalizing);
    link_.send(report);
    if (!joining_ && !tasks_changed_) synchronize();
  }
  settle(helpers_);
  page_->rank_state.phase.store(RankPhase::Finalized);
  report.kind = RankReport::Kind::Finalized;
  link_.send(report);
  finalized_.store(true, std::memory_order_release);
  link_.stop_receiving();
  settle(control_);
  return MPI_SUCCESS;
}

int Rank::finalize_rigid() {
  profile::counting().stop();
  if (page_) page_->rank_state.phase.store(RankPhase::Finalizing);
  const int result = PMPI_Finalize();
  if (page_) page_->rank_state.phase.store(RankPhase::Finalized);
  return result;
}

void Rank::synchronize() {
  const MPI_Comm world = current_world();
  PMPI_Comm_set_errhandler(world, MPI_ERRORS_RETURN);
  // A process that goes takes messages along that MPI has accepted but not sent. So once all are here, wait
  // until all know it.
  const auto lost = [this] { return ranks_lost_.load(std::memory_order_acquire) != lost_before_world_; };
  if (patient_barrier(world, lost)) farewell(world, kLastMessagesNs);
}

// Messages for others may still pass through this rank (and be its own): the agent knows when the last has
// gone.
void Rank::linger() {
  while (!released_.load(std::memory_order_acquire)) make_progress(500000);
}

// None may be at work when the process destroys what it uses.
void Rank::settle(const Threads& threads) {
  const std::uint64_t start = profile::monotonic_ns();
  while (!threads.all_ended() && profile::monotonic_ns() - start < kThreadsNs) make_progress(500000);
}

}  // namespace empi::rank
