// SPDX-License-Identifier: Apache-2.0
#include "apps/io/report.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "apps/io/draw/chart.hpp"
#include "apps/io/file_error.hpp"
#include "runtime/base/json_text.hpp"

namespace io {
namespace fs = std::filesystem;
using nlohmann::json;

json read_json(const fs::path& path) {
  if (!fs::exists(path)) return json::object();
  const std::vector<char> bytes = read_bytes(path);
  json value = empi::json_text::try_parse({bytes.data(), bytes.size()});
  if (!value.is_object())
    throw FileError(path, "", "a JSON object", "something else", "run the program again");
  return value;
}

Table::Table(const fs::path& path) : path_(path) {
  std::ifstream file(path);
  std::string line, field;
  std::vector<std::string> names;
  std::getline(file, line);
  for (std::istringstream head(line); std::getline(head, field, ',');) names.push_back(field);
  while (std::getline(file, line)) {
    if (file.eof()) break;  // a line without its end is still being written
    ++rows_;
    std::istringstream fields(line);
    for (const std::string& name : names) {
      if (!std::getline(fields, field, ','))
        throw FileError::at_line(path, rows_ + 1, std::to_string(names.size()) + " columns", "fewer",
                                 "run the program again");
      columns_[name].push_back(field);
    }
  }
  for (const std::string& name : names) columns_[name];
}

const std::vector<std::string>& Table::texts(const std::string& name) const {
  const auto column = columns_.find(name);
  if (column == columns_.end())
    throw FileError(path_, "1", "a column '" + name + "'", "none", "run the program again");
  return column->second;
}

std::vector<double> Table::numbers(const std::string& name) const {
  std::vector<double> values;
  for (const std::string& text : texts(name)) {
    char* end = nullptr;
    values.push_back(std::strtod(text.c_str(), &end));
    if (end == text.c_str() || *end != 0)
      throw FileError::at_line(path_, values.size() + 1, "a number in column '" + name + "'",
                               "'" + text + "'", "run the program again");
  }
  return values;
}

std::vector<fs::path> snapshots(const fs::path& folder) {
  std::vector<fs::path> found;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().filename().string().starts_with("snapshot-") && entry.path().extension() == ".vtkhdf")
      found.push_back(entry.path());
  std::ranges::sort(found);
  return found;
}

std::string snapshot_number(const fs::path& snapshot) {
  return snapshot.stem().string().substr(std::string("snapshot-").size());
}

std::string run_text(const fs::path& folder) {
  const json summary = read_json(folder / "summary.json");
  if (!summary.contains("run_time_s") || !summary["run_time_s"].is_number()) return "";
  char text[160];
  const int end =
      std::snprintf(text, sizeof text, "%.0f s, %zu changes of size", summary.value("run_time_s", 0.0),
                    summary.value("changes", json::array()).size());
  // Not of a master-worker program.
  if (const auto lost = summary.find("lost_total_s"); lost != summary.end() && lost->is_number())
    std::snprintf(text + end, sizeof text - static_cast<std::size_t>(end), ", %.2f s lost by them in all",
                  lost->get<double>());
  return text;
}

double Profile::worker_hours() const {
  double sum = 0;
  for (std::size_t k = 1; k < seconds.size(); ++k) sum += workers[k - 1] * (seconds[k] - seconds[k - 1]);
  return sum / 3600;
}

Profile read_profile(const fs::path& folder) {
  const Table table(folder / "cells.csv");
  if (table.rows() == 0) return {};
  Profile profile{0, table.numbers("wall_clock_s"), table.numbers("ranks")};
  profile.begin = profile.seconds.front();
  const json summary = read_json(folder / "summary.json");
  const auto number = [&](const char* name) {
    const auto found = summary.find(name);
    return found != summary.end() && found->is_number() ? found->get<double>() : 0;
  };
  const double start = number("start_time_s"), end = start + number("run_time_s");
  // Else it is of another run. Its run time is counted from when all workers were there.
  if (start > 0 && start <= profile.begin && profile.begin <= end) {
    profile.begin = start;
    profile.seconds.insert(profile.seconds.begin(), start);
    profile.seconds.push_back(std::max(end, profile.seconds.back()));
    profile.workers.insert(profile.workers.begin(), profile.workers.front());
    profile.workers.push_back(profile.workers.back());
  }
  for (double& t : profile.seconds) t -= profile.begin;
  return profile;
}

int draw_resources(const fs::path& folder, const std::string& title, const std::string& cells) {
  const Profile profile = read_profile(folder);
  if (profile.seconds.empty()) return 1;
  draw::Series workers{"workers", profile.seconds, profile.workers, draw::Style::Step, true};
  const Table table(folder / "cells.csv");
  draw::Series size{cells, table.numbers("wall_clock_s"), table.numbers("cells"), draw::Style::Line};
  for (double& t : size.x) t -= profile.begin;
  workers.fill = 0.15;
  draw::Chart chart;
  chart.title = title;
  char hours[40];
  std::snprintf(hours, sizeof hours, "%.3g worker hours", profile.worker_hours());
  const std::string run = run_text(folder);
  chart.subtitle = run.empty() ? hours : run + "; " + hours;
  chart.x_label = "run time (s)";
  chart.y_label = cells;
  chart.right_label = "workers";
  chart.y_from_zero = true;
  chart.series = {workers, size};
  draw::write_both(draw::render(chart), (folder / "resources.png").string());
  return static_cast<int>(std::ranges::max(workers.y));
}

void draw_profiles(const std::vector<fs::path>& runs) {
  draw::Chart chart;
  chart.title = "Resource profiles";
  chart.subtitle = "the areas are worker hours";
  chart.x_label = "run time (s)", chart.y_label = "workers";
  chart.y_from_zero = true;
  for (const fs::path& dir : runs) {
    const Profile run = read_profile(dir);
    if (run.seconds.empty())
      throw FileError(dir / "cells.csv", "", "the profile of a run", "none", "give the folder of a run");
    const fs::path name = dir.filename().empty() ? dir.parent_path().filename() : dir.filename();
    char text[160];
    std::snprintf(text, sizeof text, "%s: %.0f s, %.3g worker hours", name.c_str(), run.seconds.back(),
                  run.worker_hours());
    draw::Series profile{text, run.seconds, run.workers, draw::Style::Step};
    profile.fill = 0.15;
    // Down to zero where the run ends.
    profile.x.push_back(run.seconds.back()), profile.y.push_back(0);
    chart.series.push_back(profile);
  }
  draw::write_both(draw::render(chart), (runs.front() / "profiles.png").string());
}

}  // namespace io
