// SPDX-License-Identifier: Apache-2.0
// The window of a change: from MPI_Comm_adapt_begin to MPI_Comm_adapt_commit, on the application's thread.
#include <unistd.h>

#include <cstdio>

#include "elastic_mpi.h"
#include "runtime/base/joined.hpp"
#include "runtime/profile/write/counters.hpp"
#include "runtime/rank/derived.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/rank/rank_calls.hpp"
#include "runtime/rank/requests.hpp"
#include "runtime/rank/revocation.hpp"
#include "runtime/rank/world.hpp"

namespace empi::rank {

using profile::counting;
using profile::monotonic_ns;

namespace {

constexpr std::uint64_t kLongestDismissalNs = 10000000000;  // a joiner that is not wanted any more

double milliseconds(std::uint64_t from_ns, std::uint64_t to_ns) {
  return static_cast<double>(to_ns - from_ns) * 1e-6;
}

}  // namespace

int Rank::begin(MPI_Comm* inter, MPI_Comm* next, int* staying, int* leaving, int* joining) {
  if (in_window_ || !malleable_ || left_ || !profile::thread_state.measured) return MPI_ERR_OTHER;
  if (joining_ ? !await_window_as_joiner() : !window_agreed_) {
    if (joining_) await_dismissal();
    return MPI_ERR_OTHER;  // MPI_Probe_adapt has not said so
  }
  window_agreed_ = false;
  const std::shared_ptr<Attempt> current = attempt();
  if (!current || !current->enter_window()) return MPI_ERR_OTHER;
  const std::uint64_t entered = monotonic_ns();
  current->await_first_rank();
  window_opened_ns_ = joining_ ? monotonic_ns() : entered;
  if (joining_) counting().add_adapt(window_opened_ns_ - entered);
  counting().begin_adapt();
  in_window_ = true;
  aborted_ = false;
  moved_ms_ = 0;
  moved_bytes_ = 0;
  iterations_.window_opens();
  page_->rank_state.phase.store(RankPhase::InWindow);
  ++profile::thread_state.depth;  // calls in the window are no part of the profile: they are adaptation
  give(inter, current->inter());
  give(next, current->next());
  give(staying, current->order.staying_count);
  give(leaving, current->order.leaving_count);
  give(joining, current->order.joining_count);
  return MPI_SUCCESS;
}

// Whether the change that brought this rank came to its window; false when it was given up.
bool Rank::await_window_as_joiner() {
  bool reported = false;
  std::uint64_t counted = monotonic_ns();
  for (int turn = 0;; ++turn) {
    const std::shared_ptr<Attempt> current = attempt();
    if (current && !reported) {
      RankReport report;
      report.kind = RankReport::Kind::AtBegin;
      report.change = current->order.change;
      link_.send(report);
      reported = true;
    }
    const std::uint64_t now = monotonic_ns();
    counting().add_adapt(now - counted);
    counted = now;
    if (current) {
      const Attempt::State state = current->state();
      if (state == Attempt::State::Over) return false;
      if (state == Attempt::State::Built && arm_state(page_->control.armed.load()) == ArmState::Confirmed)
        return true;
    }
    wait_a_little(turn);
  }
}

int Rank::union_comm(MPI_Comm* comm) {
  if (!in_window_) return MPI_ERR_OTHER;
  give(comm, attempt()->union_comm());
  return MPI_SUCCESS;
}

int Rank::abort_change() {
  if (!in_window_) return MPI_ERR_OTHER;
  aborted_ = true;
  revoke(attempt()->cancel("this rank gave the change up (MPIX_Comm_adapt_abort)", true).revoked);
  return MPI_SUCCESS;
}

int Rank::report_redistribution(double milliseconds, long long bytes) {
  if (!in_window_) return MPI_ERR_OTHER;
  moved_ms_ += milliseconds;
  moved_bytes_ += bytes;
  return MPI_SUCCESS;
}

// Objects that join leavers with stayers, and requests on the old world, as a sentence; empty when there are
// none.
std::string Rank::objects_in_the_way() {
  const std::shared_ptr<Attempt> current = attempt();
  std::vector<std::string> objects;
  if (current->order.leaving_count > 0) objects = derived().across(current->union_comm(), current->leaving());
  const std::vector<std::string> requests = world_requests().live();
  if (objects.empty() && requests.empty()) return "";
  std::string text;
  if (!objects.empty()) text = "live objects contain a rank that leaves: " + joined(objects);
  if (!requests.empty())
    text += (text.empty() ? "" : "; and ") + ("requests are on the old world: " + joined(requests));
  return text + ". Free or complete them before MPI_Comm_adapt_commit and make them again after it";
}

int Rank::commit() {
  if (!in_window_ || !profile::thread_state.measured) return MPI_ERR_OTHER;
  const std::shared_ptr<Attempt> current = attempt();
  const std::string in_the_way = objects_in_the_way();
  if (!in_the_way.empty())
    std::fprintf(stderr, "elastic-mpi: change %s: %s\n", current->order.change.c_str(), in_the_way.c_str());
  const bool yes = current->vote(in_the_way.empty() && !aborted_, in_the_way);
  const Attempt::Verdict verdict = current->agree(yes);
  if (verdict == Attempt::Verdict::Yes) return committed();
  const std::string error = current->error();
  const int result = rolled_back(error.empty() ? "another rank gave the change up or was lost" : error);
  // Others may be in the next world, and the old one has lost a rank: what there is to go back to are copies.
  if (verdict == Attempt::Verdict::Doubt) stop_here();
  return result;
}

// Ends the window for this rank: what comes now is the application's again.
void Rank::leave_window() {
  // The agreed iteration is used up. The agent withdraws it too, but perhaps not before our next probe.
  std::uint64_t word = page_->control.armed.load();
  if (arm_state(word) == ArmState::Confirmed)
    page_->control.armed.compare_exchange_strong(word, arm_word(0, ArmState::Idle));
  in_window_ = false;
  counting().add_adapt(monotonic_ns() - window_opened_ns_);
  --profile::thread_state.depth;
  counting().forgive_cpu();
}

int Rank::committed() {
  const std::shared_ptr<Attempt> current = attempt();
  RankReport report;
  report.change = costed_change_ = current->order.change;
  report.wait_ms = wait_ms_;
  report.redistribute_ms = moved_ms_;
  report.bytes = moved_bytes_;
  const MPI_Comm old_spare = spare_;
  MPI_Comm old_world = MPI_COMM_NULL;
  if (current->order.leaving) {
    // Alone from here on. What it shared stays open: messages for others may still pass through.
    MPI_Comm alone = MPI_COMM_NULL;
    PMPI_Comm_dup(MPI_COMM_SELF, &alone);
    current->abandon();
    replace_world(alone);
    left_ = true;
  } else {
    free_used();  // all were past that before this change began
    const Attempt::Outcome outcome = current->take(used_);
    old_world = replace_world(outcome.world);
    world_is(current->order.change, false);
    const std::lock_guard lock(mutex_);
    spare_ = outcome.spare;
  }
  const bool joined = joining_;
  joining_ = false;
  leave_window();
  describe_world(*page_);
  begin_probing(joined);
  page_->rank_state.phase.store(left_ ? RankPhase::Lingering : RankPhase::Running);
  if (joined)
    costed_ = changes_begun_.load(std::memory_order_relaxed);  // had no iterations yet to lose time in
  else if (!left_)
    iterations_.committed(monotonic_ns() - window_opened_ns_);
  report.kind = RankReport::Kind::Agreed;
  report.pause_ms = milliseconds(window_opened_ns_, monotonic_ns());
  link_.send(report);
  if (!left_) {
    used_.insert(used_.end(), {old_spare, old_world});
    if (!stop_.load()) free_used();
  }
  report.kind = RankReport::Kind::Past;
  link_.send(report);
  if (left_) {
    report.kind = RankReport::Kind::Adapted;
    report.lost_ms = iterations_.lost_until(monotonic_ns());
    link_.send(report);
  }
  return MPI_SUCCESS;
}

// Of a program that goes on without ranks that are lost: what one that is in doubt of the vote may revoke yet
// is not freed before the next change is certain, and after a loss never (quirk revoked-freed).
void Rank::free_used() {
  for (MPI_Comm& comm : used_)
    if (comm != MPI_COMM_NULL) PMPI_Comm_free(&comm);
  used_.clear();
}

int Rank::rolled_back(const std::string& error) {
  const std::shared_ptr<Attempt> current = attempt();
  current->drop();
  leave_window();
  iterations_.change_dropped();
  RankReport report;
  report.kind = RankReport::Kind::Agreed;
  report.change = current->order.change;
  report.ok = false;
  report.error = error;
  report.wait_ms = wait_ms_;
  report.pause_ms = milliseconds(window_opened_ns_, monotonic_ns());
  report.redistribute_ms = moved_ms_;
  report.bytes = moved_bytes_;
  link_.send(report);
  if (joining_) await_dismissal();
  page_->rank_state.phase.store(RankPhase::Running);
  return MPIX_ERR_ADAPT_ROLLED_BACK;
}

// A joiner whose change was given up: its agent will end it.
void Rank::await_dismissal() {
  const std::uint64_t start = monotonic_ns();
  for (int turn = 0; monotonic_ns() - start < kLongestDismissalNs; ++turn) wait_a_little(turn);
  _exit(0);
}

}  // namespace empi::rank
