// SPDX-License-Identifier: Apache-2.0
// Jobs as a table with their sizes over time. Pure.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "operator/api/job.hpp"

namespace emj::cli {

// From `time` on, until the next one.
struct SizeAt {
  Time time{};
  int workers = 0;
  bool operator==(const SizeAt&) const = default;
};
using SizeHistory = std::vector<SizeAt>;  // ascending in time

// What the status tells of it: its last changes, and the size now.
SizeHistory recorded_sizes(const ElasticMPIJob& job, Time now);

// One character for each of `columns` equal parts of the time, as high as the size at its end; blank where
// there were no workers, or nothing is known. `largest` is as high as a character can be.
std::string sparkline(const SizeHistory& sizes, Time from, Time to, int largest, int columns);

// What was seen of jobs while somebody looked: the status remembers a few changes only.
class SizesSeen {
 public:
  void look(const std::vector<ElasticMPIJob>& jobs, Time now);
  SizeHistory of(const ElasticMPIJob& job, Time now) const;

 private:
  std::map<std::string, SizeHistory> by_uid_;
};

// A header and one line a job. The sizes are those since the job's start, until now or its end.
std::vector<std::string> job_table(const std::vector<ElasticMPIJob>& jobs, const SizesSeen& seen, Time now,
                                   bool with_namespace);

// Columns as wide as their widest cell, the last one as it is.
std::vector<std::string> aligned(const std::vector<std::vector<std::string>>& rows);

}  // namespace emj::cli
