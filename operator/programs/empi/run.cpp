// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/run.hpp"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>

#include "operator/agents/http_runtime.hpp"
#include "operator/controller/controller.hpp"
#include "operator/controller/scheduler.hpp"
#include "operator/local/local_cluster.hpp"
#include "operator/local/local_queue.hpp"
#include "operator/objects/pods.hpp"
#include "operator/programs/empi/batch.hpp"
#include "operator/programs/empi/coming_jobs.hpp"
#include "operator/programs/empi/console.hpp"
#include "operator/programs/empi/end_signals.hpp"
#include "operator/programs/empi/queue_view.hpp"
#include "operator/programs/empi/running_job.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/protocol/log_lines.hpp"

namespace emj::cli {

namespace {

using Clock = local::EventLoop::Clock;

constexpr Millis kViewInterval{500};
constexpr Millis kLineInterval{10'000};  // where there is no terminal
constexpr Millis kGather{20};            // news for the scheduler
constexpr AgentTimeouts kLocalTimeouts{Millis(500), Millis(5000)};

Time now() { return std::chrono::time_point_cast<Millis>(std::chrono::system_clock::now()); }

bool on_loopback(const ElasticMPIJob& job) {
  return job.spec.local && job.spec.local->network == LocalNetwork::Loopback;
}

std::string without_end(std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  return text;
}

// What ranks print, which the agent prefixes with its pod, and the agent's complaints. All else of a pod is
// in its log file.
bool worth_showing(const std::string& pod, const std::string& line) {
  const empi::LogLine kind = empi::kind_of_log_line(pod, line);
  return kind == empi::LogLine::OfRank || kind == empi::LogLine::AgentProblem;
}

// The jobs of one process, and the loop that looks at each of them when it is due.
class Run {
 public:
  Run(const RunOptions& options, const local::JobNamespaces& namespaces, Batch batch);
  int run();

 private:
  using Jobs = ComingJobs::Jobs;
  void end_all();
  void watch_supervisor(int lifeline);
  std::string output_of(const std::string& job, const std::string& working_directory) const;
  local::Reply submit(const local::Submission& submission);
  local::Reply answer(const local::Command& command);
  local::Reply answer_for(const RunningJob& job, const local::Command& command);
  void announce(const RunningJob& job);
  void say(bool warning, const std::string& job, const std::string& text);
  void start(RunningJob& job);
  void start_due();
  void changed(const JobKey& key);
  void take_news();
  void look_at(Jobs::iterator job);
  void finish(Jobs::iterator job);
  Clock::time_point next_due() const;
  void show();
  bool show_output() const { return !options_.quiet && (!console_.live() || options_.show_logs); }

  const RunOptions& options_;
  const local::Isolation isolation_;
  Console console_;
  Jobs running_;
  int exit_code_ = 0;              // of the first that failed
  Clock::time_point next_turn_{};  // of the scheduler
  Time last_view_{};
  bool redraw_ = false;  // the view shows other jobs than there are

  std::atomic<bool> many_;  // lines name their job

  std::mutex mutex_;  // of news_; nothing is called back with it
  std::set<JobKey> news_;

  const std::optional<ElasticQueue> queue_;  // as the run began with it
  const std::unique_ptr<local::LocalQueue> local_queue_;
  const std::string run_ = local::random_uuid();

  local::Wakeup wakeup_;
  local::EventLoop loop_;  // what its thread uses stands before it, or is gone after it has stopped
  ComingJobs coming_;
  const local::StoppedAtEnd stopped_at_end_{loop_};
  local::LocalCluster cluster_;
  HttpRuntime runtime_;
  std::unique_ptr<Scheduler> scheduler_;  // of the jobs in the queue; it turns in our loop
  Controller controller_;
};

ControllerOptions controller_options(bool mutual_tls) {
  ControllerOptions options;
  options.build.mutual_tls = mutual_tls;
  options.build.runtime_image.clear();  // pods take what is installed here
  return options;
}

SchedulerOptions scheduler_options() {
  SchedulerOptions options;
  options.gather = kGather;
  options.between_status = Millis(0);  // writing it costs nothing here
  return options;
}

Run::Run(const RunOptions& options, const local::JobNamespaces& namespaces, Batch batch)
    : options_(options),
      isolation_(namespaces.isolation),
      console_(isatty(STDOUT_FILENO) == 1),
      many_(options.manifests.size() > 1),
      queue_(std::move(batch.queue)),
      local_queue_(
          queue_ ? std::make_unique<local::LocalQueue>(*queue_, [this](const JobKey& key) { changed(key); })
                 : nullptr),
      coming_(loop_, run_, [this] { wakeup_.notify(); }),
      cluster_(
          run_, loop_, [this](const JobKey& key) { changed(key); },
          [this](const std::string& pod, const std::string& line) {
            if (show_output() && worth_showing(pod, line)) console_.line(line);
          }),
      runtime_(
          [this](const ElasticMPIJob& job) { return std::vector{cluster_.token(key_of(job))}; },
          HttpRuntimeOptions{kLocalTimeouts, kAgentPort, 3600, 1000, 0, 0,
                             [this](const ElasticMPIJob& job) { return cluster_.credentials(key_of(job)); }}),
      scheduler_(queue_ ? std::make_unique<Scheduler>(
                              *local_queue_, now, [](const std::string&) {}, scheduler_options())
                        : nullptr),  // what it does is an event of the job it does it to
      controller_(
          cluster_, runtime_, now,
          [this](const JobKey& job, const std::string& line) { cluster_.note(job, false, "Decision", line); },
          controller_options(options.mutual_tls), scheduler_.get()) {
  if (!namespaces.reason.empty()) {
    console_.warning("namespaces are not permitted here (" + namespaces.reason +
                     "): all pods share the loopback interface" +
                     (isolation_ == local::Isolation::None ? " and this machine's processes" : ""));
  }
  Jobs jobs;
  Clock::time_point time = Clock::now();
  for (std::size_t i = 0; i < batch.jobs.size(); ++i) {
    JobSource& source = batch.sources[i];
    const bool alone = options_.manifests.size() == 1 && !options_.output.empty();
    source.output =
        alone ? options_.output : output_of(batch.jobs[i].metadata.name, source.working_directory);
    jobs.emplace_back(std::move(batch.jobs[i]), std::move(source)).due = time;
    time += std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options_.stagger));
  }
  coming_.begin(std::move(jobs), [this](const RunningJob& job, const local::Command& command) {
    return answer_for(job, command);
  });
  watch_end_signals(
      loop_, [this] { end_all(); },
      [this](int signal) {
        console_.warning("killed");
        cluster_.kill_pods();
        _exit(128 + signal);
      });
  watch_supervisor(namespaces.lifeline);
}

// Of several jobs: a folder for each in the one that was named.
std::string Run::output_of(const std::string& job, const std::string& working_directory) const {
  const bool shared = options_.manifests.size() > 1 && !options_.output.empty();
  return shared ? options_.output + "/" + job : working_directory + "/" + job + "-out";
}

// On the loop's thread, as submit().
local::Reply Run::answer(const local::Command& command) {
  if (command.verb == local::Command::Verb::Submit) return submit(command.submission);
  if (!local_queue_) return {false, "its run has no queue"};
  return {true, empi::json_text::text(to_json(local_queue_->queue()))};
}

// Of one whose turn has not come. On the loop's thread.
local::Reply Run::answer_for(const RunningJob& job, const local::Command& command) {
  using enum local::Command::Verb;
  if (command.verb == Submit || command.verb == Queue) return answer(command);
  if (command.verb != Cancel) return {false, "has not begun: it starts in " + starts_in(job)};
  coming_.call_off(job.key());
  return {true, "cancelled before it began"};
}

local::Reply Run::submit(const local::Submission& submission) {
  Overrides overrides{submission.fields, submission.arguments, queue_.has_value()};
  const auto job = read_for_queue(submission.manifest, overrides, queue_);
  if (!job) return {false, without_end(job.message())};
  const std::string name = job.value().metadata.name;
  local::Reply too_late{false, "the run that it was to be added to is ending: start another one"};
  if (coming_.ending()) return too_late;
  std::string output =
      submission.output.empty() ? output_of(name, submission.working_directory) : submission.output;
  Jobs submitted;
  try {
    submitted.emplace_back(job.value(),
                           JobSource{submission.manifest, overrides, submission.working_directory, output});
    output = submitted.back().output();
    many_ = true;
    if (!coming_.submit(submitted)) return too_late;
  } catch (const std::exception& error) {
    return {false, error.what()};
  }
  return {true, "submitted; output in " + output};
}

void Run::say(bool warning, const std::string& job, const std::string& text) {
  const std::string line = (many_ ? job + ": " : "") + text;
  if (warning)
    console_.warning(line);
  else
    console_.line(clock_text(now()) + "  " + line);
}

void Run::announce(const RunningJob& job) {
  std::string ignored;
  for (const std::string& field : fields_ignored_locally(job.job().spec.worker.pod))
    ignored += (ignored.empty() ? "" : ", ") + field;
  if (job.job().spec.worker.standby > 0)
    say(true, job.name(), "local runs have no workers in reserve: spec.worker.standby is ignored");
  const std::string unlisted = queue_ ? unlisted_priority(job.job(), *queue_) : "";
  if (!unlisted.empty()) say(true, job.name(), unlisted);
  if (!ignored.empty())
    say(true, job.name(), "local pods do not use these fields of the template: " + ignored);
  console_.line("job " + job.name() + ": output in " + job.output() + ", state in " +
                local::StateFolder(job.name()).path());
  const std::string emulation = emulation_text(job.job().spec);
  if (!emulation.empty()) console_.line("job " + job.name() + ": " + emulation);
}

void Run::start(RunningJob& job) {
  announce(job);
  local::LocalJobOptions options;
  options.mutual_tls = options_.mutual_tls;
  options.isolation = isolation_;
  options.checkpoint = options_.from;
  if (on_loopback(job.job())) options.isolation = std::max(isolation_, local::Isolation::SharedNetwork);
  options.on_event = [this, name = job.name()](bool warning, const std::string& line) {
    say(warning, name, line);
  };
  options.on_change = [this, key = job.key()] { changed(key); };
  options.on_run_command = [this](const local::Command& command) { return answer(command); };
  job.start(cluster_, std::move(options));
  redraw_ = true;
  if (coming_.ending()) cluster_.request_cancel();  // a signal came meanwhile
}

void Run::start_due() {
  Jobs due;
  for (const auto& [job, why] : coming_.take_due(due)) {
    console_.warning(std::string("job ").append(job).append(": ").append(why));
    if (exit_code_ == 0) exit_code_ = 1;
  }
  while (!due.empty()) {
    const auto job = due.begin();
    running_.splice(running_.end(), due, job);
    try {
      start(*job);
    } catch (const std::exception& error) {
      say(true, job->name(), error.what());
      running_.erase(job);
      if (exit_code_ == 0) exit_code_ = 1;
    }
  }
}

void Run::changed(const JobKey& key) {
  {
    const std::lock_guard lock(mutex_);
    news_.insert(key);
  }
  wakeup_.notify();
}

void Run::end_all() {
  console_.line(many_ ? "ending the jobs; once more kills them" : "ending the job; once more kills it");
  coming_.end();
  cluster_.request_cancel();
}

void Run::watch_supervisor(int lifeline) {
  if (lifeline < 0) return;
  loop_.watch(local::UniqueFd(lifeline), [this](int) {
    cluster_.kill_pods();
    _exit(1);
    return false;
  });
}

// Whom something has happened to is due at once.
void Run::take_news() {
  std::set<JobKey> news;
  {
    const std::lock_guard lock(mutex_);
    news.swap(news_);
  }
  for (RunningJob& job : running_)
    if (news.contains(job.key())) job.due = {};
}

void Run::look_at(Jobs::iterator job) {
  const JobKey key = job->key();
  const ReconcileResult pass = controller_.reconcile(key);
  job->due = Clock::now() + pass.requeue_after;
  job->look(now(), pass, runtime_.windows(key));
  if (const std::string trouble = job->take_trouble(); !trouble.empty()) say(true, job->name(), trouble);
  switch (job->end(Clock::now())) {
    case RunningJob::End::NotYet:
      return;
    case RunningJob::End::Stuck:
      say(true, job->name(), "pods that did not end within 15 s are killed");
      cluster_.kill_pods(key);
      [[fallthrough]];
    case RunningJob::End::Over:
      finish(job);
  }
}

void Run::finish(Jobs::iterator job) {
  const JobKey key = job->key();
  if (running_.size() == 1 && coming_.end_if_none()) {
    loop_.stop();  // no line comes after the last summary
    console_.view({});
  }
  const std::string text =
      job->finish(runtime_.changes(key), cluster_.cpu_seconds(key), cluster_.lost_output(key));
  const int code = job->exit_code();
  if (code == 0)
    console_.line(text);
  else
    console_.warning(text);
  if (exit_code_ == 0) exit_code_ = code;
  cluster_.remove(key);
  controller_.reconcile(key);  // finds it gone, and forgets it
  running_.erase(job);
  redraw_ = true;
}

void Run::show() {
  const bool other_jobs = std::exchange(redraw_, false) && console_.live();
  if (!other_jobs && now() - last_view_ < (console_.live() ? kViewInterval : kLineInterval)) return;
  last_view_ = now();
  std::vector<std::string> view;
  if (local_queue_) view.push_back(queue_line(local_queue_->queue()));
  if (local_queue_ && !console_.live()) console_.line(clock_text(now()) + "  " + view.back());
  for (RunningJob& job : running_) {
    if (console_.live()) {
      for (std::string& line : job.view(last_view_)) view.push_back(std::move(line));
    } else if (const std::string line = job.line(last_view_); !line.empty()) {
      console_.line(clock_text(now()) + "  " + line);
    }
  }
  for (std::string& line : coming_.view()) view.push_back(std::move(line));
  console_.view(std::move(view));
}

Clock::time_point Run::next_due() const {
  auto next = Clock::now() + (console_.live() ? kViewInterval : kLineInterval);
  if (scheduler_) next = std::min(next, next_turn_);
  for (const RunningJob& job : running_) next = std::min(next, job.due);
  return std::min(next, coming_.next());
}

int Run::run() {
  start_due();
  if (exit_code_ != 0) {  // nothing runs yet
    for (const RunningJob& job : running_) console_.warning("job " + job.name() + ": not started");
    coming_.end();
    start_due();  // says so of the others
    return exit_code_;
  }
  for (;;) {
    take_news();
    start_due();
    for (auto job = running_.begin(); job != running_.end();) {
      const auto current = job++;
      if (current->due <= Clock::now()) look_at(current);
    }
    if (running_.empty() && coming_.end_if_none()) return exit_code_;
    if (scheduler_) next_turn_ = Clock::now() + std::max(Millis(0), scheduler_->turn() - now());
    show();
    wakeup_.wait_until(next_due());
  }
}

}  // namespace

int run_supervisor(const RunOptions& options, const std::vector<std::string>& arguments) {
  const auto batch = read_batch(options, Doubts::Told);
  if (!batch) return 2;
  const bool loopback = std::ranges::all_of(batch->jobs, on_loopback);
  return local::supervise(arguments,
                          loopback ? local::Isolation::SharedNetwork : local::Isolation::Namespaces);
}

int run_jobs(const RunOptions& options, const local::JobNamespaces& namespaces) {
  block_end_signals();
  signal(SIGPIPE, SIG_IGN);
  auto batch = read_batch(options, Doubts::NotTold);
  if (!batch) return 2;  // edited since the supervisor has read them
  try {
    Run run(options, namespaces, std::move(*batch));
    return run.run();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "empi: %s\n", error.what());
    return 1;
  }
}

}  // namespace emj::cli
