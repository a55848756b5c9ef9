// SPDX-License-Identifier: Apache-2.0
// What a worker asks for, by the job's pod template.
#pragma once
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "operator/api/job.hpp"

namespace emj {

// One of a list of amounts by name; nothing: it is not there, or is no amount.
std::optional<double> amount_at(const nlohmann::json& amounts, const std::string& resource);

// Of a container, by its requests, by its limits where it has none; nothing where it does not say. Of the
// spec of a pod: of the pod as a whole.
std::optional<double> request_of(const nlohmann::json& container, const std::string& resource);

// What the container of a worker asks for; else a CPU for each slot, as its pod then does. Reads the whole
// template: not for every pass over a job.
double worker_cpus(const JobSpec& spec);

}  // namespace emj
