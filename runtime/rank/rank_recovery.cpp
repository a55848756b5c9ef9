// SPDX-License-Identifier: Apache-2.0
// Going on without ranks that are lost (decision R18), as the agent says who is left. The control thread
// hears of it and revokes all that the application's thread may wait in; that thread leaves what it is in by
// an exception of the program, makes a world of those who are left (tasks_world.hpp), and adopts it when all
// have their data. A further loss meanwhile begins all of it anew, under another name.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <thread>
#include <utility>

#include "elastic_mpi.h"
#include "runtime/profile/write/counters.hpp"
#include "runtime/protocol/names.hpp"
#include "runtime/rank/blocked_search.hpp"
#include "runtime/rank/derived.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/rank/rank_calls.hpp"
#include "runtime/rank/requests.hpp"
#include "runtime/rank/revocation.hpp"
#include "runtime/rank/world.hpp"

// clang-format off: needs mpi.h before it
#include <mpi-ext.h>
// clang-format on

namespace empi::rank {

using profile::counting;
using profile::monotonic_ns;

namespace {

// For an agent's word of who is left: silence alone may last for partitionSeconds, a change in hand is called
// back first. The lead's own bound (lead/recovery.cpp) is shorter.
constexpr std::uint64_t kLongestRecoveryNs = 600000000000;

bool is_of_a_loss(int code) {
  int error_class = code;
  PMPI_Error_class(code, &error_class);
  return error_class == MPIX_ERR_PROC_FAILED || error_class == MPIX_ERR_REVOKED ||
         error_class == MPIX_ERR_PROC_FAILED_PENDING;
}

// Open MPI's own collectives may give another code for it.
bool has_losses(MPI_Comm comm) {
  int revoked = 0, failed = 0;
  MPI_Group lost = MPI_GROUP_NULL;
  if (PMPIX_Comm_is_revoked(comm, &revoked) == MPI_SUCCESS && revoked) return true;
  if (PMPIX_Comm_get_failed(comm, &lost) != MPI_SUCCESS) return false;
  PMPI_Group_size(lost, &failed);
  PMPI_Group_free(&lost);
  return failed > 0;
}

// Other errors end the job, as they do where a program has said nothing.
void on_error(MPI_Comm* comm, int* code, ...) {
  if (is_of_a_loss(*code) || has_losses(*comm)) rank().stop_here();
  char text[MPI_MAX_ERROR_STRING] = {};
  int length = 0;
  PMPI_Error_string(*code, text, &length);
  std::fprintf(stderr, "elastic-mpi: ending the job, an MPI call failed: %s\n", text);
  PMPI_Abort(*comm, *code);
}

}  // namespace

int Rank::watch_losses(MPIX_Recovery_stop stop) {
  if (!malleable_ || !profile::thread_state.measured) return MPI_ERR_OTHER;
  MPI_Errhandler handler = MPI_ERRHANDLER_NULL;
  if (const int result = PMPI_Comm_create_errhandler(&on_error, &handler); result != MPI_SUCCESS)
    return result;
  PMPI_Comm_set_errhandler(current_world(), handler);
  PMPI_Errhandler_free(&handler);
  stop_ = stop;
  return MPI_SUCCESS;
}

void Rank::stop_here() {
  const MPIX_Recovery_stop stop = stop_;
  if (stop && profile::thread_state.measured) stop();
}

int Rank::losses_can_be_borne() {
  if (!stop_) return MPI_ERR_OTHER;
  RankReport report;
  report.kind = RankReport::Kind::Recoverable;
  link_.send(report);
  return MPI_SUCCESS;
}

// Ranks are lost, and a change may still have to end before the agent says who is left.
void Rank::leave_iteration() { recovering_.store(true, std::memory_order_release); }

// By the application's thread alone: revoked by another one, while that makes progress, a communicator with a
// process that is gone is a deadlock of Open MPI (quirk revoke-threads). Whoever meets the loss, at the
// latest in a probe, revokes what it has, and with it brings out who waits there, who does the same.
void Rank::revoke_what_was_lost() {
  std::vector<MPI_Comm> lost{current_world()};
  {
    const std::lock_guard lock(recovery_mutex_);
    lost.push_back(recovery_made_.world);
  }
  {
    const std::lock_guard lock(mutex_);
    lost.push_back(spare_);  // a vote may wait there
  }
  revoke(lost);
  derived().revoke();
}

// The window is certain for all, and this rank will not come: those who have voted wait for it on the
// duplicate of the old world, which is revoked only because nobody can have been told yes without this vote.
void Rank::vote_no_from_outside() {
  const std::shared_ptr<Attempt> current = attempt();
  if (!current || current->state() != Attempt::State::Built ||
      arm_state(page_->control.armed.load()) != ArmState::Confirmed)
    return;
  page_->control.armed.store(arm_word(kNextProbe, ArmState::Idle));
  revoke(current->cancel("a rank of the job was lost", true).revoked);
  current->drop();
  RankReport report;
  report.kind = RankReport::Kind::Agreed;
  report.change = current->order.change;
  report.ok = false;
  report.error = "a rank of the job was lost";
  link_.send(report);
}

// The change that this rank was to leave by is certain, and it is not in the window any more: the vote was
// split by a loss. What it had is with others.
void Rank::leave_from_outside() {
  MPI_Comm alone = MPI_COMM_NULL;
  make_alone(&alone);
  replace_world(alone);  // the old one was revoked and is never freed
  left_ = true;
  end_leaver();
}

// Control thread.
void Rank::order_recovery(const RankOrder& order) {
  std::shared_ptr<TasksWorld> building;
  {
    // Whoever adopts a world does so before this, or finds that there is another order.
    const std::lock_guard lock(recovery_mutex_);
    recovery_ = order;
    building = std::exchange(recovery_building_, nullptr);
    recovering_.store(true, std::memory_order_release);
  }
  if (!building) return;
  building->ask_to_give_up();
  if (!abandoned_ || abandoned_->ended()) {
    abandoned_ = building;
    abandoned_since_ns_ = monotonic_ns();
  }
  say_dropped(*building, false);
}

// One that was not tried yet.
RankOrder Rank::await_recovery() {
  const std::uint64_t start = monotonic_ns();
  for (int turn = 0;; ++turn) {
    {
      const std::lock_guard lock(recovery_mutex_);
      if (!recovery_.port.empty() && recovery_.port != recovery_tried_) {
        recovery_tried_ = recovery_.port;
        return recovery_;
      }
    }
    if (monotonic_ns() - start > kLongestRecoveryNs) {
      std::fprintf(stderr, "elastic-mpi: waited %llu s for the agent to say which ranks are left\n",
                   static_cast<unsigned long long>(kLongestRecoveryNs / 1000000000));
      PMPI_Abort(MPI_COMM_SELF, 1);
    }
    if (released_.load(std::memory_order_acquire)) leave_from_outside();
    vote_no_from_outside();
    wait_a_little(turn);
  }
}

// The newest first. Others may not have adopted it yet, where a recovery is interrupted by another one.
std::vector<TasksWorld::Known> Rank::known_worlds() {
  if (world_group_ == MPI_GROUP_NULL) PMPI_Comm_group(current_world(), &world_group_);
  std::vector<TasksWorld::Known> known{{world_name_, world_group_}};
  if (before_recovery_.group != MPI_GROUP_NULL) known.push_back(before_recovery_);
  return known;
}

void Rank::world_is(const std::string& name, bool recovered) {
  if (before_recovery_.group != MPI_GROUP_NULL) PMPI_Group_free(&before_recovery_.group);
  if (recovered)
    before_recovery_ = {world_name_, std::exchange(world_group_, MPI_GROUP_NULL)};
  else if (world_group_ != MPI_GROUP_NULL)
    PMPI_Group_free(&world_group_);
  world_name_ = name;
}

int Rank::recovery_world(MPI_Comm* world) {
  if (!stop_ || !profile::thread_state.measured) return MPI_ERR_OTHER;
  if (std::exchange(recovery_since_ns_, recovery_since_ns_ ? recovery_since_ns_ : monotonic_ns()) == 0)
    counting().begin_adapt();
  window_agreed_ = false;
  used_.clear();
  revoke_what_was_lost();
  for (;;) {
    const RankOrder order = await_recovery();
    const ProcId self{page_->nspace, page_->rank};
    const auto place = std::ranges::find(order.procs, self) - order.procs.begin();
    const auto fresh = std::make_shared<TasksWorld>(order.port, static_cast<int>(place),
                                                    static_cast<int>(order.procs.size()), known_worlds());
    {
      const std::lock_guard lock(recovery_mutex_);
      if (recovery_.port != order.port) continue;
      recovery_building_ = fresh;
    }
    if (!fresh->build(nullptr)) {
      fresh->give_up();  // the others may still wait for this rank
      say_dropped(*fresh, true);
      continue;
    }
    const MPI_Comm made = fresh->take();
    bool overtaken = false;
    {
      const std::lock_guard lock(recovery_mutex_);
      overtaken = recovery_.port != order.port;
      if (!overtaken) {
        recovery_building_.reset();
        recovery_made_.world = made;
      }
    }
    if (overtaken) {  // the others may duplicate it
      revoke(made);
      continue;
    }
    MPI_Comm spare = MPI_COMM_NULL;
    if (PMPI_Comm_dup(made, &spare) != MPI_SUCCESS) {
      revoke(made);
      continue;
    }
    PMPI_Comm_set_errhandler(spare, MPI_ERRORS_RETURN);
    {
      const std::lock_guard lock(recovery_mutex_);
      if (recovery_.port == order.port) {
        recovery_made_.spare = spare;
        *world = made;
        return MPI_SUCCESS;
      }
    }
    revoke(made);
  }
}

int Rank::recovery_repeats(long long iterations) {
  repeated_ = iterations;
  return MPI_SUCCESS;
}

int Rank::adopt_recovered(long long iteration) {
  RankReport report;
  report.kind = RankReport::Kind::Recovered;
  report.iteration = iteration;
  report.repeated = repeated_;
  {
    const std::lock_guard lock(recovery_mutex_);
    if (recovery_.port != recovery_tried_ || recovery_made_.world == MPI_COMM_NULL) return MPI_ERR_OTHER;
    const Attempt::Outcome made = std::exchange(recovery_made_, {});
    replace_world(made.world);  // the old one was revoked and is never freed
    world_is(recovery_.port, true);
    recovering_.store(false, std::memory_order_release);
    report.address = recovery_.port;
    const std::lock_guard attempts(mutex_);
    spare_ = made.spare;
    spare_in_doubt_ = false;
  }
  world_requests().forget();
  lost_before_world_ = ranks_lost_.load(std::memory_order_acquire);
  describe_world(*page_);
  begin_probing(false);
  iterations_.window_opens();
  iterations_.change_dropped();
  page_->rank_state.phase.store(RankPhase::Running);
  const std::uint64_t lost_ns = monotonic_ns() - std::exchange(recovery_since_ns_, 0);
  counting().add_adapt(lost_ns);
  report.lost_ms = static_cast<double>(lost_ns) * 1e-6;
  counting().forgive_cpu();
  link_.send(report);
  return MPI_SUCCESS;
}

int Rank::idle(double seconds) {
  if (!profile::thread_state.measured) return MPI_ERR_OTHER;
  const std::uint64_t since = monotonic_ns();
  iterations_.window_opens();
  counting().begin_adapt();
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
  counting().add_adapt(monotonic_ns() - since);
  return MPI_SUCCESS;
}

void Rank::recovery_failed(const char* error) {
  RankReport report;
  report.kind = RankReport::Kind::Recovered;
  report.ok = false;
  report.error = error;
  if (recovering_.load(std::memory_order_acquire)) {
    const std::lock_guard lock(recovery_mutex_);
    report.address = recovery_.port;
  }
  link_.send(report);
  await_dismissal();
}

}  // namespace empi::rank
