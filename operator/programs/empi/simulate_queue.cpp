// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/simulate_queue.hpp"

#include <cstdint>
#include <set>

#include "operator/api/queue.hpp"
#include "operator/controller/capacity.hpp"
#include "operator/local/process.hpp"
#include "operator/simulate/trace.hpp"
#include "runtime/base/text.hpp"

namespace emj::cli {
namespace {

// A machine of one pool: what says more than that would be ignored.
std::string not_in_a_trace(const QueueSpec& spec) {
  if (spec.pools.size() > 1) return "spec.pools: a trace is of one machine: leave one pool";
  if (spec.preemption == Preemption::None)
    return "spec.preemption: None is not simulated; for jobs that keep the size they start with see the line "
           "moldable: set Shrink";
  if (spec.objective == QueueObjective::Workload)
    return "spec.objective: workload goes by the work that iterations report, and a trace has none: set "
           "another one";
  if (spec.hold != HoldMode::None) return "spec.hold: nothing would start: set None";
  return "";
}

}  // namespace

empi::Expected<TriedQueue, std::string> queue_to_try(const std::string& file) {
  const auto text = local::read_file(file);
  if (!text) return file + ": cannot be read; it is to be a file with an ElasticQueue manifest";
  const auto read = parse_queue_yaml(*text, file);
  if (!read) {
    std::string problem = read.message();
    problem.erase(problem.find_last_not_of('\n') + 1);
    return problem;
  }
  const QueueSpec& spec = read.value().spec;
  const std::string problem = not_in_a_trace(spec);
  if (!problem.empty()) return file + ": " + problem;
  TriedQueue tried{.name = read.value().metadata.name, .spec = spec, .rules = {}, .processors = 0};
  std::set<std::string> taken;
  const PoolRoom room = rooms_of(spec, std::nullopt, {}, taken).front();
  if (room.unreadable) return tried;
  const std::int64_t processors = room.pool.capacity.milli_cpu / 1000;
  if (processors > simulate::kMostProcessors)
    return file +
           empi::format(": spec.pools[0].quota.cpu: leaves %lld CPUs, and a simulation is of at most %d",
                        static_cast<long long>(processors), simulate::kMostProcessors);
  tried.processors = static_cast<int>(processors);
  if (processors <= 0)
    return file + ": spec.pools[0].quota.cpu: leaves less than one CPU, and a processor of a trace is one";
  return tried;
}

}  // namespace emj::cli
