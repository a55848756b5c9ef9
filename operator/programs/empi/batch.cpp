// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/batch.hpp"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <thread>

namespace emj::cli {

namespace {

template <class T>
bool good(const Result<T>& read, Doubts doubts) {
  if (!read || (doubts == Doubts::Told && !read.violations().empty()))
    std::fprintf(stderr, "%s", read.message().c_str());
  return read.ok();
}

// Two jobs of one name, said; empty: there are none.
std::string same_name(const Batch& batch) {
  std::map<std::string, std::string> manifest_of;
  for (std::size_t i = 0; i < batch.jobs.size(); ++i) {
    const std::string& name = batch.jobs[i].metadata.name;
    const auto [first, fresh] = manifest_of.try_emplace(name, batch.sources[i].manifest);
    if (!fresh)
      return batch.sources[i].manifest + ": metadata.name: '" + name + "' is the name of the job in " +
             first->second + ", too: give one of them another";
  }
  return {};
}

bool read_jobs(const RunOptions& options, Doubts doubts, Batch& batch) {
  const std::string here = std::filesystem::current_path();
  bool all = true;
  Overrides overrides = options.overrides;
  overrides.queued = makes_queue(options.queue, options.manifests.size());
  for (const std::string& manifest : options.manifests) {
    const auto job = read_manifest(manifest, overrides);
    all = good(job, doubts) && all;
    if (job) batch.jobs.push_back(job.value());
    batch.sources.push_back({manifest, overrides, here, ""});
  }
  if (!all) return false;
  const std::string problem = same_name(batch);
  if (!problem.empty()) std::fprintf(stderr, "empi: %s\n", problem.c_str());
  return problem.empty();
}

bool put_in_queue(const RunOptions& options, Doubts doubts, Batch& batch) {
  const int cpus = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
  const auto queue = queue_of_run(options.queue, batch.jobs, cpus);
  if (!good(queue, doubts)) return false;
  batch.queue = queue.value();
  for (std::size_t i = 0; i < batch.jobs.size(); ++i) {
    const auto job = read_for_queue(batch.sources[i].manifest, batch.sources[i].overrides, batch.queue);
    if (!good(job, Doubts::NotTold)) return false;
    batch.jobs[i] = job.value();
  }
  return true;
}

}  // namespace

std::optional<Batch> read_batch(const RunOptions& options, Doubts doubts) {
  Batch batch;
  if (!read_jobs(options, doubts, batch)) return std::nullopt;
  if (wants_queue(options.queue, batch.jobs) && !put_in_queue(options, doubts, batch)) return std::nullopt;
  return batch;
}

}  // namespace emj::cli
