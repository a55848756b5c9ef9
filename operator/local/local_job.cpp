// SPDX-License-Identifier: Apache-2.0
#include "operator/local/local_job.hpp"

#include <sys/stat.h>

#include <filesystem>

#include "operator/api/parse.hpp"
#include "runtime/base/tls.hpp"

namespace emj::local {

namespace {

// A local job's authority goes with it, and nobody renews certificates.
empi::tls::Validity for_years() {
  const auto today = std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now());
  return {today - std::chrono::days(2), today + std::chrono::years(10)};
}

Time now() { return std::chrono::time_point_cast<Millis>(std::chrono::system_clock::now()); }

std::string stamp_of(const std::string& path) {
  struct stat info{};
  if (stat(path.c_str(), &info) != 0) return {};
  return std::to_string(info.st_ino) + ":" + std::to_string(info.st_size) + ":" +
         std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec);
}

}  // namespace

LocalJob::LocalJob(ElasticMPIJob job, const StateFolder& folder, UniqueFd lock, EventLoop& loop,
                   LocalJobOptions options)
    : folder_(folder),
      lock_(std::move(lock)),
      loop_(loop),
      options_(std::move(options)),
      token_(random_token()),
      job_(std::move(job)),
      manifest_spec_(job_.spec),
      manifest_stamp_(stamp_of(options_.manifest)) {
  job_.metadata.uid = random_uuid();  // two runs of one manifest are two jobs
  job_.metadata.creation_time = now();
  if (options_.mutual_tls) {
    authority_ = std::make_unique<empi::tls::Authority>(random_token(), job_.metadata.uid);
    credentials_ = std::make_shared<empi::tls::Credentials>(authority_->issue(std::nullopt, for_years()),
                                                            authority_->certificate());
  }
  write_file_atomically(token_file(), token_ + "\n", 0600);
  write_file_atomically(folder_.file("run"), options_.run + "\n");
  folder_.write_spec(job_);
  folder_.write_status(job_.status);
  commands_ = serve_commands(loop_, folder_, [this](const Command& command) { return handle(command); });
}

LocalJob::~LocalJob() {
  loop_.forget(commands_);
  std::error_code ignored;
  for (const char* file : {"socket", "token", "run"}) std::filesystem::remove(folder_.file(file), ignored);
  for (const std::string& file : termination_files_) std::filesystem::remove(file, ignored);
  std::filesystem::remove_all(folder_.file(kCertificates), ignored);
}

std::string LocalJob::certificate_folder(const std::string& pod, int worker) {
  if (!authority_) return "";
  const std::string folder = folder_.file(kCertificates) + "/" + pod;
  std::filesystem::create_directories(folder);
  std::filesystem::permissions(folder_.file(kCertificates), std::filesystem::perms::owner_all);
  write_file_atomically(folder + "/" + empi::tls::kIdentityFile, authority_->issue(worker, for_years()),
                        0600);
  write_file_atomically(folder + "/" + empi::tls::kAuthoritiesFile, authority_->certificate(), 0600);
  return folder;
}

JobRecord LocalJob::record() const {
  std::lock_guard lock(mutex_);
  JobRecord record{job_, cancel_requested_, resume_autoscaling_};
  record.job.spec.worker.standby = 0;  // on one machine nothing is won by it; `empi run` says so
  return record;
}

Outcome LocalJob::write_status(const JobStatus& status) {
  std::lock_guard lock(mutex_);
  try {
    folder_.write_status(status);
  } catch (const std::exception& error) {
    return Outcome::retry(error.what());
  }
  job_.status = status;
  return Outcome::done();
}

Outcome LocalJob::write_scale(int replicas) {
  std::lock_guard lock(mutex_);
  JobSpec spec = job_.spec;
  spec.worker.replicas = replicas;
  return replace_spec(std::move(spec));
}

void LocalJob::clear_resume() {
  std::lock_guard lock(mutex_);
  resume_autoscaling_ = false;
}

Outcome LocalJob::replace_spec(JobSpec spec) {
  if (spec == job_.spec) return Outcome::done();
  ElasticMPIJob next = job_;
  next.spec = std::move(spec);
  ++next.metadata.generation;
  try {
    folder_.write_spec(next);
  } catch (const std::exception& error) {
    return Outcome::retry(error.what());
  }
  job_ = std::move(next);
  options_.on_change();
  return Outcome::done();
}

std::string LocalJob::termination_file(const std::string& pod) {
  std::string file = folder_.file("termination-" + pod);
  write_file_atomically(file, "");
  std::lock_guard lock(mutex_);
  termination_files_.push_back(file);
  return file;
}

void LocalJob::note(bool warning, const std::string& reason, const std::string& message) {
  folder_.append_event(emj::to_string(now()) + (warning ? "  Warning  " : "  Normal   ") + reason + "  " +
                       message);
  if (options_.on_event) options_.on_event(warning, message);
}

void LocalJob::request_cancel() {
  {
    std::lock_guard lock(mutex_);
    cancel_requested_ = true;
  }
  options_.on_change();
}

Reply LocalJob::handle(const Command& command) {
  switch (command.verb) {
    case Command::Verb::Cancel:
      request_cancel();
      return {true, "cancelling"};
    case Command::Verb::Resume: {
      std::lock_guard lock(mutex_);
      if (job_.spec.autoscaling.mode != AutoscalingMode::Auto)
        return {false, "spec.autoscaling.mode is not Auto: nothing to resume"};
      resume_autoscaling_ = true;
      options_.on_change();
      return {true, "autoscaling resumes"};
    }
    case Command::Verb::Scale:
      return scale(command.replicas);
    case Command::Verb::Submit:
    case Command::Verb::Queue:
      return options_.on_run_command(command);
  }
  return {false, "unknown command"};
}

Reply LocalJob::scale(int replicas) {
  std::lock_guard lock(mutex_);
  if (is_terminal(job_.status.state))
    return {false, std::string("it has ended (") + to_string(job_.status.state) + ")"};
  if (job_.spec.runtime.mode == RuntimeMode::Rigid) {
    return {false, "its size is fixed: spec.runtime.mode is Rigid"};
  }
  JobSpec spec = job_.spec;
  spec.worker.replicas = replicas;
  const int target = feasible_size(spec, replicas);
  if (const Outcome written = replace_spec(std::move(spec)); !written.ok())
    return {false, "nothing is changed: " + written.message};
  const std::string& queue = job_.spec.scheduling.queue_name;
  std::string message = "asked " + (queue.empty() ? "" : "queue " + queue + " ") + "for " +
                        std::to_string(replicas) + " workers";
  if (target != replicas) {
    message += ", limited to " + std::to_string(target) + " by minReplicas " +
               std::to_string(job_.spec.worker.min_replicas) + ", maxReplicas " +
               std::to_string(job_.spec.worker.max_replicas) + " or resize.allowedReplicas";
  }
  if (job_.spec.autoscaling.mode == AutoscalingMode::Auto) {
    message += "; this pauses autoscaling until `empi resume " + job_.metadata.name +
               "` or an edit of spec.autoscaling";
  }
  return {true, message};
}

void LocalJob::look_at_manifest() {
  const std::string stamp = stamp_of(options_.manifest);
  if (stamp.empty() || stamp == manifest_stamp_) return;
  manifest_stamp_ = stamp;
  apply_manifest();
}

void LocalJob::apply_manifest() {
  const auto text = read_file(options_.manifest);
  if (!text) return;
  auto edited = options_.load(*text);
  if (!edited) {
    std::string reasons = edited.message();
    while (!reasons.empty() && reasons.back() == '\n') reasons.pop_back();
    note(true, "BadManifest", "the edited manifest is refused, the job goes on as it is: " + reasons);
    return;
  }
  std::lock_guard lock(mutex_);
  ElasticMPIJob next = job_;
  next.spec = edited.value().spec;
  // Only what the editor changed: a size set meanwhile by `empi scale` or the autoscaler stays.
  if (next.spec.worker.replicas == manifest_spec_.worker.replicas)
    next.spec.worker.replicas = job_.spec.worker.replicas;
  const auto violations = validate_update(job_, next);
  if (refuses(violations) || edited.value().metadata.name != job_.metadata.name ||
      next.spec.local != job_.spec.local) {
    std::string reasons;
    for (const Violation& violation : violations)
      reasons += (reasons.empty() ? "" : "; ") + to_string(violation, options_.manifest);
    if (reasons.empty()) reasons = "metadata.name and spec.local cannot change while the job runs";
    note(true, "BadManifest", "the edited manifest is refused, the job goes on as it is: " + reasons);
    return;
  }
  if (next.spec != job_.spec) {
    if (const Outcome written = replace_spec(next.spec); !written.ok()) {
      note(true, "NotTaken",
           "the edited manifest is not in effect, the job goes on as it is: " + written.message +
               ": save it again when that is mended");
      return;
    }
    note(false, "ManifestEdited", "the edited manifest " + options_.manifest + " is in effect");
  }
  manifest_spec_ = edited.value().spec;
}

}  // namespace emj::local
