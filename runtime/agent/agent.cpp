// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/agent.hpp"

#include <signal.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "runtime/agent/janitor.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"
#include "runtime/protocol/json.hpp"
#include "runtime/protocol/names.hpp"

namespace empi::agent {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kTick = 100ms;
constexpr auto kFarewell = 3000ms;             // for the last messages to be delivered
constexpr std::size_t kTerminationLog = 4000;  // bytes that Kubernetes keeps: 4096

// The library that belongs to this agent: beside it, in lib/ of a build folder or an image, or where it is
// installed.
std::string find_library() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const char* folder : {".", "../lib", EMPI_LIBRARY_FOLDER}) {
    const fs::path candidate = (here / folder / EMPI_LIBRARY_FILE).lexically_normal();
    if (fs::exists(candidate, error)) return candidate;
  }
  return "";
}

int watch_signals() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : {SIGCHLD, SIGTERM, SIGINT}) sigaddset(&set, signal);
  const int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
  if (fd < 0) throw std::system_error(errno, std::generic_category(), "signalfd");
  return fd;
}

}  // namespace

Agent::Agent(Options options, std::string shm_folder, Janitor& janitor)
    : options_(std::move(options)),
      shm_folder_(std::move(shm_folder)),
      library_(find_library()),
      janitor_(janitor),
      token_(options_.token_file),
      pages_(options_.run_dir),
      window_reader_(options_.run_dir),
      output_(options_.prefix_output, options_.pod_name),
      launcher_(output_, janitor_),
      inbox_(options_.pod_uid) {
  signals_ = watch_signals();
  reactor_.watch(signals_, EPOLLIN, [this](std::uint32_t) { on_signal(); });
  link_ = std::make_unique<RankLink>(reactor_, options_.run_dir + "/" + names::kSocketFile,
                                     [this](const RankReport& report) { on_report(report); });
  pmix_ =
      std::make_unique<PmixServer>(options_.run_dir + "/pmix", options_.pod_name, options_.pod_uid, *this);
  Patience patience;
  patience.silence =
      std::chrono::duration_cast<RunningTime>(std::chrono::duration<double>(options_.partition_seconds));
  patience.refusal = std::max(patience.refusal, patience.silence);
  peers_ =
      std::make_unique<Peers>(options_.pod_uid, token_, clock_, patience, [this](DeliveryFailure failure) {
        reactor_.post([this, failure = std::move(failure)] { on_delivery_failure(failure); });
      });
  http_ = std::make_unique<HttpApi>(options_.address, options_.port, token_, *this);
}

bool Agent::stop() {
  http_.reset();
  peers_.reset();
  launcher_.kill_all(SIGKILL);
  for (const auto& [proc, rank] : ranks_)  // one that was on its way to PMIx when it was killed
    if (!rank.connected) pmix_->died_unconnected(proc);
  return !pmix_->is_damaged();
}

Agent::~Agent() {
  stop();
  reactor_.unwatch(signals_);
  close(signals_);
}

int Agent::run() {
  log::info("agent of pod {} waits on {} for its controller", options_.pod_name, options_.endpoint());
  every_tick();
  every_second();
  cut_window();
  reactor_.run();
  if (!peers_->flush(kFarewell)) log::warn("not every last message was delivered");
  write_termination_log();
  return outcome_.result == JobResult::Failed ? (outcome_.exit_code ? outcome_.exit_code : 1) : 0;
}

void Agent::on_signal() {
  signalfd_siginfo info;
  bool children = false;
  while (read(signals_, &info, sizeof info) == sizeof info) {
    if (info.ssi_signo == SIGCHLD)
      children = true;
    else
      on_terminate();
  }
  if (!children) return;
  // A rank's last words come before its end: its reports, and the PMIx upcalls posted before this.
  reactor_.post([this] {
    const std::vector<RankExit> exits = launcher_.reap();
    link_->receive_pending();
    for (const RankExit& exit : exits) on_rank_exit(exit);
  });
}

// A pod that is asked to go wants a planned leave: the controller sees the request and arranges a change.
void Agent::on_terminate() {
  const bool again = ++terminations_ > 1;
  if (!started_ || again || over_) {
    log::info("terminated{}", again ? " for good" : " before the start");
    return end({JobResult::Stopped,
                again ? "the pod was terminated twice" : "the pod was terminated before the job started",
                0,
                {}});
  }
  log::info("asked to terminate: waiting for a planned leave");
  leaving_ = true;
  send_to_lead(Beat{.leave = true});
}

void Agent::every_tick() {
  clock_.advance(Clock::now());
  if (const int ranks = connected_ranks(); started_ && std::exchange(told_connected_, ranks) != ranks)
    send_to_lead(Beat{.connected = ranks});
  if (is_lead()) {
    lead_->tick(moment());
    follow_lead();
  }
  reactor_.after(kTick, [this] { every_tick(); });
}

void Agent::every_second() {
  count_parked();
  if (started_ && !over_) {
    if (is_lead()) {
      lead_->second(moment());
      follow_lead();
    }
    send_to_lead(whole_state());
  }
  reactor_.after(1000ms, [this] { every_second(); });
}

// Cuts a measuring window at each multiple of its width, as all pods do, and sends ours to the lead.
void Agent::cut_window() {
  const std::int64_t width = std::int64_t{options_.window_millis} * 1'000'000;
  const std::int64_t now = profile::wall_ns();
  if (started_ && !over_) {
    const WindowSample sample = window_reader_.read(profile::window_index(now, width), width * 1e-9,
                                                    membership_.epoch.value, profile::monotonic_ns());
    if (sample.ranks > 0) send_to_lead(Beat{.sample = sample});
  }
  const auto left = std::chrono::nanoseconds(profile::next_boundary(now, width) - now);
  reactor_.after(std::chrono::ceil<Millis>(left), [this] { cut_window(); });
}

// This agent's end, in any way: no rank survives it.
void Agent::end(const JobOutcome& outcome) {
  if (over_) return;
  over_ = true;
  outcome_ = outcome;
  if (outcome.result == JobResult::Failed)
    log::error("the job failed: {}", outcome.reason);
  else
    log::info("the end: {}{}{}", to_string(outcome.result), outcome.reason.empty() ? "" : ", ",
              outcome.reason);
  launcher_.kill_all(SIGKILL);
  reactor_.stop();
}

void Agent::write_termination_log() const {
  if (options_.termination_log.empty() || outcome_.result == JobResult::Running) return;
  JobOutcome outcome = outcome_;
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
