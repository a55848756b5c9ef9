// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/describe.hpp"

namespace empi::wire {

using nlohmann::json;

namespace {

json written(const std::string& nspace, std::uint32_t first, std::uint32_t count) {
  return json::array({nspace, first, count});
}

RankRun read_run(const json& run, std::size_t most) {
  return bounded(
      {run.at(0).get<std::string>(), integer<std::uint32_t>(run.at(1)), integer<std::uint32_t>(run.at(2))},
      most);
}

}  // namespace

RankRun bounded(RankRun run, std::size_t most) {
  if (run.count > most || run.end() < run.first)
    throw std::invalid_argument("a message names more than " + std::to_string(kMostRanks) + " ranks");
  return run;
}

json written_runs(const std::vector<ProcId>& procs) {
  json runs = json::array();
  each_run(procs, [&](const ProcId& first, std::uint32_t count) {
    runs.push_back(written(first.nspace, first.rank, count));
  });
  return runs;
}

json written(const RankRuns& procs) {
  json runs = json::array();
  for (const RankRun& run : procs.runs()) runs.push_back(written(run.nspace, run.first, run.count));
  return runs;
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
