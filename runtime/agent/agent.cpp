#include "runtime/agent/agent.hpp"

#include <signal.h>
#include <spdlog/spdlog.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <fstream>
#include <system_error>

#include "runtime/agent/janitor.hpp"
#include "runtime/protocol/json.hpp"
#include "runtime/protocol/names.hpp"

namespace empi::agent {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr auto kTick = 100ms;
constexpr auto kFarewell = 3000ms;             // for the last messages to be delivered
constexpr std::size_t kTerminationLog = 4000;  // bytes that Kubernetes keeps: 4096

// libelastic_mpi.so as it is installed or built beside the agent.
std::string find_library() {
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (const fs::path& candidate :
       {here / "libelastic_mpi.so", here.parent_path() / "lib" / "libelastic_mpi.so"})
    if (fs::exists(candidate, error)) return candidate;
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
      hub_(spaces_),
      output_(options_.prefix_output, options_.pod_name),
      launcher_(output_, janitor_) {
  signals_ = watch_signals();
  reactor_.watch(signals_, EPOLLIN, [this](std::uint32_t) { on_signal(); });
  link_ = std::make_unique<RankLink>(reactor_, options_.run_dir + "/" + names::kSocketFile,
                                     [this](const RankReport& report) { on_report(report); });
  pmix_ =
      std::make_unique<PmixServer>(options_.run_dir + "/pmix", options_.pod_name, options_.pod_uid, *this);
  peers_ = std::make_unique<Peers>(options_.pod_uid, token_, [this](DeliveryFailure failure) {
    reactor_.post([this, failure = std::move(failure)] { on_delivery_failure(failure); });
  });
  http_ = std::make_unique<HttpApi>(options_.address, options_.port, token_, *this);
}

Agent::~Agent() {
  http_.reset();
  peers_.reset();
  launcher_.kill_all(SIGKILL);
  reactor_.unwatch(signals_);
  close(signals_);
}

int Agent::run() {
  spdlog::info("agent of pod {} waits on {} for its controller", options_.pod_name, options_.endpoint());
  every_tick();
  every_second();
  cut_window();
  reactor_.run();
  if (!peers_->flush(kFarewell)) spdlog::warn("not every last message was delivered");
  write_termination_log();
  return outcome_.result == "failed" ? (outcome_.exit_code ? outcome_.exit_code : 1) : 0;
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
    spdlog::info("terminated{}", again ? " for good" : " before the start");
    return end({"stopped",
                again ? "the pod was terminated twice" : "the pod was terminated before the job started",
                0,
                {}});
  }
  spdlog::info("asked to terminate: waiting for a planned leave");
  leave_requests_.insert(options_.pod_uid);
  send_to_hub({{"op", "beat"}, {"leave", true}});
}

void Agent::every_tick() {
  const TimePoint now = Clock::now();
  if (is_hub()) {
    driver_.tick(now);
    deliver(hub_.expire(now));
    perform_steps();
  }
  reactor_.after(kTick, [this] { every_tick(); });
}

void Agent::every_second() {
  if (started_ && !over_) {
    if (is_hub()) {
      const auto patience = std::chrono::duration<double>(options_.partition_seconds);
      for (const Member& member : membership_.members)
        if (member.uid != options_.pod_uid) send(member.uid, {{"op", "beat"}});
      if (driver_.active())
        for (const Member& member : driver_.plan().add) send(member.uid, {{"op", "beat"}});
      for (const auto& [uid, heard] : std::map<std::string, TimePoint>(last_heard_))
        if (Clock::now() - heard > patience)
          pod_lost(uid, "its agent was not heard of for " +
                            std::to_string(static_cast<int>(patience.count())) + " s");
    } else {
      send_to_hub({{"op", "beat"}, {"leave", leave_requests_.contains(options_.pod_uid)}});
    }
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
    if (sample.ranks > 0) send_to_hub({{"op", "beat"}, {"sample", sample}});
  }
  const auto left = std::chrono::nanoseconds(profile::next_boundary(now, width) - now);
  reactor_.after(std::chrono::ceil<Millis>(left), [this] { cut_window(); });
}

// The hub's verdict that the job cannot go on.
void Agent::fail_job(const std::string& reason, int exit_code, std::vector<std::string> tail) {
  if (over_) return;
  JobOutcome outcome{"failed", reason, exit_code ? exit_code : 1, std::move(tail)};
  std::set<std::string> told;
  for (const Member& member : membership_.members) told.insert(member.uid);
  if (driver_.active() || driver_.state() == ChangeState::Failed)
    for (const Member& member : driver_.plan().add) told.insert(member.uid);
  for (const std::string& uid : told)
    if (uid != options_.pod_uid) send(uid, {{"op", "end"}, {"outcome", outcome}});
  end(outcome);
}

// This agent's end, in any way: no rank survives it.
void Agent::end(const JobOutcome& outcome) {
  if (over_) return;
  over_ = true;
  outcome_ = outcome;
  if (outcome.result == "failed")
    spdlog::error("the job failed: {}", outcome.reason);
  else
    spdlog::info("the end: {}{}{}", outcome.result, outcome.reason.empty() ? "" : ", ", outcome.reason);
  launcher_.kill_all(SIGKILL);
  reactor_.stop();
}

void Agent::write_termination_log() const {
  if (options_.termination_log.empty() || outcome_.result.empty()) return;
  JobOutcome outcome = outcome_;
  std::string text = nlohmann::json(outcome).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  while (text.size() > kTerminationLog && !outcome.tail.empty()) {
    outcome.tail.erase(outcome.tail.begin());
    text = nlohmann::json(outcome).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }
  std::ofstream file(options_.termination_log, std::ios::trunc);
  if (!(file << text << "\n")) spdlog::warn("cannot write the outcome to '{}'", options_.termination_log);
}

}  // namespace empi::agent
