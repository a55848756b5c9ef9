// SPDX-License-Identifier: Apache-2.0
// What an `empi run` begins with, read and checked before anything is started.
#pragma once
#include <optional>
#include <vector>

#include "operator/programs/empi/run.hpp"

namespace emj::cli {

struct Batch {
  std::vector<ElasticMPIJob> jobs;
  std::vector<JobSource> sources;  // of the jobs; without an output folder
  std::optional<ElasticQueue> queue;
};

// What is doubtful, but no reason to refuse a manifest, is to be told once.
enum class Doubts { Told, NotTold };

// Nothing when something is wrong: that is printed.
std::optional<Batch> read_batch(const RunOptions& options, Doubts doubts);

}  // namespace emj::cli
