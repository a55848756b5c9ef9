// SPDX-License-Identifier: Apache-2.0
// What namespaces have used, which fairShare goes by. What was used counts half after the half-life.
#pragma once
#include "operator/decide/queue/state.hpp"

namespace emj::queue {

// Thousandths of CPUs that a job keeps from others: what it holds or is given, and pods of it that still go.
double held_milli_cpu(const Demand& job);

// Ages `usage` (CPU hours of each namespace) by so many seconds, in which state.jobs held what they hold.
void add_usage(std::map<std::string, double>& usage, const QueueState& state, double seconds);

// What the jobs of each namespace cost now, in the unit of the pools' prices, a CPU hour where none has one:
// at the present prices, that of pods which are leaving a pool included.
std::map<std::string, double> prices_per_hour(const QueueState& state);

}  // namespace emj::queue
