// SPDX-License-Identifier: Apache-2.0
// The queue of a full simulation, as the scheduler reads and writes it.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "operator/controller/queue_cluster.hpp"

namespace emj::simulate {

class OneQueue : public QueueCluster {
 public:
  OneQueue(const std::string& name, const QueueSpec& spec) : records_(1) {
    records_[0].queue.metadata.name = name;
    records_[0].queue.metadata.uid = "queue";
    records_[0].queue.spec = spec;
  }

  std::vector<QueueRecord> queues() override { return records_; }
  std::optional<QueueSpec> spec_of(const std::string& queue) override {
    const ElasticQueue& ours = records_[0].queue;
    return queue == ours.metadata.name ? std::optional(ours.spec) : std::nullopt;
  }
  Outcome write_queue_status(const ElasticQueue&, const QueueStatus& status) override {
    records_[0].queue.status = status;
    return Outcome::done();
  }
  void look_at(const JobKey& key) override { due_.push_back(key); }

  // Jobs that are due for a pass since this was asked last.
  std::vector<JobKey> take_due() { return std::exchange(due_, {}); }

 private:
  std::vector<QueueRecord> records_;
  std::vector<JobKey> due_;
};

}  // namespace emj::simulate
