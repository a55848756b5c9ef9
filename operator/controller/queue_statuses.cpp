// SPDX-License-Identifier: Apache-2.0
#include "operator/controller/queue_statuses.hpp"

#include <algorithm>

#include "operator/controller/queue_books.hpp"

namespace emj {

QueueStatus* QueueStatuses::of(const std::string& queue) {
  const auto found = taken_.find(queue);
  return found == taken_.end() ? nullptr : &found->second.status;
}

QueueStatuses::Take QueueStatuses::take(const QueueRecord& record, Time now) {
  const std::string& name = record.queue.metadata.name;
  troubles_.erase(name);
  const std::int64_t fence = record.queue.status.fence;
  if (const auto found = taken_.find(name);
      found != taken_.end() && found->second.uid == record.queue.metadata.uid) {
    Taken& taken = found->second;
    if (fence <= taken.status.fence) return Take::Taken;
    if (taken.newer_fence != fence) {
      log_("queue " + name + ": another operator has taken it");
      taken.newer_fence = fence;
      taken.newer_since = now;
    }
    if (now - taken.newer_since < overtaken_) return Take::Others;
  }
  QueueStatus status = record.queue.status;
  ++status.fence;
  const Outcome outcome = cluster_.write_queue_status(record.queue, status);
  if (!outcome.ok()) {
    if (outcome.kind != Outcome::Kind::Conflict) log_("queue " + name + ": taking it: " + outcome.message);
    return Take::Again;
  }
  taken_[name] = {record.queue.metadata.uid, status, status, {}};
  return Take::Taken;
}

std::optional<Time> QueueStatuses::write(const ElasticQueue& queue, Time now) {
  const std::string& name = queue.metadata.name;
  Taken& taken = taken_.at(name);
  const bool rested = !taken.written_at || now - *taken.written_at >= between_;
  if (!rested && !urgent(taken.written, taken.status)) {
    // What is counted on by the clock is always news, and worth no plan of its own.
    if (same_but_for_use(taken.written, taken.status)) return std::nullopt;
    return *taken.written_at + between_;
  }
  if (taken.status == taken.written) return std::nullopt;
  const Outcome outcome = cluster_.write_queue_status(queue, taken.status);
  if (outcome.ok()) {
    taken.written = taken.status;
    taken.written_at = now;
  } else if (outcome.kind != Outcome::Kind::Conflict) {
    log_("queue " + name + ": writing its status: " + outcome.message);
  }
  return std::nullopt;
}

void QueueStatuses::tell_unreadable(const QueueRecord& record) {
  const std::string& name = record.queue.metadata.name;
  taken_.erase(name);
  const Outcome told = cluster_.tell_unreadable(record);
  std::string trouble = record.unreadable;
  if (!told.ok() && told.kind != Outcome::Kind::Conflict) trouble += "; telling so: " + told.message;
  std::string& before = troubles_[name];
  if (trouble != before) log_("queue " + name + " cannot be read, its jobs are left as they are: " + trouble);
  before = std::move(trouble);
}

void QueueStatuses::keep_only(const std::vector<QueueRecord>& records) {
  const auto deleted = [&](const auto& entry) {
    return std::ranges::none_of(records,
                                [&](const QueueRecord& r) { return r.queue.metadata.name == entry.first; });
  };
  std::erase_if(taken_, deleted);
  std::erase_if(troubles_, deleted);
}

}  // namespace emj
