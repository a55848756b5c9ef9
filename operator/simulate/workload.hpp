// SPDX-License-Identifier: Apache-2.0
// The jobs of a simulation: those of a trace, made such as could be resized, and those of manifests.
//
// A trace does not say how its jobs scale: every job of several processors gets a curve (Amdahl's law with
// 80 % parallel efficiency at the size it asked for, unless another model is given), and takes as long there
// as in the trace. A malleable one runs at any size from where its efficiency is 95 % (about .21 of the
// request) to where it is 50 % (as Zojer's generator has it); jobs of one processor are rigid.
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/queue.hpp"
#include "operator/api/time.hpp"
#include "operator/decide/queue/demand.hpp"
#include "operator/simulate/speedup.hpp"
#include "operator/simulate/trace.hpp"

namespace emj::simulate {

struct Job {
  int number = 0;  // in the trace; those of manifests follow
  std::string name;
  int user = -1;
  Time submit{};
  double run_seconds = 1;  // at the reference size, in truth
  double estimate = 1;     // what the user says of that
  int reference = 1;       // workers
  int floor = 1;
  int most = 1;
  std::int64_t milli_cpu = 1000;  // of a worker
  bool malleable = false;
  std::optional<Time> deadline;               // by which it should be over
  bool lies = false;                          // its user says a minute of every job
  std::shared_ptr<const queue::Curve> curve;  // in truth; speed 1 at the reference size
  double single = 1;                          // speed on one worker
  // Of a manifest: the job, and what the queue knows of it when it comes.
  std::shared_ptr<const ElasticMPIJob> manifest;
  std::shared_ptr<const queue::Demand> asked;

  double processors(int workers) const { return static_cast<double>(workers * milli_cpu) / 1000; }
};

struct WorkloadOptions {
  double malleable_percent = 100;  // of the jobs, drawn at random
  std::uint64_t seed = 1;
  double floor_percent = 0;  // no job is taken below this much of its request
  double load = 1;           // arrivals are as many times as close together
  double deadline_factor =
      0;  // of the run time at the request, from the arrival: the deadline of each; 0: none
  double liars_percent = 0;  // of the jobs are of users who say a minute of each
  int jobs = 0;              // the first so many; 0: all
  queue::Objective objective = queue::Objective::Fair;
  SpeedupModel speedup = {};
  // Efficiencies at the request are as many points above or below the model's. A user's jobs of one request
  // are runs of one program, and have one.
  double spread_percent = 0;
};

struct Workload {
  int processors = 0;
  std::vector<Job> jobs;  // ascending by submit
  int too_large = 0;      // left out: larger than the machine

  bool deadlines() const;
};

// When the first second of a trace is, on the clock of the simulation.
inline constexpr Time kOrigin{Seconds(1'000'000'000)};

Workload make_workload(const Trace& trace, int processors, const WorkloadOptions& options);

// A job of a manifest that comes `after` seconds after the first of the trace (or of the simulation), in a
// queue. Or, in words, which of its fields says something that no simulation can show, or is missing.
// `decides`: its own policy runs, too (run_full()).
struct Arrival {
  ElasticMPIJob job;
  double after = 0;  // seconds
};
empi::Expected<Job, std::string> job_of(const Arrival& arrival, const Workload& workload,
                                        const QueueSpec& queue, queue::Objective objective, bool decides);
void add(Workload& workload, Job job);

// The same jobs at the sizes they ask for: what queues without malleable jobs make of them.
Workload as_rigid(const Workload& workload);

// A job of a trace as its user would have written it: a malleable one by policy throughput, or deadline where
// it has one. A user is a namespace, and what a user runs on one request is one program.
ElasticMPIJob manifest_of(const Job& job);

}  // namespace emj::simulate
