// SPDX-License-Identifier: Apache-2.0
// Promise: growing and shrinking empi-jacobi while it runs does not change a bit of its result.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <stdexcept>

#include "runtime/agent/testing/local_pods.hpp"
#include "runtime/base/testing/places.hpp"

namespace {

using empi::ChangeStatus;
using empi::Member;
using empi::testing::LocalPods;

std::string program() { return empi::testing::beside("empi-jacobi"); }

std::string result_line(const std::string& output) {
  const auto begin = output.find("jacobi n ");
  if (begin == output.npos) throw std::runtime_error("empi-jacobi printed no result:\n" + output);
  return output.substr(begin, output.find('\n', begin) - begin);
}

// What must not depend on the ranks: everything from the number of iterations on.
std::string without_ranks(const std::string& line) { return line.substr(line.find("iterations")); }

std::string run_alone(const std::string& arguments) {
  std::string output;
  FILE* pipe = popen((program() + arguments).c_str(), "r");
  if (!pipe) throw std::runtime_error("cannot start " + program());
  std::array<char, 256> part;
  while (std::fgets(part.data(), part.size(), pipe)) output += part.data();
  if (pclose(pipe) != 0) throw std::runtime_error("empi-jacobi alone failed:\n" + output);
  return result_line(output);
}

TEST(JacobiOnPods, ResizesDoNotChangeABit) {
  // The pace makes the run long enough for the changes below; it does not change the result.
  const std::vector<std::string> common{"--n", "160", "--iterations", "6000", "--tolerance", "0"};
  std::string arguments;
  for (const auto& a : common) arguments += " " + a;
  const std::string alone = run_alone(arguments);

  LocalPods pods;
  pods.slots = 1;
  pods.command = {program()};
  pods.command.insert(pods.command.end(), common.begin(), common.end());
  pods.command.insert(pods.command.end(), {"--pace", "5"});
  const std::vector<Member> first = pods.launch(2);
  pods.start(first);
  const std::vector<Member> second = pods.launch(2);
  const auto change = [&](std::vector<Member> add, std::vector<std::string> remove) {
    const ChangeStatus status = pods.change({.add = std::move(add), .remove = std::move(remove)});
    if (status.outcome != empi::ChangeOutcome::Committed)
      throw std::runtime_error("change " + std::string(to_string(status.outcome)) + ": " + status.reason +
                               "\n" + pods.all_logs());
  };
  change(second, {});
  change({}, {first[0].uid, second[0].uid});
  const std::vector<Member> third = pods.launch(2);
  change(third, {first[1].uid});

  for (const Member& m : {second[1], third[0], third[1]})
    EXPECT_EQ(pods.wait_for_end(m.uid), 0) << pods.all_logs();
  const std::string resized = result_line(pods.all_logs());
  EXPECT_EQ(without_ranks(resized), without_ranks(alone));
  EXPECT_NE(resized.find("ranks 3 "), std::string::npos) << resized;
}

}  // namespace
