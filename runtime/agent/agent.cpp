// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/agent.hpp"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <system_error>

#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/thread_time.hpp"
#include "runtime/protocol/json.hpp"
#include "runtime/protocol/names.hpp"

namespace empi::agent {
namespace {

using namespace std::chrono_literals;

constexpr auto kTick = 100ms;
constexpr auto kFarewell = 3000ms;             // for the last messages to be delivered
constexpr std::size_t kTerminationLog = 4000;  // bytes that Kubernetes keeps: 4096

int exit_code_of(const JobOutcome& outcome) {
  if (outcome.result != JobResult::Failed) return 0;
  return outcome.exit_code ? outcome.exit_code : 1;
}

UniqueFd watch_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGCHLD, SIGTERM, SIGINT}) sigaddset(&set, signal);
  UniqueFd fd(signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!fd) throw std::system_error(errno, std::generic_category(), "signalfd");
  return fd;
}

}  // namespace

Agent::Agent(Options options, std::string shm_folder, Janitor& janitor, std::function<void(int)> on_end)
    : options_(std::move(options)),
      token_(options_.token_file),
      credentials_(options_.tls_folder.empty() ? nullptr
                                               : std::make_shared<tls::Credentials>(options_.tls_folder)),
      window_reader_(options_.run_dir),
      signals_(watch_signals()),
      edges_(options_, std::move(shm_folder), janitor, reactor_, token_, credentials_,
             {*this, [this](const RankReport& report) { pod_.rank_reported(report); },
              [this](const DeliveryNews& news) {
                if (news.standing == Standing::Good) return pod_.reached(news.uid);
                pod_.unreachable(news.uid, news.standing, news.reached, news.what);
              },
              [this, on_end = std::move(on_end)](const JobOutcome& outcome) {
                on_end(exit_code_of(outcome));
                reactor_.stop();
              }}),
      pod_(
          {options_.pod_uid, options_.pod_name, options_.job_name, options_.slots, options_.malleable,
           std::chrono::duration_cast<RunningTime>(std::chrono::duration<double>(options_.partition_seconds)),
           options_.restart.given()},
          edges_) {
  reactor_.watch(signals_.get(), EPOLLIN, [this](std::uint32_t) { on_signal(); });
  view_ = std::make_unique<HttpApi>(options_.run_dir + "/" + names::kViewSocketFile, token_, *this);
  http_ =
      std::make_unique<HttpApi>(options_.address, options_.port, token_, *this, HttpLimits{}, credentials_);
}

bool Agent::stop() {
  http_.reset();
  view_.reset();
  edges_.stop();
  for (const ProcId& proc : pod_.ranks().unconnected())  // on their way to PMIx when they were killed
    edges_.pmix().died_unconnected(proc);
  return !edges_.pmix().is_damaged();
}

Agent::~Agent() {
  stop();
  reactor_.unwatch(signals_.get());
}

int Agent::run() {
  log::info("agent of pod {} waits on {} for its controller", options_.pod_name, options_.endpoint());
  every_tick();
  every_second();
  cut_window();
  reactor_.run();
  if (!edges_.flush(kFarewell)) log::warn("not every last message was delivered");
  write_termination_log();
  return exit_code_of(pod_.outcome());
}

void Agent::on_signal() {
  signalfd_siginfo info;
  bool children = false;
  while (read(signals_.get(), &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGCHLD)
      children = true;
    else
      pod_.terminate();
  }
  if (!children) return;
  // A rank's last words come before its end: its reports, and the PMIx upcalls posted before this.
  reactor_.post([this] {
    const std::vector<RankExit> exits = edges_.reap();
    edges_.hear_ranks();
    // Once: where nobody reads our stdout, so much time for each would be silence to the other pods.
    if (!exits.empty()) edges_.output().drain(kLastWords);
    for (const RankExit& exit : exits) on_rank_exit(exit);
  });
}

void Agent::on_rank_exit(const RankExit& exit) {
  const LocalRank* rank = pod_.ranks().find(exit.proc);
  if (!rank || !rank->running) return;
  if (!rank->connected) edges_.pmix().died_unconnected(exit.proc);
  pod_.rank_ended(exit.proc, exit.code, exit.signal, edges_.output().tail(exit.proc));
  edges_.forget(exit.proc);
}

void Agent::every_tick() {
  edges_.advance_clock();
  pod_.tick();
  reactor_.after(kTick, [this] { every_tick(); });
}

void Agent::every_second() {
  count_parked();
  pod_.second();
  reactor_.after(1000ms, [this] { every_second(); });
}

// Cuts a measuring window at each multiple of its width, as all pods do, and sends ours to the lead.
void Agent::cut_window() {
  const std::int64_t width = std::int64_t{options_.window_millis} * 1'000'000;
  const std::int64_t now = profile::wall_ns();
  if (pod_.started() && !pod_.over()) {
    const WindowSample sample = window_reader_.read(profile::window_index(now, width), width * 1e-9,
                                                    pod_.membership().epoch.value, profile::monotonic_ns());
    if (sample.ranks > 0) pod_.sampled(sample);
  }
  const auto left = std::chrono::nanoseconds(profile::next_boundary(now, width) - now);
  reactor_.after(std::chrono::ceil<Millis>(left), [this] { cut_window(); });
}

// Processor time of helper threads that never came back.
void Agent::count_parked() {
  double seconds = 0;
  for (const ProcId& proc : pod_.ranks().parked())
    if (const Page* page = edges_.pages().find(proc))
      seconds += thread_seconds(page->pid, names::kParkedThread);
  pod_.parked(seconds);
}

void Agent::write_termination_log() const {
  if (options_.termination_log.empty() || pod_.outcome().result == JobResult::Running) return;
  JobOutcome outcome = pod_.outcome();
  std::string text = json_text::safe_text(outcome);
  while (text.size() > kTerminationLog && !outcome.tail.empty()) {
    outcome.tail.erase(outcome.tail.begin());
    text = json_text::safe_text(outcome);
  }
  if (text.size() > kTerminationLog && outcome.last_change) {
    outcome.last_change.reset();
    text = json_text::safe_text(outcome);
  }
  std::ofstream file(options_.termination_log, std::ios::trunc);
  if (!(file << text << "\n")) log::warn("cannot write the outcome to '{}'", options_.termination_log);
}

}  // namespace empi::agent
