// SPDX-License-Identifier: Apache-2.0
// What no option of any program may be.
#include "runtime/base/options.hpp"

#include <gmock/gmock.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>

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

class ConfigFile : public testing::Test {
 public:
  ~ConfigFile() override { std::remove(path_.c_str()); }

 protected:
  ConfigFile() {
    std::string pattern = testing::TempDir() + "empi-options-XXXXXX";
    ::close(::mkstemp(pattern.data()));
    path_ = pattern;
  }
  // What the program prints when it is told to read this; empty: it goes on.
  std::string refusal(const std::string& text) {
    std::ofstream(path_) << text;
    std::string program = "program", option = "--config";
    char* argv[] = {program.data(), option.data(), path_.data()};
    testing::internal::CaptureStderr();
    const auto code = read({.what = "", .reads_file = true, .options = {{"--finest", &finest_}}}, 3, argv);
    const std::string said = testing::internal::GetCapturedStderr();
    EXPECT_EQ(code.value_or(0) != 0, !said.empty());
    return said;
  }
  std::string path_;
  int finest_ = 1;
};

TEST_F(ConfigFile, HasOptionsOfTheProgramAndNothingElse) {
  EXPECT_EQ(refusal("# levels\nfinest = 17\n"), "");
  EXPECT_EQ(finest_, 17);
  for (const char* text : {"finset = 17\n", "finest = 17\nfinset = 3\n", "[mesh]\nfinest = 17\n"})
    EXPECT_THAT(refusal(text),
                testing::AllOf(testing::HasSubstr(path_), testing::ContainsRegex("finset|mesh"),
                               testing::HasSubstr("expected lines NAME = VALUE")))
        << text;
}

}  // namespace
}  // namespace empi::options
