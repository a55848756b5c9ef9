// SPDX-License-Identifier: Apache-2.0
// What empi simulate --out leaves in its folder.
#pragma once
#include <string>
#include <vector>

#include "operator/simulate/report.hpp"

namespace emj::cli {

// Makes the folder, for files to be written there: before a simulation, which may take an hour. Why they
// cannot be, or "".
std::string make_folder(const std::string& folder);

// The last of the results is the one that jobs.csv and the files beside it are of; `decisions` are its.
// What an earlier simulation compared is taken away: a report would show it beside this one. What went wrong
// with the first file that could not be written, or "".
std::string write_files(const std::string& folder, const simulate::Trace& trace,
                        const simulate::Workload& workload, const std::vector<simulate::Result>& results,
                        const std::string& decisions, double price);

}  // namespace emj::cli
