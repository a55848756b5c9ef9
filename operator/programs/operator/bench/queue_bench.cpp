// SPDX-License-Identifier: Apache-2.0
// A full queue of simulated jobs, half of which wait, and an operator that looks after it;
// operator/programs/operator/bench/k8s_scale.sh starts what it needs.
// Usage: bench_k8s_queue --pid OPERATOR --metrics PORT [--jobs N] [--starts N] [--yields N] [--rate N]
//
// First jobs outside of the queue start and shrink: what that costs anyway. Then N jobs of 4 run and N of 4
// wait, with preemption None. Some that run are deleted, one after the other: a start takes from the moment
// in which the last pod of a deleted job is gone to that in which the first pod of the next one is there,
// both as this program's watch tells. At last preemption is Shrink, and malleable jobs yield half of what
// they have, all at once.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "operator/api/job.hpp"
#include "operator/kube/client.hpp"
#include "operator/kube/informer.hpp"
#include "operator/objects/pods.hpp"
#include "operator/programs/operator/bench/watched_operator.hpp"
#include "runtime/base/options.hpp"
#include "runtime/base/text.hpp"

namespace emj::bench {
namespace {

namespace resources = kube::resources;
using nlohmann::json;

constexpr const char* kQueue = "main";
constexpr int kWorkers = 4, kHalf = 2;
constexpr int kWorkerMilliCpu = 100;         // of simulated_job()
constexpr double kRates[] = {2, 1, .5, .2};  // starts per second
constexpr double kBorne = .020;              // s, the API server's 99th percentile

struct Options {
  int pid = 0, port = 0;
  int jobs = 500, starts = 60, trial = 12, yields = 100, alone = 20;
  double rate = 0;      // starts per second; 0: the largest that the API server bears
  int patience = 1800;  // s, for anything to become so
};

void note(const std::string& text) { std::fprintf(stderr, "k8s-queue: %s\n", text.c_str()); }
void figure(const char* name, double value, const char* unit) {
  std::printf("bench k8s-queue.%s %.6g %s\n", name, value, unit);
  std::fflush(stdout);
}

struct Kind {
  std::string prefix;
  bool queued = true;
  bool rigid = true;
};
const Kind kAlone{"alone-", false, false}, kRuns{"runs-"}, kYields{"yields-", true, false}, kWaits{"waits-"};

std::string name_of(const Kind& kind, int number) { return kind.prefix + std::to_string(number); }

json job_object(const Kind& kind, int number) {
  json job = simulated_job(name_of(kind, number), kWorkers, kind.rigid ? kWorkers : kHalf, kWorkers);
  if (kind.rigid) job["spec"]["runtime"]["mode"] = "Rigid";
  if (kind.queued) job["spec"]["scheduling"]["queueName"] = kQueue;
  return job;
}

json queue_object(int jobs, const char* preemption) {
  const int cpu = jobs * kWorkers * (kWorkerMilliCpu + kSidecarMilliCpu);
  return {{"apiVersion", "elasticmpi.io/v1alpha1"},
          {"kind", "ElasticQueue"},
          {"metadata", {{"name", kQueue}}},
          {"spec",
           {{"pools", {{{"name", "all"}, {"quota", {{"cpu", std::to_string(cpu) + "m"}}}}}},
            {"preemption", preemption},
            {"pendingSeconds", 1800}}}};
}

void keep_label(json& pod) {
  pod = {{"metadata",
          {{"name", pod["metadata"]["name"]},
           {"namespace", pod["metadata"]["namespace"]},
           {"uid", pod["metadata"]["uid"]},
           {"resourceVersion", pod["metadata"]["resourceVersion"]},
           {"labels", {{kLabelJob, pod["metadata"]["labels"].value(kLabelJob, "")}}}}}};
}

class Bench {
 public:
  explicit Bench(const Options& options)
      : options_(options),
        client_(kube::load_config(), quick_client()),
        jobs_(client_, resources::kElasticMpiJobs, watched(keep_size), nullptr),
        pods_(client_, resources::kPods, watched(keep_label), [this](const kube::Change& c) { look(c); }) {
    jobs_.start();
    pods_.start();
  }
  ~Bench() {
    pods_.stop();
    jobs_.stop();
  }

  void run() {
    alone();
    fill();
    const Metrics before = read_metrics(options_.port);
    const double per_start = starts();
    yields(per_start);
    const Metrics after = read_metrics(options_.port);
    figure("pass.p50", 1000 * quantile(before, after, "empi_scheduler_pass_seconds", .5), "ms");
    figure("pass.p99", 1000 * quantile(before, after, "empi_scheduler_pass_seconds", .99), "ms");
    figure("passes", grown(before, after, "empi_scheduler_pass_seconds_count"), "passes");
    figure("rss", memory_mib(options_.pid, "VmHWM"), "MiB");
  }

 private:
  static kube::WatcherOptions watched(void (*reduce)(json&)) {
    kube::WatcherOptions options;
    options.namespace_name = kNamespace;
    options.reduce = reduce;
    return options;
  }

  // --- what the cluster shows ------------------------------------------------------------------------------

  void look(const kube::Change& change) {
    const auto now = Clock::now();
    const json& pod = change.after ? *change.after : *change.before;
    const std::string job = pod["metadata"]["labels"][kLabelJob];
    const std::lock_guard lock(mutex_);
    std::set<std::string>& pods = living_[job];
    if (change.after) {
      if (pods.insert(change.key.name).second && begun_.insert(job).second) first_pod_.push_back(now);
    } else if (pods.erase(change.key.name) > 0 && pods.empty() && removed_.contains(job)) {
      pods_gone_.push_back(now);
    }
  }

  int count(const Kind& kind, const char* state, int size) const {
    int count = 0;
    for (const kube::ObjectPtr& job : jobs_.list()) {
      const json& status = (*job)["status"];
      count += kube::key_of(*job).name.starts_with(kind.prefix) && status["state"] == state &&
               (size < 0 || status["joined"] == size);
    }
    return count;
  }

  template <class Counted>
  void wait(const std::string& what, int wanted, Counted counted) {
    const auto begin = Clock::now();
    double told = 0;
    for (int found = counted(); found < wanted; found = counted()) {
      const double seconds = seconds_since(begin);
      const std::string so_far = std::to_string(found) + " of " + std::to_string(wanted) + ": " + what;
      if (seconds > options_.patience)
        throw std::runtime_error("after " + std::to_string(options_.patience) + " s only " + so_far);
      memory_mib(options_.pid, "VmRSS");  // throws when the operator has ended
      if (seconds > told + 15) {
        told = seconds;
        note(so_far + " (" + std::to_string(static_cast<int>(seconds)) + " s)");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
  }
  void wait_running(const Kind& kind, int wanted, int size) {
    wait("jobs " + kind.prefix + "N run with " + std::to_string(size), wanted,
         [&] { return count(kind, "Running", size); });
  }

  // --- what is asked of it ---------------------------------------------------------------------------------

  static void expect(const kube::Client::Object& answer) {
    if (!answer) throw std::runtime_error(answer.error().message);
  }
  void create(const Kind& kind, int count) {
    side_by_side(4, count, [&](int i) {
      expect(client_.create(resources::kElasticMpiJobs, kNamespace, job_object(kind, i)));
    });
  }
  void remove(const Kind& kind, int number) {
    const std::string name = name_of(kind, number);
    {
      const std::lock_guard lock(mutex_);
      removed_.insert(name);
    }
    expect(client_.remove(resources::kElasticMpiJobs, {kNamespace, name}, {}));
  }

  void alone() {
    const int count = options_.alone;
    const Metrics before = read_metrics(options_.port);
    create(kAlone, count);
    wait_running(kAlone, count, kWorkers);
    const Metrics started = read_metrics(options_.port);
    figure("writes_per_start_alone", writes(before, started) / count, "writes");
    note("a start alone: " + writes_by_kind(before, started, count));
    side_by_side(4, count, [&](int i) {
      expect(client_.merge_patch(resources::kElasticMpiJobs, {kNamespace, name_of(kAlone, i)},
                                 {{"spec", {{"replicas", kHalf}}}}, {.subresource = "scale"}));
    });
    wait_running(kAlone, count, kHalf);
    const Metrics shrunk = read_metrics(options_.port);
    figure("writes_per_shrink_alone", writes(started, shrunk) / count, "writes");
    note("a shrink alone: " + writes_by_kind(started, shrunk, count));
    for (int i = 0; i < count; ++i) remove(kAlone, i);
    wait("jobs have left", count, [&] { return gone(); });
  }
  int gone() {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(pods_gone_.size());
  }
  int begun() {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(first_pod_.size());
  }

  void fill() {
    const auto begin = Clock::now();
    expect(client_.create(resources::kElasticQueues, "", queue_object(options_.jobs, "None")));
    create(kYields, options_.yields);
    create(kRuns, options_.jobs - options_.yields);
    wait_running(kYields, options_.yields, kWorkers);
    wait_running(kRuns, options_.jobs - options_.yields, kWorkers);
    note(std::to_string(options_.jobs) + " jobs run after " + std::to_string(seconds_since(begin)) + " s");
    create(kWaits, options_.jobs);
    wait("jobs wait", options_.jobs, [&] { return count(kWaits, "Queued", -1); });
    const Metrics quiet = read_metrics(options_.port);
    figure("steady_cpu", load_of(options_.pid, 20), "cores");
    figure("steady_writes", writes(quiet, read_metrics(options_.port)), "writes");
  }

  struct Starts {
    double rate = 0;
    double writes = 0;            // per start
    std::vector<double> seconds;  // that each took, ascending
    double answer = 0;            // s, of the API server, 99th percentile
  };
  // `rate` times a second one that runs is deleted.
  Starts start(double rate, int count) {
    const int gone_before = gone(), begun_before = begun();
    const Metrics before = read_metrics(options_.port);
    std::vector<double> answers;
    const auto begin = Clock::now();
    for (int i = 0; i < count; ++i) {
      std::this_thread::sleep_until(
          begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(i / rate)));
      const auto asked = Clock::now();
      remove(kRuns, started_++);
      answers.push_back(seconds_since(asked));
    }
    wait_running(kWaits, started_, kWorkers);
    Starts starts{count / seconds_since(begin), 0, {}, quantile_of(answers, .99)};
    const Metrics after = read_metrics(options_.port);
    starts.writes = writes(before, after) / count;
    note(empi::format("%g", rate) + " starts/s: the API server answers within " +
         std::to_string(starts.answer) + " s (p99); a start: " + writes_by_kind(before, after, count));
    const std::lock_guard lock(mutex_);
    for (int i = 0; i < count; ++i)
      starts.seconds.push_back(
          std::chrono::duration<double>(first_pod_.at(begun_before + i) - pods_gone_.at(gone_before + i))
              .count());
    if (std::ranges::min(starts.seconds) < 0)
      throw std::runtime_error("a job has started before there was room for it");
    return starts;
  }

  // As k8s-scale (decision K12'): where the API server answers late, a start is its time, not the operator's.
  double largest_borne() {
    for (const double rate : kRates)
      if (start(rate, options_.trial).answer < kBorne) return rate;
    note("the API server bears none of these rates: what follows is its time as much as the operator's");
    return std::end(kRates)[-1];
  }

  double starts() {
    const double rate = options_.rate > 0 ? options_.rate : largest_borne();
    Starts starts = start(rate, options_.starts);
    figure("starts", options_.starts, "starts");
    figure("start.rate", starts.rate, "starts/s");
    figure("start.api_p99", starts.answer, "s");
    figure("start.p50", quantile_of(starts.seconds, .5), "s");
    figure("start.p99", quantile_of(starts.seconds, .99), "s");
    figure("writes_per_start", starts.writes, "writes");
    return starts.writes;
  }

  // Two that yield half make room for one.
  void yields(double per_start) {
    const int started = options_.yields * kHalf / kWorkers;
    const Metrics before = read_metrics(options_.port);
    const auto begin = Clock::now();
    expect(
        client_.merge_patch(resources::kElasticQueues, {"", kQueue}, {{"spec", {{"preemption", "Shrink"}}}}));
    wait_running(kYields, options_.yields, kHalf);
    wait_running(kWaits, started_ + started, kWorkers);
    note(std::to_string(options_.yields) + " jobs have yielded, " + std::to_string(started) +
         " have started by that, within " + std::to_string(seconds_since(begin)) + " s");
    const Metrics after = read_metrics(options_.port);
    figure("yields", options_.yields, "yields");
    figure("writes_per_yield", (writes(before, after) - started * per_start) / options_.yields, "writes");
    note("a yield, and half a start: " + writes_by_kind(before, after, options_.yields));
  }

  const Options options_;
  kube::Client client_;
  std::mutex mutex_;
  std::map<std::string, std::set<std::string>> living_;  // pods, by job
  std::set<std::string> begun_, removed_;                // jobs
  int started_ = 0;                                      // in the place of one that ran
  std::vector<Clock::time_point> first_pod_, pods_gone_;
  kube::Informer jobs_, pods_;
};

}  // namespace
}  // namespace emj::bench

int main(int argc, char** argv) {
  using namespace empi::options;
  emj::bench::Options options;
  const Program program{
      .what = "Fills a queue with simulated jobs and prints the figures of the operator that looks after it.",
      .name = "bench_k8s_queue",
      .options = {
          {"--pid", &options.pid, "process of the operator", {.required = true}},
          {"--metrics", &options.port, "its port for metrics", {.required = true}},
          {"--jobs", &options.jobs, "that run, and that wait", {.check = in_range(20, 100000)}},
          {"--starts", &options.starts, "by deleting one that runs", {.check = in_range(1, 100000)}},
          {"--yields", &options.yields, "by jobs that shrink", {.check = in_range(2, 100000)}},
          {"--rate",
           &options.rate,
           "starts per second (the largest of 2, 1, .5, .2 that the API server bears)",
           {.check = number_between(.01, 1000)}},
          {"--patience", &options.patience, "s, for anything to become so", {.check = in_range(1, 36000)}}}};
  if (const auto status = read(program, argc, argv)) return *status;
  options.yields = std::min(options.yields, options.jobs / 2) / 2 * 2;
  const int others = options.jobs - options.yields, rates = static_cast<int>(std::size(emj::bench::kRates));
  options.trial = std::min(options.trial, others / (2 * rates));
  options.starts = std::min(options.starts, others - rates * options.trial);
  try {
    emj::bench::Bench(options).run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "k8s-queue: %s\n", error.what());
    return 1;
  }
  return 0;
}
