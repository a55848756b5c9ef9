// SPDX-License-Identifier: Apache-2.0
#include "operator/controller/accounting.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "operator/api/condition_types.hpp"
#include "operator/decide/queue/learned.hpp"
#include "runtime/base/hash.hpp"
#include "runtime/base/text.hpp"

namespace emj {
namespace {

enum class Ending { Failed = 0, Completed = 1, Cancelled = 5 };  // field 11

long long number_of(const std::string& name) {
  return name.empty() ? -1 : static_cast<long long>(1 + empi::fnv1a(name) % 1'000'000'000);
}

long long seconds(Millis time) { return std::llround(static_cast<double>(time.count()) / 1000); }

Ending ending_of(const JobStatus& status) {
  if (status.state == JobState::Succeeded) return Ending::Completed;
  const Condition* failed = find_condition(status, condition::kFailed);
  const bool cancelled =
      !is_terminal(status.state) || (failed && failed->reason == condition::kReasonCancelled);
  return cancelled ? Ending::Cancelled : Ending::Failed;
}

}  // namespace

std::string accounting_line(const ElasticMPIJob& job, Time now) {
  const JobStatus& status = job.status;
  const Time end = status.completion_time.value_or(now);
  const Time submit = job.metadata.creation_time.value_or(status.usage ? status.usage->since : end);
  const Time start = status.usage ? status.usage->since : end;
  const long long wait = std::max(0LL, seconds(start - submit));
  long long run = -1, processors = -1;
  double used = 0;
  if (status.usage) {
    used = worker_seconds(*status.usage, end);
    run = std::max(1LL, seconds(end - start));
    const double workers = used / static_cast<double>(run);
    processors = std::max(1LL, std::llround(workers * job.spec.slots_per_worker));
  }
  const auto& expected = job.spec.scheduling.expected;
  const std::string& queue = job.spec.scheduling.queue_name;
  const Ending ending = ending_of(status);
  std::string line = empi::format("%lld %lld %lld %lld %lld -1 -1 %d %lld -1 %d %lld -1 %lld %lld -1 -1 -1 ;",
                                  number_of(job.metadata.uid), seconds(submit.time_since_epoch()), wait, run,
                                  processors, reference_size(job.spec) * job.spec.slots_per_worker,
                                  expected ? static_cast<long long>(expected->count()) : -1LL,
                                  static_cast<int>(ending), number_of(job.metadata.namespace_name),
                                  number_of(queue::model_key(job.spec)), number_of(queue));
  line += " namespace=" + job.metadata.namespace_name + " name=" + job.metadata.name;
  if (!queue.empty()) line += " queue=" + queue;
  line += " uid=" + job.metadata.uid + empi::format(" workerSeconds=%.1f state=", used);
  return line + (is_terminal(status.state) ? to_string(status.state) : "Deleted");
}

std::string accounting_entry(const JobKey& job, const std::string& line) {
  return job.namespace_name + "/" + job.name + ": Accounting: " + line;
}

}  // namespace emj
