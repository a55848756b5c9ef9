// SPDX-License-Identifier: Apache-2.0
// Promise: twenty resizes of a running empi-spe10, grows, shrinks and both at once, rank 0 leaving again and
// again, neither lose water nor change its results beyond the solver's tolerance; nor does it to be killed,
// and to go on from a checkpoint on other ranks, nor to lose ranks on the way.
#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "apps/io/report.hpp"
#include "apps/io/test_files.hpp"
#include "runtime/agent/testing/local_pods.hpp"
#include "runtime/base/testing/places.hpp"
#include "runtime/protocol/names.hpp"

namespace {

namespace fs = std::filesystem;
using empi::ChangeStatus;
using empi::Member;
using empi::testing::LocalPods;

std::string program() { return empi::testing::beside("empi-spe10"); }

class ReservoirOnPods : public testing::Test {
 protected:
  void start(LocalPods& on, int ranks) {
    on.slots = 1;
    on.command = {program(), "--out", folder.path("resized")};
    on.command.insert(on.command.end(), arguments.begin(), arguments.end());
    members = on.launch(ranks);
    on.start(members);
  }
  void run_alone() {
    std::string alone = program() + " --out " + folder.path("alone");
    for (const auto& a : arguments) alone += " " + a;
    ASSERT_EQ(std::system((alone + " >/dev/null").c_str()), 0);
  }

  // `join` pods join while the `leave` oldest leave.
  void change(int join, std::size_t leave) {
    std::vector<std::string> remove;
    for (std::size_t k = 0; k < leave; ++k) remove.push_back(members[k].uid);
    const std::vector<Member> add = join > 0 ? pods.launch(join) : std::vector<Member>{};
    const ChangeStatus status = pods.change({.add = add, .remove = remove});
    if (status.outcome != empi::ChangeOutcome::Committed)
      throw std::runtime_error("change " + std::string(to_string(status.outcome)) + ": " + status.reason +
                               "\n" + pods.all_logs());
    members.erase(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(leave));
    members.insert(members.end(), add.begin(), add.end());
    ++changes;
  }

  void checkpointed(LocalPods& on) const {
    on.environment[empi::names::kCheckpointDir] = folder.path("checkpoints");
    on.environment[empi::names::kCheckpointSeconds] = "0.2";
  }
  int newest_checkpoint() const {
    std::error_code none;
    int newest = 0;
    for (const auto& entry : fs::directory_iterator(folder.path("checkpoints"), none))
      if (const fs::path file = entry.path(); file.extension() == ".h5")
        newest = std::max(newest, std::atoi(file.stem().extension().c_str() + 1));
    return newest;
  }

  // The mesh follows the front with refining and coarsening; a tight tolerance, so that the curves can be
  // compared.
  std::vector<std::string> arguments{
      "--data", "/none", "--layers",       "2",   "--coarsest",  "0",     "--finest",         "1",
      "--days", "100",   "--longest-step", "0.5", "--tolerance", "1e-11", "--snapshot-every", "0"};
  static constexpr std::size_t days = 9;  // of the arguments
  const io::test::ScratchFolder folder;
  LocalPods pods;
  std::vector<Member> members;
  int changes = 0;
};

nlohmann::json results_of(const fs::path& run) {
  const nlohmann::json results = io::read_json(run / "spe10.json");
  if (results.empty()) throw std::runtime_error("empi-spe10 left no results in " + run.string());
  return results;
}

// Largest relative difference of what two runs write about each step; water of a dry well is too small to
// compare. Solvers on other ranks may need an iteration more or less.
double largest_difference(const io::Table& a, const io::Table& b, const nlohmann::json& wells) {
  std::vector<std::string> names{"day",         "step_days",    "substeps", "mean_pressure_psi",
                                 "oil_stb_day", "water_stb_day"};
  for (const auto& well : wells)
    for (const char* what : {"_oil_stb_day", "_water_stb_day", "_bhp_psi"})
      names.push_back(well.at("name").get<std::string>() + what);
  double largest = 0;
  for (const std::string& name : names) {
    const std::vector<double> x = a.numbers(name), y = b.numbers(name);
    for (std::size_t k = 0; k < x.size(); ++k)
      if (std::abs(x[k]) > 1e-2) largest = std::max(largest, std::abs(x[k] - y[k]) / std::abs(x[k]));
  }
  return largest;
}

// All that must not depend on who computed.
void expect_same_results(const io::test::ScratchFolder& folder) {
  const nlohmann::json fixed = results_of(folder.path("alone")), resized = results_of(folder.path("resized"));
  EXPECT_EQ(resized.at("cells_final"), fixed.at("cells_final")) << "the meshes differ";
  EXPECT_EQ(resized.at("steps"), fixed.at("steps"));
  for (const auto& run : {fixed, resized}) {
    EXPECT_LT(std::abs(run.at("water_balance").get<double>()), 1e-12) << "water was lost or made";
    EXPECT_GE(run.at("saturation_range").at(0), 0);
    EXPECT_LE(run.at("saturation_range").at(1), 1);
  }
  const io::Table one(folder.path("alone/production.csv")), other(folder.path("resized/production.csv"));
  ASSERT_EQ(one.rows(), other.rows());
  EXPECT_LE(largest_difference(one, other, fixed.at("wells")), 1e-5);  // printed with seven digits
}

TEST_F(ReservoirOnPods, AKilledRunGoesOnFromACheckpoint) {
  {
    LocalPods first;
    checkpointed(first);
    first.environment["EMPI_SLOWDOWN"] = "6";
    start(first, 3);
    first.wait_until("a third checkpoint",
                     [&] { return fs::exists(folder.path("checkpoints/empi-spe10.000003.h5")); });
    for (const Member& m : members) first.signal(m.uid, SIGKILL);
    for (const Member& m : members) first.wait_for_end(m.uid);
  }
  checkpointed(pods);
  start(pods, 2);
  for (const Member& m : members) EXPECT_EQ(pods.wait_for_end(m.uid), 0) << pods.all_logs();
  EXPECT_NE(pods.all_logs().find("goes on from"), std::string::npos) << pods.all_logs();
  run_alone();
  expect_same_results(folder);
  const std::vector<double> ranks = io::Table(folder.path("resized/production.csv")).numbers("ranks");
  for (const double size : {3, 2}) EXPECT_NE(std::ranges::find(ranks, size), ranks.end()) << size;
}

// Where it is met does not matter, in a solve or between two.
TEST_F(ReservoirOnPods, LostRanksCostAFewStepsAndNoWater) {
  arguments[days] = "40";
  pods.environment["EMPI_SLOWDOWN"] = "6";
  checkpointed(pods);
  start(pods, 3);
  for (const std::size_t left : {2, 1}) {
    const int before = newest_checkpoint();
    pods.wait_until("a checkpoint of those who are there, and so their copies",
                    [&] { return newest_checkpoint() > before; });
    kill(pods.ranks(members[left].uid).front(), SIGKILL);
    pods.wait_until("the others go on", [&] {
      const auto view = pods.membership();
      return view.membership.members.size() == left && view.recovering.empty();
    });
  }
  EXPECT_EQ(pods.wait_for_end(members[0].uid), 0) << pods.all_logs();
  run_alone();
  expect_same_results(folder);
}

TEST_F(ReservoirOnPods, TwentyResizesKeepWaterAndResults) {
  pods.environment["EMPI_SLOWDOWN"] = "12";  // so that the run lasts longer than all changes
  start(pods, 1);
  for (int round = 0; round < 4; ++round) {
    change(2, 0);
    change(1, 2);
    change(2, 0);
    if (round == 3) pods.environment.erase("EMPI_SLOWDOWN");  // who stays does the rest at full speed
    change(1, 2);
    change(0, 2);
  }
  ASSERT_EQ(changes, 20);
  ASSERT_EQ(members.size(), 1u);
  EXPECT_EQ(pods.wait_for_end(members[0].uid), 0) << pods.all_logs();

  run_alone();
  expect_same_results(folder);
  const io::Table other(folder.path("resized/production.csv"));
  const std::vector<double> ranks = other.numbers("ranks");
  const auto last = std::ranges::find_if(ranks.rbegin(), ranks.rend(), [](double n) { return n > 1; });
  std::printf("%td of %zu steps until the last change\n", ranks.rend() - last, other.rows());
  // It ran on each of these sizes.
  for (const double size : {1, 2, 3, 4})
    EXPECT_NE(std::ranges::find(ranks, size), ranks.end()) << "no step on " << size;
  EXPECT_EQ(io::read_profile(folder.path("resized")).workers.front(), 1);
}

}  // namespace
