// SPDX-License-Identifier: Apache-2.0
// What runs leave and reports read.
#include "apps/io/run_folder.hpp"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "apps/io/draw/colour.hpp"
#include "apps/io/report.hpp"
#include "apps/io/test_files.hpp"

namespace io {
namespace {

namespace fs = std::filesystem;

class RunFolder : public ::testing::Test {
 protected:
  test::ScratchFolder folder_;
};

TEST_F(RunFolder, IsClearedOfOldResultsOnly) {
  const std::regex ours(R"(cells\.csv|wave-\d{4}\.png|state\.grid)");
  for (const char* name :
       {"cells.csv", "wave-0001.png", "wave-0001.svg", "wave-1.png", "wave-1.svg", "notes.txt", "state.grid"})
    folder_.write(name, "x");
  clear_folder(folder_.path(""), ours, folder_.path("./state.grid"));
  for (const char* name : {"cells.csv", "wave-0001.png", "wave-0001.svg"})
    EXPECT_FALSE(fs::exists(folder_.path(name))) << name;
  for (const char* name : {"wave-1.png", "wave-1.svg", "notes.txt", "state.grid"})
    EXPECT_TRUE(fs::exists(folder_.path(name))) << name;
  clear_folder(folder_.path("new/folder"), ours);
  EXPECT_TRUE(fs::is_directory(folder_.path("new/folder")));
  EXPECT_THROW(clear_folder(folder_.path("notes.txt"), ours), FileError);
}

TEST_F(RunFolder, ProgressIsWrittenForProgramsAndPeople) {
  write_progress(folder_.path(""), {30, 120, 4, 5000, 3}, true);
  write_progress(folder_.path(""), {31, 120, 5, 5001, 3});  // too soon
  write_progress(folder_.path(""), {120, 120, 9, 700, 2}, true);
  const auto progress = read_json(folder_.path("progress.json"));
  EXPECT_EQ(progress.at("progress"), 1);
  EXPECT_EQ(progress.at("cells"), 700);
  const Table table(folder_.path("cells.csv"));
  EXPECT_EQ(table.numbers("simulated_s"), (std::vector<double>{30, 120}));
  EXPECT_EQ(table.numbers("cells"), (std::vector<double>{5000, 700}));
  EXPECT_EQ(table.texts("ranks"), (std::vector<std::string>{"3", "2"}));
  EXPECT_EQ(draw_resources(folder_.path(""), "title", "cells"), 3);
  EXPECT_TRUE(fs::exists(folder_.path("resources.png")));
}

TEST_F(RunFolder, ProfileIsOfTheWholeRun) {
  EXPECT_TRUE(read_profile(folder_.path("")).seconds.empty());
  folder_.write("cells.csv", "wall_clock_s,simulated_s,cells,ranks\n1000,0,9,4\n1900,5,9,4\n2800,9,9,2\n");
  Profile profile = read_profile(folder_.path(""));
  EXPECT_EQ(profile.seconds, (std::vector<double>{0, 900, 1800}));
  EXPECT_DOUBLE_EQ(profile.worker_hours(), 2);
  // A quarter of an hour before the first line and after the last one, on the sizes next to these.
  folder_.write("summary.json", R"({"start_time_s": -800, "run_time_s": 4500})");
  EXPECT_EQ(read_profile(folder_.path("")).seconds.size(), 3u) << "no time since 1970";
  folder_.write("summary.json", R"({"start_time_s": 100, "run_time_s": 3600})");
  profile = read_profile(folder_.path(""));
  EXPECT_EQ(profile.seconds, (std::vector<double>{0, 900, 1800, 2700, 3600}));
  EXPECT_EQ(profile.workers, (std::vector<double>{4, 4, 4, 2, 2}));
  EXPECT_DOUBLE_EQ(profile.worker_hours(), 3.5);
  folder_.write("summary.json", R"({"start_time_s": 100, "run_time_s": 800})");  // of another run
  EXPECT_EQ(read_profile(folder_.path("")).seconds.size(), 3u);
}

// Figure 5.6 (b) of the thesis.
TEST_F(RunFolder, ProfilesOfSeveralRunsAreInOnePicture) {
  fs::create_directory(folder_.path("elastic"));
  fs::create_directory(folder_.path("fixed"));
  const std::string head = "wall_clock_s,simulated_s,cells,ranks\n";
  folder_.write("elastic/cells.csv", head + "0,0,9,1\n1800,5,9,4\n3600,9,9,4\n");
  folder_.write("fixed/cells.csv", head + "50,0,9,4\n3050,9,9,4\n");
  const auto svg = [&](const std::vector<fs::path>& runs) {
    draw_profiles(runs);
    const std::vector<char> bytes = read_bytes((runs.front() / "profiles.svg").string());
    return std::string(bytes.data(), bytes.size());
  };
  const auto has = [](const std::string& picture, draw::Colour c) {
    char text[80];
    std::snprintf(text, sizeof text, "rgb(%.3f", 100 * c.r);
    return picture.find(text) != std::string::npos;
  };
  const std::string one = svg({folder_.path("elastic")}),
                    two = svg({folder_.path("elastic"), folder_.path("fixed/")});
  EXPECT_TRUE(fs::exists(folder_.path("elastic/profiles.png")));
  EXPECT_FALSE(fs::exists(folder_.path("fixed/profiles.png")));
  EXPECT_TRUE(has(one, draw::category(0)) && has(two, draw::category(0)));
  EXPECT_FALSE(has(one, draw::category(1)));
  EXPECT_TRUE(has(two, draw::category(1)));
  EXPECT_NE(test::file_error_of([&] {
              draw_profiles({folder_.path("elastic"), folder_.path("")});
            }).find("cells.csv: expected the profile of a run"),
            std::string::npos);
}

TEST_F(RunFolder, BadTablesNameTheLine) {
  const std::string path = folder_.write("t.csv", "a,b\n1,2\n3\n");
  EXPECT_NE(test::file_error_of([&] { Table t(path); }).find("t.csv:3: expected 2 columns"),
            std::string::npos);
  folder_.write("t.csv", "a,b\n1,2\n3,four\n");
  const Table table(path);
  EXPECT_EQ(table.rows(), 2u);
  EXPECT_EQ(table.numbers("a"), (std::vector<double>{1, 3}));
  EXPECT_NE(test::file_error_of([&] {
              table.numbers("b");
            }).find("t.csv:3: expected a number in column 'b', found 'four'"),
            std::string::npos);
  EXPECT_NE(test::file_error_of([&] { table.texts("c"); }).find("a column 'c'"), std::string::npos);
  EXPECT_EQ(Table(folder_.path("none.csv")).rows(), 0u);
}

TEST_F(RunFolder, JsonIsAnObjectOrNone) {
  EXPECT_TRUE(read_json(folder_.path("none.json")).empty());
  const std::string path = folder_.write("a.json", "[1]");
  EXPECT_THROW(read_json(path), FileError);
  EXPECT_EQ(run_text(folder_.path("")), "");
  folder_.write("summary.json", R"({"run_time_s": 61.4, "changes": [1, 2], "lost_total_s": 0.25})");
  EXPECT_EQ(run_text(folder_.path("")), "61 s, 2 changes of size, 0.25 s lost by them in all");
  folder_.write("summary.json", R"({"run_time_s": 61.4, "changes": [], "lost_total_s": null})");
  EXPECT_EQ(run_text(folder_.path("")), "61 s, 0 changes of size");
}

TEST_F(RunFolder, SnapshotsAreInOrder) {
  for (const char* name : {"snapshot-0002.vtkhdf", "snapshot-0001.vtkhdf", "snapshot-0001.vtkhdf.part",
                           "snapshot-0003.png", "other.vtkhdf"})
    folder_.write(name, "x");
  const auto found = snapshots(folder_.path(""));
  ASSERT_EQ(found.size(), 2u);
  EXPECT_EQ(snapshot_number(found[0]), "0001");
  EXPECT_EQ(snapshot_number(found[1]), "0002");
}

TEST_F(RunFolder, ARunThatGoesOnTellsItsCourseOnce) {
  cut_progress(folder_.path(""), 100);  // nothing there
  const std::string told = "wall_clock_s,simulated_s,cells,ranks\n1.000,0.0,8,1\n2.000,100.0,9,1\n";
  folder_.write("cells.csv", told + "3.000,100.5,9,1\n4.000,200.0,9,1\n");
  cut_progress(folder_.path(""), 100);
  EXPECT_EQ(std::string(read_bytes(folder_.path("cells.csv")).data(), told.size()), told);
  EXPECT_EQ(fs::file_size(folder_.path("cells.csv")), told.size());
}

TEST_F(RunFolder, ACheckpointOfAnotherCaseIsRefusedWithWhatDiffers) {
  const auto said = [](const std::string& checkpoint, const std::string& run) {
    return test::file_error_of([&] { expect_same_case(checkpoint, run); });
  };
  const auto expect = [&](const std::string& part, const std::string& text) {
    EXPECT_NE(text.find("of another case, " + part + ": give it"), text.npos) << text;
  };
  EXPECT_EQ(said("level 4", "level 4"), "");
  expect("of [level 4], and this run is of [level 5]", said("level 4", "level 5"));
  expect("of [level 4; slow], and this run is of [level 5]",
         said("level 4; seed 1; slow", "level 5; seed 1"));
  expect("of [], and this run is of [slow]", said("level 4", "level 4; slow"));
  expect("of [a; b], and this run is of [b; a]", said("a; b", "b; a"));
}

}  // namespace
}  // namespace io
