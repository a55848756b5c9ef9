// SPDX-License-Identifier: Apache-2.0
// The words of a run's page (apps/io/run_page.hpp) that only this application knows.
#pragma once
#include <nlohmann/json_fwd.hpp>

#include "apps/io/run_page.hpp"

namespace surrogate {

/// What the page says of a run by its `case` and `reynolds`, which are in surrogate.json and, while the job
/// runs, in progress.json. With `reynolds` it is the channel, else a model of somebody's.
io::PageText page_text(const nlohmann::json& run);

}  // namespace surrogate
