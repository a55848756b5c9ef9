// SPDX-License-Identifier: Apache-2.0
// The marginals of a run, for its pictures (pictures.hpp).
#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "apps/surrogate/report/pictures.hpp"

namespace surrogate {

/// Of all parameters, by the results (surrogate.json) and by samples.csv of a folder. Throws io::FileError.
std::vector<Marginal> read_marginals(const std::filesystem::path& folder, const nlohmann::json& results);

}  // namespace surrogate
