// SPDX-License-Identifier: Apache-2.0
// A busy machine, for tests.
#pragma once
#include <cmath>
#include <random>

#include "operator/simulate/workload.hpp"

namespace emj::simulate {

// `jobs` of random sizes and lengths; users claim up to `lie` times the run time.
inline Trace random_trace(unsigned seed, int jobs, double lie) {
  std::mt19937 random(seed);
  const auto uniform = [&random](double low, double high) {
    return low + (high - low) * static_cast<double>(random() % 10000) / 10000;
  };
  Trace trace{.name = "random", .processors = 32};
  double submit = 0;
  for (int i = 0; i < jobs; ++i) {
    submit += std::floor(uniform(0, 200));
    TraceJob job{.number = i + 1, .submit = submit};
    job.processors = 1 << static_cast<int>(uniform(0, 5.99));
    job.run_seconds = std::floor(std::exp(uniform(0, 7.5)));
    job.estimate = std::floor(job.run_seconds * uniform(1, lie));
    trace.jobs.push_back(job);
  }
  return trace;
}

inline Workload made(const Trace& trace, double malleable, std::uint64_t seed = 1) {
  return make_workload(trace, trace.processors, {.malleable_percent = malleable, .seed = seed});
}

}  // namespace emj::simulate
