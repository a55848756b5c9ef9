// SPDX-License-Identifier: Apache-2.0
// The control thread: obeys the agent, starts helper threads, watches over those that do not come back.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <future>
#include <memory>
#include <system_error>
#include <utility>

#include "runtime/profile/write/tick_clock.hpp"
#include "runtime/rank/rank.hpp"
#include "runtime/rank/revocation.hpp"

namespace empi::rank {

namespace {

constexpr int kPatienceMs = 10000;   // for a helper thread after its communicators were revoked
constexpr int kAbandonedMs = 60000;  // for the application's thread in a world that is not wanted any more
constexpr int kMostParked = 3;       // then this process refuses to build
constexpr int kLookMs = 1000;        // at a thread that does not come back from revoking
// For such a thread. Recoverable programs know where all members listen, and go on without this rank. Others
// may have to ask a pod, which may be silent for a while, and end with this rank.
constexpr int kRevokingMs = 10000, kRevokingLastMs = 300000;

int left_ms(std::uint64_t since_ns, int bound_ms) {
  const auto waited = static_cast<int>((profile::monotonic_ns() - since_ns) / 1000000);
  return std::max(0, bound_ms - waited);
}

// For the others this rank is lost, so that is what they are told.
void end_this_rank(int seconds, const char* what) {
  std::fprintf(stderr, "elastic-mpi: this rank ends itself: for %d s Open MPI has not come back from %s\n",
               seconds, what);
  raise(SIGKILL);
}

RankReport ended(const std::string& change, const std::string& error) {
  RankReport report;
  report.kind = RankReport::Kind::Built;
  report.change = change;
  report.ok = false;
  report.error = error;
  return report;
}

}  // namespace

void Rank::run_control() {
  for (;;) {
    RankOrder order;
    switch (link_.receive(next_check_ms(), order)) {
      case AgentLink::Received::Order:
        obey(order);
        break;
      case AgentLink::Received::Nothing:
        break;
      case AgentLink::Received::Closed:
        if (finalized()) return;
        std::fprintf(stderr, "elastic-mpi: the agent of this pod is gone, so this rank cannot go on\n");
        _exit(1);
    }
    check_parked();
    check_abandoned();
    check_revoking();
  }
}

void Rank::obey(const RankOrder& order) {
  switch (order.kind) {
    case RankOrder::Kind::Prepare:
      return prepare(order);
    case RankOrder::Kind::Build:
      return build(order);
    case RankOrder::Kind::Cancel:
      return cancel(order);
    case RankOrder::Kind::Release:
      released_.store(true, std::memory_order_release);
      return;
    case RankOrder::Kind::Lost:
      ranks_lost_.fetch_add(static_cast<int>(order.procs.size()), std::memory_order_release);
      if (stop_) return leave_iteration();
      return order_tasks(order);
    case RankOrder::Kind::Recover:
      return order_recovery(order);
    case RankOrder::Kind::Attach:
    case RankOrder::Kind::Leave:
      return order_tasks(order);
  }
}

std::string Rank::reason_not_to_build() const {
  if (ending_.load(std::memory_order_acquire)) return "this rank is in MPI_Finalize";
  if (parked_ >= kMostParked)
    return std::to_string(parked_) + " helper threads never came back from earlier changes";
  if (spare_in_doubt_) return "a helper thread never came back from duplicating the world";
  if (attempt_ && attempt_->state() != Attempt::State::Over)
    return "change " + attempt_->order.change + " is still in hand";
  return "";
}

// Building begins with a collective call of all old ranks that cannot be interrupted: one that could not take
// part would leave the others in it for ever. So each says first whether it can, with its thread in hand.
void Rank::prepare(const RankOrder& order) {
  RankReport report;
  report.kind = RankReport::Kind::Ready;
  report.change = order.change;
  std::shared_ptr<Attempt> fresh;
  {
    const std::lock_guard lock(mutex_);
    report.error = reason_not_to_build();
    report.parked = parked_;
    if (report.error.empty()) fresh = attempt_ = std::make_shared<Attempt>(order, spare_);
  }
  if (fresh) try {
      helpers_.start("empi build", [this, fresh] {
        if (!fresh->wait_for_word()) return;
        const std::uint64_t number = changes_begun_.load(std::memory_order_relaxed);
        fresh->build();
        if (fresh->parked()) return;  // the agent has been told long ago
        RankReport built = fresh->report();
        built.kind = RankReport::Kind::Built;
        if (!built.ok) changes_given_up_.store(number, std::memory_order_relaxed);
        {
          const std::lock_guard lock(mutex_);
          built.parked = parked_;
        }
        link_.send(built);
      });
    } catch (const std::system_error& error) {
      fresh->drop();
      report.error = std::string("cannot start a thread: ") + error.what();
    }
  report.ok = report.error.empty();
  link_.send(report);
}

void Rank::build(const RankOrder& order) {
  const std::shared_ptr<Attempt> current = attempt();
  if (!current || current->order.change != order.change || current->state() != Attempt::State::Waiting)
    return link_.send(ended(order.change, "this rank was not asked whether it can build"));
  changes_begun_.fetch_add(1, std::memory_order_relaxed);
  current->go(ending_.load(std::memory_order_acquire) ? "this rank is in MPI_Finalize" : "");
}

void Rank::cancel(const RankOrder& order) {
  const std::shared_ptr<Attempt> current = attempt();
  if (!current || current->order.change != order.change) return;
  // Confirmed already: every rank will come to the window, so it is there that the change must fail.
  const bool confirmed = page_ && arm_state(page_->control.armed.load()) == ArmState::Confirmed;
  const bool begun = current->state() != Attempt::State::Waiting;
  Attempt::Cancelled cancelled = current->cancel("cancelled", confirmed);
  revoke_beside(std::move(cancelled.revoked));
  if (cancelled.over) {
    if (begun)
      changes_given_up_.store(changes_begun_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    return link_.send(ended(order.change, "cancelled"));
  }
  if (current->state() == Attempt::State::Building) {
    overdue_ = current;
    overdue_since_ns_ = profile::monotonic_ns();
  }
}

// The control thread must not be caught in it: it waits, but not for ever.
void Rank::revoke_beside(std::vector<MPI_Comm> comms) {
  if (comms.empty()) return;
  const auto back = std::make_shared<std::promise<void>>();
  try {
    helpers_.start("empi revoke", [back, comms] {
      revoke(comms);
      back->set_value();
    });
  } catch (const std::system_error&) {  // rather than not at all
    return revoke(comms);
  }
  const std::future<void> end = back->get_future();
  for (int waited = 0; waited < kPatienceMs; waited += kLookMs) {
    if (end.wait_for(std::chrono::milliseconds(kLookMs)) == std::future_status::ready) return;
    check_revoking();
  }
}

// Milliseconds.
int Rank::next_check_ms() const {
  int next = revoking_since_ns() != 0 || overdue_ ? kLookMs : kPatienceMs;  // one may begin at any time
  const auto at_most = [&next](int left) { next = std::min(next, left); };
  if (overdue_) at_most(left_ms(overdue_since_ns_, kPatienceMs));
  if (abandoned_) at_most(left_ms(abandoned_since_ns_, kAbandonedMs));
  return next;
}

// By other threads. What a process that was stopped has not seen does not count.
void Rank::check_revoking() {
  const std::uint64_t since = revoking_since_ns(), now = profile::monotonic_ns();
  const bool stood_still = now - looked_ns_ > std::uint64_t{3} * kLookMs * 1'000'000;
  if (since != revoking_since_ns_ || stood_still) {
    revoking_since_ns_ = since;
    revoking_seen_ns_ = now;
  }
  looked_ns_ = now;
  const int patience = stop_ ? kRevokingMs : kRevokingLastMs;
  if (since != 0 && left_ms(revoking_seen_ns_, patience) == 0 && !finalized())
    end_this_rank(patience / 1000, "revoking a communicator of a process that is lost");
}

void Rank::check_parked() {
  if (!overdue_) return;
  if (overdue_->state() != Attempt::State::Building) {
    overdue_.reset();
    return;
  }
  // Where one is parked the job cannot do without this rank: whoever is caught in a revocation ends it
  // before.
  if (stop_ && revoking_since_ns() != 0) overdue_since_ns_ = profile::monotonic_ns();
  if (left_ms(overdue_since_ns_, kPatienceMs) > 0) return;
  RankReport report = ended(overdue_->order.change, "a helper thread did not come back and was parked");
  {
    const std::lock_guard lock(mutex_);
    report.parked = ++parked_;
    spare_in_doubt_ = !overdue_->park();
    attempt_.reset();
  }
  changes_given_up_.store(changes_begun_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  overdue_.reset();
  link_.send(report);
}

// In a call that waits for a rank that has died Open MPI may stay for good (quirk cid-retries), and beside it
// no other world is made (quirk two-makers).
void Rank::check_abandoned() {
  if (!abandoned_) return;
  if (abandoned_->ended()) return abandoned_.reset();
  if (left_ms(abandoned_since_ns_, kAbandonedMs) > 0) return;
  end_this_rank(kAbandonedMs / 1000, "making a world that a further loss has overtaken");
}

}  // namespace empi::rank
