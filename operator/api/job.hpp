#pragma once

// ElasticMPIJob, group elasticmpi.io/v1alpha1, as C++ values. crds/elasticmpijob.yaml is the same
// schema for the API server; a test keeps the two equal. Reading and checking: operator/api/parse.hpp.
//
//   Result<ElasticMPIJob> job = parse_yaml(text, "job.yaml");
//   if (!job) { std::cerr << job.message(); return 2; }

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "operator/api/index_set.hpp"
#include "operator/api/time.hpp"

namespace emj {

inline constexpr const char* api_version = "elasticmpi.io/v1alpha1";
inline constexpr const char* api_group = "elasticmpi.io";
inline constexpr const char* job_kind = "ElasticMPIJob";
inline constexpr const char* manager_name = "elasticmpi.io/operator";  // spec.managedBy: ours

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
  std::optional<int> replicas;  // target of /scale; absent: minReplicas at the start
  int min_replicas = 1;
  int max_replicas = 1;
  PodTemplate pod;

  bool operator==(const WorkerSpec&) const = default;
};

enum class RuntimeMode { Malleable, Rigid };

struct RuntimeSpec {
  std::string implementation = "OpenMPI";
  RuntimeMode mode = RuntimeMode::Malleable;

  bool operator==(const RuntimeSpec&) const = default;
};

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
  OnTimeout on_timeout = OnTimeout::Rollback;
  std::string on_worker_loss = "Fail";  // the only value until recovery exists

  bool operator==(const ResizeSpec&) const = default;
};

enum class AutoscalingMode { Off, Recommend, Auto };
enum class PolicyName { Threshold, Stepping, Random, Manual };

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

struct PolicySpec {
  PolicyName name = PolicyName::Threshold;
  ThresholdParameters threshold;
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

struct SchedulingSpec {
  std::string queue_name;  // refused: not implemented
  std::string priority_class_name;

  bool operator==(const SchedulingSpec&) const = default;
};

enum class NetworkPolicyMode { JobOnly, None };

struct NetworkSpec {
  std::string cluster_domain = "cluster.local";
  NetworkPolicyMode policy = NetworkPolicyMode::JobOnly;

  bool operator==(const NetworkSpec&) const = default;
};

enum class LocalNetwork { Namespaces, Loopback };

// Local mode only (`empi run`): how pods on this machine stand for pods on a cluster. The Kubernetes
// operator refuses a job that has it. Anything but the defaults is an emulation and is printed as one.
struct LocalSpec {
  double slowdown_factor = 1;  // k >= 1: ranks compute k times slower, by sleeping
  int network_delay_microseconds = 0;
  int network_megabits_per_second = 0;  // 0: unlimited
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
  std::optional<LocalSpec> local;

  bool operator==(const JobSpec&) const = default;
};

// The size to run at when `wanted` is asked for: within [minReplicas, maxReplicas] and rounded down to
// allowedReplicas (up to the smallest allowed one when nothing below fits).
int feasible_size(const JobSpec& spec, int wanted);
bool is_feasible(const JobSpec& spec, int size);

// --- status -------------------------------------------------------------------------------------

enum class JobState { Pending, Starting, Running, Resizing, Suspended, Succeeded, Failed };

inline bool is_terminal(JobState state) { return state == JobState::Succeeded || state == JobState::Failed; }

struct Condition {
  std::string type;
  std::string status = "Unknown";  // True, False, Unknown
  std::string reason;
  std::string message;
  Time last_transition_time{};
  std::int64_t observed_generation = 0;

  bool operator==(const Condition&) const = default;
};

// The first start: pods planned with their indices before any of them is created.
struct StartStatus {
  IndexSet workers;        // planned
  IndexSet created;        // seen at least once: one that vanishes afterwards is lost, not late
  bool requested = false;  // StartJob was decided: the plan is frozen
  Time start_time{};
  Time deadline{};

  bool operator==(const StartStatus&) const = default;
};

enum class ResizePhase {
  CreatingPods,  // newcomers' pods are being created and started
  Requested,     // the change was sent; the lead has not shown it yet
  Preparing,
  Building,
  Ready,
  Window,
  Cancelling,  // a newer target came before Ready
  RollingBack,
  Draining  // committed; leavers are being released and their pods deleted
};

struct ResizeStatus {
  std::string id;
  int from = 0;
  int to = 0;
  ResizePhase phase = ResizePhase::CreatingPods;
  std::int64_t epoch = 0;  // the epoch the change starts from
  IndexSet add;
  IndexSet created;  // of add, seen at least once
  IndexSet remove;
  Time start_time{};
  Time deadline{};
  std::optional<Time> requested_time;  // the first SendChange

  bool operator==(const ResizeStatus&) const = default;
};

// A size that could not be reached; not tried again before retry_after.
struct BlockedTarget {
  int target = 0;
  std::int64_t generation = 0;
  std::string reason;
  int attempts = 0;
  Time retry_after{};

  bool operator==(const BlockedTarget&) const = default;
};

struct LastResize {
  int from = 0;
  int to = 0;
  std::string result;  // Committed, RolledBack, Superseded
  std::string reason;
  std::int64_t prepared_millis = 0;  // pods created until ready
  std::int64_t joined_millis = 0;    // change sent until committed
  std::int64_t paused_millis = 0;    // begin until commit, as the application saw it
  Time completion_time{};

  bool operator==(const LastResize&) const = default;
};

struct Recommendation {
  int replicas = 0;
  int efficiency_percent = 0;
  std::string reason;
  Time time{};

  bool operator==(const Recommendation&) const = default;
};

struct Performance {
  std::optional<int> efficiency_percent;  // absent: unknown, for example because samples are stale
  std::optional<Time> window_end;

  bool operator==(const Performance&) const = default;
};

// One decision of the autoscaler in words; status keeps the last 10. Only what differs from the decision
// before it in action or size becomes a record.
struct DecisionRecord {
  Time time{};
  int from = 0;
  int to = 0;
  std::string policy;
  std::string action;  // Scale, Recommend, Keep, Wait (data missing or a guard says not yet)
  std::string reason;

  bool operator==(const DecisionRecord&) const = default;
};

struct SizeChange {
  Time time{};
  int from = 0;
  int to = 0;
  double cost_seconds = 0;  // time lost to the change, 0 when unknown
  double work_per_iteration = 0;

  bool operator==(const SizeChange&) const = default;
};

struct MeasuredSize {
  int workers = 0;
  int efficiency_percent = 0;
  double iteration_seconds = 0;
  Time time{};

  bool operator==(const MeasuredSize&) const = default;
};

// What a policy must remember across an operator restart. Small and bounded.
struct PolicyState {
  std::optional<Time> up_since;  // proposals have pointed up without a break since then
  std::optional<Time> down_since;
  std::optional<Time> last_tick;         // stepping and random: the interval counts from here
  std::int64_t ticks = 0;                // random: position in the stream
  std::vector<SizeChange> changes;       // last 5, oldest first; the start counts as one
  std::vector<MeasuredSize> measured;    // latest point per size, at most 16
  std::optional<int> accepted_replicas;  // spec.worker.replicas as last accepted
  std::optional<int> written_replicas;   // as last written by the autoscaler
  std::string paused_spec;  // fingerprint of spec.autoscaling when a foreign /scale write paused Auto

  bool operator==(const PolicyState&) const = default;
};

struct JobStatus {
  std::int64_t observed_generation = 0;
  JobState state = JobState::Pending;
  int replicas = 0;          // pods that exist and are meant to
  std::string selector;      // label selector of the workers, for /scale
  int desired_replicas = 0;  // spec.worker.replicas within limits and allowedReplicas
  int ready_replicas = 0;
  int joined_replicas = 0;  // members of the committed epoch
  std::int64_t fence = 0;   // raised when a new leader takes the job
  std::int64_t epoch = 0;   // membership version
  int next_index = 0;       // worker indices are never used twice
  std::int64_t next_change = 1;
  std::string lead_uid;
  IndexSet active_workers;  // the committed members
  std::optional<StartStatus> start;
  std::optional<ResizeStatus> resize;
  std::optional<BlockedTarget> blocked;  // JSON: status.resize.blocked
  std::optional<LastResize> last_resize;
  std::optional<Recommendation> recommendation;
  std::optional<Performance> performance;
  std::vector<DecisionRecord> decisions;
  PolicyState policy_state;
  int restarts = 0;
  std::optional<Time> start_time;
  std::optional<Time> completion_time;
  std::vector<Condition> conditions;

  bool operator==(const JobStatus&) const = default;
};

struct ElasticMPIJob {
  Metadata metadata;
  JobSpec spec;
  JobStatus status;

  bool operator==(const ElasticMPIJob&) const = default;
};

// The names users write and read.
const char* to_string(RuntimeMode mode);
const char* to_string(OnTimeout choice);
const char* to_string(AutoscalingMode mode);
const char* to_string(PolicyName name);
const char* to_string(CleanPodPolicy policy);
const char* to_string(NetworkPolicyMode mode);
const char* to_string(LocalNetwork network);
const char* to_string(JobState state);
const char* to_string(ResizePhase phase);

const Condition* find_condition(const JobStatus& status, const std::string& type);

// Labels of a job's pods.
inline constexpr const char* label_job = "elasticmpi.io/job-name";
inline constexpr const char* label_role = "elasticmpi.io/role";
inline constexpr const char* label_index = "elasticmpi.io/worker-index";
std::string worker_selector(const std::string& job);  // label selector of all workers

// Names of a job's objects; index is the worker index.
std::string worker_name(const std::string& job, int index);  // <job>-w-<index>
std::optional<int> worker_index(const std::string& job, const std::string& pod);

}  // namespace emj
