// SPDX-License-Identifier: Apache-2.0
// ./dev bench schedule: 5,000 running jobs, 5,000 waiting, 100 promises on 100,000 workers; everything
// recomputed. And what it takes to hand one job in.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <random>

#include "operator/controller/scheduler.hpp"
#include "operator/decide/queue/level.hpp"
#include "operator/decide/queue/plan.hpp"

namespace {

using namespace emj;
using namespace emj::queue;

constexpr int kWorkers = 100'000, kRunning = 5'000, kWaiting = 5'000, kPromises = 100, kRepeats = 200;
constexpr Time kNow{Seconds(1'000'000'000)};

std::vector<int> every(int least, int most) {
  std::vector<int> sizes;
  for (int n = least; n <= most; ++n) sizes.push_back(n);
  return thinned(std::move(sizes), {most / 2});
}

Demand some_job(std::mt19937& random, int i) {
  char uid[32];
  std::snprintf(uid, sizeof uid, "%08d", i);
  Demand job;
  job.uid = job.name = uid;
  job.namespace_name = "ns-" + std::to_string(random() % 20);
  job.worker = {1000, 2048};
  const int most = 8 + static_cast<int>(random() % 120);
  const int least = std::max(1, most / 5);
  // Each its own curve, as measured jobs have.
  job.curve = amdahl_curve(every(least, most), most, .5 + .4 * (random() % 1000) / 1000, Objective::Fair);
  job.reference = job.curve->size(job.curve->at_most(most / 2));
  job.floor = least;
  job.wish = job.trusted = most;
  job.since = kNow - Seconds(200'000 - 10 * i);
  job.work_left = 600 + static_cast<double>(random() % 50'000);
  job.lost_seconds = 1;
  return job;
}

QueueState busy_cluster() {
  std::mt19937 random(1);
  QueueState state;
  state.pools = {{"hpc", Resources{1000, 2048} * kWorkers}};
  state.busy = .9;
  int used = 0;
  for (int i = 0; i < kRunning + kWaiting + kPromises; ++i) {
    Demand job = some_job(random, i);
    if (i < kRunning) {
      const int size = job.curve->size(job.curve->at_most(std::max(job.floor, 18)));
      job.allocation = {.workers = size, .pool = 0, .time = job.since};
      job.held = size;
      job.started = job.since;
      used += size;
    } else if (i < kRunning + kPromises) {
      job.allocation = {.promised = job.floor, .pool = 0, .time = job.since};
    }
    state.jobs.push_back(std::move(job));
  }
  std::fprintf(stderr, "bench schedule: %d of %d workers are held\n", used, kWorkers);
  return state;
}

double cpu_seconds() {
  timespec t{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_nsec) * 1e-9;
}

struct Times {
  double median, p99;
};

template <class Work>
Times measure(Work work) {
  std::vector<double> seconds;
  for (int i = 0; i < kRepeats; ++i) {
    const double begin = cpu_seconds();
    work(i);
    seconds.push_back(cpu_seconds() - begin);
  }
  std::sort(seconds.begin(), seconds.end());
  return {seconds[kRepeats / 2], seconds[kRepeats * 99 / 100]};
}

double rss() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

void say(const char* figure, double value, const char* unit) {
  std::printf("bench schedule.%s %.4g %s\n", figure, value, unit);
}

// A scheduler is only told here.
struct NoQueues : QueueCluster {
  std::vector<QueueRecord> queues() override { return {}; }
  std::optional<QueueSpec> spec_of(const std::string&) override { return std::nullopt; }
  Outcome write_queue_status(const ElasticQueue&, const QueueStatus&) override { return Outcome::done(); }
  void look_at(const JobKey&) override {}
};

// One queue that every job of seen_job() may be in.
struct OneQueue : NoQueues {
  explicit OneQueue(int workers) {
    auto queue = parse_queue_yaml(
        "apiVersion: elasticmpi.io/v1alpha1\nkind: ElasticQueue\nmetadata: {name: main}\nspec:\n"
        "  pools: [{name: hpc, quota: {cpu: " +
            std::to_string(workers) + "}}]\n",
        "queue.yaml");
    if (!queue.ok()) std::abort();
    record.queue = std::move(queue.value());
  }
  std::vector<QueueRecord> queues() override { return {record}; }
  Outcome write_queue_status(const ElasticQueue&, const QueueStatus& status) override {
    record.queue.status = status;
    return Outcome::done();
  }
  QueueRecord record;
};

// With as much in its status as one that has run for a while.
ElasticMPIJob seen_job() {
  auto read = parse_yaml(
      "apiVersion: elasticmpi.io/v1alpha1\nkind: ElasticMPIJob\nmetadata: {name: a, namespace: ns}\nspec:\n"
      "  scheduling: {queueName: main}\n  autoscaling: {mode: Auto, policy: {name: throughput}}\n"
      "  worker:\n    minReplicas: 2\n    maxReplicas: 64\n    template: {spec: {containers: [{name: worker, "
      "image: i, command: [p], resources: {requests: {cpu: 1, memory: 2Gi}}}]}}\n",
      "job.yaml");
  if (!read.ok()) std::abort();
  ElasticMPIJob job = std::move(read.value());
  JobStatus& status = job.status;
  status.state = JobState::Running;
  status.allocation = AllocationStatus{18, 0, "hpc", 1, kNow, "grows 12 -> 18", ""};
  for (int i = 0; i < 18; ++i) status.active_workers.insert(i);
  status.policy_state.measured.resize(16);
  status.policy_state.changes.resize(5);
  status.decisions.resize(10,
                          {kNow, 12, 18, "throughput", DecisionAction::Ask, "a line of words and numbers"});
  status.forecast.emplace();
  return job;
}

// What a pass over a job waits for: saw() of one whose status has changed, while all the others are known.
void events() {
  NoQueues cluster;
  Scheduler scheduler(cluster, [] { return kNow; }, [](const std::string&) {});
  ElasticMPIJob job = seen_job();
  std::vector<PodView> pods(18);
  for (std::size_t i = 0; i < pods.size(); ++i) {
    pods[i].name = "a-w-" + std::to_string(i);
    pods[i].phase = PodPhase::Running;
  }
  const auto name = [&](int i) {
    job.metadata.name = "job-" + std::to_string(i);
    job.metadata.uid = "uid-" + std::to_string(i);
  };
  for (int i = 0; i < kRunning + kWaiting; ++i) {
    name(i);
    scheduler.saw(job, pods);
  }
  const Times event = measure([&](int i) {
    name(7 * i);
    job.status.forecast->seconds_left = 100 + i;
    scheduler.saw(job, pods);
  });
  say("event.p99", event.p99 * 1e3, "ms");
}

// All that is done for a plan of 500 jobs that run and 500 that wait (as in k8s-queue), of which two have
// news, but for what the API server takes.
void turns() {
  constexpr int kJobs = 1000;
  OneQueue cluster(kJobs / 2 * 18);
  Time now = kNow;
  Scheduler scheduler(cluster, [&] { return now; }, [](const std::string&) {});
  const std::vector<PodView> pods(18);
  const auto hand_in = [&](int i) {
    ElasticMPIJob job = seen_job();
    job.metadata.name = "job-" + std::to_string(i);
    job.metadata.uid = "uid-" + std::to_string(i);
    job.status.queue.emplace().since = kNow - Seconds(i);
    job.status.forecast->seconds_left = 1000 + static_cast<double>((now - kNow).count()) / 1000;
    if (i >= kJobs / 2) {
      job.status.state = JobState::Queued;
      job.status.allocation.reset();
      job.status.active_workers = {};
      job.status.forecast.reset();
    }
    scheduler.saw(job, i < kJobs / 2 ? pods : std::vector<PodView>());
  };
  for (int i = 0; i < kJobs; ++i) hand_in(i);
  const Times turn = measure([&](int i) {
    now += Seconds(1);
    hand_in(i);
    hand_in(kJobs - 1 - i);
    scheduler.turn();
  });
  say("turn.p50", turn.median * 1e3, "ms");
  say("turn.p99", turn.p99 * 1e3, "ms");
}

}  // namespace

int main() {
  const QueueState state = busy_cluster();
  std::size_t grants = 0;
  const Times pass = measure([&](int) { grants = schedule(state, kNow).grants.size(); });
  std::fprintf(stderr, "bench schedule: %zu grants in a pass\n", grants);
  say("pass.p50", pass.median * 1e3, "ms");
  say("pass.p99", pass.p99 * 1e3, "ms");

  std::vector<Claim> claims;
  Resources spare = state.pools[0].capacity;
  for (const Demand& job : state.jobs) {
    claims.push_back({job.curve.get(), 1e-3, job.worker, 0, job.curve->corner_at_most(job.curve->fastest())});
    spare -= job.of(job.curve->size(0));
  }
  spare = {std::max<std::int64_t>(spare.milli_cpu, 50'000'000), 1'000'000'000};
  std::vector<int> places;
  const Times distribution = measure([&](int) { places = level(claims, spare); });
  say("level.p50", distribution.median * 1e3, "ms");
  say("level", distribution.p99 * 1e3, "ms");

  say("rss", rss(), "MiB");
  turns();
  events();
  say("event.rss", rss(), "MiB");
  return 0;
}
