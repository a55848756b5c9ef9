// Charts of a run's curves, from the files that it left.
#pragma once
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace reservoir {

// An object; empty when there is no such file. Throws std::runtime_error when it is not JSON.
nlohmann::json read_json(const std::filesystem::path& path);

// Columns of a comma separated file by the names in its first line; none when there is no such file. Throws
// std::runtime_error naming file and line when a line is too short.
std::map<std::string, std::vector<double>> read_columns(const std::filesystem::path& path);

// resources.png in `dir`: workers and prisms over the run time (seed 000, figure 6.7).
void draw_resources(const std::filesystem::path& dir);

// profiles.png in the first folder: workers of all these runs over their run times, with worker hours (seed
// 000, figure 6.8). Throws std::runtime_error for a folder without cells.csv.
void draw_profiles(const std::vector<std::filesystem::path>& runs);

// production.png in `dir`: oil, water and water cut of each producer, pressure of each well and of the field.
// `wells` as in spe10.json.
void draw_production(const std::filesystem::path& dir, const nlohmann::json& wells);

}  // namespace reservoir
