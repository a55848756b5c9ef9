// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/pod/local_ranks.hpp"

#include <algorithm>
#include <utility>

namespace empi::agent {

LocalRank* LocalRanks::find(const ProcId& proc) {
  const auto at = ranks_.find(proc);
  return at == ranks_.end() ? nullptr : &at->second;
}

const LocalRank* LocalRanks::find(const ProcId& proc) const {
  const auto at = ranks_.find(proc);
  return at == ranks_.end() ? nullptr : &at->second;
}

void LocalRanks::heard(const RankReport& report) {
  LocalRank* rank = find(report.proc);
  if (!rank) return;
  if (report.kind == RankReport::Kind::Hello) rank->hello = true;
  if (report.kind == RankReport::Kind::Finalized) rank->finalized = true;
  if (report.parked > 0) rank->parked = true;
  if (report.kind == RankReport::Kind::Queue) queue_ = report;
}

RankExited LocalRanks::ended(const ProcId& proc, int code, int signal, std::vector<std::string> tail) {
  LocalRank& rank = ranks_.at(proc);
  rank.running = false;
  RankExited end{proc, code, signal, rank.may_exit(code), rank.connected || rank.hello, {}};
  rank.end = end;  // without its last words
  end.tail = std::move(tail);
  return end;
}

void LocalRanks::forget(const std::string& space) {
  std::erase_if(ranks_,
                [&](const auto& entry) { return entry.first.nspace == space && !entry.second.running; });
}

std::vector<ProcId> LocalRanks::running() const {
  std::vector<ProcId> procs;
  for (const auto& [proc, rank] : ranks_)
    if (rank.running) procs.push_back(proc);
  return procs;
}

std::vector<ProcId> LocalRanks::parked() const {
  std::vector<ProcId> procs;
  for (const auto& [proc, rank] : ranks_)
    if (rank.running && rank.parked) procs.push_back(proc);
  return procs;
}

std::vector<ProcId> LocalRanks::unconnected() const {
  std::vector<ProcId> procs;
  for (const auto& [proc, rank] : ranks_)
    if (!rank.connected) procs.push_back(proc);
  return procs;
}

std::size_t LocalRanks::count_running() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(ranks_, [](const auto& entry) { return entry.second.running; }));
}

int LocalRanks::count_connected() const {
  return static_cast<int>(std::ranges::count_if(
      ranks_, [](const auto& entry) { return entry.second.running && entry.second.connected; }));
}

Beat LocalRanks::whole_state() const {
  Beat beat{.connected = count_connected(), .queue = queue_};
  for (const auto& [proc, rank] : ranks_) {
    if (rank.hello) beat.hello.push_back(proc);
    if (rank.end) beat.ended.push_back(*rank.end);
    if (rank.parked) beat.parked.push_back(proc);
  }
  return beat;
}

}  // namespace empi::agent
