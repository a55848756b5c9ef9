// SPDX-License-Identifier: Apache-2.0
// A queue in a few lines of text: who runs with how much, who waits for what. Pure.
#pragma once
#include <string>
#include <vector>

#include "operator/api/queue.hpp"

namespace emj::cli {

// "queue local  3 of 4 CPUs held, 1 promised; 2 jobs run, 1 waits".
std::string queue_line(const ElasticQueue& queue);
// That, and a line for each of its jobs: first those that run, then those that wait, the first to start
// first. `namespaces`: they are of several, which are named.
std::vector<std::string> queue_lines(const ElasticQueue& queue, const std::vector<ElasticMPIJob>& jobs,
                                     Time now, bool namespaces = false);

}  // namespace emj::cli
