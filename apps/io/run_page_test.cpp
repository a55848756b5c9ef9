// SPDX-License-Identifier: Apache-2.0
#include "apps/io/run_page.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <regex>
#include <sstream>

#include "apps/io/follow.hpp"
#include "apps/io/report.hpp"
#include "apps/io/test_files.hpp"

namespace io {
namespace {

namespace fs = std::filesystem;

const PageText kText{"Waves & <tides>", "A job.", {{"wave", "The sea"}, {"gauge", "A gauge"}}};

class RunPage : public testing::Test {
 protected:
  std::string page() const {
    std::ifstream file(folder_.path("index.html"));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  std::vector<std::string> all(const std::string& pattern) const {
    const std::regex regex(pattern);
    const std::string text = page();
    std::vector<std::string> found;
    for (std::sregex_iterator it(text.begin(), text.end(), regex), end; it != end; ++it)
      found.push_back((*it)[1]);
    return found;
  }

  test::ScratchFolder folder_;
};

TEST_F(RunPage, ShowsEveryPictureThatIsThereInOrderAndNothingFromElsewhere) {
  for (const char* name : {"wave-0001.png", "wave-0000.png", "gauge-a b&'\"#%?.png", "resources.png",
                           "other.png", "notes.txt", "wave-0002.png.part77"})
    folder_.write(name, "x");
  write_page(folder_.path(""), kText, false);
  const std::vector<std::string> expected{"./resources.png", "./wave-0000.png", "./wave-0001.png",
                                          "./gauge-a%20b%26%27%22%23%25%3F.png", "./other.png"};
  auto sources = all("<img src=\"([^\"]*)\"");
  EXPECT_EQ(sources, expected);
  EXPECT_EQ(all("<a href=\"([^\"]*)\"><img"), expected);
  EXPECT_EQ(all("alt=\"([^\"]+)\"").size(), expected.size());
  EXPECT_NE(page().find("alt=\"The sea (0001)\""), std::string::npos);
  EXPECT_NE(page().find("<title>Waves &amp; &lt;tides&gt;</title>"), std::string::npos);
  EXPECT_EQ(page().find("//"), std::string::npos) << "a name on another host";
  EXPECT_EQ(page().find("http-equiv"), std::string::npos) << "loads itself again though the run has ended";
  EXPECT_EQ(pictures(folder_.path(""), kText).size(), expected.size());
}

TEST_F(RunPage, HasTheTablesThatItIsGiven) {
  PageText text = kText;
  text.tables = {{"Where the time went", {{"steps & more", "61.2 %"}}}, {"Nothing", {}}};
  write_page(folder_.path(""), text, false);
  EXPECT_NE(
      page().find("<h2>Where the time went</h2>\n<table>\n<tr><td>steps &amp; more</td><td>61.2 %</td></tr>"),
      std::string::npos)
      << page();
  EXPECT_EQ(page().find("Nothing"), std::string::npos);
}

TEST_F(RunPage, SaysTheDecisionsInWordsAndEscapesThem) {
  folder_.write("summary.json",
                R"({"job": "chile", "result": "Succeeded", "start_time_s": 1767322800, "run_time_s": 125,
    "changes": [{"from": 1, "to": 2, "outcome": "committed", "pause_ms": 12.4}],
    "decisions": [
      {"time": "2026-01-02T03:01:05.500Z", "from": 1, "to": 2, "reason": "MTCT 5 % < 20 % & falling",
       "predicted_s": 0.4, "achieved_s": 0.5},
      {"time": "2026-01-02T03:02:00Z", "from": 2, "to": 2, "reason": "<script>alert(1)</script>"}]})");
  write_page(folder_.path(""), kText, false);
  const std::string text = page();
  for (const char* part : {"After 1:06, from 1 to 2 workers: MTCT 5 % &lt; 20 % &amp; falling (an iteration "
                           "was predicted to take 0.4 s and "
                           "takes 0.5 s)",
                           "After 2:00, stay on 2 workers: &lt;script&gt;",
                           "1 to 2 workers: committed, the program stood still for 12 ms",
                           "The job chile has ended: Succeeded; it ran 2:05 and changed its size 1 times."})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
  EXPECT_EQ(text.find("<script"), std::string::npos);
}

TEST_F(RunPage, OfARunningJobLoadsItselfAgainAndBelievesNoSummaryOfAnEarlierRun) {
  folder_.write("summary.json", R"({"job": "old", "result": "Failed"})");
  folder_.write("progress.json", R"({"ranks": 4, "progress": 0.25, "time_s": 90, "end_s": 3600})");
  write_page(folder_.path(""), kText, true);
  EXPECT_NE(page().find("The job is running on 4 workers, 25 % done, simulated 1:30 of 1:00:00."),
            std::string::npos);
  EXPECT_NE(page().find("http-equiv=\"refresh\""), std::string::npos);
  EXPECT_EQ(page().find("Failed"), std::string::npos);
  folder_.write("progress.json", R"({"ranks": 4,)");
  write_page(folder_.path(""), kText, true);
  EXPECT_NE(page().find("The job is running."), std::string::npos) << "half a file";
}

TEST_F(RunPage, ATableLeavesOutTheLineThatIsBeingWritten) {
  const Table table(folder_.write("t.csv", "a,b\n1,2\n3"));
  EXPECT_EQ(table.numbers("b"), std::vector<double>{2});
  EXPECT_EQ(Table(folder_.write("t.csv", "a,b\n1,2\n3,4")).rows(), 1u) << "it may be 3,45";
}

TEST_F(RunPage, DrawsOfARunningJobWhatIsNewAndOnlyOnce) {
  const fs::path old = folder_.write("old", "x");
  fs::last_write_time(old, fs::file_time_type::clock::now() - std::chrono::hours(1));
  Drawing drawing = Drawing::of_running_job();
  int drawn = 0;
  const auto draw = [&] { ++drawn; };
  drawing.once(old, draw);
  drawing.once(folder_.path("missing"), draw);
  EXPECT_EQ(drawn, 0) << "of an earlier run, or nothing";
  const fs::path fresh = folder_.write("fresh", "x");
  EXPECT_NO_THROW(drawing.once(fresh, [] { throw FileError("half a file"); }));
  drawing.once(fresh, draw);
  EXPECT_EQ(drawn, 1) << "it had failed: again";
  drawing.once(fresh, draw);
  EXPECT_EQ(drawn, 1);
  fs::last_write_time(fresh, fs::file_time_type::clock::now() + std::chrono::seconds(1));
  drawing.once(fresh, draw);
  EXPECT_EQ(drawn, 2) << "written again";
  Drawing ended = Drawing::of_ended_run();
  ended.once(old, draw);
  EXPECT_EQ(drawn, 3);
  EXPECT_THROW(ended.once(old, [] { throw FileError("bad"); }), FileError);
}

TEST(Follow, EndsWithTheProcess) {
  int pipe_ends[2];
  ASSERT_EQ(pipe(pipe_ends), 0);
  const pid_t process = fork();
  if (process == 0) {
    close(pipe_ends[1]);
    char byte;
    [[maybe_unused]] const auto end = read(pipe_ends[0], &byte, 1);
    _exit(0);
  }
  close(pipe_ends[0]);
  int drawn = 0;
  follow(process, [&] {
    if (++drawn == 1) close(pipe_ends[1]);
  });
  EXPECT_GE(drawn, 1);
  EXPECT_EQ(waitpid(process, nullptr, 0), process);
  follow(process, [&] { ++drawn; });
  EXPECT_LE(drawn, 2) << "it has gone";
}

}  // namespace
}  // namespace io
