// elastic-mpi-operator: runs ElasticMPIJobs on a Kubernetes cluster.

#include <pthread.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <CLI/CLI.hpp>
#include <csignal>
#include <thread>

#include "operator/manager/manager.hpp"
#include "runtime/protocol/names.hpp"

namespace {

using emj::Millis;
using emj::Seconds;
using emj::manager::ManagerOptions;

struct Times {
  double lease = 15, renew = 10, retry = 2, steady = 5;  // s
};

Millis millis(double seconds) { return Millis(static_cast<Millis::rep>(seconds * 1000)); }

void define(CLI::App& app, ManagerOptions& o, Times& t) {
  app.add_option("--kubeconfig", o.kubeconfig, "else $KUBECONFIG, the pod's service account, ~/.kube/config");
  app.add_option("--context", o.context, "of the kubeconfig");
  app.add_option("--namespace", o.watched_namespace,
                 "look after the jobs of this namespace only (default: all)");
  app.add_option("--root-key", o.root_key_file,
                 "file with the key that job tokens are made of, older ones below it")
      ->required()
      ->envname(empi::names::kRootKeyFile);
  app.add_option("--runtime-image", o.build.runtime_image, "image that brings agent, sidecar and libraries")
      ->envname(empi::names::kRuntimeImage)
      ->capture_default_str();
  app.add_option("--operator-namespace", o.build.operator_namespace, "ours, for the jobs' network policies")
      ->envname(empi::names::kOperatorNamespace)
      ->capture_default_str();
  app.add_option("--prometheus-namespace", o.build.prometheus_namespace, "that may scrape the workers")
      ->capture_default_str();
  app.add_flag("!--no-leader-election", o.leader_election, "for a single replica");
  app.add_option("--lease-namespace", o.lease_namespace, "default: the one we run in");
  app.add_option("--lease-name", o.lease_name)->capture_default_str();
  app.add_option("--lease-seconds", t.lease, "after which a silent leader is replaced")
      ->capture_default_str();
  app.add_option("--renew-seconds", t.renew, "after which a leader that cannot renew gives up")
      ->capture_default_str();
  app.add_option("--retry-seconds", t.retry, "between attempts to get or renew the lease")
      ->capture_default_str();
  app.add_option("--threads", o.threads, "jobs looked at side by side")
      ->check(CLI::Range(1, 256))
      ->capture_default_str();
  app.add_option("--qps", o.requests_per_second, "requests to the API server per second, on average")
      ->check(CLI::Range(1.0, 10000.0))
      ->capture_default_str();
  app.add_option("--burst", o.burst)->check(CLI::Range(1, 10000))->capture_default_str();
  app.add_option("--port", o.port, "of /metrics, /healthz and /readyz")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app.add_option("--look-seconds", t.steady, "a running job is looked at this often, beside its events")
      ->check(CLI::Range(.1, 600.))
      ->capture_default_str();
  app.add_option("--crash-at-write", o.crash_at_write,
                 "for tests: end in front of this write to the API server: 7, or the first 'delete pods'")
      ->group("");
}

// A record is a line, whatever the text of a program in it.
std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', '|');
  return text;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app{"Elastic MPI operator: runs ElasticMPIJobs on a Kubernetes cluster.", "elastic-mpi-operator"};
  ManagerOptions options;
  Times times;
  define(app, options, times);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : 2;
  }
  options.lease_duration = millis(times.lease);
  options.renew_deadline = millis(times.renew);
  options.retry_period = millis(times.retry);
  options.steady = millis(times.steady);
  spdlog::set_default_logger(spdlog::stderr_logger_mt("operator"));
  spdlog::set_pattern("%Y-%m-%dT%H:%M:%S.%e %l: %v");

  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // before any thread starts
  signal(SIGPIPE, SIG_IGN);
  try {
    emj::manager::Manager manager(options,
                                  [](const std::string& line) { spdlog::info("{}", one_line(line)); });
    std::thread([&manager, signals] {
      int number = 0;
      sigwait(&signals, &number);
      manager.stop();
    }).detach();
    return manager.run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "elastic-mpi-operator: %s\n", error.what());
    return 2;
  }
}
