// SPDX-License-Identifier: Apache-2.0
// Real jobs on a real cluster, timed from outside as a user sees them;
// operator/programs/operator/bench/k8s_jobs.sh prepares what it needs. Usage:
//   bench_k8s_jobs resize --namespace NS --image IMAGE [--from 4] [--to 8] [--trials 20]
//   bench_k8s_jobs launch --namespace NS --image IMAGE [--trials 3] [--workers 4 16]
//   bench_k8s_jobs shrink-to-start --namespace NS --image IMAGE [--trials 20]
#include <cstdio>
#include <stdexcept>
#include <string>
#include <thread>

#include "operator/programs/operator/bench/timed_cluster.hpp"
#include "runtime/base/options.hpp"
#include "runtime/protocol/metrics.hpp"

namespace {

using namespace emj::bench;

// --- changes of size
// -----------------------------------------------------------------------------------------

constexpr const char* kRuntimePhases[] = {"prepare", "build", "pause", "drain"};

// Sum and count of a step of the changes so far, as the lead's sidecar has them.
std::pair<double, double> phase_so_far(const Cluster::Metrics& metrics, const std::string& phase) {
  const std::string steps(empi::metrics::kReconfigurationPhase.name);
  std::pair<double, double> found{0, 0};
  for (const auto& [series, value] : metrics) {
    if (series.find("phase=\"" + phase + "\"") == series.npos) continue;
    if (series.starts_with(steps + "_sum")) found.first = value;
    if (series.starts_with(steps + "_count")) found.second = value;
  }
  return found;
}

void resize(const Options& options) {
  const std::string job = "resized", lead = job + "-w-0";
  Cluster cluster(options);
  cluster.create(job_object(options, job, options.from, options.to));
  cluster.wait("the job runs", [&] { return cluster.rests(job, options.from); });
  std::map<std::string, std::vector<double>> times;
  for (int trial = 0; trial < options.trials; ++trial) {
    const Cluster::Metrics before = cluster.metrics(lead);
    auto begin = Clock::now();
    cluster.scale(job, options.to);
    cluster.wait("newcomers have a node", [&] { return cluster.scheduled(job, options.to); });
    const double scheduled = seconds_since(begin);
    cluster.wait("newcomers are ready",
                 [&] { return cluster.ready(job, options.to) || cluster.has(job, options.to); });
    const double ready = seconds_since(begin);
    cluster.wait("the job has grown", [&] { return cluster.has(job, options.to); });
    const double grown = seconds_since(begin);
    cluster.wait("the job is at rest", [&] { return cluster.rests(job, options.to); });
    times["grow"].push_back(grown);
    times["schedule"].push_back(scheduled);
    times["container"].push_back(ready - scheduled);
    times["join"].push_back(grown - ready);

    begin = Clock::now();
    cluster.scale(job, options.from);
    cluster.wait("the job has shrunk", [&] { return cluster.has(job, options.from); });
    times["shrink"].push_back(seconds_since(begin));
    cluster.wait("the leavers' pods are gone", [&] { return cluster.rests(job, options.from); });

    const Cluster::Metrics after = cluster.metrics(lead);
    for (const char* phase : kRuntimePhases) {
      const auto [sum, count] = phase_so_far(after, phase);
      const auto [old_sum, old_count] = phase_so_far(before, phase);
      if (count > old_count) times[phase].push_back((sum - old_sum) / (count - old_count));
    }
    note("trial " + std::to_string(trial + 1) + ": grown after " + std::to_string(grown) + " s (scheduled " +
         std::to_string(scheduled) + ", ready " + std::to_string(ready) + "), shrunk after " +
         std::to_string(times["shrink"].back()) + " s");
  }
  cluster.remove(job);
  for (const char* what : {"grow", "shrink"}) {
    figure(std::string("k8s-resize.") + what + ".p50", quantile(times.at(what), .5));
    figure(std::string("k8s-resize.") + what + ".p95", quantile(times.at(what), .95));
  }
  // Of a grow, as seen from outside, then as the lead has measured the changes in both directions.
  for (const char* what : {"schedule", "container", "join", "prepare", "build", "pause", "drain"}) {
    if (!times.contains(what)) throw std::runtime_error(std::string("nobody has measured the step ") + what);
    figure(std::string("k8s-resize.") + what, quantile(times.at(what), .5));
  }
}

// Grows that find their workers started (spec.worker.standby): what is left is the join.
void resize_with_pool(const Options& options) {
  const std::string job = "warm";
  const int pool = options.to - options.from;
  Cluster cluster(options);
  cluster.create(job_object(options, job, options.from, options.to, pool));
  std::vector<double> times;
  for (int trial = 0; trial < options.trials; ++trial) {
    cluster.wait("the job runs beside its pool",
                 [&] { return cluster.rests_beside_pool(job, options.from, pool); });
    const auto begin = Clock::now();
    cluster.scale(job, options.to);
    cluster.wait("the job has grown", [&] { return cluster.has(job, options.to); });
    times.push_back(seconds_since(begin));
    note("trial " + std::to_string(trial + 1) + " with a pool: grown after " + std::to_string(times.back()) +
         " s");
    cluster.wait("the job is at rest", [&] { return cluster.rests(job, options.to); });
    cluster.scale(job, options.from);
  }
  cluster.remove(job);
  figure("k8s-resize.standby.p50", quantile(times, .5));
  figure("k8s-resize.standby.p95", quantile(times, .95));
}

// --- starts
// --------------------------------------------------------------------------------------------------

void launch(const Options& options) {
  for (const int workers : options.workers) {
    std::vector<double> times;
    for (int trial = 0; trial < options.trials; ++trial) {
      const std::string job = "launched-" + std::to_string(workers) + "-" + std::to_string(trial),
                        lead = job + "-w-0";
      Cluster cluster(options);
      const auto begin = Clock::now();
      cluster.create(job_object(options, job, workers, workers));
      cluster.wait("the pods have a node", [&] { return cluster.scheduled(job, workers); });
      const double scheduled = seconds_since(begin);
      cluster.wait("the pods are ready", [&] { return cluster.ready(job, workers); });
      const double ready = seconds_since(begin);
      const auto iterated = [&] {
        for (const auto& [series, value] : cluster.metrics(lead))
          if (series.starts_with(empi::metrics::kIterations.name) && value > 0) return true;
        return false;
      };
      while (!iterated()) {
        if (seconds_since(begin) > options.patience) throw std::runtime_error(job + " does not iterate");
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
      }
      times.push_back(seconds_since(begin));
      note(job + ": scheduled after " + std::to_string(scheduled) + " s, ready " + std::to_string(ready) +
           ", first iteration " + std::to_string(times.back()));
      cluster.remove(job);
    }
    figure("k8s-launch." + std::to_string(workers), quantile(times, .5));
  }
}

}  // namespace

int main(int argc, char** argv) {
  using namespace empi::options;
  Options options;
  int few_trials = 3;  // of a launch, which takes long
  std::string command;
  const auto common = [&](int& trials) -> OptionList {
    return {{"--namespace", &options.namespace_name, "", {.required = true}},
            {"--image", &options.image, "of jacobi", {.required = true}},
            {"--trials", &trials, "", {.check = in_range(1, 1000)}},
            {"--patience", &options.patience, "s, for each step", {.check = in_range(1, 3600)}}};
  };
  OptionList of_resize = common(options.trials), of_launch = common(few_trials);
  const OptionList of_shrink = common(options.trials);
  of_resize.push_back({"--from", &options.from, "", {.check = in_range(1, 100)}});
  of_resize.push_back({"--to", &options.to, "", {.check = in_range(2, 100)}});
  of_launch.push_back({"--workers", &options.workers, "", {.check = in_range(1, 100)}});
  const Program program{
      .what = "Times jobs on a cluster.",
      .name = "bench_k8s_jobs",
      .commands = {{"resize", "kubectl scale -> committed", "", of_resize},
                   {"launch", "job applied -> first iteration", "", of_launch},
                   {"shrink-to-start", "a rigid job applied on a full queue -> it runs", "", of_shrink}},
      .command = &command};
  if (const auto status = read(program, argc, argv)) return *status;
  try {
    if (command == "launch") options.trials = few_trials;
    if (command == "resize") {
      resize(options);
      resize_with_pool(options);
    } else if (command == "shrink-to-start") {
      shrink_to_start(options);
    } else {
      launch(options);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "bench_k8s_jobs: %s\n", error.what());
    return 1;
  }
  return 0;
}
