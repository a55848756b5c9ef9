// SPDX-License-Identifier: Apache-2.0
// What empi-spe10 is asked to compute, from the command line (or a file given by --config).
#pragma once
#include <cstdint>
#include <string>

namespace spe10 {

struct Options {
  std::string data;  // folder that holds spe10_model2/; empty or without it: a synthetic field
  std::string grid;  // Eclipse deck with the field; empty: SPE10's
  std::string deck;  // YAML file; empty: SPE10 model 2
  int layers = 16;   // from the bottom, 1..85
  int split = 1;     // prisms per layer
  std::uint64_t seed = 10;
  int coarsest = 2, finest = 4;
  double days = 30;
  int adapt_every = 4;  // steps; 0: never
  double refine_s = 0.1, coarsen_s = 0.03;
  double refine_p = 80, coarsen_p = 30;  // psi
  double mobility_error = 0.1;
  double longest = 10;         // days between pressure solves
  double tolerance = 1e-8;     // of the pressure solver
  int rows_per_rank = 1;       // fewer ranks solve when there would be fewer rows on each
  double snapshot_every = 10;  // days; 0: none
  double balance_tolerance = 0.05;
  std::string out = ".";
};

// Exits with 0 after --help, and with 2 and a message for options that make no sense.
Options parse_options(int argc, char** argv);

}  // namespace spe10
