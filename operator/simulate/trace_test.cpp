// SPDX-License-Identifier: Apache-2.0
#include "operator/simulate/trace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace emj::simulate {
namespace {

using testing::HasSubstr;

constexpr char kJob[] = "1 10 -1 100 4 -1 -1 8 200 -1 1 7 -1 -1 -1 -1 -1 -1\n";

std::string refusal(const std::string& text) {
  const auto trace = parse_trace(text, "t.swf");
  return trace ? "none" : trace.error().message;
}

TEST(Trace, IsReadWithTheSizeOfItsMachine) {
  const auto trace = parse_trace("; Version: 2.2\r\n; MaxNodes: 50\n;MaxProcs: 100\n\n" + std::string(kJob) +
                                     "2 5 -1 0 -1 -1 -1 2 -1 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
                                     "3 6 -1 -1 -1 -1 -1 2 -1 -1 5 -1 -1 -1 -1 -1 -1 -1\n"
                                     "4 7 -1 10 -1 -1 -1 -1 -1 -1 1 -1 -1 -1 -1 -1 -1 -1",
                                 "t.swf");
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace.value().processors, 100);
  ASSERT_EQ(trace.value().jobs.size(), 2u);
  EXPECT_EQ(trace.value().cancelled, 1);
  EXPECT_EQ(trace.value().without_size, 1);
  const TraceJob& first = trace.value().jobs[0];
  EXPECT_EQ(first.number, 2) << "by submit time";
  EXPECT_EQ(first.processors, 2);
  EXPECT_EQ(first.run_seconds, 1);
  EXPECT_EQ(first.estimate, 1) << "the run time where the user says nothing";
  const TraceJob& second = trace.value().jobs[1];
  EXPECT_EQ(second.processors, 4) << "what it got, not what it asked for";
  EXPECT_EQ(second.estimate, 200);
  EXPECT_EQ(second.user, 7);
}

// A second would make any scheduler look good.
TEST(Trace, LeavesOutJobsOfWhichNobodyKnowsHowLongTheyRan) {
  const auto trace = parse_trace(std::string(kJob) +
                                     "2 5 -1 -1 2 -1 -1 2 100 -1 1 -1 -1 -1 -1 -1 -1 -1\n"
                                     "3 6 -1 -1 2 -1 -1 2 100 -1 0 -1 -1 -1 -1 -1 -1 -1\n"
                                     "4 7 -1 0 2 -1 -1 2 100 -1 0 -1 -1 -1 -1 -1 -1 -1\n",
                                 "t.swf");
  ASSERT_TRUE(trace.ok());
  EXPECT_EQ(trace.value().without_run_time, 2);
  EXPECT_EQ(trace.value().cancelled, 0);
  ASSERT_EQ(trace.value().jobs.size(), 2u);
  EXPECT_EQ(trace.value().jobs[0].run_seconds, 1) << "it was over within its first second";
}

TEST(Trace, HasCommentsBehindJobsToo) {
  std::string line = kJob;
  line.insert(line.size() - 1, " ; namespace=a name=b");
  const auto trace = parse_trace(line, "t.swf");
  ASSERT_TRUE(trace.ok()) << trace.error().message;
  EXPECT_EQ(trace.value().jobs[0].processors, 4);
}

TEST(Trace, SaysAHeaderThatGivesNoSize) {
  EXPECT_EQ(refusal("; MaxProcs: many\n" + std::string(kJob)),
            "t.swf:1: MaxProcs: expected a whole number, at most 1000000, found 'many'");
  EXPECT_THAT(refusal("; MaxNodes: 8.5\n" + std::string(kJob)), HasSubstr("t.swf:1: MaxNodes: "));
  EXPECT_THAT(refusal("; MaxProcs: 1,152\n" + std::string(kJob)), HasSubstr("found '1,152'"));
  EXPECT_THAT(refusal("; MaxProcs: 2000000\n" + std::string(kJob)), HasSubstr("found '2000000'"));
  EXPECT_THAT(refusal("; MaxProcs: 99999999999\n" + std::string(kJob)), HasSubstr("found '99999999999'"));
  const auto unknown = parse_trace("; MaxNodes: -1\n; MaxProcs:\n" + std::string(kJob), "t.swf");
  ASSERT_TRUE(unknown.ok()) << unknown.error().message;
  EXPECT_EQ(unknown.value().processors, 0);
  EXPECT_EQ(parse_trace("; MaxProcs: 128 (two of them log in)\n" + std::string(kJob), "t").value().processors,
            128);
}

TEST(Trace, IsRefusedByLineAndField) {
  EXPECT_EQ(refusal(std::string(kJob) + "1 2 3\n"),
            "t.swf:2: expected 18 fields, found 3; is the file cut off?");
  EXPECT_EQ(refusal("1 x -1 100 4 -1 -1 8 200 -1 1 7 -1 -1 -1 -1 -1 -1\n"),
            "t.swf:1: field 2 (submit time): expected a number, found 'x'");
  EXPECT_EQ(refusal("1 10 -1 nan 4 -1 -1 8 200 -1 1 7 -1 -1 -1 -1 -1 -1\n"),
            "t.swf:1: field 4 (run time): expected a number from -1e10 to 1e10, found 'nan'");
  EXPECT_THAT(refusal("1 10 -1 -1e11 4 -1 -1 8 200 -1 1 7 -1 -1 -1 -1 -1 -1\n"),
              HasSubstr("expected a number from -1e10 to 1e10, found '-1e11'"));
  EXPECT_THAT(refusal("1 10 -1 1e300 4 -1 -1 8 200 -1 1 7 -1 -1 -1 -1 -1 -1\n"),
              HasSubstr("field 4 (run time)"));
  EXPECT_THAT(refusal("1 -5 -1 1 4 -1 -1 8 200 -1 1 7 -1 -1 -1 -1 -1 -1\n"),
              HasSubstr("field 2 (submit time): expected 0"));
  EXPECT_THAT(refusal("1 5 -1 1 1e9 -1 -1 8 200 -1 1 7 -1 -1 -1 -1 -1 -1\n"),
              HasSubstr("field 5 (allocated processors)"));
  EXPECT_THAT(refusal(std::string(kJob, sizeof kJob - 2) + " 7\n"), HasSubstr("found more"));
  EXPECT_THAT(refusal("; MaxProcs: 4\n"), HasSubstr("there is no job in it"));
}

class Files : public testing::Test {
 public:
  Files() {
    std::string name = (std::filesystem::temp_directory_path() / "empi-trace-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~Files() override { std::filesystem::remove_all(folder_); }

 protected:
  std::string write(const char* name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return (folder_ / name).string();
  }
  // What xz makes of it.
  std::string compressed(const std::string& text) {
    const std::string plain = write("plain", text);
    EXPECT_EQ(std::system(("xz --keep --force '" + plain + "'").c_str()), 0);
    std::ifstream file(plain + ".xz", std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static std::string trouble(const std::string& path) {
    const auto trace = read_trace(path);
    return trace ? "none" : trace.error().message;
  }

  std::filesystem::path folder_;
};

TEST_F(Files, MayBeCompressedAndAreNeverReadInPart) {
  const std::string data = compressed(kJob);
  EXPECT_EQ(trouble(write("a.swf.xz", data)), "none");
  EXPECT_EQ(trouble(write("a.swf", data)), "none") << "by its content";
  EXPECT_THAT(trouble(write("half.swf.xz", data.substr(0, data.size() - 20))),
              HasSubstr("is cut off or damaged"));
  EXPECT_THAT(trouble(write("empty.swf.xz", "")), HasSubstr("is cut off or damaged"));
  EXPECT_THAT(trouble(write("a.swf.gz", "\x1f\x8b\x08")), HasSubstr("gunzip it"));
  EXPECT_THAT(trouble((folder_ / "none").string()), HasSubstr("cannot be opened: No such file"));
  EXPECT_THAT(trouble(folder_.string()), HasSubstr("cannot be read: Is a directory"));
}

TEST_F(Files, WhatIsNoTextIsNotReadToItsEnd) {
  EXPECT_THAT(trouble("/dev/zero"), HasSubstr("is no text"));
  EXPECT_THAT(trouble(write("zeros.swf.xz", compressed(std::string(1 << 24, '\0')))),
              HasSubstr("is no text"));
}

}  // namespace
}  // namespace emj::simulate
