// SPDX-License-Identifier: Apache-2.0
// ElasticMPIJob, group elasticmpi.io/v1alpha1, as C++ values. crds/elasticmpijob.yaml is the same
// schema for the API server; a test keeps the two equal. Reading and checking: operator/api/parse.hpp.
//
//   Result<ElasticMPIJob> job = parse_yaml(text, "job.yaml");
//   if (!job) { std::cerr << job.message(); return 2; }
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operator/api/condition_types.hpp"
#include "operator/api/index_set.hpp"
#include "operator/api/status.hpp"
#include "operator/api/time.hpp"

namespace emj {

inline constexpr const char* kApiVersion = "elasticmpi.io/v1alpha1";
inline constexpr const char* kApiGroup = "elasticmpi.io";
inline constexpr const char* kJobKind = "ElasticMPIJob";
inline constexpr const char* kManagerName = "elasticmpi.io/operator";  // spec.managedBy: ours

struct Metadata {
  std::string name;
  std::string namespace_name = "default";
  std::string uid;
  std::string resource_version;
  std::int64_t generation = 1;
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;
  std::optional<Time> creation_time;
  std::optional<Time> deletion_time;

  bool operator==(const Metadata&) const = default;
};

// --- spec ---------------------------------------------------------------------------------------

struct EnvironmentVariable {
  std::string name;
  std::string value;

  bool operator==(const EnvironmentVariable&) const = default;
};

// The user's pod template. The fields that local mode uses are typed; `document` is the whole template
// as compact JSON text, so that no field is lost on its way to Kubernetes.
struct PodTemplate {
  std::string image;
  std::vector<std::string> command;  // never empty in a valid job
  std::vector<std::string> args;
  std::vector<EnvironmentVariable> environment;  // plain name/value pairs only
  std::string working_directory;
  std::string document = "{}";

  bool operator==(const PodTemplate&) const = default;
};

// Template fields that local mode does not use ("spec.nodeSelector", "spec.containers[0].image", ...).
std::vector<std::string> fields_ignored_locally(const PodTemplate& pod);

struct WorkerSpec {
  std::optional<int> replicas;  // target of /scale; absent: minReplicas, which is then filled in
  int min_replicas = 1;
  int max_replicas = 1;
  int standby = 0;  // workers that are started and wait for a grow
  PodTemplate pod;

  bool operator==(const WorkerSpec&) const = default;
};

// An amount as Kubernetes writes it ("100m", "256Gi"), not negative; kept as it was written.
struct Quantity {
  std::string text;

  bool operator==(const Quantity&) const = default;
};
// In base units (CPUs, bytes); of one that has been read.
double amount(const Quantity& quantity);

// Malleable programs change their size while they run; Restartable ones are told to write what they go on
// from and to end, and are started anew with another size (seed 002); Rigid ones keep theirs.
enum class RuntimeMode { Malleable, Rigid, Restartable };

// How a restartable program is told: by one of the three, which is not empty.
struct RestartSpec {
  std::string signal;                // to every rank: "USR1", ...
  std::string file;                  // made in the first worker's pod, and removed before each start
  std::vector<std::string> command;  // run in the first worker's pod
  std::optional<int> exit_code;      // of a program that is to be started again; absent: 0 means so
  Seconds grace{600};                // then it is told once more

  bool operator==(const RestartSpec&) const = default;
};

// Who calls MPI_Probe_adapt: every rank, or rank 0 alone.
enum class Probe { All, Root };

struct RuntimeSpec {
  std::string implementation = "OpenMPI";
  RuntimeMode mode = RuntimeMode::Malleable;
  Seconds leaver_grace{30};  // from a leaver's release until it is ended, unless it finalises
  Probe probe = Probe::All;
  std::optional<RestartSpec> restart;  // of mode Restartable

  bool operator==(const RuntimeSpec&) const = default;
};

// The program knows nothing of changes: its ranks are those of one start.
inline bool is_malleable(const RuntimeSpec& runtime) { return runtime.mode == RuntimeMode::Malleable; }

// How far a policy moves in one decision: doubling and halving, or a fixed number of workers.
struct Step {
  int workers = 0;  // 0: Factor2

  bool factor2() const { return workers == 0; }
  bool operator==(const Step&) const = default;
};

enum class OnTimeout { Rollback, Fail };

struct ResizeSpec {
  Step step;
  std::vector<int> allowed_replicas;  // ascending; empty: every size within the limits
  Seconds prepare_timeout{300};       // from the change being sent until it is committed
  Seconds join_timeout{600};          // from pods being created until they are ready
  Seconds patience{5};                // newcomers that are ready wait as long for the others
  OnTimeout on_timeout = OnTimeout::Rollback;
  std::string on_worker_loss;  // "": as Recover, where the program can

  bool operator==(const ResizeSpec&) const = default;
};

enum class AutoscalingMode { Off, Recommend, Auto };
enum class PolicyName {
  Threshold,
  Efficiency,
  Tasks,
  Throughput,
  Deadline,
  Budget,
  Stepping,
  Random,
  Manual
};

struct ThresholdParameters {
  int low_percent = 10;    // L: grow when MTCT stays below
  int high_percent = 60;   // U: shrink when MTCT rises above
  int noise_percent = 10;  // e: measurement noise the thresholds must survive

  bool operator==(const ThresholdParameters&) const = default;
};

struct SteppingParameters {
  int step = 1;  // workers per interval; negative steps down to minReplicas
  Seconds interval{60};

  bool operator==(const SteppingParameters&) const = default;
};

struct RandomParameters {
  std::int64_t seed = 1;
  Seconds interval{60};

  bool operator==(const RandomParameters&) const = default;
};

// The shortest iteration that is worth its workers.
struct EfficiencyParameters {
  int min_efficiency_percent = 50;  // sizes below are given up even if they are faster
  int min_balance_percent = 75;     // load balance below which imbalance is not taken for communication
  int regret_percent = 100;         // of the cost of a change: as much must be lost before the change is made

  bool operator==(const EfficiencyParameters&) const = default;
};

// Phases of a master-worker program.
struct TasksParameters {
  int min_efficiency_percent = 50;  // least share of the workers' time spent in tasks
  int min_return_percent = 200;     // of the cost of a change: as much must it save

  bool operator==(const TasksParameters&) const = default;
};

// As fast as what is idle allows, for jobs in a queue.
struct ThroughputParameters {
  int weight_percent = 100;  // of the job, among the others that the queue shares workers out to

  bool operator==(const ThroughputParameters&) const = default;
};

// Just enough workers for spec.scheduling.deadline.
struct DeadlineParameters {
  int margin_percent = 5;  // of the time that is predicted to be left: as much earlier it aims

  bool operator==(const DeadlineParameters&) const = default;
};

struct PolicySpec {
  PolicyName name = PolicyName::Threshold;
  ThresholdParameters threshold;
  EfficiencyParameters efficiency;
  TasksParameters tasks;
  ThroughputParameters throughput;
  DeadlineParameters deadline;
  SteppingParameters stepping;
  RandomParameters random;

  bool operator==(const PolicySpec&) const = default;
};

struct AutoscalingSpec {
  AutoscalingMode mode = AutoscalingMode::Off;
  PolicySpec policy;
  Seconds scale_up_stabilization{60};
  Seconds scale_down_stabilization{300};
  Seconds cooldown{120};
  int min_expected_gain_percent = 5;
  int min_iterations = 10;    // over the windows of one decision
  int max_error_percent = 5;  // 95 % confidence half-width of the iteration time
  Seconds window{10};
  int windows = 3;

  bool operator==(const AutoscalingSpec&) const = default;
};

enum class CleanPodPolicy { Running, All, None };

struct RunPolicy {
  int backoff_limit = 0;  // restarts, each from the very start of the program
  std::optional<Seconds> active_deadline;
  std::optional<Seconds> ttl_after_finished;  // local mode keeps no job that has ended
  CleanPodPolicy clean_pods = CleanPodPolicy::Running;

  bool operator==(const RunPolicy&) const = default;
};

// What may be done with a running job for another one. No job is ever ended for another.
enum class Preemption { Shrink, None };

// How fast the program is on so many workers; only the ratios of several points matter.
struct ScalabilityPoint {
  int workers = 1;
  int speed_percent = 100;

  bool operator==(const ScalabilityPoint&) const = default;
};

// One label of nodes by which a job's pods keep together (the words of KEP-6089's constraints).
struct TopologyConstraint {
  std::string key;
  bool operator==(const TopologyConstraint&) const = default;
};

struct SchedulingSpec {
  std::string
      queue_name;  // of the ElasticQueue that decides when it starts and what it may have; empty: none
  std::string priority_class_name;
  Preemption preemption = Preemption::Shrink;
  std::vector<std::string> pools;             // of the queue, by preference; empty: all
  std::optional<Seconds> expected;            // run time at the reference size: for backfill, ends nothing
  std::vector<TopologyConstraint> topology;   // at most one: all workers on nodes of one value; empty: any
  std::string model;                          // jobs of one name share what is learned
  std::vector<ScalabilityPoint> scalability;  // ascending by workers; empty: not known
  std::optional<Time> deadline;               // by which it should be over; at most one of the two
  std::optional<Seconds> deadline_after;      // the same, from its creation
  std::optional<Quantity> budget;  // of the whole run, in the unit of the pools' prices; without a queue CPU
                                   // hours

  bool operator==(const SchedulingSpec&) const = default;
};

// Where the program's checkpoints go, and how often. One of volume_claim and path is given.
struct CheckpointSpec {
  std::string volume_claim;      // PersistentVolumeClaim that all pods mount
  std::string path;              // folder of a volume that the template mounts; in local runs of this machine
  std::optional<Seconds> every;  // absent: by the cost of one and the failures of nodes
  int keep = 2;
  int mtbf_hours = 720;  // of a node

  bool operator==(const CheckpointSpec&) const = default;
};

enum class NetworkPolicyMode { JobOnly, None };

struct NetworkSpec {
  NetworkPolicyMode policy = NetworkPolicyMode::JobOnly;

  bool operator==(const NetworkSpec&) const = default;
};

enum class LocalNetwork { Namespaces, Loopback };
// How a slower network is emulated: on each packet, by the kernel; or for each call of MPI, by its rank.
enum class LocalEmulation { Packets, Calls };

// Local mode only (`empi run`): how pods on this machine stand for pods on a cluster. The Kubernetes
// operator refuses a job that has it. Anything but the defaults is an emulation and is printed as one.
struct LocalSpec {
  double slowdown_factor = 1;  // k >= 1: ranks compute k times slower, by sleeping
  int network_delay_microseconds = 0;
  int network_megabits_per_second = 0;  // 0: unlimited
  LocalEmulation network_emulation = LocalEmulation::Packets;
  LocalNetwork network = LocalNetwork::Namespaces;

  bool operator==(const LocalSpec&) const = default;
};

struct JobSpec {
  bool suspend = false;
  std::optional<std::string> managed_by;
  int slots_per_worker = 1;
  WorkerSpec worker;
  RuntimeSpec runtime;
  ResizeSpec resize;
  AutoscalingSpec autoscaling;
  RunPolicy run_policy;
  SchedulingSpec scheduling;
  NetworkSpec network;
  std::optional<CheckpointSpec> checkpoint;
  std::optional<LocalSpec> local;

  bool operator==(const JobSpec&) const = default;
};

// The size a job in a queue is thought to be made for: replicas, else twice minReplicas, at most maxReplicas.
int reference_size(const JobSpec& spec);

// The size to run at when `wanted` is asked for: within [minReplicas, maxReplicas] and rounded down to
// allowedReplicas (up to the smallest allowed one when nothing below fits).
int feasible_size(const JobSpec& spec, int wanted);
bool is_feasible(const JobSpec& spec, int size);

struct ElasticMPIJob {
  Metadata metadata;
  JobSpec spec;
  JobStatus status;

  bool operator==(const ElasticMPIJob&) const = default;
};

// When the job should be over, if that is said; deadlineSeconds count from its creation.
std::optional<Time> deadline_of(const ElasticMPIJob& job);

// The names users write and read.
const char* to_string(RuntimeMode mode);
const char* to_string(OnTimeout choice);
const char* to_string(AutoscalingMode mode);
const char* to_string(PolicyName name);
const char* to_string(SearchState state);
const char* to_string(DecisionCause cause);
const char* to_string(DecisionAction action);
const char* to_string(ResizeResult result);
const char* to_string(CleanPodPolicy policy);
const char* to_string(NetworkPolicyMode mode);
const char* to_string(LocalNetwork network);
const char* to_string(LocalEmulation emulation);
const char* to_string(JobState state);
const char* to_string(QueueCause cause);
const char* to_string(ResizePhase phase);

const Condition* find_condition(const JobStatus& status, const std::string& type);

// Labels of a job's pods.
inline constexpr const char* kLabelJob = "elasticmpi.io/job-name";
inline constexpr const char* kLabelRole = "elasticmpi.io/role";
inline constexpr const char* kLabelIndex = "elasticmpi.io/worker-index";
inline constexpr const char* kLabelQueue = "elasticmpi.io/queue";  // that has given the worker
inline constexpr const char* kLabelPool = "elasticmpi.io/pool";    // of that queue
std::string worker_selector(const std::string& job);               // label selector of all workers

// Names of a job's objects; index is the worker index.
std::string worker_name(const std::string& job, int index);  // <job>-w-<index>
std::optional<int> worker_index(const std::string& job, const std::string& pod);

}  // namespace emj
