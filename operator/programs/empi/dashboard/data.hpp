// SPDX-License-Identifier: Apache-2.0
// What the page in the browser shows, as JSON. Pure.
#pragma once
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "operator/programs/empi/table.hpp"

namespace emj::cli::dashboard {

// How much of the ranks' time is useful, and the two factors of it (runtime/protocol/sample.hpp); 0 to 1.
struct Split {
  double efficiency = 0, load_balance = 0, communication = 0;
};

// One look at all jobs.
struct Looked {
  std::string where{};  // "local jobs", "context kind-a, namespace team"
  std::vector<ElasticMPIJob> jobs{};
  std::map<std::string, Split> splits{};  // by uid, where it is known
  std::vector<std::string> queues{};      // in words
};

nlohmann::json page_data(const Looked& looked, const SizesSeen& seen, Time now);

// Of the whole job, from what the lead's sidecar says on /metrics.
std::optional<Split> split_in(const std::string& metrics);

}  // namespace emj::cli::dashboard
