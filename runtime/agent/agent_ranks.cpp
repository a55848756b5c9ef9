// The agent's dealings with the ranks of its own pod.
#include <signal.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <thread>

#include "runtime/agent/agent.hpp"
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
  spdlog::info("started {} ranks of {}", own->count, ns.name);
}

void Agent::on_rank_exit(const RankExit& exit) {
  auto rank = ranks_.find(exit.proc);
  if (rank == ranks_.end() || !rank->second.running) return;
  rank->second.running = false;
  output_.drain(exit.proc, 500ms);  // its last words may still be in the pipe
  const std::vector<std::string> tail = output_.tail(exit.proc);
  send_to_hub({{"op", "rank_exit"},
               {"proc", {exit.proc.nspace, exit.proc.rank}},
               {"code", exit.code},
               {"signal", exit.signal},
               {"may_exit", rank->second.may_exit(exit.code)},
               {"tail", tail}});
  output_.forget(exit.proc);
  spaces_.rank_exited(exit.proc);
  pages_.remove(exit.proc);
  // Its PMIx data stays until the namespace goes: Open MPI does not survive to be refused it.
}

void Agent::on_report(const RankReport& report) {
  auto rank = ranks_.find(report.proc);
  if (rank == ranks_.end()) return;  // not one of ours: some other program found the socket
  if (report.kind == RankReport::Kind::Hello) rank->second.hello = true;
  if (report.kind == RankReport::Kind::Finalized) rank->second.finalized = true;
  send_to_hub({{"op", "report"}, {"report", encode(report)}});
}

std::vector<ProcId> Agent::local_ranks() const {
  std::vector<ProcId> procs;
  for (const auto& [proc, rank] : ranks_)
    if (rank.running) procs.push_back(proc);
  return procs;
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
