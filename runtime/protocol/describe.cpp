// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/describe.hpp"

namespace empi::wire {

using nlohmann::json;

json written_runs(const std::vector<ProcId>& procs) {
  json runs = json::array();
  std::size_t length = 0;
  for (std::size_t at = 0; at < procs.size(); at += length) {
    for (length = 1; at + length < procs.size(); ++length) {
      const ProcId& next = procs[at + length];
      if (next.nspace != procs[at].nspace || next.rank != procs[at].rank + length) break;
    }
    runs.push_back(json::array({procs[at].nspace, procs[at].rank, length}));
  }
  return runs;
}

json written(const RankRuns& procs) {
  json runs = json::array();
  for (const RankRun& run : procs.runs()) runs.push_back(json::array({run.nspace, run.first, run.count}));
  return runs;
}

void read(const json& from, RankRuns& procs) {
  std::vector<RankRun> runs;
  for (const json& run : from) {
    runs.push_back(
        {run.at(0).get<std::string>(), run.at(1).get<std::uint32_t>(), run.at(2).get<std::uint32_t>()});
    if (runs.back().count > kMostRanks || runs.back().end() < runs.back().first)
      throw std::invalid_argument("a message names more than " + std::to_string(kMostRanks) + " ranks");
  }
  procs = RankRuns(std::move(runs));
}

std::vector<ProcId> read_runs(const json& runs) {
  std::vector<ProcId> procs;
  for (const json& run : runs) {
    const auto nspace = run.at(0).get<std::string>();
    const auto first = integer<std::uint32_t>(run.at(1)), count = integer<std::uint32_t>(run.at(2));
    if (count > kMostRanks - procs.size())
      throw std::invalid_argument("a message names more than " + std::to_string(kMostRanks) + " ranks");
    for (std::uint32_t i = 0; i < count; ++i) procs.push_back({nspace, first + i});
  }
  return procs;
}

}  // namespace empi::wire
