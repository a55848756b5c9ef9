// SPDX-License-Identifier: Apache-2.0
// When the next checkpoint is due, and when to look whether it is. Pure; times in seconds.
//
// Ranks must take a checkpoint after the same iteration, and asking one another costs a reduction. So they
// ask only now and then, after a number of iterations that rank 0 has named when they asked last.
#pragma once
#include <cstdint>

namespace empi::checkpoint {

inline constexpr double kShortestInterval = 10, kLongestInterval = 600;
inline constexpr double kMtbfHours = 720;  // of one node: about a failure a month

struct Cadence {
  double every_seconds = 0;           // given by the user; 0: by cost and failures
  std::int64_t every_iterations = 0;  // given by the program; 0: by time
  double mtbf_hours = kMtbfHours;     // mean time between failures of one node
};

// Seconds from one checkpoint to the next: what is given, else sqrt(2 x cost x MTBF of all nodes) (J. W.
// Young, A first order approximation to the optimum checkpoint interval, CACM 17(9), 1974; J. T. Daly, FGCS
// 22, 2006, equation 20 for the second term), between 10 s and 10 min. cost: seconds that the loop stood
// still for the last one; nodes >= 1.
double interval(const Cadence& cadence, double cost, int nodes);

// Iterations until the next look, at least 1: half of those that fit into `seconds` when `iterations` took
// `elapsed`, so that the moment is met closely in few looks though iterations become longer or shorter; and
// at most `most` seconds. Nothing is known with iterations == 0: then it is 1.
std::int64_t next_look(double seconds, std::int64_t iterations, double elapsed, double most);

}  // namespace empi::checkpoint
