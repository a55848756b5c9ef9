// SPDX-License-Identifier: Apache-2.0
// Charts of a run's curves, from the files that it left.
#pragma once
#include <filesystem>
#include <nlohmann/json_fwd.hpp>

namespace spe10 {

// production.png in `dir`: oil, water and water cut of each producer, pressure of each well and of the field.
// `wells` as in spe10.json.
void draw_production(const std::filesystem::path& dir, const nlohmann::json& wells);

}  // namespace spe10
