// SPDX-License-Identifier: Apache-2.0
// Real jobs on a real cluster, timed from outside as a user sees them;
// operator/programs/operator/bench/k8s_jobs.sh and k8s_launch.sh prepare what it needs. Usage:
//   bench_k8s_jobs resize --namespace NS --image IMAGE [--from 4] [--to 8] [--trials 20]
//   bench_k8s_jobs launch --namespace NS --image IMAGE [--trials 3] [--workers 4 16]
//   bench_k8s_jobs shrink-to-start --namespace NS --image IMAGE [--trials 20]     an ElasticQueue of the name NS
//   with room for eight workers is there
#include <algorithm>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "operator/api/job.hpp"
#include "operator/kube/client.hpp"
#include "operator/kube/informer.hpp"
#include "runtime/base/options.hpp"
#include "runtime/protocol/metrics.hpp"

namespace {

namespace kube = emj::kube;
namespace resources = emj::kube::resources;
using nlohmann::json;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string namespace_name, image;
  int from = 4, to = 8, trials = 20;
  std::vector<int> workers{4, 16};
  int patience = 180;  // s, for a job to start or to change
};

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}
void note(const std::string& text) { std::fprintf(stderr, "k8s: %s\n", text.c_str()); }
void figure(const std::string& name, double value) {
  std::printf("bench %s %.3f s\n", name.c_str(), value);
  std::fflush(stdout);
}
double quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  return values.at(static_cast<std::size_t>(std::lround(q * static_cast<double>(values.size() - 1))));
}

// Iterations of 20 ms in which ranks sleep, so that many fit on a small machine.
json job_object(const Options& options, const std::string& name, int workers, int most, int standby = 0) {
  const json container = {
      {"name", "worker"},
      {"image", options.image},
      {"command", {"empi-jacobi"}},
      {"args", {"--n", "64", "--iterations", "1000000000", "--tolerance", "0", "--pace", "20"}},
      // All nodes share the cores of this machine; an agent knows only its own pod's ranks.
      {"env", {{{"name", "OMPI_MCA_mpi_yield_when_idle"}, {"value", "1"}}}},
      {"resources", {{"requests", {{"cpu", "10m"}, {"memory", "32Mi"}}}}}};
  return {{"apiVersion", "elasticmpi.io/v1alpha1"},
          {"kind", "ElasticMPIJob"},
          {"metadata", {{"name", name}, {"namespace", options.namespace_name}}},
          {"spec",
           {{"worker",
             {{"replicas", workers},
              {"minReplicas", 1},
              {"maxReplicas", most},
              {"standby", standby},
              {"template", {{"spec", {{"containers", json::array({container})}}}}}}},
            {"resize", {{"joinTimeoutSeconds", 120}, {"prepareTimeoutSeconds", 60}}}}}};
}

bool condition_is_true(const json& pod, const std::string& type) {
  const json status = pod.value("status", json::object());
  for (const json& condition : status.value("conditions", json::array()))
    if (condition.value("type", "") == type) return condition.value("status", "") == "True";
  return false;
}

// The namespace's jobs and pods as two watches tell them.
class Cluster {
 public:
  explicit Cluster(const Options& options) : options_(options), client_(kube::load_config()) {
    kube::WatcherOptions watched;
    watched.namespace_name = options.namespace_name;
    const auto news = [this](const kube::Change&) {
      {
        const std::lock_guard lock(mutex_);
      }
      changed_.notify_all();
    };
    jobs_ = std::make_unique<kube::Informer>(client_, resources::elastic_mpi_jobs, watched, news);
    pods_ = std::make_unique<kube::Informer>(client_, resources::pods, watched, news);
    jobs_->start();
    pods_->start();
  }

  // Returns at the first news after which it is so.
  void wait(const std::string& what, const std::function<bool()>& so) {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_for(lock, std::chrono::seconds(options_.patience), so))
      throw std::runtime_error("not so after " + std::to_string(options_.patience) + " s: " + what);
  }

  json status(const std::string& job) const {
    const kube::ObjectPtr object = jobs_->get({options_.namespace_name, job});
    return object ? object->value("status", json::object()) : json::object();
  }
  bool has(const std::string& job, int size) const { return status(job).value("joinedReplicas", 0) == size; }
  bool rests(const std::string& job, int size) const {
    return has(job, size) && status(job).value("state", "") == "Running" &&
           pods(job).size() == static_cast<std::size_t>(size);
  }
  bool rests_beside_pool(const std::string& job, int size, int standby) const {
    const json now = status(job);
    return has(job, size) && now.value("state", "") == "Running" &&
           now.value("standby", json::object()).value("ready", 0) == standby &&
           pods(job).size() == static_cast<std::size_t>(size + standby);
  }
  std::vector<kube::ObjectPtr> pods(const std::string& job) const {
    std::vector<kube::ObjectPtr> found;
    for (const kube::ObjectPtr& pod : pods_->list())
      if ((*pod)["metadata"].value("labels", json::object()).value(emj::kLabelJob, "") == job)
        found.push_back(pod);
    return found;
  }
  bool scheduled(const std::string& job, int count) const {
    return std::ranges::count_if(
               pods(job), [](const auto& pod) { return (*pod)["spec"].contains("nodeName"); }) >= count;
  }
  bool ready(const std::string& job, int count) const {
    return std::ranges::count_if(pods(job),
                                 [](const auto& pod) { return condition_is_true(*pod, "Ready"); }) >= count;
  }

  void create(const json& job) {
    const auto made = client_.create(resources::elastic_mpi_jobs, options_.namespace_name, job);
    if (!made) throw std::runtime_error(made.error().message);
  }
  void remove(const std::string& job) {
    const auto gone = client_.remove(resources::elastic_mpi_jobs, {options_.namespace_name, job}, {});
    if (!gone) throw std::runtime_error(gone.error().message);
    wait(job + " and its pods are gone", [&] { return pods(job).empty(); });
  }
  void scale(const std::string& job, int size) {
    const auto done = client_.merge_patch(resources::elastic_mpi_jobs, {options_.namespace_name, job},
                                          {{"spec", {{"replicas", size}}}}, {.subresource = "scale"});
    if (!done) throw std::runtime_error(done.error().message);
  }

  using Metrics = std::map<std::string, double>;  // by name and labels, as printed
  Metrics metrics(const std::string& pod) {
    const auto text = client_.get_text("/api/v1/namespaces/" + options_.namespace_name + "/pods/" + pod +
                                       ":7401/proxy/metrics");
    Metrics metrics;
    if (!text) return metrics;
    std::istringstream lines(text.value());
    for (std::string line; std::getline(lines, line);) {
      const auto space = line.rfind(' ');
      if (!line.starts_with('#') && space != std::string::npos)
        metrics[line.substr(0, space)] = std::strtod(line.c_str() + space, nullptr);
    }
    return metrics;
  }

 private:
  const Options& options_;
  kube::Client client_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<kube::Informer> jobs_, pods_;
};

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
    std::string text;
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

// --- starts for which another job must become smaller ------------------------------------------------------

constexpr int kRoom = 8, kRigid = 4;

json in_queue(json job, const Options& options) {
  job["spec"]["scheduling"] = {{"queueName", options.namespace_name},
                               {"scalability",
                                {{{"workers", 1}, {"speedPercent", 100}},
                                 {{"workers", kRoom}, {"speedPercent", 100 * kRoom}}}}};
  return job;
}

int allocated(const Cluster& cluster, const std::string& job, const char* what) {
  return cluster.status(job).value("allocation", json::object()).value(what, 0);
}

void shrink_to_start(const Options& options) {
  Cluster cluster(options);
  const std::string elastic = "elastic";
  cluster.create(in_queue(job_object(options, elastic, kRoom, kRoom), options));
  std::map<std::string, std::vector<double>> times;
  for (int trial = 0; trial < options.trials; ++trial) {
    const std::string stiff = "stiff-" + std::to_string(trial);
    cluster.wait("the elastic job has all", [&] { return cluster.rests(elastic, kRoom); });
    json rigid = in_queue(job_object(options, stiff, kRigid, kRoom), options);
    rigid["spec"]["runtime"] = {{"mode", "Rigid"}};
    const auto begin = Clock::now();
    double before = 0;
    const auto step = [&](const char* name, const std::string& what, const std::function<bool()>& so) {
      cluster.wait(what, so);
      const double now = seconds_since(begin);
      times[name].push_back(now - before);
      before = now;
    };
    cluster.create(rigid);
    const auto granted = [&] { return allocated(cluster, stiff, "workers") == kRigid; };
    step("promise", "it is promised what it needs",
         [&] { return allocated(cluster, stiff, "promised") == kRigid || granted(); });
    step("shrink", "the elastic job has become smaller",
         [&] { return cluster.has(elastic, kRoom - kRigid) || granted(); });
    step("release", "the leavers' pods are gone, and it has their room", granted);
    step("schedule", "its pods have a node", [&] { return cluster.scheduled(stiff, kRigid); });
    step("start", "its program runs",
         [&] { return cluster.status(stiff).value("state", "") == "Running" && cluster.has(stiff, kRigid); });
    times["all"].push_back(before);
    note("trial " + std::to_string(trial + 1) + ": runs after " + std::to_string(before) + " s");
    if (cluster.status(elastic).value("restarts", 0) != 0)
      throw std::runtime_error("the elastic job was started again");
    cluster.remove(stiff);
  }
  cluster.remove(elastic);
  const std::string bench = "k8s-shrink-to-start.";
  figure(bench + "p50", quantile(times.at("all"), .5));
  figure(bench + "p95", quantile(times.at("all"), .95));
  for (const char* what : {"promise", "shrink", "release", "schedule", "start"})
    figure(bench + what, quantile(times.at(what), .5));
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
  OptionList of_resize = common(options.trials), of_launch = common(few_trials),
             of_shrink = common(options.trials);
  of_resize.push_back({"--from", &options.from, "", {.check = in_range(1, 100)}});
  of_resize.push_back({"--to", &options.to, "", {.check = in_range(2, 100)}});
  of_launch.push_back({"--workers", &options.workers, "", {.check = in_range(1, 100)}});
  const Program program{.what = "Times jobs on a cluster.",
                        .name = "bench_k8s_jobs",
                        .commands = {{"resize", "kubectl scale -> committed", "", of_resize},
                                     {"launch", "job applied -> first iteration", "", of_launch},
                                     {"shrink-to-start", "a rigid job applied on a full queue -> it runs", "",
                                      of_shrink}},
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
