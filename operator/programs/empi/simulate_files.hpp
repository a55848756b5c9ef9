// SPDX-License-Identifier: Apache-2.0
// What empi simulate --out leaves in its folder.
#pragma once

#include <string>
#include <vector>

#include "operator/simulate/report.hpp"

namespace emj::cli {

// The last of the results is the one that jobs.csv and the files beside it are of; `decisions` are its. What
// went wrong with the first file that could not be written, or "".
std::string write_files(const std::string& folder, const simulate::Trace& trace,
                        const simulate::Workload& workload, const std::vector<simulate::Result>& results,
                        const std::string& decisions, double price);

}  // namespace emj::cli
