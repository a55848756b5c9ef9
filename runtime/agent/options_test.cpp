// SPDX-License-Identifier: Apache-2.0
// What the agent says of settings that make no sense: one clear line, exit status 2.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "runtime/agent/image_check.hpp"
#include "runtime/base/testing/places.hpp"

namespace empi::agent {
namespace {

struct Answer {
  int status = -1;
  std::string text;
};

// A run directory that is gone afterwards: an agent makes it before it reads its token.
struct Scratch {
  std::string folder = "/tmp/empi-options.XXXXXX";
  Scratch() {
    if (!mkdtemp(folder.data())) std::abort();
  }
  ~Scratch() { std::filesystem::remove_all(folder); }
};

// Runs the agent with these words before (NAME=value) and after it.
Answer agent(const std::string& variables, const std::string& flags = "-- true") {
  const Scratch scratch;
  const std::string command =
      "env EMPI_POD_ADDRESS=127.0.0.1 EMPI_TOKEN_FILE=/nowhere EMPI_RUN_DIR=" + scratch.folder + " " +
      variables + " '" + empi::testing::beside("elastic-mpi-agent") + "' " + flags + " 2>&1";
  FILE* out = popen(command.c_str(), "r");
  if (!out) return {};
  Answer answer;
  std::array<char, 4096> buffer;
  for (std::size_t n; (n = std::fread(buffer.data(), 1, buffer.size(), out)) > 0;)
    answer.text.append(buffer.data(), n);
  const int status = pclose(out);
  answer.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return answer;
}

struct Bad {
  const char *name, *value;
};
void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.name << "=" << bad.value; }

class BadVariable : public ::testing::TestWithParam<Bad> {};

TEST_P(BadVariable, IsNamedWithItsValue) {
  const Answer a = agent(std::string(GetParam().name) + "='" + GetParam().value + "'");
  EXPECT_EQ(a.status, 2) << a.text;
  EXPECT_NE(a.text.find(GetParam().name), a.text.npos) << a.text;
  EXPECT_NE(a.text.find(std::string("'") + GetParam().value + "' is refused: expected"), a.text.npos)
      << a.text;
}

INSTANTIATE_TEST_SUITE_P(Options, BadVariable,
                         ::testing::Values(Bad{"EMPI_AGENT_PORT", "abc"}, Bad{"EMPI_AGENT_PORT", "0"},
                                           Bad{"EMPI_AGENT_PORT", "-7400"}, Bad{"EMPI_AGENT_PORT", "65536"},
                                           Bad{"EMPI_AGENT_PORT", "74OO"}, Bad{"EMPI_SLOTS", "0"},
                                           Bad{"EMPI_SLOTS", "-2"}, Bad{"EMPI_SLOTS", "two"},
                                           Bad{"EMPI_SLOTS", "1.5"}, Bad{"EMPI_MODE", "elastic"},
                                           Bad{"EMPI_LOG_LEVEL", "loud"}, Bad{"EMPI_PARTITION_SECONDS", "-1"},
                                           Bad{"EMPI_PARTITION_SECONDS", "nan"},
                                           Bad{"EMPI_PARTITION_SECONDS", "soon"},
                                           Bad{"EMPI_WINDOW_MILLIS", "9"}, Bad{"EMPI_WINDOW_MILLIS", "1s"}));

TEST(Options, BadFlagsAreRefused) {
  for (const char* flags :
       {"--port abc -- true", "--port 0 -- true", "--slots -2 -- true", "--mode elastic -- true",
        "--partition-seconds nan -- true", "--no-such-flag -- true"}) {
    const Answer a = agent("", flags);
    EXPECT_EQ(a.status, 2) << flags << ": " << a.text;
    EXPECT_NE(a.text, "") << flags;
  }
}

TEST(Options, WhatIsMissingIsNamed) {
  EXPECT_NE(agent("", "").text.find("no command to run"), std::string::npos);
  EXPECT_NE(agent("EMPI_POD_ADDRESS=").text.find("EMPI_POD_ADDRESS (--address) is empty"), std::string::npos);
  EXPECT_NE(agent("EMPI_TOKEN_FILE=").text.find("EMPI_TOKEN_FILE (--token-file) is empty"),
            std::string::npos);
  const Answer no_token = agent("");
  EXPECT_EQ(no_token.status, 2);
  EXPECT_NE(no_token.text.find("no bearer token in '/nowhere'"), std::string::npos) << no_token.text;
}

// On a node so busy that loading the library takes too long, nothing is known, and nothing is refused.
TEST(Image, WhoseLibraryLoadsSlowlyIsNotRefused) {
  const auto version = default_mpi(std::chrono::microseconds(1));
  EXPECT_EQ(mpi_problem(version.value_or("Open MPI v5.0.7")), "");
}

// Decision K4: an image with another Open MPI is told at the start what to do.
TEST(Image, WithAnotherOpenMpiIsRefused) {
  EXPECT_EQ(mpi_problem("Open MPI v5.0.7, package: Debian OpenMPI"), "");
  EXPECT_NE(mpi_problem("MPICH Version: 4.2.0, built").find("is MPICH Version: 4.2.0, but"),
            std::string::npos);
  EXPECT_NE(mpi_problem("Open MPI v5.1.0"), "");
  EXPECT_NE(mpi_problem("").find("is something else"), std::string::npos);

  const std::string old = "LD_LIBRARY_PATH=" + empi::testing::of_build("runtime/agent/old_mpi");
  const Answer refused = agent(old);
  EXPECT_EQ(refused.status, 2);
  EXPECT_NE(refused.text.find("the image's libmpi.so.40 is Open MPI v4.1.6, but"), std::string::npos)
      << refused.text;
  EXPECT_NE(refused.text.find("build the program with Open MPI 5.0"), std::string::npos);
  const auto goes_on = [](const Answer& a) { return a.text.find("no bearer token") != std::string::npos; };
  EXPECT_TRUE(goes_on(agent(old + " EMPI_MODE=rigid"))) << "any MPI runs at a fixed size";
  EXPECT_TRUE(goes_on(agent(old + " EMPI_CHECK_MPI=no")));
  EXPECT_TRUE(goes_on(agent(""))) << "ours is the right one";
}

TEST(Options, AFlagWinsOverABadVariable) {
  const Answer a = agent("EMPI_SLOTS=none", "--slots 2 -- true");
  EXPECT_NE(a.text.find("no bearer token in '/nowhere'"), std::string::npos) << a.text;  // it got that far
}

}  // namespace
}  // namespace empi::agent
