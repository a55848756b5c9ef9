// SPDX-License-Identifier: Apache-2.0
// Jobs that could be resized, made from those of a trace, which could not.
//
// Every job of several processors scales by Amdahl's law with 80 % parallel efficiency at the size it asked
// for, where it takes as long as in the trace. A malleable one runs at any size from where its efficiency is
// 95 % (about .21 of the request) to where it is 50 % (as Zojer's generator has it); jobs of one processor
// are rigid.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "operator/api/time.hpp"
#include "operator/decide/queue/curve.hpp"
#include "operator/simulate/trace.hpp"

namespace emj::simulate {

struct Job {
  int number = 0;  // in the trace
  int user = -1;
  Time submit{};
  double run_seconds = 1;  // at the reference size, in truth
  double estimate = 1;     // what the user says of that
  int reference = 1;       // workers, one processor each
  int floor = 1;
  int most = 1;
  bool malleable = false;
  std::optional<Time> deadline;               // by which it should be over
  bool lies = false;                          // its user says a minute of every job
  std::shared_ptr<const queue::Curve> curve;  // speed 1 at the reference size
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
};

struct Workload {
  int processors = 0;
  std::vector<Job> jobs;  // ascending by submit
  int too_large = 0;      // left out: larger than the machine

  bool deadlines() const { return !jobs.empty() && jobs.front().deadline.has_value(); }
};

// When the first second of a trace is, on the clock of the simulation.
inline constexpr Time kOrigin{Seconds(1'000'000'000)};

Workload make_workload(const Trace& trace, int processors, const WorkloadOptions& options);

}  // namespace emj::simulate
