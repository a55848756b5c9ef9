// SPDX-License-Identifier: Apache-2.0
// EASY once more, for tests, in seconds and by counting what is free in each second that matters: written
// apart from the others. Gives the start of each job.
#pragma once
#include <algorithm>
#include <vector>

#include "operator/simulate/trace.hpp"

namespace emj::simulate {

inline std::vector<double> plain_easy(const Trace& trace) {
  struct State {
    double start = -1, end = 0, claimed = 0;
  };
  const auto& jobs = trace.jobs;
  std::vector<State> states(jobs.size());
  const auto free_at = [&](double t, double now) {
    // Of those that run now, who is there at t by what was claimed; -1: who is there in truth.
    int free = trace.processors;
    for (std::size_t i = 0; i < jobs.size(); ++i)
      if (states[i].start >= 0 && states[i].end > now &&
          (t < 0 || std::max(states[i].claimed, now + .001) > t))
        free -= jobs[i].processors;
    return free;
  };
  std::vector<double> times;
  for (const TraceJob& job : jobs) times.push_back(job.submit);
  for (std::size_t done = 0; done < times.size(); ++done) {
    std::sort(times.begin() + static_cast<std::ptrdiff_t>(done), times.end());
    const double now = times[done];
    if (done + 1 < times.size() && times[done + 1] == now) continue;
    double shadow = -1;
    int extra = 0;
    for (std::size_t i = 0; i < jobs.size() && jobs[i].submit <= now; ++i) {
      if (states[i].start >= 0) continue;
      const int need = jobs[i].processors;
      bool starts = need <= free_at(-1, now);
      if (shadow >= 0 && starts && now + jobs[i].estimate > shadow) {
        starts = need <= extra;
        if (starts) extra -= need;
      }
      if (starts) {
        states[i] = {now, now + jobs[i].run_seconds, now + jobs[i].estimate};
        times.push_back(states[i].end);
      } else if (shadow < 0) {
        // The first claimed end at which it fits.
        std::vector<double> ends;
        for (const State& state : states)
          if (state.start >= 0 && state.end > now) ends.push_back(std::max(state.claimed, now + .001));
        std::sort(ends.begin(), ends.end());
        for (const double end : ends) {
          if (shadow >= 0 || free_at(end, now) < need) continue;
          shadow = end;
          extra = free_at(end, now) - need;
        }
      }
    }
  }
  std::vector<double> starts;
  for (const State& state : states) starts.push_back(state.start);
  return starts;
}

}  // namespace emj::simulate
