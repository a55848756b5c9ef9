// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/describe.hpp"

namespace empi::wire {

using nlohmann::json;

namespace {

json written(const std::string& nspace, std::uint32_t first, std::size_t count) {
  return json::array({nspace, first, count});
}

// Of at most so many ranks, whose numbers fit.
RankRun read_run(const json& run, std::size_t most) {
  RankRun read{run.at(0).get<std::string>(), integer<std::uint32_t>(run.at(1)),
               integer<std::uint32_t>(run.at(2))};
  if (read.count > most || read.end() < read.first)
    throw std::invalid_argument("a message names more than " + std::to_string(kMostRanks) + " ranks");
  return read;
}

}  // namespace

json written_runs(const std::vector<ProcId>& procs) {
  json runs = json::array();
  std::size_t length = 0;
  for (std::size_t at = 0; at < procs.size(); at += length) {
    for (length = 1; at + length < procs.size(); ++length) {
      const ProcId& next = procs[at + length];
      if (next.nspace != procs[at].nspace || next.rank != procs[at].rank + length) break;
    }
    runs.push_back(written(procs[at].nspace, procs[at].rank, length));
  }
  return runs;
}

json written(const RankRuns& procs) {
  json runs = json::array();
  for (const RankRun& run : procs.runs()) runs.push_back(written(run.nspace, run.first, run.count));
  return runs;
}

void read(const json& from, RankRuns& procs) {
  std::vector<RankRun> runs;
  for (const json& run : from) runs.push_back(read_run(run, kMostRanks));
  procs = RankRuns(std::move(runs));
}

std::vector<ProcId> read_runs(const json& runs) {
  std::vector<ProcId> procs;
  for (const json& entry : runs) {
    const RankRun run = read_run(entry, kMostRanks - procs.size());
    for (std::uint32_t i = 0; i < run.count; ++i) procs.push_back({run.nspace, run.first + i});
  }
  return procs;
}

}  // namespace empi::wire
