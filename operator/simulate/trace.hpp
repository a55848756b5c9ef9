// SPDX-License-Identifier: Apache-2.0
// Logs of machines in the Standard Workload Format (Chapin et al., JSSPP 1999; version 2.2): a line for each
// job, 18 numbers, -1 for what is unknown; comments and header after ';'.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "runtime/base/expected.hpp"

namespace emj::simulate {

inline constexpr int kMostProcessors = 1'000'000;  // of a machine, and so of a job

struct TraceJob {
  int number = 0;          // field 1
  double submit = 0;       // field 2, seconds since the log begins
  double run_seconds = 1;  // field 4, one at least
  int processors = 1;      // field 5, else 8
  double estimate = 0;     // field 9, the user's; the run time where it is unknown or less
  int user = -1;           // field 12
};

struct Trace {
  std::string name;                 // of the file
  int processors = 0;               // of the machine: MaxProcs, else MaxNodes of the header; 0: not said
  std::vector<TraceJob> jobs = {};  // ascending by submit
  int without_size = 0;             // left out: neither field 5 nor 8 says how many processors
  int without_run_time = 0;         // left out: field 4 is not known, and it was not cancelled
  int cancelled = 0;                // left out: cancelled before they ran (status 5, no run time)
};

// What is wrong with a trace, for the person who has to mend it: "FILE:LINE: field 4 (run time): ..."
struct TraceError {
  std::string message;
};

empi::Expected<Trace, TraceError> parse_trace(std::string_view text, const std::string& name);

// Of a file, plain or compressed by xz (the program does it). Half of a file is no file: that is an error,
// too.
empi::Expected<Trace, TraceError> read_trace(const std::string& path);

// The text of a file, decompressed.
empi::Expected<std::string, TraceError> read_text(const std::string& path);

}  // namespace emj::simulate
