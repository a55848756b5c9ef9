// SPDX-License-Identifier: Apache-2.0
// The operator on Kubernetes: caches kept up to date by watches, a work queue of jobs, a few threads that
// take a job and let the Controller make one pass over it, a lease that says which of several replicas does
// so, and an HTTP server for Prometheus and the kubelet's probes.
#pragma once
#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "operator/agents/asking_runtime.hpp"
#include "operator/agents/http_runtime.hpp"
#include "operator/controller/controller.hpp"
#include "operator/kube/job_certificates.hpp"
#include "operator/kube/kube_cluster.hpp"
#include "operator/kube/kube_queue.hpp"
#include "operator/kube/leader.hpp"
#include "operator/kube/work_queue.hpp"
#include "operator/programs/operator/metrics.hpp"

namespace emj::manager {

struct ManagerOptions {
  std::string kubeconfig, context;  // empty: as kubectl finds them, or the pod's service account
  std::string watched_namespace;    // empty: all
  std::string root_key_file;
  std::string root_key_secret;  // in our namespace: read, or made, where there is no such file; empty: not
  std::string lease_namespace;  // empty: the namespace we run in
  std::string lease_name = "elastic-mpi-operator";
  bool leader_election = true;
  Millis lease_duration{15000}, renew_deadline{10000}, retry_period{2000};
  int threads = 5;  // most of the time they wait for answers
  double requests_per_second = 200;
  int burst = 400;
  int port = 8080;  // 0: any free one
  Millis steady{5000};
  AgentTimeouts agents;
  // A pass over a job that takes longer makes /healthz fail. Every request of a pass ends within seconds.
  Seconds stuck_pass{900};
  BuildOptions build{.mutual_tls = true};
  // Jobs may name an ElasticQueue; without it nothing is read but jobs and their pods.
  bool queues = false;
  // For tests: the process ends in front of the write of this number (1 is the first), "7", or of the first
  // of a kind, "delete pods"; empty: none.
  std::string crash_at_write;
};

// Exit status of a process that could not keep its lease: no failure of its own, and it is to be started
// anew.
inline constexpr int kLostLease = 75;

class Manager {
 public:
  using Log = std::function<void(const std::string& line)>;
  // Reads credentials and the root key, opens the port. Throws std::runtime_error saying what to do.
  Manager(ManagerOptions options, Log log);
  ~Manager();

  // Works until stop(). 0 after a clean end. Whoever cannot keep the lease ends the process by kLostLease.
  int run();
  void stop();  // from any thread
  int port() const { return port_; }

 private:
  struct Http;
  void serve();
  std::string healthy() const;  // why not; empty while all is well
  std::string ready() const;
  std::string metrics_text() const;
  void changed(const kube::ObjectKey& job, kube::Instant received);
  void answered(const kube::ObjectKey& job);
  void lead();
  void make_scheduler(const kube::WatcherOptions& watch);
  void schedule(const std::stop_token& stop);
  bool wait_for_lists();  // of jobs and pods; false at the end
  std::vector<std::pair<std::string, const kube::Informer*>> watches() const;
  void work();
  void pass_over(const kube::ObjectKey& key);
  void end(int code);
  // The pass that has been under way for longest: of which job, and since when.
  std::optional<std::pair<kube::ObjectKey, kube::Instant>> oldest_pass() const;

  const ManagerOptions options_;
  const Log log_;

  // Used by the threads of what follows, which end first.
  mutable std::mutex mutex_;
  std::condition_variable condition_;
  std::optional<int> ended_;
  std::map<kube::ObjectKey, kube::Instant> received_;   // the event that a queued job waits for an answer to
  std::map<kube::ObjectKey, kube::Instant> unsettled_;  // jobs that wait for the caches, since when
  std::map<kube::ObjectKey, kube::Instant> passes_;     // under way, since when

  RootKey root_key_;
  ControllerCredentials credentials_{root_key_};
  std::unique_ptr<kube::Client> client_, lease_client_;
  std::unique_ptr<kube::EventRecorder> events_;
  OperatorMetrics metrics_;
  // What fails is tried again at least this often: a quota, a policy or a node may have changed.
  kube::WorkQueue queue_{{.first_backoff = Millis(5), .longest_backoff = Millis(30000)}, kube::real_clock()};
  std::unique_ptr<kube::Informer> jobs_, pods_;
  std::unique_ptr<KubeCluster> cluster_;
  std::unique_ptr<KubeQueue> kube_queue_;  // these two: with queues only
  std::unique_ptr<Scheduler> scheduler_;
  std::unique_ptr<HttpRuntime> runtime_;
  std::unique_ptr<AskingRuntime> asking_;
  std::unique_ptr<Controller> controller_;
  std::unique_ptr<kube::LeaderElector> elector_;
  std::vector<std::thread> threads_;
  std::jthread scheduling_;
  std::once_flag expected_;  // the scheduler knows what jobs there are
  std::atomic<bool> leading_{false};

  int port_ = 0;
  std::unique_ptr<Http> http_;
};

}  // namespace emj::manager
