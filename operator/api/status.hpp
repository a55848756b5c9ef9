// SPDX-License-Identifier: Apache-2.0
// The status of an ElasticMPIJob: what was seen, what is being done, what must survive an operator restart.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/index_set.hpp"
#include "operator/api/time.hpp"

namespace emj {

// Queued: it has no allocation, or has not got to using it.
enum class JobState { Queued, Pending, Starting, Running, Resizing, Suspended, Succeeded, Failed };

inline bool is_terminal(JobState state) { return state == JobState::Succeeded || state == JobState::Failed; }

inline constexpr std::size_t kLongestConditionMessage = 2000;  // bytes

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
  Draining,   // committed; leavers are being released and their pods deleted
  Stopping,   // a restartable program was told to write what it goes on from, and to end
  Restarting  // it has; the next run, of another size, is being started
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
  std::optional<Time> requested_time;   // the first SendChange
  std::optional<Time> ready_time = {};  // some newcomers are missing; the others could join since then

  bool operator==(const ResizeStatus&) const = default;
};

// Newcomers that a grow went on without, because they were not ready in time. They are still wanted, and join
// by a change of their own when they come.
struct AwaitedWorkers {
  IndexSet workers;
  IndexSet created;                // of these, seen at least once
  Time deadline{};                 // of their pods, by joinTimeoutSeconds
  std::optional<Time> ready_time;  // some are missing; the others could join since then

  bool operator==(const AwaitedWorkers&) const = default;
};

// The warm pool: workers that are started and members of nothing, for the next grow. Of a job that has ended:
// those that have yet to go.
struct StandbyStatus {
  IndexSet workers;
  IndexSet created;  // of these, seen at least once
  int ready = 0;
  int attempts = 0;                 // that ended by themselves since all were well
  std::optional<Time> retry_after;  // no new ones before
  std::string reason;               // how the last one ended

  bool operator==(const StandbyStatus&) const = default;
};

// A size that could not be reached; not tried again before retry_after.
struct BlockedTarget {
  int target = 0;
  std::int64_t generation = 0;
  std::string reason;
  int attempts = 0;
  Time retry_after{};
  std::optional<Time> since{};  // the first attempt, of a job that has not run yet

  bool operator==(const BlockedTarget&) const = default;
};

// Members are lost, the lead perhaps, and who leads from now on (decision R20): written before it is told,
// and told until the members have followed.
struct SuccessionStatus {
  std::int64_t fence = 0;
  std::string lead_uid, lead_pod;  // of the pod that is to lead, or leads
  std::vector<std::string> dead;   // UIDs
  std::string reason;              // in words
  Time time{};

  bool operator==(const SuccessionStatus&) const = default;
};

// A node that workers were lost with though nobody has said that they ended: its link is cut, or its power is
// off. Kubernetes finds out later than the job, and would make their replacements for it.
struct LostNode {
  std::string name;
  Time until{};  // pods of the job are made for other nodes

  bool operator==(const LostNode&) const = default;
};

enum class ResizeResult { Unknown, Committed, RolledBack, Superseded };

struct LastResize {
  int from = 0;
  int to = 0;
  ResizeResult result = ResizeResult::Unknown;
  std::string reason;
  std::int64_t prepared_millis = 0;  // pods created until ready
  std::int64_t joined_millis = 0;    // change sent until committed
  std::int64_t paused_millis = 0;    // begin until commit, as the application saw it
  Time completion_time{};

  bool operator==(const LastResize&) const = default;
};

// Members that were lost, and that the job went on without; what is not a number tells of the last one.
struct RecoveriesStatus {
  int count = 0;
  std::int64_t epoch = 0;  // of the members that the last one was of; 0: it was of an earlier run
  Time time{};             // when it was heard of
  std::string reason;      // who was lost, and how
  int workers = 0;         // that were left
  std::int64_t repeated_iterations = 0, lost_millis = 0;  // until all of them went on

  bool operator==(const RecoveriesStatus&) const = default;
};

struct Recommendation {
  int replicas = 0;
  int efficiency_percent = 0;
  std::string reason;
  Time time{};

  bool operator==(const Recommendation&) const = default;
};

// The running phase of a master-worker program.
struct TaskStatus {
  std::int64_t phase = 0;
  std::int64_t total = 0;
  std::int64_t done = 0;
  std::int64_t queued = 0;
  double mean_seconds = 0;               // of a task, 0 while unknown
  std::optional<Time> predicted_finish;  // of the phase at the present size; absent while unknown
  Time window_end{};

  bool operator==(const TaskStatus&) const = default;
};

struct Performance {
  std::optional<int> efficiency_percent;  // absent: unknown, for example because samples are stale
  std::optional<Time> window_end;

  bool operator==(const Performance&) const = default;
};

// A pool, as it was when a job was given workers there.
struct PoolTerms {
  std::string pool;
  std::optional<double> price_per_worker_hour = {};  // absent where no pool of the queue has a price
  std::optional<int> speed_percent = {};             // of its cores; absent: 100

  bool operator==(const PoolTerms&) const = default;
};

// What its queue lets a job have. Each change of it has the next number: what was granted to an earlier
// version is not taken.
struct AllocationStatus {
  int workers = 0;   // that it may have now; 0 while it waits
  int promised = 0;  // that it gets once others have let go of them; 0: no promise
  std::string pool;  // of the queue
  std::int64_t sequence = 0;
  Time time{};  // of the promise, where there is one: older ones are served first
  std::string reason;
  std::string yields_to;  // namespace/name of the job that its last workers went to
  // Of one worker in its pool; absent where no pool of the queue has a price: then CPU hours are counted.
  std::optional<double> price_per_worker_hour = {};
  std::optional<int> speed_percent = {};     // of the pool's cores; absent: 100
  std::optional<PoolTerms> moved_from = {};  // while workers are left in that pool

  bool operator==(const AllocationStatus&) const = default;
};

// Why a job waits, in one word.
enum class QueueCause {
  Unknown,      // not looked at yet
  Waiting,      // for its turn, or for room
  Promised,     // others are letting go
  NoSuchQueue,  // or one that cannot be read
  NotAdmitted,  // the queue does not take this job
  TooLarge,     // for the pools that it may use
  Held,         // with all others, by spec.hold of the queue
  Quota,        // of its namespace
  Unplaceable,  // its pods found no node
  StartFailed   // it is tried again
};

// Of a job in a queue, from its creation or last resume on.
struct WaitStatus {
  Time since{};
  std::optional<Time> expected_start;
  int attempts = 0;  // starts that failed
  std::optional<Time> retry_after;
  QueueCause cause = QueueCause::Unknown;
  std::string reason;  // why it waits, in words
  // That it came with, where it could have been met then, as far as anybody could tell.
  std::optional<Time> deadline = {};

  bool operator==(const WaitStatus&) const = default;
};

enum class ForecastSource { Unknown, Progress, Tasks };

// When the job will be over if it stays as it is.
struct ForecastStatus {
  double seconds_left = 0;
  int error_percent = 0;
  ForecastSource source = ForecastSource::Unknown;
  Time time{};
  std::optional<Time> finish = {};  // time + seconds_left
  int workers = 0;                  // the size that it holds for

  bool operator==(const ForecastStatus&) const = default;
};

// What the job costs: workers by their price, from the first pod to the last one's end. At any later time t
// as long as it keeps its size: spent + per_hour (t - time).
struct CostStatus {
  double spent = 0;     // in the unit of the pools' prices; without a queue CPU hours
  double per_hour = 0;  // now
  int workers = 0;      // that are paid for now
  Time time{};

  bool operator==(const CostStatus&) const = default;
};

// What a job has had, for accounts: it adds up over restarts and suspensions.
struct UsageStatus {
  Time since{};               // its first workers became members
  double worker_seconds = 0;  // of members, until `time`
  int workers = 0;            // members since then
  Time time{};

  bool operator==(const UsageStatus&) const = default;
};

inline double worker_seconds(const UsageStatus& usage, Time until) {
  return usage.worker_seconds + usage.workers * std::chrono::duration<double>(until - usage.time).count();
}

// Why, in one of a few words, for metrics; `reason` says it with its numbers.
enum class DecisionCause {
  Unknown,      // decided by an older operator
  Grow,         // Scale, Recommend
  Shrink,       // Scale, Recommend
  BestSize,     // Keep: the policy wants the present size
  Limit,        // Keep: what it wants is beyond minReplicas, maxReplicas or allowedReplicas
  Imbalance,    // Rebalance
  NoData,       // Wait: too few, too old or too uncertain samples
  Stabilizing,  // Wait: not wanted for long enough
  Cooldown,     // Wait: too soon after the last change
  Reversal,     // Wait: it would undo the last change
  LittleGain,   // Wait: not worth it
  ChangeCost,   // Wait: the present size has not yet cost what the change would
  Blocked       // Wait: the last attempt failed
};

enum class DecisionAction {
  Unknown,  // of another version
  Scale,
  Recommend,
  Keep,
  Rebalance,  // keep, but not for the size's sake
  Wait,       // data missing, or a guard says not yet
  Ask         // the queue for this size
};

// One decision of the autoscaler in words; status keeps the last 10. Only what differs from the decision
// before it in action or size becomes a record; of waits for different things in a row the last one is kept.
struct DecisionRecord {
  Time time{};
  int from = 0;
  int to = 0;
  std::string policy;
  DecisionAction action = DecisionAction::Unknown;
  std::string reason;
  DecisionCause cause = DecisionCause::Unknown;
  // Time of an iteration: measured when it was decided, predicted for the new size, measured there later.
  // Of policies that predict it.
  std::optional<double> iteration_seconds = {};
  std::optional<double> predicted_seconds = {};
  std::optional<double> achieved_seconds = {};

  bool operator==(const DecisionRecord&) const = default;
};

struct SizeChange {
  Time time{};
  int from = 0;
  int to = 0;
  double cost_seconds = 0;  // time lost to the change, 0 when unknown
  double work_per_iteration = 0;
  double duration_seconds = 0;  // from the decision's first pod until it was committed, 0 for the start

  bool operator==(const SizeChange&) const = default;
};

struct MeasuredSize {
  int workers = 0;
  int efficiency_percent = 0;
  double iteration_seconds = 0;  // master-worker: seconds per task of the whole job; 0: not known
  Time time{};
  // Of an iteration (shares of the time where that of an iteration is not known): useful time of
  double compute_seconds = 0;     // the busiest rank
  double useful_seconds = 0;      // a rank on average
  double work_per_iteration = 0;  // 0 when the application reports none
  std::int64_t epoch = 0;

  bool operator==(const MeasuredSize&) const = default;
};

// Where policy efficiency is in its search (PDPA): only one size known, growing, shrinking, settled.
enum class SearchState { NoReference, Increasing, Decreasing, Stable };

// What a policy must remember across an operator restart. Small and bounded.
struct PolicyState {
  std::optional<Time> up_since;  // proposals have pointed up without a break since then
  std::optional<Time> down_since;
  std::optional<Time> last_tick;       // stepping and random: the interval counts from here
  std::int64_t ticks = 0;              // random: position in the stream
  std::vector<SizeChange> changes;     // last 5, oldest first; the start counts as one
  std::vector<MeasuredSize> measured;  // latest point per size, at most 16
  SearchState search = SearchState::NoReference;
  std::optional<Time> phase_since;       // windows from before belong to another phase of the program
  std::int64_t task_phase = 0;           // master-worker: the phase that `measured` belongs to
  std::optional<int> accepted_replicas;  // spec.worker.replicas as last accepted
  std::optional<int> written_replicas;   // as last written by the autoscaler
  std::string paused_spec;  // fingerprint of spec.autoscaling when a foreign /scale write paused Auto
  std::optional<int> wish;  // in a queue: the most that the policy wants now
  // The workers that the program itself can use now, as it has said (MPIX_Wish_adapt); 0: it has not.
  int program_min = 0, program_max = 0;

  bool operator==(const PolicyState&) const = default;
};

// The program's checkpoints, as it has said.
struct CheckpointStatus {
  std::int64_t number = 0;  // of the newest whole one, 0: none yet
  std::int64_t iteration = 0;
  std::int64_t bytes = 0;
  std::int64_t written_millis = 0;  // that writing it took
  std::optional<Time> time;         // when it was whole
  std::string restored_from;        // the file that this run went on from; "" when it began from its start
  std::int64_t restored_iteration = 0;

  bool operator==(const CheckpointStatus&) const = default;
};

struct JobStatus {
  std::int64_t observed_generation = 0;
  JobState state = JobState::Pending;
  int replicas = 0;          // pods that exist and are meant to
  std::string selector;      // label selector of the workers, for /scale
  int desired_replicas = 0;  // spec.worker.replicas within limits and allowedReplicas
  int ready_replicas = 0;
  int joined_replicas = 0;   // members of the committed epoch
  std::optional<int> ranks;  // of these, that PMIx has seen and that run; absent while nobody knows
  std::int64_t fence = 0;    // raised when a new leader takes the job
  std::int64_t epoch = 0;    // membership version
  int next_index = 0;        // worker indices are never used twice
  std::int64_t next_change = 1;
  std::string reason;  // why the job is not as it was asked to be, in a word; of its conditions
  std::string lead_uid;
  std::string lead_pod;  // its name: where rank 0 is, and its output
  std::optional<SuccessionStatus> succession;
  std::vector<LostNode> lost_nodes;  // a few, the latest last
  std::string runtime_image;         // of all pods of this run, whatever a newer operator would bring
  bool mutual_tls = false;  // how the pods of this run speak: with certificates, or plain with a token
  IndexSet active_workers;  // the committed members; JSON: workers, and activeWorkers for one version
  std::optional<StartStatus> start;
  std::optional<ResizeStatus> resize;
  std::optional<AwaitedWorkers> awaited;  // JSON: status.resize.awaited
  std::optional<StandbyStatus> standby;
  std::optional<BlockedTarget> blocked;  // JSON: status.resize.blocked
  std::optional<LastResize> last_resize;
  std::optional<RecoveriesStatus> recoveries;
  std::optional<Recommendation> recommendation;
  std::optional<Performance> performance;
  std::optional<TaskStatus> tasks;
  std::optional<CheckpointStatus> checkpoint;
  std::optional<AllocationStatus> allocation;  // of a job in a queue
  std::optional<WaitStatus> queue;             // likewise
  std::optional<ForecastStatus> forecast;
  std::optional<CostStatus> cost;
  std::optional<UsageStatus> usage;  // absent before it has run
  std::vector<DecisionRecord> decisions;
  PolicyState policy_state;
  int restarts = 0;
  std::optional<Time> start_time;
  std::optional<Time> completion_time;
  std::vector<Condition> conditions;

  bool operator==(const JobStatus&) const = default;
};

}  // namespace emj
