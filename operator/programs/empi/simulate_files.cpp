// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/simulate_files.hpp"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace emj::cli {
namespace {

class Folder {
 public:
  explicit Folder(const std::string& path) : path_(path) {}

  void write(const std::string& name, const std::string& text) {
    if (!trouble_.empty()) return;
    std::ofstream file(path_ / name, std::ios::binary);
    file << text;
    file.close();
    if (!file) trouble_ = "cannot write " + (path_ / name).string();
  }

  const std::string& trouble() const { return trouble_; }

 private:
  std::filesystem::path path_;
  std::string trouble_;
};

// jobs-easy.csv and the like.
void remove_compared(const std::string& folder) {
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename();
    if (name.starts_with("jobs-") && name.ends_with(".csv")) std::filesystem::remove(entry.path(), ignored);
  }
}

}  // namespace

std::string make_folder(const std::string& folder) {
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  if (problem) return "cannot make the folder " + folder + ": " + problem.message() + "; name another one";
  if (access(folder.c_str(), W_OK) == 0) return "";
  return "cannot write the folder " + folder + ": " + std::strerror(errno) + "; name another one";
}

std::string write_files(const std::string& folder_name, const simulate::Trace& trace,
                        const simulate::Workload& workload, const std::vector<simulate::Result>& results,
                        const std::string& decisions, double price) {
  const simulate::ScheduleRun& ours = results.back().run;
  remove_compared(folder_name);
  Folder folder(folder_name);
  folder.write("summary.json", summary_json(trace, workload, results, price));
  folder.write("jobs.csv", jobs_csv(workload, ours));
  for (const simulate::Result& result : results)
    if (&result != &results.back())
      folder.write("jobs-" + result.name + ".csv", jobs_csv(workload, result.run));
  folder.write("timeline.csv", timeline_csv(ours));
  folder.write("decisions.log", decisions);
  folder.write("schedule.swf", schedule_swf(workload, ours));
  return folder.trouble();
}

}  // namespace emj::cli
