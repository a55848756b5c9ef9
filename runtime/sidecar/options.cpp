#include "runtime/sidecar/options.hpp"

#include <CLI/CLI.hpp>
#include <cstdlib>

#include "runtime/agent/variables.hpp"
#include "runtime/protocol/names.hpp"

namespace empi::sidecar {

Options parse_options(int argc, char** argv) {
  Options o;
  o.port = names::kDefaultSidecarPort;
  o.agent_port = names::kDefaultAgentPort;
  o.agent_host = "127.0.0.1";
  bool no_agent = false;
  CLI::App app(
      "Serves the measurements of one pod's MPI ranks: GET /metrics (Prometheus), GET /v1/sample (JSON "
      "windows), "
      "GET /healthz.\nEvery setting can come from the environment that the pod's agent has.");
  app.add_option("--run-dir", o.run_dir, "folder with the ranks' pages")->envname(names::kRunDir)->required();
  app.add_option("--listen", o.listen, "address to listen on")->capture_default_str();
  app.add_option("--port", o.port, "port to listen on, 0 for any free one")
      ->envname(names::kSidecarPort)
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app.add_option("--window-millis", o.window_millis, "width of a measuring window, as the agents'")
      ->envname(names::kWindowMillis)
      ->check(CLI::Range(10, 3'600'000))
      ->capture_default_str();
  app.add_option("--agent-host", o.agent_host, "address of the pod's agent")
      ->envname(names::kPodAddress)
      ->capture_default_str();
  app.add_option("--agent-port", o.agent_port, "port of the pod's agent")
      ->envname(names::kAgentPort)
      ->check(CLI::Range(1, 65535))
      ->capture_default_str();
  app.add_flag("--no-agent", no_agent, "do not ask an agent; figures of the whole job are left out");
  app.add_option("--token-file", o.token_file,
                 "file with the job's token, asked for on /v1/sample and shown to the agent")
      ->envname(names::kTokenFile);
  app.add_option("--job", o.identity.job, "label job")->envname(names::kJobName);
  app.add_option("--namespace", o.identity.job_namespace, "label namespace")->envname(names::kJobNamespace);
  app.add_option("--pod", o.identity.pod, "label pod")->envname(names::kPodName);
  app.add_option("--pod-uid", o.pod_uid, "uid of this pod, to know whether it is the lead's")
      ->envname(names::kPodUid);
  app.add_option("--slots", o.identity.slots, "ranks that fit into this pod")
      ->envname(names::kSlots)
      ->check(CLI::Range(1, 4096))
      ->capture_default_str();
  app.add_flag("--per-rank", o.identity.per_rank, "series for every rank, too");
  try {
    app.parse(argc, argv);
    agent::refuse_bad_variables(app);
  } catch (const CLI::ParseError& e) {
    std::exit(app.exit(e) == 0 ? 0 : 2);
  }
  if (no_agent) o.agent_host.clear();
  return o;
}

}  // namespace empi::sidecar
