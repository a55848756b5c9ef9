// SPDX-License-Identifier: Apache-2.0
// Promise: a run never goes on from the checkpoint of one whose state means something else, and is told why;
// and what it leaves says when it is worth nothing.
#include "apps/surrogate/app/results.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>

#include "apps/io/report.hpp"
#include "apps/io/run_folder.hpp"
#include "apps/io/test_files.hpp"
#include "apps/surrogate/app/testing/oscillator.hpp"
#include "apps/surrogate/app/testing/run_through.hpp"

namespace surrogate {
namespace {

struct Asked {
  Problem problem = test::oscillator();
  Settings settings;
};

struct Change {
  std::function<void(Asked&)> make;
  const char* named;  // in the refusal, as this run has it
};

void expect_refused(const Asked& before, const std::vector<Change>& changes) {
  const std::string checkpoint = describe_run(before.problem, before.settings, "{}");
  for (const auto& [make, named] : changes) {
    Asked now = before;
    make(now);
    const std::string refusal = io::test::file_error_of(
        [&] { io::expect_same_case(checkpoint, describe_run(now.problem, now.settings, "{}")); });
    const auto ours = refusal.find("this run is of [");
    EXPECT_NE(refusal.find(named, std::min(ours, refusal.size())), refusal.npos)
        << named << " in: " << refusal;
    EXPECT_EQ(refusal.find("reference points"), refusal.npos) << "is the same in both: " << refusal;
  }
}

TEST(CaseOfACheckpoint, HasTheMeasurements) {
  Asked measured;
  measured.problem.observed.assign(24, 0.5);
  measured.problem.noise = 0.1;
  expect_refused(measured, {
                               {[](Asked& r) { r.problem.observed[23] = 0.5 + 1e-15; }, "measurements "},
                               {[](Asked& r) { r.problem.noise = 0.2; }, "noise 0.2"},
                               {[](Asked& r) { r.problem.observed.clear(); }, "made-up measurements"},
                           });
}

TEST(CaseOfACheckpoint, HasWhatMeasurementsAreMadeUpFrom) {
  expect_refused({}, {
                         {[](Asked& r) { r.problem.truth[1] = 1.25; }, "truth [1.2,1.25,0.2]"},
                         {[](Asked& r) { r.problem.relative_noise = 0.25; }, "noise of 0.25 of their mean"},
                     });
}

// The state has rows of samples: how many, and how long, the settings say.
TEST(CaseOfACheckpoint, HasTheSampler) {
  expect_refused({}, {
                         {[](Asked& r) { r.settings.sampler.thin = 3; }, "each 3 steps a sample"},
                         {[](Asked& r) { r.settings.sampler.swap_every = 7; }, "exchanges each 7 steps"},
                         {[](Asked& r) { r.settings.sampler.rule = mcmc::SwapRule::Thesis; }, "by thesis"},
                         {[](Asked& r) { r.settings.sampler.acceptance = 0.2; }, "acceptance 0.2"},
                         {[](Asked& r) { r.settings.sampler.swap_acceptance = 0.2; }, "exchanges 0.2"},
                         {[](Asked& r) { r.settings.sampler.hottest = 10; }, "hottest 10"},
                         {[](Asked& r) { r.settings.sampler.spread = 1; }, "spread 1"},
                         {[](Asked& r) { r.settings.sampler.single = 1; }, "single 1"},
                         {[](Asked& r) { r.settings.sampler.seed = 5; }, "chains' seed 5"},
                         {[](Asked& r) { r.settings.sampler.burn_in = 5; }, "5 burnt in"},
                     });
}

TEST(CaseOfACheckpoint, HasTheSurrogate) {
  expect_refused({},
                 {
                     {[](Asked& r) { r.settings.boundary = sparse::Boundary::Points; }, "points boundary"},
                     {[](Asked& r) { r.settings.surrogate_error = false; }, "surrogate error ignored"},
                     {[](Asked& r) { r.settings.delayed_acceptance = true; }, "delayed acceptance"},
                     {[](Asked& r) { r.problem.outputs = 23; }, "23 outputs"},
                 });
}

// Of three ensembles, one sample over and over: of each another, or of all the same.
class StuckRun : public testing::TestWithParam<bool> {};

TEST_P(StuckRun, IsSaid) {
  Inversion inversion(test::oscillator(), test::short_run());
  test::run_through(inversion);
  const io::test::ScratchFolder folder;
  EXPECT_EQ(write_results(folder.path(""), "{}", inversion), std::vector<std::string>());
  auto& samples = inversion.state().samples;  // 3 ensembles of 20 rows of 3 coordinates and the density
  ASSERT_EQ(samples.size(), 240u);
  for (std::size_t at = 0; at < samples.size(); ++at) {
    const std::size_t ensemble = at / 80;
    if (at % 4 == 1) samples[at] = GetParam() ? 0.3 : 0.1 + 0.23 * static_cast<double>(ensemble);
  }
  EXPECT_EQ(write_results(folder.path(""), "{}", inversion), std::vector<std::string>{"frequency"});
  const nlohmann::json results = io::read_json(folder.path("surrogate.json"));
  EXPECT_TRUE(results.at("worst_split_rhat").is_null()) << results.at("worst_split_rhat");
  EXPECT_TRUE(results.at("parameters")[1].at("split_rhat").is_null());
  EXPECT_TRUE(results.at("parameters")[2].at("split_rhat").is_number());
  EXPECT_EQ(results.at("stuck"), nlohmann::json({"frequency"}));
}

INSTANTIATE_TEST_SUITE_P(InOnePlaceOrMore, StuckRun, testing::Bool());

// The report of a running job knows by it what is solved, and `empi` that a channel's cells are none of a
// mesh.
TEST(Progress, SaysWhatIsSolved) {
  Settings settings;
  settings.reference_points = 5;
  Inversion inversion(test::oscillator(), settings);
  test::run_phase(inversion);
  inversion.state().log.push_back({});
  const io::test::ScratchFolder folder;
  write_progress(folder.path(""), R"({"case": "wells.yaml", "reynolds": 40, "cells": 20})", inversion);
  nlohmann::json progress = io::read_json(folder.path("progress.json"));
  EXPECT_EQ(progress.value("case", ""), "wells.yaml");
  EXPECT_EQ(progress.value("reynolds", 0), 40);
  EXPECT_FALSE(progress.contains("cells"));
  write_progress(folder.path(""), "{}", inversion);
  EXPECT_FALSE(io::read_json(folder.path("progress.json")).contains("case"));
}

}  // namespace
}  // namespace surrogate
