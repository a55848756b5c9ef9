// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/run.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <stdexcept>

#include "operator/agents/http_runtime.hpp"
#include "operator/controller/controller.hpp"
#include "operator/local/local_cluster.hpp"
#include "operator/objects/pods.hpp"
#include "operator/programs/empi/console.hpp"
#include "operator/programs/empi/recorder.hpp"
#include "operator/programs/empi/view.hpp"
#include "runtime/protocol/log_lines.hpp"

namespace emj::cli {

namespace {

constexpr Millis kViewInterval{500};
constexpr Millis kLineInterval{10'000};  // where there is no terminal
// timeout(1) and service managers signal a process and its group: that is one signal, not two.
constexpr Millis kSameSignal{500};
// After the end, pods that do not go by themselves are killed.
constexpr std::chrono::seconds kLongestEnd{15};
constexpr AgentTimeouts kLocalTimeouts{Millis(500), Millis(5000)};

Time now() { return std::chrono::time_point_cast<Millis>(std::chrono::system_clock::now()); }

std::string clock_text() { return to_string(now()).substr(11, 8); }

Result<ElasticMPIJob> load(const RunOptions& options) {
  const auto text = local::read_file(options.manifest);
  if (!text) {
    return Result<ElasticMPIJob>(
        std::vector<Violation>{{"", "cannot be read", "a file with an ElasticMPIJob manifest", "", 0, false}},
        options.manifest);
  }
  return load_manifest(*text, options.manifest, options.overrides);
}

std::string output_folder(const RunOptions& options, const std::string& job) {
  const std::filesystem::path folder = options.output.empty() ? job + "-out" : options.output;
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error || access(folder.c_str(), W_OK) != 0) {
    throw std::runtime_error("cannot write the output folder " + folder.string() +
                             (error ? ": " + error.message() : "") + "; choose another one with --out");
  }
  // What we left there in an earlier run must not be taken for this one's. Other files are not ours.
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string name = entry.path().filename();
    const bool log = entry.path().extension() == ".log" && worker_index(job, entry.path().stem());
    if (log || name == "summary.json" || name == "profile.csv" || name == "progress.json")
      std::filesystem::remove(entry.path(), error);
  }
  return std::filesystem::absolute(folder).lexically_normal();
}

// What ranks print, which the agent prefixes with its pod, and the agent's complaints. All else of a pod is
// in its log file.
bool worth_showing(const std::string& pod, const std::string& line) {
  const empi::LogLine kind = empi::kind_of_log_line(pod, line);
  return kind == empi::LogLine::OfRank || kind == empi::LogLine::AgentProblem;
}

sigset_t handled_signals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (int signal : {SIGINT, SIGTERM, SIGHUP}) sigaddset(&signals, signal);
  return signals;
}

// One running job: its parts and the loop that turns them.
class JobRun {
 public:
  JobRun(const RunOptions& options, const local::JobNamespaces& namespaces, ElasticMPIJob job);
  int run();

 private:
  void watch_signals();
  void watch_supervisor(int lifeline);
  void announce(const local::JobNamespaces& namespaces);
  void look(const ReconcileResult& pass);
  void show(const ReconcileResult& pass);
  bool over(const ReconcileResult& pass);
  int finish(const ReconcileResult& pass);
  bool show_output() const { return !options_.quiet && (!console_.live() || options_.show_logs); }

  const RunOptions& options_;
  ElasticMPIJob job_;
  local::StateFolder folder_;
  local::UniqueFd lock_;
  std::string output_;
  Console console_;
  local::Wakeup wakeup_;
  local::EventLoop loop_;
  std::unique_ptr<local::LocalCluster> cluster_;
  std::unique_ptr<HttpRuntime> runtime_;
  std::unique_ptr<Controller> controller_;
  Recorder recorder_;
  Time last_view_{};
  RemainingTime remaining_;
  std::optional<local::Wakeup::Clock::time_point> end_seen_;
  std::optional<local::Wakeup::Clock::time_point> first_signal_;
};

JobRun::JobRun(const RunOptions& options, const local::JobNamespaces& namespaces, ElasticMPIJob job)
    : options_(options),
      job_(std::move(job)),
      folder_(job_.metadata.name),
      lock_(folder_.claim()),
      output_(output_folder(options, job_.metadata.name)),
      console_(isatty(STDOUT_FILENO) == 1),
      recorder_(output_, job_) {
  local::LocalOptions local_options;
  local_options.isolation = namespaces.isolation;
  if (job_.spec.local && job_.spec.local->network == LocalNetwork::Loopback) {
    local_options.isolation = std::max(namespaces.isolation, local::Isolation::SharedNetwork);
  }
  local_options.manifest = std::filesystem::absolute(options_.manifest);
  local_options.load = [this](const std::string& text) {
    return load_manifest(text, options_.manifest, options_.overrides);
  };
  local_options.output_folder = output_;
  local_options.working_directory = std::filesystem::current_path();
  local_options.on_output = [this](const std::string& pod, const std::string& line) {
    if (show_output() && worth_showing(pod, line)) console_.line(line);
  };
  local_options.on_event = [this](bool warning, const std::string& line) {
    if (warning)
      console_.warning(line);
    else
      console_.line(clock_text() + "  " + line);
  };
  announce(namespaces);
  cluster_ = std::make_unique<local::LocalCluster>(job_, folder_, loop_, wakeup_, std::move(local_options));
  runtime_ =
      std::make_unique<HttpRuntime>([this](const ElasticMPIJob&) { return std::vector{cluster_->token()}; },
                                    HttpRuntimeOptions{kLocalTimeouts, kAgentPort, 3600});
  ControllerOptions controller_options;
  controller_options.build.runtime_image.clear();  // pods take what is installed here
  controller_ = std::make_unique<Controller>(
      *cluster_, *runtime_, now, [this](const std::string& line) { cluster_->note(false, "Decision", line); },
      controller_options);
  watch_signals();
  watch_supervisor(namespaces.lifeline);
}

void JobRun::announce(const local::JobNamespaces& namespaces) {
  if (!namespaces.reason.empty()) {
    console_.warning("namespaces are not permitted here (" + namespaces.reason +
                     "): all pods share the loopback interface" +
                     (namespaces.isolation == local::Isolation::None ? " and this machine's processes" : ""));
  }
  std::string ignored;
  for (const std::string& field : fields_ignored_locally(job_.spec.worker.pod))
    ignored += (ignored.empty() ? "" : ", ") + field;
  if (!ignored.empty()) console_.warning("local pods do not use these fields of the template: " + ignored);
  console_.line("job " + job_.metadata.name + ": output in " + output_ + ", state in " + folder_.path());
  const std::string emulation = emulation_text(job_.spec);
  if (!emulation.empty()) console_.line("job " + job_.metadata.name + ": " + emulation);
}

void JobRun::watch_signals() {
  const sigset_t signals = handled_signals();
  local::UniqueFd fd(signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) throw std::runtime_error("cannot wait for signals");
  loop_.watch(std::move(fd), [this](int descriptor) {
    signalfd_siginfo info{};
    while (read(descriptor, &info, sizeof info) == sizeof info) {
      const auto time = local::Wakeup::Clock::now();
      if (!first_signal_) {
        first_signal_ = time;
        console_.line("ending the job; once more kills it");
        cluster_->request_cancel();
      } else if (time - *first_signal_ >= kSameSignal) {
        console_.warning("killed");
        cluster_->kill_pods();
        _exit(128 + static_cast<int>(info.ssi_signo));
      }
    }
    return true;
  });
}

void JobRun::watch_supervisor(int lifeline) {
  if (lifeline < 0) return;
  loop_.watch(local::UniqueFd(lifeline), [this](int) {
    cluster_->kill_pods();
    _exit(1);
    return false;
  });
}

void JobRun::look(const ReconcileResult& pass) {
  const auto living =
      std::count_if(pass.pods.begin(), pass.pods.end(), [](const PodView& pod) { return !pod.exit_code; });
  recorder_.look(now(), pass.status, static_cast<int>(living) * job_.spec.slots_per_worker,
                 runtime_->windows(cluster_->key()));
}

void JobRun::show(const ReconcileResult& pass) {
  if (now() - last_view_ < (console_.live() ? kViewInterval : kLineInterval)) return;
  last_view_ = now();
  ElasticMPIJob job = job_;
  job.status = pass.status;
  const double seconds = static_cast<double>(last_view_.time_since_epoch().count()) / 1000;
  const std::string done =
      progress_text(local::read_file(output_ + "/progress.json").value_or(""), seconds, remaining_);
  const std::string progress = sizes_text(pass.status) + (done.empty() ? "" : ", " + done);
  const double run_time = recorder_.run_seconds(pass.status);
  if (console_.live())
    console_.view(view_lines(job, recorder_.figures(), run_time, progress));
  else if (run_time > 0)
    console_.line(clock_text() + "  " + progress + "; " + job_line(job, recorder_.figures(), run_time));
}

// The job has ended and its pods have gone, or have had their time.
bool JobRun::over(const ReconcileResult& pass) {
  if (pass.gone) return true;
  if (!pass.terminal) return false;
  if (std::all_of(pass.pods.begin(), pass.pods.end(),
                  [](const PodView& pod) { return pod.exit_code.has_value(); }))
    return true;
  const auto time = local::Wakeup::Clock::now();
  if (!end_seen_) end_seen_ = time;
  if (time - *end_seen_ < kLongestEnd) return false;
  console_.warning("pods that did not end within 15 s are killed");
  cluster_->kill_pods();
  return true;
}

int JobRun::run() {
  for (;;) {
    const ReconcileResult pass = controller_->reconcile(cluster_->key());
    look(pass);
    show(pass);
    if (over(pass)) return finish(pass);
    const Millis wait = console_.live() ? std::min(pass.requeue_after, kViewInterval) : pass.requeue_after;
    wakeup_.wait_until(local::Wakeup::Clock::now() + wait);
  }
}

// As mpirun does it: what the failed program said; 1 for everything else that is no success.
int exit_code_of_program(const ReconcileResult& pass) {
  for (const PodView& pod : pass.pods)
    if (pod.exit_code && *pod.exit_code > 0 && *pod.exit_code < 128) return *pod.exit_code;
  return 1;
}

int JobRun::finish(const ReconcileResult& pass) {
  loop_.stop();  // no line comes after the summary
  console_.view({});
  recorder_.write_summary(pass.status, runtime_->changes(cluster_->key()), cluster_->cpu_seconds());
  const bool good = pass.status.state == JobState::Succeeded;
  const Condition* failed = find_condition(pass.status, condition::kFailed);
  std::string text = "job " + job_.metadata.name + ": " + to_string(pass.status.state);
  if (!good && failed) text += ", " + failed->reason + ": " + failed->message;
  text += "; ran " + duration_text(recorder_.run_seconds(pass.status)) + ", " +
          std::to_string(runtime_->changes(cluster_->key()).size()) + " changes, summary in " + output_ +
          "/summary.json";
  if (!emulation_text(job_.spec).empty()) text += " (" + emulation_text(job_.spec) + ")";
  if (good)
    console_.line(text);
  else
    console_.warning(text);
  return good ? 0 : exit_code_of_program(pass);
}

}  // namespace

int run_supervisor(const RunOptions& options, const std::vector<std::string>& arguments) {
  const auto job = load(options);
  if (!job) {
    std::fprintf(stderr, "%s", job.message().c_str());
    return 2;
  }
  if (!job.violations().empty()) std::fprintf(stderr, "%s", job.message().c_str());
  const bool loopback = job.value().spec.local && job.value().spec.local->network == LocalNetwork::Loopback;
  return local::supervise(arguments,
                          loopback ? local::Isolation::SharedNetwork : local::Isolation::Namespaces);
}

int run_job(const RunOptions& options, const local::JobNamespaces& namespaces) {
  const sigset_t signals = handled_signals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  signal(SIGPIPE, SIG_IGN);
  auto job = load(options);
  if (!job) {  // edited since the supervisor has read it
    std::fprintf(stderr, "%s", job.message().c_str());
    return 2;
  }
  try {
    JobRun run(options, namespaces, job.value());
    return run.run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "empi: %s\n", error.what());
    return 1;
  }
}

}  // namespace emj::cli
