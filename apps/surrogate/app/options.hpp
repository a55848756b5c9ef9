// SPDX-License-Identifier: Apache-2.0
// What empi-surrogate is asked to compute, from the command line (or a file given by --config).
#pragma once
#include <string>
#include <vector>

#include "apps/surrogate/app/inversion.hpp"
#include "apps/surrogate/flow/channel.hpp"

namespace surrogate {

struct Options {
  flow::ChannelCase channel = flow::four_obstacles();
  std::vector<double> truth = {1.35, 0.80, 3.85, 1.25, 5.70, 0.75, 8.25, 1.15};  // m
  std::string problem;   // file of another problem, instead of the channel
  std::string journal;   // folder of finished forward runs
  std::string observed;  // file of measurements; empty: made up from `truth`
  double sigma = 0;      // m/s, of the measurements in the file
  double relative_noise = 0.1;
  std::string grid;  // file of a surrogate to use instead of building one
  std::string out = ".";
  Settings settings;
};

/// Exits with 0 after --help, and with 2 and a message for options that make no sense.
Options parse_options(int argc, char** argv);

struct Task {
  Problem problem;
  std::string note;  ///< what the report has to know: JSON {case, cells, reynolds}, or {case, model}
};
/// The channel, or the problem of a file. Throws io::FileError when a file cannot be read.
Task make_task(const Options& options);

/// The inverse problem of the channel. Throws io::FileError when the measurements cannot be read.
Problem channel_problem(const Options& options);

}  // namespace surrogate
