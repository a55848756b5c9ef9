// SPDX-License-Identifier: Apache-2.0
#pragma once

// The statuses of the queues that a scheduler has taken. It alone writes them: who takes a queue raises its
// fence before its first plan, and whoever had it before is refused from then on (rule Q27). Used by the
// scheduler's thread only.

#include <functional>
#include <map>
#include <optional>
#include <string>

#include "operator/controller/queue_cluster.hpp"

namespace emj {

class QueueStatuses {
 public:
  using Log = std::function<void(const std::string& line)>;
  // `between`: writes of one status, unless its capacity or its head has changed. `overtaken`: a fence above
  // ours that has not moved for so long is nobody's.
  QueueStatuses(QueueCluster& cluster, Log log, Millis between, Millis overtaken)
      : cluster_(cluster), log_(std::move(log)), between_(between), overtaken_(overtaken) {}

  enum class Take { Taken, Others, Again };  // Again: it was not written, and is to be tried again soon
  Take take(const QueueRecord& record, Time now);
  // As counted on; null where it was not taken.
  QueueStatus* of(const std::string& queue);
  // Nothing, or when it is to be written that waits now.
  std::optional<Time> write(const ElasticQueue& queue, Time now);
  // Its status is no longer as we have written it, so it is taken anew when it can be read again.
  void tell_unreadable(const QueueRecord& record);
  // Of all others nothing is kept, and nothing is gone on from.
  void keep_only(const std::vector<QueueRecord>& records);

 private:
  struct Taken {
    std::string uid;
    QueueStatus status;   // as counted on
    QueueStatus written;  // as last written
    std::optional<Time> written_at;
    std::int64_t newer_fence = 0;  // somebody else's, seen since:
    Time newer_since{};
  };

  QueueCluster& cluster_;
  Log log_;
  Millis between_, overtaken_;
  std::map<std::string, Taken> taken_;
  std::map<std::string, std::string> troubles_;  // by queue: why it cannot be read, as last told
};

}  // namespace emj
