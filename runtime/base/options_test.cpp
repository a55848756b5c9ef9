// SPDX-License-Identifier: Apache-2.0
// What no option of any program may be.
#include "runtime/base/options.hpp"

#include <gtest/gtest.h>

namespace empi::options {
namespace {

// Whether a program with this option goes on when it is given these words.
bool accepted(Target target, Check check, std::vector<std::string> words) {
  std::vector<char*> argv;
  words.insert(words.begin(), {"program", "--x"});
  for (std::string& word : words) argv.push_back(word.data());
  return !read({.what = "", .options = {{"--x", target, "", {.check = check}}}},
               static_cast<int>(argv.size()), argv.data());
}

TEST(Numbers, AreFiniteWhateverElseIsAskedOfThem) {
  const Check checks[] = {{}, in_range(0.5, 4.0), number_between(0.5, 4), positive(), not_negative()};
  for (const Check& check : checks) {
    double value = 1;
    for (const char* bad : {"nan", "-nan", "NaN", "inf", "-inf", "infinity", "1e999"}) {
      EXPECT_FALSE(accepted(&value, check, {bad})) << bad << ", check " << static_cast<int>(check.kind);
      EXPECT_EQ(value, 1);
    }
    EXPECT_TRUE(accepted(&value, check, {"2.5"})) << static_cast<int>(check.kind);
    EXPECT_EQ(value, 2.5);
    std::vector<double> values;
    EXPECT_FALSE(accepted(&values, check, {"2", "nan"})) << static_cast<int>(check.kind);
    EXPECT_TRUE(accepted(&values, check, {"2", "3"})) << static_cast<int>(check.kind);
  }
}

}  // namespace
}  // namespace empi::options
