// The control thread: obeys the agent, starts helper threads, watches over those that do not come back.
#include <unistd.h>

#include <cstdio>
#include <system_error>

#include "runtime/adapt/rank.hpp"
#include "runtime/profile/tick_clock.hpp"

namespace empi::adapt {

namespace {

constexpr int kPatienceMs = 10000;  // for a helper thread after its communicators were revoked
constexpr int kMostParked = 3;      // then this process refuses to build

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
    switch (link_.receive(overdue_ ? patience_ms() : -1, order)) {
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
  }
}

void Rank::obey(const RankOrder& order) {
  switch (order.kind) {
    case RankOrder::Kind::Build:
      return build(order);
    case RankOrder::Kind::Cancel:
      return cancel(order);
    case RankOrder::Kind::Release:
      released_.store(true, std::memory_order_release);
      return;
    case RankOrder::Kind::Attach:
    case RankOrder::Kind::Leave:
    case RankOrder::Kind::Lost:
      return order_tasks(order);
  }
}

void Rank::build(const RankOrder& order) {
  std::shared_ptr<Attempt> fresh;
  {
    const std::lock_guard lock(mutex_);
    std::string refusal;
    if (ending_.load(std::memory_order_acquire))
      refusal = "this rank is in MPI_Finalize";
    else if (parked_ >= kMostParked)
      refusal = std::to_string(parked_) + " helper threads never came back from earlier changes";
    else if (spare_in_doubt_)
      refusal = "a helper thread never came back from duplicating the world";
    else if (attempt_ && attempt_->state() != Attempt::State::Over)
      refusal = "change " + attempt_->order.change + " is still in hand";
    if (!refusal.empty()) {
      RankReport report = ended(order.change, refusal);
      report.parked = parked_;
      return link_.send(report);
    }
    fresh = attempt_ = std::make_shared<Attempt>(order, spare_);
  }
  const std::uint64_t number = changes_begun_.fetch_add(1, std::memory_order_relaxed) + 1;
  try {
    helpers_.start("empi build", [this, fresh, number] {
      fresh->build();
      if (fresh->parked()) return;  // the agent has been told long ago
      RankReport report = fresh->report();
      report.kind = RankReport::Kind::Built;
      if (!report.ok) changes_given_up_.store(number, std::memory_order_relaxed);
      {
        const std::lock_guard lock(mutex_);
        report.parked = parked_;
      }
      link_.send(report);
    });
  } catch (const std::system_error& error) {
    fresh->drop();
    link_.send(ended(order.change, std::string("cannot start a thread: ") + error.what()));
  }
}

void Rank::cancel(const RankOrder& order) {
  const std::shared_ptr<Attempt> current = attempt();
  if (!current || current->order.change != order.change) return;
  // Confirmed already: every rank will come to the window, so it is there that the change must fail.
  const bool confirmed = page_ && arm_state(page_->control.armed.load()) == ArmState::Confirmed;
  if (current->cancel("cancelled", confirmed)) {
    changes_given_up_.store(changes_begun_.load(std::memory_order_relaxed), std::memory_order_relaxed);
    return link_.send(ended(order.change, "cancelled"));
  }
  if (current->state() == Attempt::State::Building) {
    overdue_ = current;
    overdue_since_ns_ = profile::monotonic_ns();
  }
}

int Rank::patience_ms() const {
  const auto waited = static_cast<int>((profile::monotonic_ns() - overdue_since_ns_) / 1000000);
  return waited >= kPatienceMs ? 0 : kPatienceMs - waited;
}

void Rank::check_parked() {
  if (!overdue_) return;
  if (overdue_->state() != Attempt::State::Building) {
    overdue_.reset();
    return;
  }
  if (patience_ms() > 0) return;
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

}  // namespace empi::adapt
