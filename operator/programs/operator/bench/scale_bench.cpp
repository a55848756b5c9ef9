// SPDX-License-Identifier: Apache-2.0
// Loads an operator with many simulated jobs and reads its figures;
// operator/programs/operator/bench/k8s_scale.sh starts what it needs. Usage: bench_k8s_scale idle --pid
// OPERATOR --metrics PORT [--seconds N]
//        bench_k8s_scale load --pid OPERATOR --metrics PORT --leads PID [--jobs N] [--pods N] [--rate N]
//        [--seconds N]
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

#include "operator/kube/client.hpp"
#include "operator/kube/informer.hpp"
#include "operator/programs/operator/bench/watched_operator.hpp"
#include "runtime/base/options.hpp"
#include "runtime/base/text.hpp"

namespace {

namespace kube = emj::kube;
namespace resources = emj::kube::resources;
using emj::bench::kNamespace, emj::bench::keep_size, emj::bench::Clock, emj::bench::Metrics,
    emj::bench::cpu_seconds, emj::bench::grown, emj::bench::load_of, emj::bench::memory_mib,
    emj::bench::quantile, emj::bench::quick_client, emj::bench::read_metrics, emj::bench::seconds_since,
    emj::bench::side_by_side, emj::bench::threads_of, emj::bench::writes, emj::bench::writes_by_kind;
using nlohmann::json;
using std::chrono::duration;

struct Options {
  int pid = 0, port = 0;
  int leads = 0;  // process of the stub leads
  int jobs = 1000, pods = 4;
  double rate = 0;      // scales per second; 0: the largest that the API server bears
  int seconds = 0;      // 0: as many as kScales take, or kLongest
  int patience = 1800;  // s, for the jobs to start and for the last changes to end
};

// Decision K12': at the largest of these rates at which the API server's own 99th percentile is below the
// bound, over so many scales, or as many as there is time for.
constexpr double kRates[] = {20, 10, 5, 2, 1, .5};
constexpr int kScales = 2000, kLongest = 1000, kTrialSeconds = 30, kSilentSeconds = 300;  // s
constexpr double kBorne = .020;                                                           // s

void note(const std::string& text) { std::fprintf(stderr, "k8s-scale: %s\n", text.c_str()); }
void figure(const char* name, double value, const char* unit) {
  std::printf("bench k8s-scale.%s %.6g %s\n", name, value, unit);
  std::fflush(stdout);
}

// --- the jobs -----------------------------------------------------------------------------------------

std::string name_of(int job) { return "job-" + std::to_string(job); }

json job_object(int number, int pods) {
  return emj::bench::simulated_job(name_of(number), pods, 1, 2 * pods);
}

class Load {
 public:
  explicit Load(const Options& options)
      : options_(options), client_(kube::load_config(), quick_client()), watched_(watcher_options()) {
    jobs_ = std::make_unique<kube::Informer>(client_, resources::kElasticMpiJobs, watched_,
                                             [this](const kube::Change& change) { look(change); });
    sizes_.assign(static_cast<std::size_t>(options.jobs), options.pods);
    asked_.resize(sizes_.size());
    jobs_->start();
  }

  void start() {
    const auto begin = Clock::now();
    side_by_side(4, options_.jobs, [this](int i) {
      const auto made = client_.create(resources::kElasticMpiJobs, kNamespace, job_object(i, options_.pods));
      if (!made) throw std::runtime_error(made.error().message);
    });
    wait_for_rest("started", options_.jobs);
    note(std::to_string(options_.jobs) + " jobs of " + std::to_string(options_.pods) + " pods run after " +
         std::to_string(seconds_since(begin)) + " s");
  }

  // `rate` times a second a job changes its size by one: even jobs grow first, odd ones shrink, and then
  // back. The last changes are under way when it returns. Returns the rate that was.
  // `speaking`: of those only whose leads are not silent (stub_leads.cpp).
  double scale(double rate, int scales, bool speaking = false) {
    std::vector<int> order;
    for (int i = 0; i < options_.jobs; ++i)
      if (!speaking || i % 3 != 0) order.push_back(i);
    std::shuffle(order.begin(), order.end(), std::mt19937(1));
    {
      const std::lock_guard lock(mutex_);
      times_.clear();
      answers_.clear();
    }
    const auto begin = Clock::now();
    side_by_side(8, scales, [&](int i) {
      std::this_thread::sleep_until(begin + duration_cast<Clock::duration>(duration<double>(i / rate)));
      scale_one(order[static_cast<std::size_t>(i) % order.size()]);
    });
    return scales / seconds_since(begin);
  }
  // The largest rate at which the API server answers soon; below all of them, nothing.
  std::optional<double> largest_borne() {
    for (const double rate : kRates) {
      scale(rate, static_cast<int>(rate * kTrialSeconds));
      settle();
      const double late = quantile_of(answers_, .99);
      note(empi::format("%g", rate) + " scales/s: the API server answers within " + std::to_string(late) +
           " s (p99)");
      if (late < kBorne) return rate;
    }
    return std::nullopt;
  }
  void settle() { wait_for_rest("rest again", options_.jobs); }

  // The second one tells how busy the API server was.
  void say_times() {
    for (auto* times : {&times_, &answers_})
      note(std::string(times == &times_ ? "scale -> committed" : "scale -> answer of the API server") +
           ": p50 " + std::to_string(quantile_of(*times, .5)) + " s, p99 " +
           std::to_string(quantile_of(*times, .99)) + " s of " + std::to_string(times->size()));
  }

 private:
  // Of what was measured since the last scale(); 0 of nothing.
  double quantile_of(std::vector<double>& times, double q) {
    const std::lock_guard lock(mutex_);
    return emj::bench::quantile_of(times, q);
  }
  static kube::WatcherOptions watcher_options() {
    kube::WatcherOptions options;
    options.namespace_name = kNamespace;
    options.reduce = keep_size;
    return options;
  }

  void scale_one(int job) {
    const auto begin = Clock::now();
    int size;
    {
      const std::lock_guard lock(mutex_);
      int& wanted = sizes_[static_cast<std::size_t>(job)];
      const int other = options_.pods + (job % 2 == 0 ? 1 : -1);
      wanted = size = wanted == options_.pods ? other : options_.pods;
      asked_[static_cast<std::size_t>(job)] = Clock::now();
    }
    const auto done = client_.merge_patch(resources::kElasticMpiJobs, {kNamespace, name_of(job)},
                                          {{"spec", {{"replicas", size}}}}, {.subresource = "scale"});
    if (!done) throw std::runtime_error(done.error().message);
    const std::lock_guard lock(mutex_);
    answers_.push_back(seconds_since(begin));
  }

  void look(const kube::Change& change) {
    if (!change.after) return;
    const auto job = static_cast<std::size_t>(std::stoi(change.key.name.substr(4)));
    const std::lock_guard lock(mutex_);
    if (job >= asked_.size() || !asked_[job]) return;
    if ((*change.after)["status"]["joined"] != sizes_[job]) return;
    times_.push_back(seconds_since(*asked_[job]));
    asked_[job].reset();
  }

  int at_rest() {
    int count = 0;
    for (const kube::ObjectPtr& job : jobs_->list()) {
      const auto number = static_cast<std::size_t>(std::stoi(kube::key_of(*job).name.substr(4)));
      const json& status = (*job)["status"];
      const std::lock_guard lock(mutex_);
      if (number < sizes_.size() && status["state"] == "Running" && status["joined"] == sizes_[number])
        ++count;
    }
    return count;
  }

  // As the API server has them, and as the watch has told: they may differ.
  void say_who_does_not_rest() {
    for (const kube::ObjectPtr& known : jobs_->list()) {
      const kube::ObjectKey key = kube::key_of(*known);
      const int wanted = sizes_[static_cast<std::size_t>(std::stoi(key.name.substr(4)))];
      const auto live = client_.get(resources::kElasticMpiJobs, key);
      if (!live) continue;
      const json& job = live.value();
      const json status = job.value("status", json::object());
      const bool rests =
          status.value("state", "") == "Running" && status.value("joinedReplicas", 0) == wanted;
      if (rests && (*known)["status"]["joined"] == wanted) continue;
      note(key.name + " of version " + kube::resource_version_of(job) + " (watched: " +
           kube::resource_version_of(*known) + "), to have " + std::to_string(wanted) + ": " + status.dump());
    }
    for (const auto& [series, value] : read_metrics(options_.port))
      if (series.starts_with("empi_operator_queue_jobs")) note(series + " " + std::to_string(value));
  }

  void wait_for_rest(const std::string& what, int wanted) {
    const auto begin = Clock::now();
    int told = 0;
    for (int count = at_rest(); count < wanted; count = at_rest()) {
      const int now = static_cast<int>(seconds_since(begin));
      if (now >= options_.patience) say_who_does_not_rest();
      if (now >= options_.patience)
        throw std::runtime_error("after " + std::to_string(now) + " s only " + std::to_string(count) +
                                 " of " + std::to_string(wanted) + " jobs have " + what);
      memory_mib(options_.pid, "VmRSS");  // throws when the operator has ended
      if (now >= told + 15) {
        told = now;
        note(std::to_string(count) + " of " + std::to_string(wanted) + " jobs have " + what + " (" +
             std::to_string(now) + " s)");
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(200));
    }
  }

  const Options options_;
  kube::Client client_;
  kube::WatcherOptions watched_;
  std::mutex mutex_;
  std::vector<int> sizes_;  // asked for, by job
  std::vector<std::optional<Clock::time_point>> asked_;
  std::vector<double> times_,
      answers_;  // s, from a scale until it is committed, until the API server answers
  std::unique_ptr<kube::Informer> jobs_;
};

void idle(const Options& options) {
  figure("idle_cpu", load_of(options.pid, options.seconds), "cores");
  figure("idle_rss", memory_mib(options.pid, "VmRSS"), "MiB");
}

void under_load(const Options& options) {
  Load load(options);
  load.start();

  const Metrics steady = read_metrics(options.port);
  figure("steady_cpu", load_of(options.pid, kTrialSeconds), "cores");
  figure("steady_rss", memory_mib(options.pid, "VmRSS"), "MiB");
  const Metrics before = read_metrics(options.port);
  figure("steady_writes", writes(steady, before), "writes");
  // Of jobs whose samples jitter.
  figure("status_writes_per_s",
         grown(steady, before, "empi_operator_api_requests_total", {"resource=\"elasticmpijobs/status\""}) /
             kTrialSeconds,
         "1/s");

  double rate = options.rate;
  if (rate == 0) {
    const auto borne = load.largest_borne();
    if (!borne)
      note("the API server bears none of these rates within " + std::to_string(kBorne) +
           " s: what follows is its time as much as the operator's");
    rate = borne.value_or(std::end(kRates)[-1]);
    figure("borne", borne.value_or(0), "scales/s");
  }
  const int scales =
      static_cast<int>(options.seconds ? rate * options.seconds : std::min<double>(kScales, rate * kLongest));
  const Metrics unscaled = read_metrics(options.port);
  const double cpu = cpu_seconds(options.pid);
  const auto begin = Clock::now();
  figure("rate", load.scale(rate, scales), "scales/s");
  const Metrics busy = read_metrics(options.port);
  figure("p50", 1000 * quantile(unscaled, busy, "empi_operator_reaction_seconds", .5), "ms");
  const double p99 = quantile(unscaled, busy, "empi_operator_reaction_seconds", .99);
  figure("p99", 1000 * p99, "ms");
  load.settle();
  const double used = (cpu_seconds(options.pid) - cpu) / seconds_since(begin);
  const Metrics after = read_metrics(options.port);
  const double changes = grown(unscaled, after, "empi_operator_resizes_total", {"Committed"});
  const double others = grown(unscaled, after, "empi_operator_resizes_total") - changes;
  if (others > 0) note(std::to_string(static_cast<int>(others)) + " changes did not commit");
  note("a resize: " + writes_by_kind(unscaled, after, std::max(changes, 1.)));
  load.say_times();
  figure("jobs", options.jobs, "jobs");
  figure("pods", options.jobs * options.pods, "pods");
  figure("resizes", changes, "resizes");
  figure("resizing_cpu", used, "cores");
  figure("writes_per_resize", writes(unscaled, after) / std::max(changes, 1.), "writes");
  figure("rss", memory_mib(options.pid, "VmHWM"), "MiB");
  figure("threads", threads_of(options.pid), "threads");
  if (options.leads == 0) return;
  if (kill(options.leads, SIGUSR1) != 0)
    throw std::runtime_error("the stub leads are gone: see stub_leads.log");
  const Metrics heard = read_metrics(options.port);
  load.scale(rate, static_cast<int>(std::min<double>(scales, rate * kSilentSeconds)), true);
  const double with_silent =
      quantile(heard, read_metrics(options.port), "empi_operator_reaction_seconds", .99);
  kill(options.leads, SIGUSR1);
  load.settle();
  note("with a third of the leads silent: p99 " + std::to_string(1000 * with_silent) + " ms");
  figure("silent_ratio", with_silent / p99, "ratio");
}

}  // namespace

int main(int argc, char** argv) {
  using namespace empi::options;
  Options options;
  std::string command;
  const OptionList of_idle = {{"--pid", &options.pid, "process of the operator", {.required = true}},
                              {"--metrics", &options.port, "its port for metrics", {.required = true}},
                              {"--seconds",
                               &options.seconds,
                               "how long (of a load: as 2000 scales take, or 1000)",
                               {.check = in_range(1, 3600)}}};
  OptionList of_load = of_idle;
  of_load.push_back({"--leads", &options.leads,
                     "process of the stub leads, a third of which are told to be silent in the end"});
  of_load.push_back({"--jobs", &options.jobs, "", {.check = in_range(1, 100000)}});
  of_load.push_back({"--pods", &options.pods, "per job", {.check = in_range(2, 1000)}});
  of_load.push_back({"--rate",
                     &options.rate,
                     "scales per second (the largest of 20, 10, 5, 2, 1, .5 that the API server bears)",
                     {.check = number_between(.1, 1000)}});
  of_load.push_back(
      {"--patience", &options.patience, "s, for the jobs to start", {.check = in_range(1, 36000)}});
  const Program program{
      .what = "Loads an operator with simulated jobs and prints its figures.",
      .name = "bench_k8s_scale",
      .commands = {{"idle", "memory and processor time of an operator without jobs", "", of_idle},
                   {"load", "many jobs, some of which change their size", "", of_load}},
      .command = &command};
  if (const auto status = read(program, argc, argv)) return *status;
  try {
    command == "idle" ? idle(options) : under_load(options);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "k8s-scale: %s\n", error.what());
    return 1;
  }
  return 0;
}
