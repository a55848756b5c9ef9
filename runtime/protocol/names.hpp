// SPDX-License-Identifier: Apache-2.0
// The one home of every environment variable, path and header name that agent, library, sidecar and
// operator share. Grep for a name and you find it here.
#pragma once

namespace empi::names {

// --- environment of an agent (set by the operator or by local mode) ---
inline constexpr char kJobName[] = "EMPI_JOB_NAME";
inline constexpr char kJobNamespace[] = "EMPI_JOB_NAMESPACE";
inline constexpr char kJobUid[] = "EMPI_JOB_UID";
inline constexpr char kPodName[] = "EMPI_POD_NAME";
inline constexpr char kPodUid[] = "EMPI_POD_UID";
inline constexpr char kPodAddress[] = "EMPI_POD_ADDRESS";  // IP that other pods reach us by
inline constexpr char kNodeName[] =
    "EMPI_NODE_NAME";  // of the node that the pod is on; not set: taken for a node of its own
inline constexpr char kAgentPort[] = "EMPI_AGENT_PORT";      // default kDefaultAgentPort
inline constexpr char kSidecarPort[] = "EMPI_SIDECAR_PORT";  // default kDefaultSidecarPort
inline constexpr char kReportPort[] = "EMPI_REPORT_PORT";    // of the sidecar, with TLS only
inline constexpr char kSlots[] = "EMPI_SLOTS";               // ranks per pod
inline constexpr char kTokenFile[] =
    "EMPI_TOKEN_FILE";  // file with the job's bearer token, re-read on change
inline constexpr char kTlsDir[] =
    "EMPI_TLS_DIR";  // folder with the worker's certificate (base/tls.hpp), re-read; not set: plain HTTP
inline constexpr char kMode[] = "EMPI_MODE";                           // "malleable" or "rigid"
inline constexpr char kNetworkInterface[] = "EMPI_NETWORK_INTERFACE";  // for Open MPI's TCP: eth0, or lo
inline constexpr char kPartitionSeconds[] =
    "EMPI_PARTITION_SECONDS";  // ranks are killed after this long without the lead
inline constexpr char kTerminationLog[] =
    "EMPI_TERMINATION_LOG";                            // default /dev/termination-log when writable
inline constexpr char kLogLevel[] = "EMPI_LOG_LEVEL";  // error, warn, info, debug

// --- shared by agent, ranks and sidecar of one pod ---
inline constexpr char kMinWorkers[] =
    "EMPI_MIN_WORKERS";  // after losses a loop computes nothing on fewer pods, default 1
inline constexpr char kReplacementSeconds[] =
    "EMPI_REPLACEMENT_SECONDS";                        // and waits so long for others, default 600
inline constexpr char kCheckMpi[] = "EMPI_CHECK_MPI";  // "no": the program brings its own Open MPI
inline constexpr char kRunDir[] = "EMPI_RUN_DIR";      // memory-backed folder: pages, socket, PMIx files
inline constexpr char kWindowMillis[] = "EMPI_WINDOW_MILLIS";  // width of a measuring window, default 1000
inline constexpr char kSharedProcessors[] =
    "EMPI_SHARED_PROCESSORS";  // "yes": others run on the processors of the pod's ranks, too; default "no"
// Checkpoints (elastic::Loop::checkpoint), as the job wants them.
inline constexpr char kCheckpointDir[] = "EMPI_CHECKPOINT_DIR";  // folder on a volume that pods share
inline constexpr char kCheckpointSeconds[] =
    "EMPI_CHECKPOINT_SECONDS";                                     // from one to the next; not set: chosen
inline constexpr char kCheckpointKeep[] = "EMPI_CHECKPOINT_KEEP";  // how many stay, default 2
inline constexpr char kCheckpointMtbfHours[] =
    "EMPI_CHECKPOINT_MTBF_HOURS";  // mean time between failures of a node, default 720
inline constexpr char kCheckpointFrom[] =
    "EMPI_CHECKPOINT_FROM";  // this file and no other is gone on from, or the program fails
inline constexpr char kOutputDir[] =
    "EMPI_OUTPUT_DIR";  // where the application leaves its results (local jobs)
// How a restartable program is told to write what it goes on from and to end, as JSON: {"signal": "USR1"},
// {"file": "/path"} or {"command": ["word", ...]}.
inline constexpr char kRestartNotice[] = "EMPI_RESTART_NOTICE";
inline constexpr char kSlowdown[] =
    "EMPI_SLOWDOWN";  // emulation: ranks are this many times slower (default 1)
inline constexpr char kNetworkDelay[] =
    "EMPI_NETWORK_DELAY_US";  // emulation: of each message and round of a collective, in microseconds
inline constexpr char kNetworkRate[] =
    "EMPI_NETWORK_MBIT_PER_S";  // emulation: at which a rank sends; not set: as it can

// --- environment of a rank (set by the agent) ---
inline constexpr char kSocket[] = "EMPI_SOCKET";  // Unix SOCK_SEQPACKET socket of the agent
inline constexpr char kPage[] = "EMPI_PAGE";      // file of this rank's shared-memory page
inline constexpr char kStatus[] = "EMPI_STATUS";  // "new" or "joining"
inline constexpr char kWordSeconds[] =
    "EMPI_WORD_SECONDS";  // so long it waits for the agent at an agreed iteration; kDefaultWordSeconds
// Open MPI and PMIx write what they have to say by themselves to the descriptors of these numbers.
inline constexpr char kMpiMessages[] = "OPAL_OUTPUT_STDERR_FD";
inline constexpr char kPmixMessages[] = "PMIX_OUTPUT_STDERR_FD";

// --- of the operator ---
inline constexpr char kRootKeyFile[] = "EMPI_ROOT_KEY_FILE";  // keys that job tokens are made of
inline constexpr char kRuntimeImage[] = "EMPI_RUNTIME_IMAGE";
inline constexpr char kOperatorNamespace[] = "EMPI_OPERATOR_NAMESPACE";

// --- of local jobs and programs run by hand ---
inline constexpr char kData[] = "EMPI_DATA";  // folder with measured data (bathymetry, gauges)
inline constexpr char kStateDir[] =
    "EMPI_STATE_DIR";  // folder of local jobs, default in the user's state folder
inline constexpr char kLocalIsolation[] = "EMPI_LOCAL_ISOLATION";  // from a process to the one it becomes in
inline constexpr char kLocalReason[] = "EMPI_LOCAL_REASON";        // fresh namespaces: which ones, and why

inline constexpr int kDefaultAgentPort = 7400;
inline constexpr int kDefaultSidecarPort = 7401;
inline constexpr int kDefaultReportPort = 7402;
inline constexpr int kDefaultWordSeconds = 170;

// --- Open MPI's codes of an abort because a peer is gone; the library holds them to its header ---
inline constexpr int kMpiErrProcFailed = 75;
inline constexpr int kMpiErrRevoked = 77;

// --- threads of a rank ---
inline constexpr char kParkedThread[] = "empi parked";  // a helper thread that never came back

// --- files in the run directory ---
inline constexpr char kSocketFile[] = "agent.sock";
inline constexpr char kViewSocketFile[] = "view.sock";  // of the agent: what it knows, for the sidecar
inline constexpr char kPagePrefix[] = "page.";          // page.<pmix namespace>.<rank>

}  // namespace empi::names
