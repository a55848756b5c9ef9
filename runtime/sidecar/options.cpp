// SPDX-License-Identifier: Apache-2.0
#include "runtime/sidecar/options.hpp"

#include <cstdlib>

#include "runtime/base/options.hpp"
#include "runtime/protocol/names.hpp"

namespace empi::sidecar {

Options parse_options(int argc, char** argv) {
  Options o;
  o.port = names::kDefaultSidecarPort;
  o.agent_port = names::kDefaultAgentPort;
  o.report_port = names::kDefaultReportPort;
  o.agent_host = "127.0.0.1";
  o.listen.clear();
  bool no_agent = false;
  const options::Program program{
      .what =
          "Serves the measurements of one pod's MPI ranks: GET /metrics (Prometheus), GET /v1/sample (JSON "
          "windows), "
          "GET /healthz.\nEvery setting can come from the environment that the pod's agent has.",
      .options = {
          {"--run-dir",
           &o.run_dir,
           "folder with the ranks' pages",
           {.variable = names::kRunDir, .required = true}},
          {"--listen", &o.listen, "address to listen on, by default all of the pod's"},
          {"--port",
           &o.port,
           "port to listen on, 0 for any free one",
           {.variable = names::kSidecarPort, .check = options::in_range(0, 65535), .shows_default = true}},
          {"--window-millis",
           &o.window_millis,
           "width of a measuring window, as the agents'",
           {.variable = names::kWindowMillis,
            .check = options::in_range(10, 3'600'000),
            .shows_default = true}},
          {"--agent-host",
           &o.agent_host,
           "address of the pod's agent",
           {.variable = names::kPodAddress, .shows_default = true}},
          {"--agent-port",
           &o.agent_port,
           "port of the pod's agent",
           {.variable = names::kAgentPort, .check = options::in_range(1, 65535), .shows_default = true}},
          {"--no-agent", &no_agent, "do not ask an agent; figures of the whole job are left out"},
          {"--token-file",
           &o.token_file,
           "file with the job's token, asked for on /v1/sample and shown to the agent",
           {.variable = names::kTokenFile}},
          {"--tls-dir",
           &o.tls_folder,
           "folder with this worker's certificate: the port then has /metrics and /healthz only",
           {.variable = names::kTlsDir}},
          {"--report-port",
           &o.report_port,
           "with --tls-dir: port of /v1/report and /v1/sample by TLS, 0 for any free one",
           {.variable = names::kReportPort, .check = options::in_range(0, 65535), .shows_default = true}},
          {"--job", &o.identity.job, "label job", {.variable = names::kJobName}},
          {"--namespace", &o.identity.job_namespace, "label namespace", {.variable = names::kJobNamespace}},
          {"--pod", &o.identity.pod, "label pod", {.variable = names::kPodName}},
          {"--pod-uid",
           &o.pod_uid,
           "uid of this pod, to know whether it is the lead's",
           {.variable = names::kPodUid}},
          {"--slots",
           &o.identity.slots,
           "ranks that fit into this pod",
           {.variable = names::kSlots, .check = options::in_range(1, 4096), .shows_default = true}},
          {"--per-rank", &o.identity.per_rank, "series for every rank, too"},
      }};
  options::read_or_exit(program, argc, argv);
  // "::" takes IPv4, too, where there is IPv6 at all.
  if (o.listen.empty()) o.listen = o.agent_host.find(':') != std::string::npos ? "::" : "0.0.0.0";
  if (no_agent) o.agent_host.clear();
  return o;
}

}  // namespace empi::sidecar
