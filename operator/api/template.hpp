// SPDX-License-Identifier: Apache-2.0
#pragma once

// The user's pod template: typed where the project uses it, kept whole otherwise. Private to operator/api.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "operator/api/job.hpp"
#include "operator/api/result.hpp"

namespace emj {

std::vector<Violation> read_pod_template(const nlohmann::json& object, const std::string& path,
                                         PodTemplate& pod, bool refuse_unknown = true);

}  // namespace emj
