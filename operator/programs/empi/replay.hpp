// SPDX-License-Identifier: Apache-2.0
// empi simulate --replay: what a policy would have decided on a run that was recorded. The run is as it was:
// its sizes are those that it had, whatever the policy says.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

#include "operator/api/job.hpp"
#include "operator/decide/policy.hpp"
#include "runtime/base/expected.hpp"
#include "runtime/protocol/sample.hpp"

namespace emj::cli {

// In the output folder of a run: its windows as the lead served them, one in a line.
inline constexpr const char* kWindowsFile = "windows.jsonl";
std::string window_line(const empi::WindowSample& window);

// With file and line, what cannot be read.
empi::Expected<std::vector<empi::WindowSample>, std::string> read_windows(
    const std::filesystem::path& folder);

struct Verdicts {
  Time time{};
  int workers = 0;  // that it had
  AutoscaleResult result;
};
// After each window of the policy. A deadline in seconds counts from the first one.
std::vector<Verdicts> replay(const ElasticMPIJob& job, const std::vector<empi::WindowSample>& windows);

// Prints them, each when it is another one than before. 0, or 2 in words.
int replay(const std::string& folder, const std::string& manifest);

}  // namespace emj::cli
