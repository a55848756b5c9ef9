// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/options.hpp"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <stdexcept>

#include "runtime/base/options.hpp"
#include "runtime/protocol/names.hpp"

namespace empi::agent {
namespace {

constexpr char kFooter[] =
    "Every option may be given as an environment variable instead (shown in brackets).\n"
    "The agent waits for its controller (POST /v1/start) and then runs COMMAND once per slot.\n\n"
    "Example:\n"
    "  EMPI_POD_NAME=w-0 EMPI_POD_UID=0f1e EMPI_POD_ADDRESS=10.0.0.7 EMPI_TOKEN_FILE=/run/token \\\n"
    "  EMPI_RUN_DIR=/run/empi elastic-mpi-agent --slots 2 -- ./tsunami config.yaml\n";

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "elastic-mpi-agent: %s\n", why.c_str());
  std::exit(2);
}

std::string own_host_name() {
  char name[256] = "pod";
  gethostname(name, sizeof name - 1);
  return name;
}

void check(Options& options) {
  if (options.command.empty())
    refuse("no command to run: expected `elastic-mpi-agent [options] -- command args...`");
  if (options.pod_name.empty()) options.pod_name = own_host_name();
  if (options.pod_uid.empty()) options.pod_uid = options.pod_name;
  if (options.address.empty())
    refuse("EMPI_POD_ADDRESS (--address) is empty: expected the IP other pods reach this one by");
  if (options.token_file.empty())
    refuse("EMPI_TOKEN_FILE (--token-file) is empty: expected a file with the job's token");
  if (options.run_dir.empty())
    refuse("EMPI_RUN_DIR (--run-dir) is empty: expected a private, memory-backed folder");
  options.run_dir = std::filesystem::absolute(options.run_dir).lexically_normal();
  if (options.run_dir.size() + sizeof "/agent.sock" > 107)
    refuse("EMPI_RUN_DIR '" + options.run_dir +
           "' is too long for a Unix socket: expected at most 95 characters");
  if (options.termination_log.empty() && access("/dev/termination-log", W_OK) == 0)
    options.termination_log = "/dev/termination-log";
}

}  // namespace

Options read_options(int argc, char** argv) {
  Options o;
  o.port = names::kDefaultAgentPort;
  std::string mode = "malleable", check_mpi = "yes", shared_processors = "no", restart;
  const options::Program program{
      .what = "Entrypoint of an Elastic MPI worker pod: PMIx server, launcher and membership.",
      .name = "elastic-mpi-agent",
      .footer = kFooter,
      .options = {
          {"--job-name", &o.job_name, "name of the job", {.variable = names::kJobName}},
          {"--job-namespace", &o.job_namespace, "namespace of the job", {.variable = names::kJobNamespace}},
          {"--job-uid", &o.job_uid, "uid of the job", {.variable = names::kJobUid}},
          {"--pod-name", &o.pod_name, "this pod's name (default: host name)", {.variable = names::kPodName}},
          {"--pod-uid",
           &o.pod_uid,
           "this pod's uid, its identity (default: its name)",
           {.variable = names::kPodUid}},
          {"--address", &o.address, "IP that other pods reach this one by", {.variable = names::kPodAddress}},
          {"--port",
           &o.port,
           "port of the agent",
           {.variable = names::kAgentPort, .check = options::in_range(1, 65535)}},
          {"--slots",
           &o.slots,
           "ranks in this pod",
           {.variable = names::kSlots, .check = options::in_range(1, 4096)}},
          {"--token-file",
           &o.token_file,
           "file with the job's bearer token",
           {.variable = names::kTokenFile}},
          {"--tls-dir",
           &o.tls_folder,
           "folder with this worker's certificate and the job's authorities; without it HTTP is plain",
           {.variable = names::kTlsDir}},
          {"--mode",
           &mode,
           "malleable or rigid",
           {.variable = names::kMode, .check = options::one_of("malleable", "rigid")}},
          {"--restart-notice",
           &restart,
           "how the ranks are told to write what they go on from and to end, as JSON: "
           "{\"signal\": \"USR1\"}, {\"file\": PATH} or {\"command\": [WORDS]}",
           {.variable = names::kRestartNotice}},
          {"--check-mpi",
           &check_mpi,
           "yes, or no: the program brings its own Open MPI 5.0",
           {.variable = names::kCheckMpi, .check = options::one_of("yes", "no")}},
          {"--interface",
           &o.interface,
           "network interface of Open MPI's TCP",
           {.variable = names::kNetworkInterface}},
          {"--partition-seconds",
           &o.partition_seconds,
           "ranks are killed after this long without the lead",
           {.variable = names::kPartitionSeconds, .check = options::number_between(0.1, 86'400)}},
          {"--termination-log",
           &o.termination_log,
           "file that receives how it ended",
           {.variable = names::kTerminationLog}},
          {"--log-level",
           &o.log_level,
           "error, warn, info or debug",
           {.variable = names::kLogLevel, .check = options::one_of("error", "warn", "info", "debug")}},
          {"--run-dir",
           &o.run_dir,
           "private folder for pages, socket and PMIx files",
           {.variable = names::kRunDir}},
          {"--window-millis",
           &o.window_millis,
           "width of a measuring window",
           {.variable = names::kWindowMillis, .check = options::in_range(10, 3'600'000)}},
          {"--shared-processors",
           &shared_processors,
           "yes: others run on the processors of the ranks, too, which let them while they wait; or no",
           {.variable = names::kSharedProcessors, .check = options::one_of("yes", "no")}},
          {"--prefix-output,!--no-prefix-output", &o.prefix_output,
           "put [pod namespace/rank] before every line of a rank (default: on)"},
          {"command", &o.command, "program of a rank and its arguments, after --"},
      }};
  options::read_or_exit(program, argc, argv);
  o.malleable = mode == "malleable";
  o.check_mpi = check_mpi == "yes";
  o.shares_processors = shared_processors == "yes";
  try {
    o.restart = restart_notice_from(restart);
  } catch (const std::invalid_argument& error) {
    refuse(std::string(names::kRestartNotice) + " (--restart-notice): " + error.what());
  }
  check(o);
  return o;
}

}  // namespace empi::agent
