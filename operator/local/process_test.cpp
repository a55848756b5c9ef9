// SPDX-License-Identifier: Apache-2.0
#include "operator/local/process.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

namespace emj::local {
namespace {

class WithPath {
 public:
  explicit WithPath(const char* path) : before_(std::getenv("PATH")) { setenv("PATH", path, 1); }
  WithPath(const WithPath&) = delete;
  WithPath& operator=(const WithPath&) = delete;
  ~WithPath() { setenv("PATH", before_.c_str(), 1); }

 private:
  std::string before_;
};

// Debian has it in /usr/sbin, and that is in no ordinary user's PATH.
TEST(RunProgram, FindsWhatLimitsTheNetwork) {
  const WithPath of_a_user("/usr/local/bin:/usr/bin:/bin:/usr/games");
  const ProgramResult found = run_program({"tc", "-Version"});
  EXPECT_TRUE(found.ok()) << found.output;
}

TEST(RunProgram, SaysWhatThereIsNot) {
  const ProgramResult none = run_program({"no-such-program"});
  EXPECT_EQ(none.exit_code, 127);
  EXPECT_EQ(none.output, "no-such-program: No such file or directory");
  EXPECT_EQ(run_program({"/no/such/program"}).exit_code, 127);
}

}  // namespace
}  // namespace emj::local
