// SPDX-License-Identifier: Apache-2.0
// What namespaces have used, which fairShare goes by. What was used counts half after the half-life.
#pragma once

#include "operator/decide/queue/state.hpp"

namespace emj::queue {

// Thousandths of CPUs that a job keeps from others: what it holds or is given, and pods of it that still go.
double held_milli_cpu(const Demand& job);

// Ages `usage` (CPU hours of each namespace) by so many seconds, in which state.jobs held what they hold.
void add_usage(std::map<std::string, double>& usage, const QueueState& state, double seconds);

}  // namespace emj::queue
