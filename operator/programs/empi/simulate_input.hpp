// SPDX-License-Identifier: Apache-2.0
// What empi simulate is given: a trace, manifests, a queue, and what the command line says of them.
#pragma once
#include <string>

#include "operator/programs/empi/simulate.hpp"
#include "operator/programs/empi/simulate_queue.hpp"
#include "operator/simulate/workload.hpp"
#include "runtime/base/expected.hpp"

namespace emj::cli {

struct SimulateInput {
  simulate::Trace trace;  // without jobs where there is none
  simulate::Workload workload;
  TriedQueue queue;  // with the size of the machine
};

// Or what is wrong, in one sentence.
empi::Expected<SimulateInput, std::string> read_input(const SimulateOptions& options);

}  // namespace emj::cli
