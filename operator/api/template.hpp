// SPDX-License-Identifier: Apache-2.0
// The user's pod template: typed where the project uses it, kept whole otherwise. Private to operator/api.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "operator/api/job.hpp"

namespace emj {

// Of a template that the schema has let through.
PodTemplate pod_template(const nlohmann::json& object);

}  // namespace emj
