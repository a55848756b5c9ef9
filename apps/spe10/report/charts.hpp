// SPDX-License-Identifier: Apache-2.0
// Charts of a run's curves, from the files that it left.
#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <vector>

namespace spe10 {

// profiles.png in the first folder: workers of all these runs over their run times, with worker hours (seed
// 000, figure 6.8). Throws io::FileError for a folder without cells.csv.
void draw_profiles(const std::vector<std::filesystem::path>& runs);

// production.png in `dir`: oil, water and water cut of each producer, pressure of each well and of the field.
// `wells` as in spe10.json.
void draw_production(const std::filesystem::path& dir, const nlohmann::json& wells);

}  // namespace spe10
