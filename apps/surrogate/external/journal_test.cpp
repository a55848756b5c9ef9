// SPDX-License-Identifier: Apache-2.0
// Promise: a finished forward run is never done again, whoever has done it; what a crash has cut is.
#include "apps/surrogate/external/journal.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "apps/io/file_error.hpp"
#include "apps/io/test_files.hpp"

namespace surrogate {
namespace {

namespace fs = std::filesystem;

struct Journaled {
  explicit Journaled(const fs::path& folder, const std::string& identity = "m")
      : model(with_journal([this](auto p, auto y) { ++runs, y[0] = p[0] / 3, y[1] = -p[1]; }, folder.string(),
                           identity, 2, 2)) {}
  std::vector<double> operator()(double a, double b) {
    std::vector<double> y(2);
    model(std::vector<double>{a, b}, y);
    return y;
  }
  int runs = 0;
  ForwardModel model;
};

std::vector<fs::path> files(const fs::path& folder) {
  return {fs::directory_iterator(folder), fs::directory_iterator()};
}

TEST(Journal, KeepsARunForWhoeverComesNext) {
  const io::test::ScratchFolder folder;
  const fs::path runs = folder.path("runs");
  Journaled first(runs);
  const auto y = first(0.1, 2);
  EXPECT_EQ(first(0.1, 2), y);
  EXPECT_EQ(first.runs, 1);
  first(-0.0, 2);
  first(0.0, 2);  // other bits
  EXPECT_EQ(first.runs, 3);
  Journaled second(runs);
  EXPECT_EQ(second(0.1, 2), y);
  EXPECT_EQ(second.runs, 0);
  second(5, 5);
  EXPECT_EQ(files(runs).size(), 2U) << "a file for each writer";
  Journaled third(runs);
  third(5, 5);
  third(0.1, 2);
  EXPECT_EQ(third.runs, 0);
}

// A worker that takes over from one that was lost has been running for long.
TEST(Journal, FindsWhatOthersHaveFinishedMeanwhile) {
  const io::test::ScratchFolder folder;
  Journaled lost(folder.path("runs")), other(folder.path("runs"));
  const auto y = lost(1, 2);
  EXPECT_EQ(other(1, 2), y);
  EXPECT_EQ(other.runs, 0);
  lost(3, 4);
  other(5, 6);
  EXPECT_EQ(other(3, 4), lost(3, 4)) << "its file has grown";
  EXPECT_EQ(lost(5, 6), other(5, 6));
  EXPECT_EQ(lost.runs, 2);
  EXPECT_EQ(other.runs, 1);
}

TEST(Journal, ALineThatIsBeingWrittenIsReadWhenItIsWhole) {
  const io::test::ScratchFolder folder;
  Journaled{folder.path("elsewhere")}(1, 2);
  const std::vector<char> bytes = io::read_bytes(files(folder.path("elsewhere")).at(0).string());
  const std::string text(bytes.begin(), bytes.end());
  Journaled reader(folder.path("runs"));
  for (const std::size_t size : {std::size_t{0}, std::size_t{5}, text.size() - 5}) {
    folder.write("runs/theirs.runs", text.substr(0, size));
    reader(static_cast<double>(size), 0);
  }
  EXPECT_EQ(reader.runs, 3);
  folder.write("runs/theirs.runs", text);
  reader(1, 2);
  EXPECT_EQ(reader.runs, 3);
}

TEST(Journal, OutlivesAProcessThatIsKilled) {
  const io::test::ScratchFolder folder;
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    Journaled journal(folder.path("runs"));
    journal(1, 2);
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  Journaled after(folder.path("runs"));
  after(1, 2);
  EXPECT_EQ(after.runs, 0);
}

TEST(Journal, ALineThatIsCutOrDamagedIsNoRun) {
  const io::test::ScratchFolder folder;
  {
    Journaled journal(folder.path("runs"));
    journal(1, 2);
    journal(3, 4);
  }
  const fs::path file = files(folder.path("runs")).at(0);
  fs::resize_file(file, fs::file_size(file) - 3);
  Journaled cut(folder.path("runs"));
  cut(1, 2);
  EXPECT_EQ(cut.runs, 0);
  cut(3, 4);
  EXPECT_EQ(cut.runs, 1);
  std::fstream damaged(file, std::ios::in | std::ios::out);
  std::string head;
  std::getline(damaged, head);
  damaged.seekp(static_cast<std::streamoff>(head.size()) + 6);
  damaged << "9";
  damaged.close();
  Journaled after(folder.path("runs"));
  after(1, 2);
  EXPECT_EQ(after.runs, 1);
}

TEST(Journal, OfAnotherModelIsRefused) {
  const io::test::ScratchFolder folder;
  Journaled{folder.path("runs"), "one"}(1, 2);
  EXPECT_THAT(io::test::file_error_of([&] { Journaled(folder.path("runs"), "two"); }),
              testing::AllOf(
                  testing::HasSubstr(".runs:1: expected '# finished runs of two, 2 parameters, 2 outputs'"),
                  testing::HasSubstr("empty the folder")));
}

TEST(Journal, AFolderThatCannotBeIsRefusedAtOnce) {
  const io::test::ScratchFolder folder;
  folder.write("file", "x");
  EXPECT_THROW(Journaled(folder.path("file/runs")), io::FileError);
}

}  // namespace
}  // namespace surrogate
