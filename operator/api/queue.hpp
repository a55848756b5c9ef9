// SPDX-License-Identifier: Apache-2.0
// ElasticQueue, group elasticmpi.io/v1alpha1, as C++ values: how jobs share what a cluster, or a part of it,
// has. crds/elasticqueue.yaml is the same schema for the API server; a test keeps the two equal.
//
//   Result<ElasticQueue> queue = parse_queue_yaml(text, "queue.yaml");
//   if (!queue) { std::cerr << queue.message(); return 2; }
#pragma once
#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/job.hpp"
#include "operator/api/parse.hpp"
#include "operator/api/result.hpp"
#include "operator/api/status.hpp"
#include "operator/api/time.hpp"

namespace emj {

inline constexpr const char* kQueueKind = "ElasticQueue";

// --- spec ---------------------------------------------------------------------------------------

struct Amounts {
  std::optional<Quantity> cpu;
  std::optional<Quantity> memory;

  bool operator==(const Amounts&) const = default;
};

struct Toleration {
  std::string key;
  std::string op;  // Equal, Exists; JSON: operator
  std::string value;
  std::string effect;  // NoSchedule, PreferNoSchedule, NoExecute; empty: all

  bool operator==(const Toleration&) const = default;
};

// What a pool has to give: an amount that is said, or what its nodes have and nobody else uses.
enum class PoolCapacity { Quota, Nodes };

struct PoolSpec {
  std::string name;
  PoolCapacity capacity = PoolCapacity::Quota;
  Amounts quota;                                     // most that is given out; cpu is required with Quota
  Amounts headroom;                                  // never given out
  std::map<std::string, std::string> node_selector;  // of its nodes; put on the pods as well
  std::vector<Toleration> tolerations;               // likewise
  Quantity price{"0"};                               // of a CPU for an hour, in any unit
  int speed_percent = 100;                           // of its cores, against those of the other pools
  bool spot = false;        // nodes that are taken away at any time: only for jobs that name the pool
  Seconds provisioning{0};  // its nodes are made on demand, and there after so long at the latest

  bool operator==(const PoolSpec&) const = default;
};

struct QueuePriority {
  std::string name;  // of spec.scheduling.priorityClassName
  int value = 0;     // larger is first; that of a class which is not listed is 0

  bool operator==(const QueuePriority&) const = default;
};

struct NamespaceShare {
  std::string namespace_name;
  int weight = 100;

  bool operator==(const NamespaceShare&) const = default;
};

enum class FairShareMode { Off, Namespace };

struct FairShareSpec {
  FairShareMode mode = FairShareMode::Off;
  int half_life_hours = 168;  // after which what was used counts half
  Seconds penalty{14400};     // by which jobs stand back at most
  std::vector<NamespaceShare> shares;

  bool operator==(const FairShareSpec&) const = default;
};

struct OrderSpec {
  Seconds max_wait{0};  // who has waited longer is passed by nobody; 0: no bound (decision Q35)
  FairShareSpec fair_share;

  bool operator==(const OrderSpec&) const = default;
};

enum class BackfillMode { Easy, Conservative, None };
enum class QueueObjective { Fair, Throughput, Turnaround, Makespan, Workload };
enum class HoldMode { None, Start, All };

struct GrowthSpec {
  int time_value_percent = 4;
  int min_efficiency_percent = 50;
  int min_step_percent = 10;
  int cost_factor_percent = 1000;
  Seconds cooldown{120};

  bool operator==(const GrowthSpec&) const = default;
};

struct MovesSpec {
  int min_ratio_percent = 150;
  Seconds rest{300};

  bool operator==(const MovesSpec&) const = default;
};

struct QueueSpec {
  std::vector<std::string> namespaces;  // that may use it; empty: all
  std::vector<PoolSpec> pools;          // at least one
  std::vector<QueuePriority> priorities;
  OrderSpec order;
  BackfillMode backfill = BackfillMode::Easy;
  Preemption preemption = Preemption::Shrink;
  QueueObjective objective = QueueObjective::Fair;
  GrowthSpec growth;
  MovesSpec moves;
  Seconds pending{60};  // pods may be Pending for as long before they are given back
  HoldMode hold = HoldMode::None;

  bool operator==(const QueueSpec&) const = default;
};

// --- status -------------------------------------------------------------------------------------

// Of something that a pool counts beside CPUs: "memory" and huge pages in bytes, devices by number.
struct ResourceStatus {
  std::string resource;
  std::int64_t capacity = 0;
  std::int64_t held = 0;
  std::int64_t promised = 0;
  std::int64_t foreign = 0;
  std::int64_t unplaceable = 0;

  bool operator==(const ResourceStatus&) const = default;
};

struct PoolStatus {
  std::string name;
  int nodes = 0;
  std::int64_t capacity_milli_cpu = 0;
  std::int64_t held_milli_cpu = 0;
  std::int64_t promised_milli_cpu = 0;
  std::int64_t foreign_milli_cpu = 0;
  std::int64_t unplaceable_milli_cpu = 0;
  std::vector<ResourceStatus> resources{};  // what is counted there beside CPUs

  bool operator==(const PoolStatus&) const = default;
};

// One of the first jobs that wait.
struct WaitingJob {
  std::string namespace_name;
  std::string name;
  int priority = 0;
  Time since{};
  std::string reason;
  std::optional<Time> expected_start;

  bool operator==(const WaitingJob&) const = default;
};

struct NamespaceUsage {
  std::string namespace_name;
  double cpu_hours = 0;  // decayed

  bool operator==(const NamespaceUsage&) const = default;
};

// How long jobs of a namespace run against what was said of them (spec.scheduling.expectedSeconds).
struct ClaimRecord {
  std::string namespace_name;
  double overrun = 1;  // largest time taken over the time said, 1 at least; fades over about five jobs
  Time time{};         // of the last job that ended

  bool operator==(const ClaimRecord&) const = default;
};

// What runs of one program were measured to take on one number of workers.
struct LearnedPoint {
  int workers = 0;
  double iteration_seconds = 0;
  double compute_seconds = 0;     // of the busiest rank, of an iteration
  double useful_seconds = 0;      // of a rank on average
  double work_per_iteration = 0;  // 0 when the application reports none
  int speed_percent = 100;        // of the pool it was measured in
  int run = 0;                    // how many runs had ended when it was measured
  Time time{};

  bool operator==(const LearnedPoint&) const = default;
};

// What is known of a program from earlier runs in one namespace.
struct LearnedModel {
  std::string namespace_name;
  std::string key;                   // spec.scheduling.model, else a hash of image, command, arguments, slots
  Time time{};                       // when it was renewed
  int runs = 0;                      // that have ended well
  double worker_seconds = 0;         // of a run at the reference size, mean of about the last five
  std::vector<LearnedPoint> points;  // ascending by workers, at most 16, of the last five runs

  bool operator==(const LearnedModel&) const = default;
};

// Written by the scheduler alone.
struct QueueStatus {
  std::int64_t observed_generation = 0;
  std::int64_t fence = 0;  // raised when a new leader takes the queue
  std::vector<PoolStatus> pools;
  int running = 0;
  int queued = 0;
  std::vector<WaitingJob> head;       // the first ten
  double busy_percent = 50;           // of the capacity, held on average over a day
  double release_seconds = 5;         // from a decision to shrink until pods are gone, on average
  std::optional<Time> usage_time;     // of busy_percent and usage
  std::vector<NamespaceUsage> usage;  // at most 256
  std::vector<ClaimRecord> claims;    // at most 256
  std::vector<LearnedModel> models;   // at most 64
  std::vector<Condition> conditions;  // Ready, PoolOverlap, NodesUnreadable

  bool operator==(const QueueStatus&) const = default;
};

struct ElasticQueue {
  Metadata metadata;  // cluster-scoped: namespace_name is empty
  QueueSpec spec;
  QueueStatus status;

  bool operator==(const ElasticQueue&) const = default;
};

// --- reading, checking, writing: as for jobs (operator/api/parse.hpp) ----------------------------

Result<ElasticQueue> parse_queue_yaml(const std::string& text, const std::string& filename);
Result<ElasticQueue> parse_queue_json(const nlohmann::json& object, const std::string& filename = {});
Result<ElasticQueue> parse_stored_queue(const nlohmann::json& object, const std::string& filename = {});

nlohmann::json to_json(const ElasticQueue& queue);
nlohmann::json queue_spec_to_json(const QueueSpec& spec);
nlohmann::json queue_status_to_json(const QueueStatus& status);

std::vector<Violation> validate(const ElasticQueue& queue);

// Below spec and status.
std::vector<FieldInfo> known_queue_fields();

// Whether jobs of this namespace may use the queue.
bool admits(const QueueSpec& queue, const std::string& namespace_name);

}  // namespace emj
