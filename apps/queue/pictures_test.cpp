// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "apps/io/file_error.hpp"
#include "apps/queue/deadlines.hpp"
#include "apps/queue/shared.hpp"
#include "apps/queue/simulated.hpp"

namespace queue_pictures {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::SizeIs;

class Pictures : public ::testing::Test {
 public:
  Pictures() {
    std::string name = (fs::temp_directory_path() / "queue-pictures-XXXXXX").string();
    folder_ = mkdtemp(name.data());
  }
  ~Pictures() override { fs::remove_all(folder_); }

 protected:
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name) << text;
  }

  fs::path folder_;
};

// As `empi simulate` writes them.
TEST_F(Pictures, OfASimulationAreFour) {
  const std::string head =
      "job,class,submit,start,end,processors_requested,wait,turnaround,stretch,"
      "processor_seconds,changes\n";
  const std::string jobs = head + "1,rigid,0,0,100,4,0,100,1,400,0\n2,malleable,10,70,170,8,60,160,2,600,1\n";
  write("summary.json", R"({"processors": 8})");
  write("timeline.csv",
        "time,running,waiting,held,promised\n0,1,0,4,0\n10,1,1,4,4\n70,2,0,8,0\n170,0,0,0,0\n");
  write("jobs.csv", jobs);
  write("jobs-easy.csv", jobs);
  std::vector<std::string> names;
  for (const fs::path& picture : draw_simulated(folder_)) {
    names.push_back(picture.filename().string());
    EXPECT_GT(fs::file_size(picture), 1000u) << picture;
  }
  EXPECT_THAT(names, ElementsAre("utilisation.png", "waits.png", "sizes.png", "gantt.png"));
  const auto plain = std::filesystem::file_size(folder_ / "gantt.png");
  write("jobs.csv",
        head.substr(0, head.size() - 1) +
            ",deadline\n1,rigid,0,0,100,4,0,100,1,400,0,150\n2,malleable,10,70,170,8,60,160,2,600,1,120\n");
  draw_simulated(folder_);
  EXPECT_NE(fs::file_size(folder_ / "gantt.png"), plain) << "the second job is late";
  write("jobs.csv", "job,class\n1,rigid\n");
  EXPECT_THROW(draw_simulated(folder_), io::FileError);
}

// As `empi run` writes them: a line of the profile is of the window that ends then.
TEST_F(Pictures, OfASharedMachineAddUpItsJobs) {
  write("b/summary.json", R"({"job": "b", "result": "Succeeded", "start_time_s": 1010, "run_time_s": 20,
                              "changes": [{"outcome": "committed"}, {"outcome": "aborted"}]})");
  write("b/profile.csv", "time_s,ranks\n10,2\n20,6\n");
  write("a/summary.json", R"({"job": "a", "result": "Failed", "start_time_s": 1000, "run_time_s": 10})");
  write("a/profile.csv", "time_s,ranks\n8,4\n10,4\n");  // it has waited for 6 s
  write("c/notes.txt", "no job");
  const auto jobs = read_shared(folder_);
  ASSERT_THAT(jobs, SizeIs(2));
  EXPECT_THAT(jobs[0].seconds, ElementsAre(1000, 1006, 1008, 1010));
  EXPECT_THAT(jobs[0].workers, ElementsAre(0, 4, 4, 0));
  EXPECT_THAT(jobs[1].seconds, ElementsAre(1010, 1020, 1030));
  EXPECT_THAT(jobs[1].workers, ElementsAre(2, 6, 0));
  const auto summary = summary_of(jobs);
  EXPECT_EQ(summary["makespan_s"], 30);
  EXPECT_EQ(summary["worker_seconds"], 16 + 20 + 60);
  EXPECT_EQ(summary["jobs"][0]["job"], "a");
  EXPECT_EQ(summary["jobs"][1]["queued_s"], 10);
  EXPECT_EQ(summary["jobs"][1]["most_workers"], 6);
  EXPECT_EQ(summary["jobs"][1]["changes"], 1);
  write_shared(folder_, jobs);
  EXPECT_GT(fs::file_size(folder_ / "profile.png"), 1000u);
  EXPECT_TRUE(fs::exists(folder_ / "summary.json"));
}

// As `./dev demo deadline` leaves them; one of the runs is not over.
TEST_F(Pictures, OfDeadlinesTellWhichWereMetWithHowManyWorkers) {
  write("deadlines.csv", "run,deadline_s\nloose,100\ntight,40\nnever,5\nlast,200\n");
  write("loose/summary.json", R"({"result": "Succeeded", "finish_s": 96, "core_seconds": 192, "risks": []})");
  write("loose/profile.csv", "time_s,ranks\n1,8\n2,2\n");
  write("tight/summary.json", R"({"result": "Succeeded", "finish_s": 38, "core_seconds": 190, "risks": []})");
  write("tight/profile.csv", "time_s,ranks\n1,8\n2,5\n");
  write(
      "never/summary.json",
      R"({"result": "Succeeded", "finish_s": 30, "core_seconds": 240, "risks": [{"type": "DeadlineAtRisk"}]})");
  write("never/profile.csv", "time_s,ranks\n1,8\n");
  const auto runs = read_due(folder_);
  ASSERT_THAT(runs, SizeIs(3));
  EXPECT_EQ(runs[0].name, "never");
  EXPECT_FALSE(runs[0].met());
  EXPECT_TRUE(runs[0].at_risk);
  EXPECT_TRUE(runs[1].met());
  EXPECT_EQ(runs[1].mean_workers(), 5);
  EXPECT_EQ(runs[2].last_workers, 2);
  write_due(folder_, runs);
  EXPECT_GT(fs::file_size(folder_ / "deadlines.png"), 1000u);
  EXPECT_GT(fs::file_size(folder_ / "workers.png"), 1000u);
  EXPECT_TRUE(fs::exists(folder_ / "summary.json"));
}

}  // namespace
}  // namespace queue_pictures
