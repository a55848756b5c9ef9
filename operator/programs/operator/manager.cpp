// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/operator/manager.hpp"

#include <httplib.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "operator/controller/accounting.hpp"
#include "operator/kube/pod_view.hpp"
#include "operator/kube/queue_objects.hpp"
#include "operator/kube/root_key_secret.hpp"
#include "runtime/base/exposition.hpp"
#include "runtime/base/http_server.hpp"
#include "runtime/protocol/metrics.hpp"

namespace emj::manager {
namespace {

namespace resources = kube::resources;

constexpr Seconds kStuckWatch{900};  // three times the longest watch: the server has forgotten us
constexpr Millis kLastWords{2000};   // for Events at the end
constexpr Millis kDrainBound{20000};
constexpr Millis kLastStops{3000};  // for programs that are to end, whose status says so already

double seconds_since(kube::Instant start) {
  return std::chrono::duration<double>(kube::Instant::clock::now() - start).count();
}

kube::Config configuration(const ManagerOptions& options) {
  return kube::load_config(options.kubeconfig, options.context);
}

// Of an installation's first start, or until the kubelet has brought the Secret that was made then.
std::string first_root_key(const ManagerOptions& options) {
  if (options.root_key_secret.empty() || access(options.root_key_file.c_str(), R_OK) == 0) return "";
  const kube::Config config = configuration(options);
  kube::Client client(config);
  return ensure_root_key(client, {config.namespace_name, options.root_key_secret});
}

// The event that the pass of this thread is an answer to, until it has sent its first request.
thread_local std::optional<kube::Instant> unanswered;

// The job that a pod belongs to, by its label; the owner reference decides later.
std::optional<kube::ObjectKey> job_of(const nlohmann::json& pod) {
  const auto pointer = nlohmann::json::json_pointer("/metadata/labels");
  if (!pod.contains(pointer)) return std::nullopt;
  const auto& labels = pod.at(pointer);
  const auto label = labels.find(kLabelJob);
  if (label == labels.end() || !label->is_string()) return std::nullopt;
  return kube::ObjectKey{kube::key_of(pod).namespace_name, label->get<std::string>()};
}

std::string host_name() {
  char name[256] = "elastic-mpi-operator";
  gethostname(name, sizeof name - 1);
  return name;
}

// What a worker's pod asks for beside its container (operator/objects/pods.cpp).
constexpr queue::Resources kSidecar{kSidecarMilliCpu, kSidecarMemoryMib};

Time present() { return std::chrono::time_point_cast<Millis>(std::chrono::system_clock::now()); }

bool moved(const kube::Change& change) {
  const auto at = [](const kube::ObjectPtr& pod) { return pod ? kept_placement(*pod) : std::nullopt; };
  return at(change.before) != at(change.after);
}

// Any pod may reach the port: no peer is to hold it for long, and the newest get their answer, for one of
// them is the kubelet.
empi::HttpLimits limits_of_port() {
  empi::HttpLimits limits;
  limits.head = 8192;
  limits.body = 0;
  limits.connections = 64;
  limits.request = Millis(5000);
  return limits;
}

bool only_questions(const httplib::Request& request, httplib::Response& response, bool&) {
  if (request.method == "GET" || request.method == "HEAD") return true;
  response.status = 405;
  return false;
}

}  // namespace

struct Manager::Http {
  empi::HttpServer server{limits_of_port(), only_questions};
  std::thread thread;
};

Manager::Manager(ManagerOptions options, Log log)
    : options_(std::move(options)),
      log_(std::move(log)),
      root_key_(options_.root_key_file, std::chrono::steady_clock::now, first_root_key(options_)),
      http_(new Http) {
  kube::Config config = configuration(options_);
  log_("API server " + config.server + " (" + config.origin + ")");
  kube::ClientOptions client_options;
  client_options.requests_per_second = options_.requests_per_second;
  client_options.burst = options_.burst;
  client_options.idle_connections = static_cast<std::size_t>(client_options.in_flight);
  client_options.field_manager = kManagerOfChildren;
  client_options.log = log_;
  client_options.before_write = [this](const kube::WriteInfo& write) {
    if (const auto event = std::exchange(unanswered, std::nullopt)) metrics_.reacted(seconds_since(*event));
    if (options_.crash_at_write == std::to_string(write.number) ||
        options_.crash_at_write == write.verb + " " + write.resource) {
      std::fprintf(stderr, "crash at write %llu: %s %s %s\n", static_cast<unsigned long long>(write.number),
                   write.verb.c_str(), write.resource.c_str(), to_string(write.key).c_str());
      _exit(70);
    }
  };
  client_options.took = [this](const kube::RequestTime& time) {
    metrics_.waited(OperatorMetrics::Wait::Limiter, time.limited);
    metrics_.waited(OperatorMetrics::Wait::Api, time.answered);
  };
  client_ = std::make_unique<kube::Client>(config, client_options);
  kube::ClientOptions lease_options;
  lease_options.log = log_;
  lease_client_ = std::make_unique<kube::Client>(config, lease_options);
  events_ = std::make_unique<kube::EventRecorder>(*lease_client_, kManagerName, host_name(), log_);

  kube::WatcherOptions watch;
  watch.namespace_name = options_.watched_namespace;
  watch.log = log_;
  watch.reduce = reduce_job;
  jobs_ = std::make_unique<kube::Informer>(*client_, resources::kElasticMpiJobs, watch,
                                           [this](const kube::Change& c) { changed(c.key, c.received); });
  watch.reduce = options_.queues ? reduce_placed_pod : reduce_pod;
  watch.label_selector = std::string(kLabelRole) + "=worker";
  pods_ = std::make_unique<kube::Informer>(*client_, resources::kPods, watch, [this](const kube::Change& c) {
    if (const auto job = job_of(c.after ? *c.after : *c.before)) changed(*job, c.received);
    if (!scheduler_) return;
    kube_queue_->saw_pod(c.key);
    if (moved(c)) scheduler_->news();
  });
  if (options_.queues) make_scheduler(watch);
  cluster_ =
      std::make_unique<KubeCluster>(*client_, *jobs_, *pods_, *events_, root_key_, options_.build, log_);
  runtime_ = std::make_unique<HttpRuntime>(
      [this](const ElasticMPIJob& job) { return root_key_.tokens(job.metadata.uid); },
      HttpRuntimeOptions{
          options_.agents, kAgentPort, 60, 64, kMetricsPort, kReportPort, [this](const ElasticMPIJob& job) {
            return job.status.mutual_tls ? credentials_.of(job.metadata.uid, std::chrono::system_clock::now())
                                         : nullptr;
          }});
  AskingOptions asking;
  asking.urgent = [] { return unanswered.has_value(); };
  asking.took = [this](Millis time) { metrics_.waited(OperatorMetrics::Wait::Agent, time); };
  asking_ = std::make_unique<AskingRuntime>(
      *runtime_, [this](const JobKey& job) { answered({job.namespace_name, job.name}); }, asking);
  ControllerOptions controller;
  controller.fence = 0;
  controller.build = options_.build;
  controller.fast = Millis(100);
  controller.steady = options_.steady;
  controller.account = [this](const JobKey& key, const std::string& line) {
    log_(accounting_entry(key, line));
  };
  const auto log_of_job = [this](const JobKey& key, const std::string& line) {
    log_(key.name + ": " + line);
  };
  controller_ =
      std::make_unique<Controller>(*cluster_, *asking_, present, log_of_job, controller, scheduler_.get());

  if (options_.leader_election) {
    kube::LeaderOptions leader;
    leader.lease = {options_.lease_namespace.empty() ? config.namespace_name : options_.lease_namespace,
                    options_.lease_name};
    leader.identity = kube::unique_identity();
    leader.lease_duration = options_.lease_duration;
    leader.renew_deadline = options_.renew_deadline;
    leader.retry_period = options_.retry_period;
    leader.log = log_;
    elector_ = std::make_unique<kube::LeaderElector>(
        *lease_client_, leader,
        kube::LeaderElector::Callbacks{[this](int) { lead(); },
                                       [this](const std::string& why) {
                                         log_("no longer the leader: " + why);
                                         _exit(kLostLease);  // at once: another may command already
                                       }});
  }
  serve();
}

void Manager::make_scheduler(const kube::WatcherOptions& watch) {
  kube::WatcherOptions plain;
  plain.namespace_name = watch.namespace_name;
  plain.log = watch.log;
  kube_queue_ = std::make_unique<KubeQueue>(
      *client_, *jobs_, *pods_, plain,
      KubeQueue::Told{[this](const JobKey& key) { queue_.add({key.namespace_name, key.name}); },
                      [this] { scheduler_->news(); }});
  SchedulerOptions options;
  options.sidecar = kSidecar;
  options.planned = [this](const PlanReport& report) { metrics_.planned(report); };
  options.pass = [this](const PassReport& report) { metrics_.scheduled(report); };
  options.broken = [this] { metrics_.scheduler_broken(); };
  scheduler_ = std::make_unique<Scheduler>(*kube_queue_, present, log_, options);
}

std::vector<std::pair<std::string, const kube::Informer*>> Manager::watches() const {
  std::vector<std::pair<std::string, const kube::Informer*>> watches{{"elasticmpijobs", jobs_.get()},
                                                                     {"pods", pods_.get()}};
  if (kube_queue_)
    for (const auto& watch : kube_queue_->watches()) watches.push_back(watch);
  return watches;
}

Manager::~Manager() {
  http_->server.stop();
  if (http_->thread.joinable()) http_->thread.join();
}

void Manager::serve() {
  const auto probe = [](auto check) {
    return [check](const httplib::Request&, httplib::Response& response) {
      const std::string problem = check();
      response.status = problem.empty() ? 200 : 503;
      response.set_content(problem.empty() ? "ok\n" : problem + "\n", "text/plain");
    };
  };
  empi::HttpServer& server = http_->server;
  server.Get("/healthz", probe([this] { return healthy(); }));
  server.Get("/readyz", probe([this] { return ready(); }));
  server.Get("/metrics", [this](const httplib::Request&, httplib::Response& response) {
    response.set_content(metrics_text(), empi::metrics::kExpositionType);
  });
  port_ = server.open("::", options_.port);  // of both families
  if (port_ < 0) port_ = server.open("0.0.0.0", options_.port);
  if (port_ < 0)
    throw std::runtime_error("cannot listen on port " + std::to_string(options_.port) +
                             ": another process has it; choose one by --port");
  http_->thread = std::thread([this] { http_->server.listen_after_bind(); });
}

std::string Manager::healthy() const {
  for (const auto& [name, informer] : watches())
    if (informer->idle() > kStuckWatch) return "the watch of " + name + " is stuck";
  // Its job would never be looked at again.
  if (const auto oldest = oldest_pass();
      oldest && seconds_since(oldest->second) > static_cast<double>(options_.stuck_pass.count()))
    return "the pass over job " + to_string(oldest->first) + " is stuck";
  return "";
}

std::optional<std::pair<kube::ObjectKey, kube::Instant>> Manager::oldest_pass() const {
  const std::lock_guard lock(mutex_);
  const auto oldest = std::ranges::min_element(passes_, {}, [](const auto& pass) { return pass.second; });
  if (oldest == passes_.end()) return std::nullopt;
  return *oldest;
}

std::string Manager::ready() const {
  for (const auto& [name, informer] : watches())
    if (!informer->synced())
      return "the list of " + name + " is not there yet: " + informer->stats().last_problem;
  return "";
}

std::string Manager::metrics_text() const {
  OperatorMetrics::Now now;
  now.queue = queue_.stats();
  for (const auto& [name, informer] : watches())
    now.watches.push_back(
        {name, std::chrono::duration<double>(informer->age()).count(), informer->stats().failures});
  now.requests = client_->counts();
  for (kube::RequestCount& count : lease_client_->counts()) now.requests.push_back(std::move(count));
  now.leading = leading_;
  now.queues = options_.queues;
  if (const auto oldest = oldest_pass()) now.longest_pass_seconds = seconds_since(oldest->second);
  now.events_lost = events_->lost();
  return metrics_.text(now);
}

void Manager::changed(const kube::ObjectKey& job, kube::Instant received) {
  // To the standby's events nobody reacts: what it finds when it leads is looked at.
  if (!leading_) return queue_.add(job, kube::WorkQueue::Lane::Look);
  if (received != kube::Instant{}) {  // not by our own writes
    const std::lock_guard lock(mutex_);
    received_.try_emplace(job, received);
  }
  queue_.add(job);
}

// Its agents have answered: that is news if the pass is to answer to an event, else a look goes on.
void Manager::answered(const kube::ObjectKey& job) {
  using Lane = kube::WorkQueue::Lane;
  const std::lock_guard lock(mutex_);
  queue_.add(job, received_.contains(job) ? Lane::News : Lane::Look);
}

int Manager::run() {
  jobs_->start();
  pods_->start();
  if (kube_queue_) kube_queue_->start();
  if (elector_)
    elector_->start();
  else
    lead();
  {
    std::unique_lock lock(mutex_);
    condition_.wait(lock, [this] { return ended_.has_value(); });
  }
  log_("stopping");
  scheduling_.request_stop();
  queue_.shut_down();
  if (!queue_.drain(kDrainBound)) log_("a pass over a job did not come to its end in time");
  for (std::thread& thread : threads_) thread.join();
  if (scheduling_.joinable()) scheduling_.join();
  asking_->finish_stops(kLastStops);
  jobs_->stop();
  pods_->stop();
  if (kube_queue_) kube_queue_->stop();
  events_->stop(kLastWords);
  if (elector_) elector_->release();
  return *ended_;
}

void Manager::stop() { end(0); }

void Manager::end(int code) {
  const std::lock_guard lock(mutex_);
  if (!ended_) ended_ = code;
  condition_.notify_all();
}

void Manager::lead() {
  log_("leading");
  leading_ = true;
  const std::lock_guard lock(mutex_);
  if (ended_) return;
  for (int i = 0; i < options_.threads; ++i) threads_.emplace_back([this] { work(); });
  if (scheduler_) scheduling_ = std::jthread([this](const std::stop_token& stop) { schedule(stop); });
}

bool Manager::wait_for_lists() {
  while (!jobs_->wait_synced(Millis(200)) || !pods_->wait_synced(Millis(200))) {
    const std::lock_guard lock(mutex_);
    if (ended_) return false;
  }
  // Before the first pass over any of them: nothing is given out while one is not known.
  if (scheduler_)
    std::call_once(expected_, [this] {
      std::vector<JobKey> keys;
      for (const kube::ObjectPtr& job : jobs_->list()) {
        const kube::ObjectKey key = kube::key_of(*job);
        keys.push_back({key.namespace_name, key.name});
      }
      scheduler_->expect(keys);
    });
  return true;
}

void Manager::schedule(const std::stop_token& stop) {
  if (!wait_for_lists()) return;
  while (!kube_queue_->wait_synced(Millis(200)))
    if (stop.stop_requested()) return;
  scheduler_->run(stop);
}

void Manager::work() {
  if (!wait_for_lists()) return;
  while (const auto taken = queue_.take()) {
    const kube::ObjectKey& key = taken->key;
    const bool news = taken->lane == kube::WorkQueue::Lane::News;
    metrics_.waited(news ? OperatorMetrics::Wait::News : OperatorMetrics::Wait::Look, taken->waited);
    {
      const std::lock_guard lock(mutex_);
      passes_[key] = kube::Instant::clock::now();
    }
    try {
      pass_over(key);
    } catch (const std::exception& error) {
      log_("a defect of the operator at job " + to_string(key) + ": " + error.what());
      queue_.add_after_failure(key);
    }
    {
      const std::lock_guard lock(mutex_);
      passes_.erase(key);
    }
    queue_.done(key);
  }
}

void Manager::pass_over(const kube::ObjectKey& key) {
  const JobKey job{key.namespace_name, key.name};
  if (!cluster_->settled(job)) {
    const std::lock_guard lock(mutex_);
    unsettled_.try_emplace(key, kube::Instant::clock::now());
    return queue_.add_after(key, cluster_->settled_in(job) + Millis(1));
  }
  {
    const std::lock_guard lock(mutex_);
    if (const auto since = unsettled_.extract(key))
      metrics_.waited(OperatorMetrics::Wait::Barrier, kube::Instant::clock::now() - since.mapped());
    if (const auto entry = received_.extract(key)) unanswered = entry.mapped();
  }
  const kube::Instant start = kube::Instant::clock::now();
  const ReconcileResult pass = controller_->reconcile(job);
  const auto event = std::exchange(unanswered, std::nullopt);
  if (pass.asking) {
    if (event) {  // it is still to be answered
      const std::lock_guard lock(mutex_);
      kube::Instant& received = received_.try_emplace(key, *event).first->second;
      received = std::min(received, *event);
    }
    return queue_.add_after(key, pass.requeue_after);
  }
  metrics_.reconciled(pass.gone     ? OperatorMetrics::Result::Gone
                      : pass.broken ? OperatorMetrics::Result::Broken
                      : pass.failed ? OperatorMetrics::Result::Retry
                                    : OperatorMetrics::Result::Ok,
                      seconds_since(start));
  if (pass.gone) {
    metrics_.forget(job);
    cluster_->forget(job);
    return queue_.forget(key);
  }
  metrics_.look(job, pass.status);
  if (pass.failed) return queue_.add_after_failure(key);
  queue_.forget(key);
  if (!pass.at_rest()) queue_.add_after(key, pass.requeue_after);
}

}  // namespace emj::manager
