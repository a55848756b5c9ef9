// SPDX-License-Identifier: Apache-2.0
// The queue that the jobs of one `empi run` share.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "operator/api/queue.hpp"
#include "operator/programs/empi/manifest.hpp"

namespace emj::cli {

// What the command line says of it.
struct QueueOptions {
  std::string file;  // manifest of an ElasticQueue; empty: one of our own
  int workers = 0;   // CPUs that its first pool has; 0: as the manifest says, else those of this machine
};

// Several jobs share a queue; one job has none unless it, or the command line, asks for one. The first is
// what can be told before manifests are read.
bool makes_queue(const QueueOptions& options, std::size_t jobs);
bool wants_queue(const QueueOptions& options, const std::vector<ElasticMPIJob>& jobs);

// The queue of the manifest, or one named as the jobs say (`local` where they say nothing) with one pool of
// the CPUs. `cpus`: of this machine.
Result<ElasticQueue> queue_of_run(const QueueOptions& options, const std::vector<ElasticMPIJob>& jobs,
                                  int cpus);

// The job of a manifest, as one of the queue's where there is one: `overrides` says so then. Refused where it
// names another queue, or would wait for ever.
Result<ElasticMPIJob> read_for_queue(const std::string& manifest, Overrides& overrides,
                                     const std::optional<ElasticQueue>& queue);

// Why the job would wait in this queue for ever, and what to do; empty: it would not.
std::string never_starts(const ElasticMPIJob& job, const ElasticQueue& queue);

// That the queue does not know the job's priority class, which then counts as none; empty: it does.
std::string unlisted_priority(const ElasticMPIJob& job, const ElasticQueue& queue);

}  // namespace emj::cli
