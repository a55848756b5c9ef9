// SPDX-License-Identifier: Apache-2.0
// Promise: growing and shrinking empi-mandelbrot while it runs does not change a bit of its picture.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <stdexcept>

#include "runtime/agent/testing/local_pods.hpp"
#include "runtime/base/testing/places.hpp"

namespace {

using empi::Member;
using empi::testing::LocalPods;

std::string program() { return empi::testing::beside("empi-mandelbrot"); }

std::string fingerprint(const std::string& output) {
  const auto begin = output.find("fingerprint ");
  if (begin == output.npos) throw std::runtime_error("empi-mandelbrot printed no result:\n" + output);
  return output.substr(begin, 28);
}

std::string run_alone(const std::string& arguments) {
  std::string output;
  FILE* pipe = popen((program() + arguments).c_str(), "r");
  if (!pipe) throw std::runtime_error("cannot start " + program());
  std::array<char, 256> part;
  while (std::fgets(part.data(), part.size(), pipe)) output += part.data();
  if (pclose(pipe) != 0) throw std::runtime_error("empi-mandelbrot alone failed:\n" + output);
  return fingerprint(output);
}

TEST(MandelbrotOnPods, ResizesDoNotChangeABit) {
  // Long enough for the changes below: about a quarter of the pixels takes all iterations.
  const std::vector<std::string> arguments{"--width",      "96",    "--height", "96", "--x",   "-0.5",
                                           "--y",          "0",     "--span",   "3",  "--out", "",
                                           "--iterations", "250000"};
  std::string line;
  for (const auto& a : arguments) line += a.empty() ? " ''" : " " + a;

  LocalPods pods;
  pods.slots = 1;
  pods.command = {program()};
  pods.command.insert(pods.command.end(), arguments.begin(), arguments.end());
  const std::vector<Member> first = pods.launch(2);
  const std::vector<Member> second = pods.launch(1);
  pods.start(first);
  const auto grown = pods.change({.add = second});
  ASSERT_EQ(grown.outcome, empi::ChangeOutcome::Committed) << grown.reason;
  const auto shrunk = pods.change({.remove = {first[0].uid}});
  ASSERT_EQ(shrunk.outcome, empi::ChangeOutcome::Committed) << shrunk.reason;
  for (const Member& m : {first[1], second[0]}) EXPECT_EQ(pods.wait_for_end(m.uid), 0) << pods.all_logs();
  EXPECT_EQ(fingerprint(pods.all_logs()), run_alone(line));
}

}  // namespace
