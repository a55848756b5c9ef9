// SPDX-License-Identifier: Apache-2.0
#include "apps/io/run_folder.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

#include "apps/io/file_error.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/protocol/names.hpp"

namespace io {
namespace fs = std::filesystem;
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

constexpr std::string_view kBetween = "; ";

std::vector<std::string_view> parts_of(std::string_view description) {
  std::vector<std::string_view> parts;
  for (std::size_t end = 0; end != description.npos;) {
    end = description.find(kBetween);
    parts.push_back(description.substr(0, end));
    if (end != description.npos) description.remove_prefix(end + kBetween.size());
  }
  return parts;
}

// What of a description is not in another one.
std::string only_in(std::string_view description, std::string_view other) {
  const std::vector<std::string_view> known = parts_of(other);
  std::string parts;
  for (const std::string_view part : parts_of(description))
    if (std::ranges::find(known, part) == known.end())
      parts.append(parts.empty() ? "" : kBetween).append(part);
  return parts;
}

}  // namespace

double wall_clock() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

std::string hex(std::uint64_t number) {
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(number));
  return text;
}

std::string default_folder() {
  const std::string named = variable(empi::names::kOutputDir);
  return named.empty() ? "." : named;
}

std::string data_folder() { return variable(empi::names::kData); }

void clear_folder(const std::string& folder, const std::regex& ours, const std::string& keep) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (!fs::is_directory(folder))
    throw FileError(folder, "", "a folder for the results", "none", "give another one with --out");
  const auto is_ours = [&](const fs::path& name) {
    return std::regex_match(name.string(), ours) ||
           (name.extension() == ".svg" &&
            std::regex_match(fs::path(name).replace_extension(".png").string(), ours));
  };
  std::vector<fs::path> old;
  for (const auto& entry : fs::directory_iterator(folder))
    if (is_ours(entry.path().filename()) && !fs::equivalent(entry.path(), keep, error))
      old.push_back(entry.path());
  for (const auto& path : old) fs::remove(path);
}

void write_progress(const std::string& folder, const Progress& p, bool force) {
  static double last = 0;
  const double now = wall_clock();
  if (!force && now < last + 0.5) return;
  last = now;
  const nlohmann::json progress = {{"time_s", p.seconds}, {"end_s", p.end},
                                   {"cells", p.cells},    {"ranks", p.ranks},
                                   {"step", p.steps},     {"progress", p.end > 0 ? p.seconds / p.end : 0}};
  write_text(folder + "/progress.json", empi::json_text::text(progress));
  const std::string path = folder + "/cells.csv";
  const bool fresh = !fs::exists(path);
  std::ofstream file(path, std::ios::app);
  if (fresh) file << "wall_clock_s,simulated_s,cells,ranks\n";
  char line[96];
  std::snprintf(line, sizeof line, "%.3f,%.1f,%lld,%d\n", now, p.seconds, static_cast<long long>(p.cells),
                p.ranks);
  file << line << std::flush;
  if (!file)
    throw FileError(path, "", "room for another line", "none", "is the folder writable and not full?");
}

void cut_progress(const std::string& folder, double seconds) {
  const std::string path = folder + "/cells.csv";
  std::ifstream file(path);
  if (!file) return;
  std::string kept, line;
  while (std::getline(file, line)) {
    const auto comma = line.find(',');
    char* end = nullptr;
    const char* begin = line.c_str() + (comma == line.npos ? line.size() : comma + 1);
    const double time = std::strtod(begin, &end);
    if (end == begin || time <= seconds) kept += line + "\n";
  }
  write_text(path, kept);
}

void expect_same_case(const std::string& checkpoint, const std::string& run) {
  if (checkpoint == run) return;
  std::string theirs = only_in(checkpoint, run), ours = only_in(run, checkpoint);
  if (theirs.empty() && ours.empty()) theirs = checkpoint, ours = run;  // the same in another order
  throw FileError("the checkpoint is of another case, of [" + theirs + "], and this run is of [" + ours +
                  "]: give it that one's arguments, or another folder for checkpoints");
}

}  // namespace io
