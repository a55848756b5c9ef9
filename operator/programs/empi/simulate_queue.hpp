// SPDX-License-Identifier: Apache-2.0
// The ElasticQueue by whose rules a trace is scheduled: empi simulate --queue FILE.
#pragma once
#include <string>

#include "operator/api/queue.hpp"
#include "operator/decide/queue/rules.hpp"
#include "runtime/base/expected.hpp"

namespace emj::cli {

struct TriedQueue {
  std::string name;
  QueueSpec spec;
  queue::Rules rules;  // of it, when the command line has had its say
  int processors = 0;  // of its pool; 0: that goes by nodes
};

// Or in words what is wrong with the file, and which of its fields say something that no trace can show.
empi::Expected<TriedQueue, std::string> queue_to_try(const std::string& file);

}  // namespace emj::cli
