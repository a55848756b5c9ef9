// SPDX-License-Identifier: Apache-2.0
// Promise: a tsunami that is killed goes on from its newest checkpoint, on another number of ranks, and ends
// as if nothing had happened: the same bits in each cell, the same gauges, one course of the run. One that
// loses a rank on the way does so, too, without a new start.
#include <gtest/gtest.h>
#include <netcdf.h>
#include <signal.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "apps/io/report.hpp"
#include "apps/io/test_files.hpp"
#include "apps/tsunami/app/snapshot.hpp"
#include "runtime/agent/testing/local_pods.hpp"
#include "runtime/base/testing/places.hpp"
#include "runtime/protocol/names.hpp"

namespace {

namespace fs = std::filesystem;
using empi::Member;
using empi::testing::LocalPods;

std::string program() { return empi::testing::beside("empi-tsunami"); }

class TsunamiOnPods : public testing::Test {
 protected:
  // One start of the job; all write checkpoints to the same folder.
  struct Run {
    Run(const TsunamiOnPods& test, int ranks, const std::string& slowdown, const std::string& finest = "13") {
      pods.slots = 1;
      pods.environment["EMPI_SLOWDOWN"] = slowdown;
      pods.environment[empi::names::kCheckpointDir] = test.folder.path("checkpoints");
      pods.environment[empi::names::kCheckpointSeconds] = "0.2";
      pods.command = {program(), "--out", test.folder.path("out"), "--finest", finest};
      pods.command.insert(pods.command.end(), test.arguments.begin(), test.arguments.end());
      members = pods.launch(ranks);
      pods.start(members);
    }
    LocalPods pods;
    std::vector<Member> members;
  };

  int checkpoints() const {
    std::error_code none;
    int count = 0;
    for (const auto& entry : fs::directory_iterator(folder.path("checkpoints"), none))
      count += entry.path().extension() == ".h5";
    return count;
  }
  std::string content(const std::string& name) const {
    std::ifstream in(folder.path(name));
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::vector<double> maxima(const std::string& run) const {
    int file = 0;
    EXPECT_EQ(nc_open(folder.path(run + "/maxima.nc").c_str(), NC_NOWRITE, &file), NC_NOERR);
    std::vector<double> all;
    for (const char* name : {"max_elevation", "max_speed", "max_flood_depth", "arrival_time"}) {
      std::vector<double> values(240 * 240);
      int id = 0;
      EXPECT_EQ(nc_inq_varid(file, name, &id), NC_NOERR) << name;
      EXPECT_EQ(nc_get_var_double(file, id, values.data()), NC_NOERR) << name;
      all.insert(all.end(), values.begin(), values.end());
    }
    nc_close(file);
    EXPECT_GT(std::ranges::count_if(all, [](double v) { return v > 0; }), 10000);
    return all;
  }

  // But for whose a cell is.
  void expect_same_snapshot(const std::string& name) const {
    const auto read = [&](const char* run) { return tsunami::read_snapshot(folder.path(run + name)); };
    const tsunami::Snapshot disturbed = read("out"), undisturbed = read("alone");
    EXPECT_EQ(disturbed.time, undisturbed.time) << name;
    ASSERT_EQ(disturbed.cells.size(), undisturbed.cells.size()) << name;
    for (std::size_t i = 0; i < disturbed.cells.size(); ++i) {
      tsunami::SnapshotCell cell = disturbed.cells[i];
      cell.owner = undisturbed.cells[i].owner;
      ASSERT_EQ(cell, undisturbed.cells[i]) << name << ", cell " << i;
    }
  }

  // By the tasks of the thesis' table 5.3 (mean of the ranks), whoever came and went: no more than it took,
  // and most of it.
  void expect_times_of_the_whole_run() const {
    double all = 0;
    const auto tasks = io::read_json(fs::path(folder.path("out")) / "tsunami.json").at("seconds_by_task");
    for (const auto& [task, seconds] : tasks.items()) {
      EXPECT_GE(seconds.get<double>(), 0) << task;
      all += seconds.get<double>();
    }
    EXPECT_GT(tasks.at("resource adaptation").get<double>(), 0);
    const std::vector<double> clock = io::Table(folder.path("out/cells.csv")).numbers("wall_clock_s");
    const double took = clock.back() - clock.front();
    EXPECT_GT(all, 0.5 * took) << tasks;
    EXPECT_LT(all, took + 1) << tasks << ": what is before the first line";
  }

  // "out" is what a run of one rank gives that nothing happened to.
  void expect_as_undisturbed() const {
    std::string alone = program() + " --out " + folder.path("alone") + " --finest 13";
    for (const auto& a : arguments) alone += " " + a;
    ASSERT_EQ(std::system((alone + " >/dev/null").c_str()), 0);
    const auto results = [&](const char* run) {
      return io::read_json(fs::path(folder.path(run)) / "tsunami.json");
    };
    const nlohmann::json undisturbed = results("alone"), disturbed = results("out");
    for (const char* figure : {"state_hash", "steps", "cell_updates", "cells_final"})
      EXPECT_EQ(disturbed.at(figure), undisturbed.at(figure)) << figure;
    EXPECT_EQ(content("out/gauge-buoy.csv"), content("alone/gauge-buoy.csv"));
    EXPECT_EQ(maxima("out"), maxima("alone"));
    for (int k = 0; k <= 4; ++k) expect_same_snapshot("/snapshot-000" + std::to_string(k) + ".vtkhdf");
    EXPECT_EQ(content("out/tsunami.vtkhdf.series"), content("alone/tsunami.vtkhdf.series"));
    const std::vector<double> times = io::Table(folder.path("out/cells.csv")).numbers("simulated_s");
    EXPECT_TRUE(std::ranges::is_sorted(times)) << "the course of the run is told twice";
  }

  // Adapted after each step, so that whatever happens finds a mesh that has just changed.
  // Whatever the water depends on goes on with it: the earthquake, a wave from the north, a sponge, a rough
  // harbour.
  const io::test::ScratchFolder folder;
  const std::vector<std::string> arguments{
      "--data",
      "/none",
      "--end",
      "14400",
      "--snapshot-every",
      "3600",
      "--gauge",
      "buoy:-86.4:-17.98",
      "--adapt-every",
      "1",
      "--faults",
      folder.write(
          "maule.csv",
          "lon,lat,depth_km,length_km,width_km,strike,dip,rake,slip_m\n-72.668,-35.826,35,450,100,16,14,"
          "104,15\n"),
      "--border",
      "north:wave:" + folder.write("wave.txt", "0 0\n300 0.1\n900 -0.1\n1200 0\n"),
      "--border",
      "west:sponge:1500",
      "--manning",
      folder.write(
          "harbour.asc",
          "2 ncols\n2 nrows\n-74 xll\n-38 yll\n4 cellsize\n-9999 nodata_value\n0.06 0.05\n0.1 0.04\n") +
          ":0.03"};
};

TEST_F(TsunamiOnPods, AKilledRunGoesOnAndEndsInTheSameBits) {
  {
    Run run(*this, 3, "20");
    run.pods.wait_until("two checkpoints and a picture", [&] {
      return checkpoints() >= 2 && fs::exists(folder.path("out/snapshot-0001.vtkhdf"));
    });
    for (const Member& m : run.members) run.pods.signal(m.uid, SIGKILL);
    for (const Member& m : run.members) run.pods.wait_for_end(m.uid);
  }
  {
    Run other(*this, 1, "1", "14");
    EXPECT_EQ(other.pods.wait_for_end(other.members[0].uid), 2);
    EXPECT_NE(other.pods.all_logs().find("the checkpoint is of another case"), std::string::npos)
        << other.pods.all_logs();
  }
  Run again(*this, 2, "1");
  for (const Member& m : again.members) EXPECT_EQ(again.pods.wait_for_end(m.uid), 0) << again.pods.all_logs();
  EXPECT_NE(again.pods.all_logs().find("goes on from"), std::string::npos) << again.pods.all_logs();

  expect_as_undisturbed();
}

TEST_F(TsunamiOnPods, ALostRankCostsAFewStepsAndNoBit) {
  Run run(*this, 3, "8");
  run.pods.wait_until("copies and a picture", [&] {
    return run.pods.membership().survives_loss && fs::exists(folder.path("out/snapshot-0001.vtkhdf"));
  });
  kill(run.pods.ranks(run.members[2].uid).front(), SIGKILL);
  run.pods.wait_until("the others go on", [&] {
    const auto view = run.pods.membership();
    return view.membership.members.size() == 2 && view.recovering.empty();
  });
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(run.pods.wait_for_end(run.members[i].uid), 0) << run.pods.all_logs();
  EXPECT_NE(run.pods.all_logs().find("the job goes on from iteration"), std::string::npos);
  expect_as_undisturbed();
  expect_times_of_the_whole_run();
}

}  // namespace
