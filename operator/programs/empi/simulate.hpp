// SPDX-License-Identifier: Apache-2.0
// empi simulate: a trace of a real machine under the scheduler, beside EASY and beside jobs that choose their
// size at the start only.
#pragma once

#include <cstdint>
#include <string>

namespace emj::cli {

struct SimulateOptions {
  std::string trace;
  std::string replay;  // output folder of a run, whose windows a policy reads; then `trace` is a manifest
  std::string output;  // folder; empty: no files
  std::string queue;   // manifest of an ElasticQueue whose rules and size hold; empty: the defaults of one
  int workers = 0;     // processors of the machine; 0: what the trace says
  double malleable = 100;
  std::uint64_t seed = 1;
  double floor = 0;  // per cent of the request
  double delay = 5, pause = 5;
  double load = 1;
  int jobs = 0;
  std::string objective, backfill;  // empty: the queue's
  double max_wait = -1;             // seconds; negative: the queue's
  double deadline = 0;              // times the run time at the request; 0: no job has one
  double price = 0;                 // of a processor for an hour; 0: none
};

// Prints the table. 0, or 2 where the trace cannot be used, or 1 where files cannot be written, in words.
int simulate(const SimulateOptions& options);

}  // namespace emj::cli
