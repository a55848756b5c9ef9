// SPDX-License-Identifier: Apache-2.0
// Drawing while a job runs. A report with --follow is a process of its own beside the job (started by the
// demo at the lowest priority), so that no rank has to draw: it looks at the run's folder again and again.
#pragma once
#include <sys/types.h>

#include <filesystem>
#include <functional>
#include <map>

namespace io {

/// What is to be drawn from files of a folder: of a run that has ended everything, once; of a running one
/// what has been written since it began and since it was drawn last.
class Drawing {
 public:
  /// Of a running job, which begins now: older files are an earlier run's.
  static Drawing of_running_job();
  static Drawing of_ended_run() { return Drawing(); }

  bool running() const { return running_; }
  /// Whether there is such a file and it is of this run.
  bool has(const std::filesystem::path& source) const;
  /// Draws if the file is there and new. Of a running job an exception means that the file, or one that
  /// belongs to it, is not there as a whole yet: it is drawn next time.
  void once(const std::filesystem::path& source, const std::function<void()>& draw);

 private:
  bool running_ = false;
  std::filesystem::file_time_type begin_{};
  std::map<std::filesystem::path, std::filesystem::file_time_type> drawn_;
};

/// Calls draw about every two seconds until the process has ended, which may be anybody's. At once when there
/// is no such process.
void follow(pid_t process, const std::function<void()>& draw);

}  // namespace io
