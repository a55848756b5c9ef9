// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/running_job.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "operator/objects/pods.hpp"
#include "runtime/base/json_text.hpp"

namespace emj::cli {

namespace {

// After the end, pods that do not go by themselves are killed.
constexpr std::chrono::seconds kLongestEnd{15};

// The output folder, for one job at a time: two would write the same files. Where folders cannot be locked,
// as on some network file systems, nobody can tell.
local::UniqueFd taken(const std::filesystem::path& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || access(folder.c_str(), W_OK) != 0) {
    throw std::runtime_error("cannot write the output folder " + folder.string() +
                             (error ? ": " + error.message() : "") + "; choose another one with --out");
  }
  local::UniqueFd lock(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (lock && flock(lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    throw std::runtime_error(
        "cannot take the output folder " + folder.string() +
        ": another job that runs writes its results there; choose another one with --out");
  }
  return lock;
}

// What an earlier run has left must not be taken for this one's. Other files are not ours.
void clear(const std::filesystem::path& folder, const std::string& job) {
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    const bool log = entry.path().extension() == ".log" && worker_index(job, entry.path().stem());
    if (log || name == "summary.json" || name == "profile.csv" || name == "progress.json")
      std::filesystem::remove(entry.path(), error);
  }
}

}  // namespace

RunningJob::RunningJob(ElasticMPIJob job, JobSource source)
    : job_(std::move(job)),
      source_{std::filesystem::absolute(source.manifest), std::move(source.overrides),
              std::move(source.working_directory),
              std::filesystem::absolute(source.output).lexically_normal()},
      folder_(job_.metadata.name),
      lock_(folder_.claim()),
      output_lock_(taken(source_.output)) {}

void RunningJob::begin() {
  folder_.clear();
  clear(source_.output, job_.metadata.name);
  recorder_.emplace(source_.output, job_);
}

std::shared_ptr<void> RunningJob::listen(local::EventLoop& loop, const std::string& run,
                                         std::function<local::Reply(const local::Command&)> answer) const {
  ElasticMPIJob shown = job_;
  shown.metadata.uid = local::random_uuid();
  folder_.write_spec(shown);
  folder_.write_status(shown.status);
  local::write_file_atomically(folder_.file("run"), run + "\n");
  const auto id = local::serve_commands(loop, folder_, std::move(answer));
  return {nullptr, [&loop, id, folder = folder_](void*) {
            loop.forget(id);
            folder.clear();
          }};
}

void RunningJob::start(local::LocalCluster& cluster, local::LocalJobOptions options) {
  std::error_code none;
  std::filesystem::remove(folder_.file(kFiguresFile), none);  // of an earlier run
  options.manifest = source_.manifest;
  options.load = [source = source_](const std::string& text) {
    return load_manifest(text, source.manifest, source.overrides);
  };
  options.output_folder = source_.output;
  options.working_directory = source_.working_directory;
  cluster.add(job_, folder_, std::move(lock_), std::move(options));
}

void RunningJob::look(Time now, const ReconcileResult& pass, const std::vector<empi::WindowSample>& windows) {
  last_ = pass;
  const auto living =
      std::count_if(pass.pods.begin(), pass.pods.end(), [](const PodView& pod) { return !pod.exit_code; });
  recorder_->look(now, pass.status, static_cast<int>(living) * job_.spec.slots_per_worker, windows);
  trouble_ = recorder_->trouble();
  tell_figures();
}

// For `empi top`: where there is no room for them, the job goes on without.
void RunningJob::tell_figures() {
  const LiveFigures& figures = recorder_->figures();
  if (!figures.known) return;
  try {
    local::write_file_atomically(folder_.file(kFiguresFile),
                                 empi::json_text::text({{"efficiency", figures.efficiency},
                                                        {"loadBalance", figures.load_balance},
                                                        {"communication", figures.communication}}));
  } catch (const std::runtime_error& error) {
    if (trouble_.empty()) trouble_ = error.what();
  }
}

std::string RunningJob::take_trouble() {
  if (trouble_ == trouble_said_) return "";
  return trouble_said_ = trouble_;
}

std::string RunningJob::progress(Time now) {
  const double seconds = static_cast<double>(now.time_since_epoch().count()) / 1000;
  const std::string done =
      progress_text(local::read_file(output() + "/progress.json").value_or(""), seconds, remaining_);
  return sizes_text(last_.status) + (done.empty() ? "" : ", " + done);
}

std::vector<std::string> RunningJob::view(Time now) {
  ElasticMPIJob job = job_;
  job.status = last_.status;
  return view_lines(job, recorder_->figures(), recorder_->run_seconds(last_.status), progress(now));
}

std::string RunningJob::line(Time now) {
  const double run_time = recorder_->run_seconds(last_.status);
  if (run_time <= 0) return "";
  ElasticMPIJob job = job_;
  job.status = last_.status;
  return progress(now) + "; " + job_line(job, recorder_->figures(), run_time);
}

// The job has ended and its pods have gone, or have had their time.
RunningJob::End RunningJob::end(Clock::time_point now) {
  if (last_.gone) return End::Over;
  if (!last_.terminal) return End::NotYet;
  if (std::all_of(last_.pods.begin(), last_.pods.end(),
                  [](const PodView& pod) { return pod.exit_code.has_value(); }))
    return End::Over;
  if (!end_seen_) end_seen_ = now;
  return now - *end_seen_ < kLongestEnd ? End::NotYet : End::Stuck;
}

std::string RunningJob::finish(const std::vector<empi::ChangeRecord>& changes, double cpu_seconds,
                               const std::string& lost_output) {
  const JobStatus& status = last_.status;
  std::string missing = recorder_->trouble();
  const auto also = [&missing](const std::string& why) {
    missing += (missing.empty() || why.empty() ? "" : "; ") + why;
  };
  also(lost_output);
  try {
    recorder_->write_summary(status, changes, cpu_seconds);
  } catch (const std::runtime_error& error) {
    also(error.what());
  }
  incomplete_ = !missing.empty();
  const Condition* failed = find_condition(status, condition::kFailed);
  std::string text = "job " + name() + ": " + to_string(status.state);
  if (status.state != JobState::Succeeded && failed) text += ", " + failed->reason + ": " + failed->message;
  text +=
      "; ran " + duration_text(recorder_->run_seconds(status)) + ", " + std::to_string(changes.size()) +
      " changes, " +
      (missing.empty() ? "summary in " + output() + "/summary.json" : "results are not complete: " + missing);
  const std::string emulation = emulation_text(job_.spec);
  if (!emulation.empty()) text += " (" + emulation + ")";
  return text;
}

// As mpirun does it: what the failed program said; 1 for everything else that is no success.
int RunningJob::exit_code() const {
  if (last_.status.state == JobState::Succeeded) return incomplete_ ? 1 : 0;
  for (const PodView& pod : last_.pods)
    if (pod.exit_code && *pod.exit_code > 0 && *pod.exit_code < 128) return *pod.exit_code;
  return 1;
}

}  // namespace emj::cli
