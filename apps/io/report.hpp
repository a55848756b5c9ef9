// SPDX-License-Identifier: Apache-2.0
// What the applications' reports have in common: reading what a run left, and its resource profile.
#pragma once
#include <filesystem>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace io {

/// The JSON object in a file; an empty one when there is no such file. Throws FileError.
nlohmann::json read_json(const std::filesystem::path& path);

/// A comma separated file with the names of its columns in the first line.
class Table {
 public:
  /// No rows when there is no such file. A last line without its end is left out: it is still being written.
  /// Throws FileError when a line is too short.
  explicit Table(const std::filesystem::path& path);
  std::size_t rows() const { return rows_; }
  bool has(const std::string& column) const { return columns_.contains(column); }
  /// A column. Throw FileError when there is none of that name, or, in one of numbers, something else.
  const std::vector<std::string>& texts(const std::string& name) const;
  std::vector<double> numbers(const std::string& name) const;

 private:
  std::filesystem::path path_;
  std::size_t rows_ = 0;
  std::map<std::string, std::vector<std::string>> columns_;
};

/// The snapshot-*.vtkhdf of a folder in the order of their names, and the number in such a name.
std::vector<std::filesystem::path> snapshots(const std::filesystem::path& folder);
std::string snapshot_number(const std::filesystem::path& snapshot);

/// Length and changes of a run by its summary.json; "" when it has none.
std::string run_text(const std::filesystem::path& folder);

/// Workers over the run time, by cells.csv; by summary.json, if `empi run` has left one, from the start of
/// the job to its end, else from the program's first line on.
struct Profile {
  double begin = 0;                      ///< of the run, s since 1970
  std::vector<double> seconds, workers;  ///< empty when there is no such file
  double worker_hours() const;           ///< the area below it
};
Profile read_profile(const std::filesystem::path& folder);

/// resources.png: workers and cells over run time, by cells.csv (seed 000, figure 6.7). Returns the largest
/// number of workers. `cells`: what a cell is called here.
int draw_resources(const std::filesystem::path& folder, const std::string& title, const std::string& cells);

/// profiles.png in the first folder: workers of all these runs over their run times, with worker hours (seed
/// 000, figures 5.6 (b) and 6.8). Throws FileError for a folder without cells.csv.
void draw_profiles(const std::vector<std::filesystem::path>& runs);

}  // namespace io
