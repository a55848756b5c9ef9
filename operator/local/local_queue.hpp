// SPDX-License-Identifier: Apache-2.0
// The queue of one `empi run`, for its scheduler. It and its status live as long as the run: jobs that come
// to a run later bring their own statuses.
#pragma once
#include <functional>
#include <mutex>
#include <vector>

#include "operator/controller/queue_cluster.hpp"

namespace emj::local {

class LocalQueue : public QueueCluster {
 public:
  LocalQueue(ElasticQueue queue, std::function<void(const JobKey&)> look_at);

  std::vector<QueueRecord> queues() override;
  std::optional<QueueSpec> spec_of(const std::string& queue) override;
  Outcome write_queue_status(const ElasticQueue& read, const QueueStatus& status) override;
  void look_at(const JobKey& key) override { look_at_(key); }

  ElasticQueue queue() const;  // from any thread

 private:
  mutable std::mutex mutex_;
  ElasticQueue queue_;
  std::function<void(const JobKey&)> look_at_;
};

}  // namespace emj::local
