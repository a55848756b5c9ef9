// SPDX-License-Identifier: Apache-2.0
#include "operator/local/local_queue.hpp"

namespace emj::local {

LocalQueue::LocalQueue(ElasticQueue queue, std::function<void(const JobKey&)> look_at)
    : queue_(std::move(queue)), look_at_(std::move(look_at)) {}

std::vector<QueueRecord> LocalQueue::queues() { return {QueueRecord{queue()}}; }

std::optional<QueueSpec> LocalQueue::spec_of(const std::string& name) {
  const ElasticQueue own = queue();
  return own.metadata.name == name ? std::optional(own.spec) : std::nullopt;
}

Outcome LocalQueue::write_queue_status(const ElasticQueue&, const QueueStatus& status) {
  const std::lock_guard lock(mutex_);
  queue_.status = status;
  return Outcome::done();
}

ElasticQueue LocalQueue::queue() const {
  const std::lock_guard lock(mutex_);
  return queue_;
}

}  // namespace emj::local
