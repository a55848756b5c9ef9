// SPDX-License-Identifier: Apache-2.0
// A rigid job on a full queue, from its creation until its program runs on workers that another job has given
// up.
#include <stdexcept>
#include <string>

#include "operator/programs/operator/bench/timed_cluster.hpp"

namespace emj::bench {
namespace {

constexpr int kRigidWorkers = 4;
constexpr const char* kSteps[] = {"promise", "shrink", "release", "schedule", "start"};

// Known to be as fast as it has workers: every one of them is worth having.
json in_queue(json job, const Options& options) {
  job["spec"]["scheduling"] = {{"queueName", options.namespace_name},
                               {"scalability",
                                {{{"workers", 1}, {"speedPercent", 100}},
                                 {{"workers", kSharedWorkers}, {"speedPercent", 100 * kSharedWorkers}}}}};
  return job;
}

int allocated(const Cluster& cluster, const std::string& job, const char* what) {
  return cluster.status(job).value("allocation", json::object()).value(what, 0);
}

using Times = std::map<std::string, std::vector<double>>;  // of each step, by trial

void time_a_start(Cluster& cluster, const Options& options, const std::string& elastic,
                  const std::string& stiff, Times& times) {
  json rigid = in_queue(job_object(options, stiff, kRigidWorkers, kRigidWorkers), options);
  rigid["spec"]["runtime"] = {{"mode", "Rigid"}};
  const auto begin = Clock::now();
  double before = 0;
  const auto step = [&](const char* name, const char* what, const std::function<bool()>& so) {
    cluster.wait(what, so);
    const double now = seconds_since(begin);
    times[name].push_back(now - before);
    before = now;
  };
  cluster.create(rigid);
  const auto granted = [&] { return allocated(cluster, stiff, "workers") == kRigidWorkers; };
  step("promise", "it is promised what it needs",
       [&] { return allocated(cluster, stiff, "promised") == kRigidWorkers || granted(); });
  step("shrink", "the elastic job has become smaller",
       [&] { return cluster.has(elastic, kSharedWorkers - kRigidWorkers) || granted(); });
  step("release", "the leavers' pods are gone, and it has their room", granted);
  step("schedule", "its pods have a node", [&] { return cluster.scheduled(stiff, kRigidWorkers); });
  step("start", "its program runs", [&] {
    return cluster.status(stiff).value("state", "") == "Running" && cluster.has(stiff, kRigidWorkers);
  });
  times["all"].push_back(before);
  note(stiff + ": runs after " + std::to_string(before) + " s");
}

}  // namespace

void shrink_to_start(const Options& options) {
  const std::string elastic = "elastic";
  Cluster cluster(options);
  cluster.create(in_queue(job_object(options, elastic, kSharedWorkers, kSharedWorkers), options));
  Times times;
  for (int trial = 1; trial <= options.trials; ++trial) {
    const std::string stiff = "stiff-" + std::to_string(trial);
    cluster.wait("the elastic job has all there is", [&] { return cluster.rests(elastic, kSharedWorkers); });
    time_a_start(cluster, options, elastic, stiff, times);
    if (cluster.status(elastic).value("restarts", 0) != 0)
      throw std::runtime_error("the elastic job was started again");
    cluster.remove(stiff);
  }
  cluster.remove(elastic);
  const std::string bench = "k8s-shrink-to-start.";
  figure(bench + "p50", quantile(times.at("all"), .5));
  figure(bench + "p95", quantile(times.at("all"), .95));
  for (const char* name : kSteps) figure(bench + name, quantile(times.at(name), .5));
}

}  // namespace emj::bench
