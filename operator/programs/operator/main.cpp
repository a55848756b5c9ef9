// SPDX-License-Identifier: Apache-2.0
// elastic-mpi-operator: runs ElasticMPIJobs on a Kubernetes cluster.

#include <malloc.h>
#include <pthread.h>

#include <csignal>
#include <thread>

#include "operator/programs/operator/manager.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/options.hpp"
#include "runtime/base/text.hpp"
#include "runtime/protocol/names.hpp"

namespace {

using emj::Millis;
using emj::manager::ManagerOptions;

struct Times {
  double lease = 15, renew = 10, retry = 2, steady = 5;  // s
};

Millis millis(double seconds) { return Millis(static_cast<Millis::rep>(seconds * 1000)); }

empi::options::OptionList describe(ManagerOptions& o, Times& t) {
  using namespace empi::options;
  return {
      {"--kubeconfig", &o.kubeconfig, "else $KUBECONFIG, the pod's service account, ~/.kube/config"},
      {"--context", &o.context, "of the kubeconfig"},
      {"--namespace", &o.watched_namespace, "look after the jobs of this namespace only (default: all)"},
      {"--root-key",
       &o.root_key_file,
       "file with the key that job tokens are made of, older ones below it",
       {.variable = empi::names::kRootKeyFile, .required = true}},
      {"--root-key-secret", &o.root_key_secret,
       "Secret of our namespace that such a file is of: made, with a new key, where there is none"},
      {"--runtime-image",
       &o.build.runtime_image,
       "image that brings agent, sidecar and libraries",
       {.variable = empi::names::kRuntimeImage, .shows_default = true}},
      {"--operator-namespace",
       &o.build.operator_namespace,
       "ours, for the jobs' network policies",
       {.variable = empi::names::kOperatorNamespace, .shows_default = true}},
      {"--prometheus-namespace",
       &o.build.prometheus_namespace,
       "that may scrape the workers",
       {.shows_default = true}},
      {"--dns-namespace",
       &o.build.dns_namespace,
       "of the cluster's DNS, for the jobs' network policies",
       {.shows_default = true}},
      {"--dns-address", &o.build.dns_address,
       "of NodeLocal DNSCache on each node, for the jobs' network policies (default 169.254.20.10); \"\": "
       "none"},
      {"--runtime-pull-secret",
       &o.build.pull_secrets,
       "Secret in the jobs' namespaces that the runtime image is pulled with; may be given more than once",
       {.repeated = true}},
      {"--sidecar-cpu-limit",
       &o.build.sidecar_cpu_limit,
       "of the sidecar, where the template limits the worker's",
       {.shows_default = true}},
      {"--sidecar-memory-limit", &o.build.sidecar_memory_limit, "likewise", {.shows_default = true}},
      {"--worker-user",
       &o.build.worker_user,
       "user and group of workers whose template names none; 0: the platform chooses",
       {.check = in_range(0, 2147483647), .shows_default = true}},
      {"--mutual-tls,!--no-mutual-tls", &o.build.mutual_tls,
       "runs that begin now speak TLS with certificates of their own (the default), else plain HTTP"},
      {"--queues", &o.queues, "jobs may wait in ElasticQueues, and share by them what a cluster has"},
      {"!--no-leader-election", &o.leader_election, "for a single replica"},
      {"--lease-namespace", &o.lease_namespace, "default: the one we run in"},
      {"--lease-name", &o.lease_name, "", {.shows_default = true}},
      {"--lease-seconds", &t.lease, "after which a silent leader is replaced", {.shows_default = true}},
      {"--renew-seconds",
       &t.renew,
       "after which a leader that cannot renew gives up",
       {.shows_default = true}},
      {"--retry-seconds", &t.retry, "between attempts to get or renew the lease", {.shows_default = true}},
      {"--threads",
       &o.threads,
       "jobs looked at side by side",
       {.check = in_range(1, 256), .shows_default = true}},
      {"--qps",
       &o.requests_per_second,
       "requests to the API server per second, on average",
       {.check = in_range(1.0, 10000.0), .shows_default = true}},
      {"--burst", &o.burst, "", {.check = in_range(1, 10000), .shows_default = true}},
      {"--port",
       &o.port,
       "of /metrics, /healthz and /readyz",
       {.check = in_range(0, 65535), .shows_default = true}},
      {"--look-seconds",
       &t.steady,
       "a running job is looked at this often, beside its events",
       {.check = in_range(.1, 600.), .shows_default = true}},
      {"--crash-at-write",
       &o.crash_at_write,
       "for tests: end in front of this write to the API server: 7, or the first 'delete pods'",
       {.hidden = true}},
  };
}

// Stops the manager when this process is told to end, by one of `signals`: blocked in all threads.
class EndListener {
 public:
  EndListener(emj::manager::Manager& manager, const sigset_t& signals)
      : thread_([&manager, signals] {
          int number = 0;
          sigwait(&signals, &number);
          manager.stop();
        }) {}
  ~EndListener() {
    pthread_kill(thread_.native_handle(), SIGINT);  // where it still waits
    thread_.join();
  }
  EndListener(const EndListener&) = delete;
  EndListener& operator=(const EndListener&) = delete;

 private:
  std::thread thread_;
};

}  // namespace

// What glibc would keep for the next large answer, each thread for itself, is given back: many threads read
// them.
constexpr int kGivenBackAtOnce = 1 << 18;  // bytes

int main(int argc, char** argv) {
  mallopt(M_MMAP_THRESHOLD, kGivenBackAtOnce);
  ManagerOptions options;
  Times times;
  empi::options::read_or_exit({.what = "Elastic MPI operator: runs ElasticMPIJobs on a Kubernetes cluster.",
                               .name = "elastic-mpi-operator",
                               .options = describe(options, times)},
                              argc, argv);
  options.lease_duration = millis(times.lease);
  options.renew_deadline = millis(times.renew);
  options.retry_period = millis(times.retry);
  options.steady = millis(times.steady);
  empi::log::to_stderr("operator", "%Y-%m-%dT%H:%M:%S.%e %l: %v");

  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before any thread starts
  signal(SIGPIPE, SIG_IGN);
  try {
    emj::manager::Manager manager(
        options, [](const std::string& line) { empi::log::info("{}", empi::one_line(line)); });
    const EndListener listener(manager, signals);
    return manager.run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "elastic-mpi-operator: %s\n", error.what());
    return 2;
  }
}
