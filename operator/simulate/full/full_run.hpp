// SPDX-License-Identifier: Apache-2.0
// The same workload, with nothing left out of what decides: every job's own decide() with its policy, over
// modelled pods and a modelled lead (operator/decide/world.hpp), and the operator's own scheduler between
// them. A pass takes its grant, decides, writes, is seen, as in the controller. Deterministic.
//
// What is modelled is the rest of the world: pods come up and go at once, a change takes `delay` seconds and
// stops the program for `pause`, and windows tell of iterations of a second at the reference size.
#pragma once
#include <functional>
#include <string>

#include "operator/api/queue.hpp"
#include "operator/decide/decide.hpp"
#include "operator/simulate/schedule_run.hpp"

namespace emj::simulate {

struct FullOptions {
  std::string queue_name = "main";
  QueueSpec queue;  // of one pool, as large as the machine
  double delay = 5, pause = 5;
  // Oracle: jobs of traces say in their scalability how they scale, measure without noise, and no earlier run
  // tells anything. Never is not possible: jobs do measure.
  Learn learn = Learn::Oracle;
  double noise_percent = 10;
  std::uint64_t seed = 1;
  bool timeline = false;
  // Of each event that a job's pass has recorded.
  std::function<void(Time, const Job&, const RecordEvent&)> said = {};
};

ScheduleRun run_full(const Workload& workload, const FullOptions& options);

}  // namespace emj::simulate
