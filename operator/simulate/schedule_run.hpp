// SPDX-License-Identifier: Apache-2.0
// A workload run on a machine of one pool by one scheduler, on a virtual clock. Deterministic.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "operator/decide/queue/state.hpp"
#include "operator/simulate/workload.hpp"

namespace emj::simulate {

// What became of a job.
struct JobRun {
  Time start{};
  Time end{};
  int changes = 0;
  double processor_seconds = 0;        // that it held
  std::optional<Time> expected_start;  // the first that it was told
};

// The machine after a pass.
struct Moment {
  Time time{};
  int running = 0;
  int waiting = 0;
  double held = 0;      // processors
  double promised = 0;  // processors
};

struct ScheduleRun {
  std::vector<JobRun> jobs;  // as in the workload
  std::vector<Moment> timeline;
  std::int64_t passes = 0;
};

// What the queue knows of how fast malleable jobs are: everything, what it measures, or nothing but the
// prior.
enum class Learn { Oracle, Online, Never };

struct ElasticOptions {
  queue::Rules rules;
  Learn learn = Learn::Oracle;
  double noise_percent = 10;  // by so much the time that a window tells is wrong at most
  std::uint64_t seed = 1;     // of the noise
  double delay = 5;           // seconds from a decision until workers are released or join
  double pause = 5;           // seconds that a job stands still for a change
  bool moldable = false;      // the size is chosen at the start and stays
  bool timeline = false;      // whether to keep it
  bool believes = false;      // every claim for what it says, whatever its user's others were worth
  // Called for each decision.
  std::function<void(Time, const queue::QueueState&, const queue::Grant&)> decided;
  // Called after each pass.
  std::function<void(Time, const queue::QueueState&, const queue::Plan&)> passed;
};

// operator/decide/queue. A malleable job reports its progress from its 60th second on, so its end is known;
// until then, and of rigid jobs, it is what the user says.
ScheduleRun run_elastic(const Workload& workload, const ElasticOptions& options);

// Textbook EASY (Mu'alem, Feitelson, IEEE TPDS 12, 2001), of all jobs at the size they asked for; stands by
// itself.
ScheduleRun run_easy(const Workload& workload);

}  // namespace emj::simulate
