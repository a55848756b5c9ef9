// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/simulate_files.hpp"

#include <filesystem>
#include <fstream>
#include <system_error>

namespace emj::cli {
namespace {

class Folder {
 public:
  explicit Folder(const std::string& path) : path_(path) {
    std::error_code problem;
    std::filesystem::create_directories(path_, problem);
    if (problem) trouble_ = "cannot make the folder " + path + ": " + problem.message();
  }

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

}  // namespace

std::string write_files(const std::string& folder_name, const simulate::Trace& trace,
                        const simulate::Workload& workload, const std::vector<simulate::Result>& results,
                        const std::string& decisions, double price) {
  const simulate::ScheduleRun& ours = results.back().run;
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
