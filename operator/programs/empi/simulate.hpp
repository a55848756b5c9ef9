// SPDX-License-Identifier: Apache-2.0
// empi simulate: the log of a machine, or jobs of manifests, under the scheduler of queues, beside EASY and
// beside jobs that choose their size at the start only.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace emj::cli {

struct SimulateOptions {
  std::vector<std::string> files;  // a trace, manifests of jobs, as FILE or FILE@SECONDS
  std::string replay;  // output folder of a run, whose windows a policy reads; then `files` is one manifest
  std::string output;  // folder; empty: no files
  std::string queue;   // manifest of an ElasticQueue whose rules and size hold; empty: the defaults of one
  int workers = 0;     // processors of the machine; 0: what the queue or the trace says
  double malleable = 100;
  std::uint64_t seed = 1;
  double floor = 0;  // per cent of the request
  double delay = 5, pause = 5;
  double load = 1;
  int jobs = 0;
  std::string objective, backfill;    // empty: the queue's
  double max_wait = -1;               // seconds; negative: the queue's
  double deadline = 0;                // times the run time at the request; 0: no job has one
  double price = 0;                   // of a processor for an hour; 0: none
  bool full = false;                  // each job's own decide() runs as well
  std::vector<std::string> policies;  // schedules that are compared with EASY; empty: moldable and elastic
  std::string speedup;                // how jobs of a trace scale; empty: amdahl:.8
  double spread = 0;                  // per cent
  std::string learn = "oracle";       // what the queue knows of that: oracle, online, never
  double noise = -1;                  // per cent, of measured sizes; negative: 10
};

// Prints the table. 0, or 2 where the files cannot be used, or 1 where others cannot be written, in words.
int simulate(const SimulateOptions& options);

}  // namespace emj::cli
