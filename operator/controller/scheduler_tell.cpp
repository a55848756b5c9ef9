// SPDX-License-Identifier: Apache-2.0
// What the scheduler says of a plan: to jobs why they wait, and to queues how things stand.
#include <algorithm>

#include "operator/controller/queue_books.hpp"
#include "operator/controller/scheduler.hpp"
#include "operator/decide/queue/backfill.hpp"
#include "operator/decide/queue/explain.hpp"
#include "operator/decide/queue/plan.hpp"
#include "runtime/base/joined.hpp"

namespace emj {
namespace {

constexpr std::size_t kExplained = 10;  // of those that wait: the others are told when their cause changes

}  // namespace

void Scheduler::tell_waiting(Round& round, const queue::Plan& plan) {
  std::map<int, Time> starts;
  for (const queue::Reservation& reservation : plan.reservations) starts[reservation.job] = reservation.start;
  const bool held = round.state.rules.hold != queue::Hold::None;
  for (std::size_t place = 0; place < plan.waiting.size(); ++place) {
    const int i = plan.waiting[place];
    const queue::Demand& demand = round.state.jobs[i];
    const bool barred = std::ranges::find(plan.barred, i, &queue::Barred::job) != plan.barred.end();
    const QueueCause cause = !queue::placeable(round.state, demand) ? QueueCause::TooLarge
                             : held                                 ? QueueCause::Held
                             : barred                               ? QueueCause::Quota
                                                                    : QueueCause::Waiting;
    const SeenJob& seen = round.jobs.at(demand.uid);
    const auto& wait = seen->job.status.queue;
    const auto start = starts.find(i);
    const bool told = wait && wait->cause == cause && !wait->expected_start;
    if (told && place >= kExplained && start == starts.end() && !grants_.tells_start(demand.uid)) continue;
    tell(seen, cause, explain_waiting(round.state, plan, i),
         start == starts.end() ? std::nullopt : std::optional(start->second));
  }
}

// What is granted is never replaced; a job is woken only when the word for why it waits is another one.
void Scheduler::tell(const SeenJob& seen, QueueCause cause, const std::string& reason,
                     std::optional<Time> start) {
  const std::string& uid = seen->job.metadata.uid;
  const JobKey key = key_of(seen->job);
  if (outstanding_.contains(key)) return;
  const auto before = grants_.of(uid);
  grants_.set(uid, {std::nullopt, cause, reason, start});
  const auto& wait = seen->job.status.queue;
  if ((!before || before->cause != cause) && !(wait && wait->cause == cause)) cluster_.look_at(key);
}

void Scheduler::write_status(const Round& round, const queue::Plan& plan) {
  const ElasticQueue& queue = round.record.queue;
  const std::string& name = queue.metadata.name;
  Taken& taken = taken_.at(name);
  describe_queue(taken.status, queue, round.state, round.rooms, plan, round.now);
  // What is counted on by the clock is always news, and worth no plan of its own.
  const bool only_use = same_but_for_use(taken.written, taken.status);
  const Millis rest = only_use ? std::max(options_.between_use, options_.between_status)
                      : urgent(taken.written, taken.status)
                          ? std::min(options_.between_urgent, options_.between_status)
                          : options_.between_status;
  if (taken.written_at && round.now - *taken.written_at < rest) {
    if (!only_use) wake(*taken.written_at + rest);
    return;
  }
  if (taken.status == taken.written) return;
  const Outcome outcome = write(queue, taken.status);
  if (outcome.ok()) {
    taken.written = taken.status;
    taken.written_at = round.now;
  } else if (outcome.kind != Outcome::Kind::Conflict) {
    log_("queue " + name + ": writing its status: " + outcome.message);
  }
}

// Running jobs keep what they have (rule Q28).
void Scheduler::tell_without_queue(const std::vector<QueueRecord>& records) {
  const std::string names = empi::joined(records, [](const QueueRecord& r) { return r.queue.metadata.name; });
  for (const auto& [key, known] : jobs_) {
    const SeenJob& seen = known.seen;
    const std::string& wanted = seen->job.spec.scheduling.queue_name;
    const auto record = std::ranges::lower_bound(
        records, wanted, {},
        [](const QueueRecord& r) -> const std::string& { return r.queue.metadata.name; });
    if (record == records.end() || record->queue.metadata.name != wanted)
      tell(seen, QueueCause::NoSuchQueue,
           "there is no ElasticQueue \"" + wanted + "\"" +
               (names.empty() ? ", nor any other" : "; there are: " + names));
    else if (!record->unreadable.empty())
      tell(seen, QueueCause::NoSuchQueue,
           "ElasticQueue \"" + wanted + "\" is not served: " + record->unreadable);
  }
}

}  // namespace emj
