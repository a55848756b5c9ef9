// SPDX-License-Identifier: Apache-2.0
// The agent's dealings with the ranks of its own pod.
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <thread>

#include "runtime/agent/agent.hpp"
#include "runtime/base/log.hpp"
#include "runtime/base/thread_time.hpp"
#include "runtime/protocol/names.hpp"

namespace empi::agent {

using namespace std::chrono_literals;

RankPlace Agent::place_of(const ProcId& proc, bool joining) const {
  RankPlace place;
  place.proc = proc;
  place.joining = joining;
  place.socket = options_.run_dir + "/" + names::kSocketFile;
  place.page = pages_.path(proc);
  place.shm_folder = shm_folder_;
  place.library = library_;
  // On the loopback interface all pods share this machine.
  place.crowded =
      options_.interface == "lo" || options_.slots > static_cast<int>(std::thread::hardware_concurrency());
  return place;
}

void Agent::launch_ranks(const Namespace& ns, bool joining) {
  const NamespaceNode* own = ns.node_of_pod(options_.pod_uid);
  if (!own) return;
  std::vector<std::string> inherited;
  for (char** at = environ; *at; ++at) inherited.push_back(*at);
  for (std::uint32_t i = 0; i < own->count; ++i) {
    const ProcId proc{ns.name, own->first + i};
    pmix_->add_client(proc);
    pages_.create(proc);
    ranks_[proc] = {};
    launcher_.launch(
        proc, options_.command,
        rank_environment(options_, place_of(proc, joining), inherited, pmix_->client_environment(proc)));
  }
  log::info("started {} ranks of {}", own->count, ns.name);
}

void Agent::on_rank_exit(const RankExit& exit) {
  auto rank = ranks_.find(exit.proc);
  if (rank == ranks_.end() || !rank->second.running) return;
  rank->second.running = false;
  if (!rank->second.connected) pmix_->died_unconnected(exit.proc);
  output_.drain(exit.proc, 500ms);  // its last words may still be in the pipe
  RankExited end{exit.proc,
                 exit.code,
                 exit.signal,
                 rank->second.may_exit(exit.code),
                 rank->second.connected || rank->second.hello,
                 output_.tail(exit.proc)};
  send_to_lead(end);
  end.tail.clear();
  rank->second.end = std::move(end);
  output_.forget(exit.proc);
  pages_.remove(exit.proc);
  // Its PMIx data stays until the namespace goes: Open MPI does not survive to be refused it.
}

void Agent::on_report(const RankReport& report) {
  auto rank = ranks_.find(report.proc);
  if (rank == ranks_.end()) return;  // not one of ours: some other program found the socket
  if (report.kind == RankReport::Kind::Hello) rank->second.hello = true;
  if (report.kind == RankReport::Kind::Finalized) rank->second.finalized = true;
  if (report.parked > 0) rank->second.parked = true;
  if (report.kind == RankReport::Kind::Queue) queue_ = report;
  // Of what a rank is ready for its agent tells the lead, when all are.
  if (report.kind == RankReport::Kind::Ready) rank_ready(report);
  if (report.kind == RankReport::Kind::Ready && report.parked == 0) return;
  reports_.add(report, Clock::now());
  send_reports();
}

void Agent::send_reports() {
  for (const RankReported& message : reports_.take(running_ranks(), Clock::now())) send(lead_uid_, message);
  if (reports_.empty() || std::exchange(reports_timed_, true)) return;
  reactor_.after(GatheredReports::kSoon, [this] {
    reports_timed_ = false;
    send_reports();
  });
}

void Agent::count_parked() {
  double seconds = 0;
  for (const auto& [proc, rank] : ranks_)
    if (const Page* page = rank.running && rank.parked ? pages_.find(proc) : nullptr)
      seconds += thread_seconds(page->pid, names::kParkedThread);
  parked_seconds_ =
      std::max(parked_seconds_, seconds);  // those of a rank that has ended are not seen any more
}

std::vector<ProcId> Agent::local_ranks() const {
  std::vector<ProcId> procs;
  for (const auto& [proc, rank] : ranks_)
    if (rank.running) procs.push_back(proc);
  return procs;
}

Beat Agent::whole_state() const {
  Beat beat{.leave = leaving_, .connected = connected_ranks(), .queue = queue_};
  for (const auto& [proc, rank] : ranks_) {
    if (rank.hello) beat.hello.push_back(proc);
    if (rank.end) beat.ended.push_back(*rank.end);
  }
  return beat;
}

std::size_t Agent::running_ranks() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(ranks_, [](const auto& entry) { return entry.second.running; }));
}

int Agent::connected_ranks() const {
  return static_cast<int>(std::ranges::count_if(
      ranks_, [](const auto& entry) { return entry.second.running && entry.second.connected; }));
}

void Agent::drop_namespace(const std::string& name) {
  if (!spaces_.find(name)) return;
  spaces_.remove(name);
  pmix_->remove_namespace(name);
  std::erase_if(modex_, [&](const auto& entry) { return entry.first.nspace == name; });
  std::erase_if(ranks_,
                [&](const auto& entry) { return entry.first.nspace == name && !entry.second.running; });
}

}  // namespace empi::agent
