// SPDX-License-Identifier: Apache-2.0
// The whole inversion: the same bits in any order of the tasks and after a restart in the middle, and the
// truth where the posterior says it is.
#include "apps/surrogate/app/inversion.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <numeric>
#include <random>

#include "apps/io/file_error.hpp"
#include "apps/io/test_files.hpp"
#include "apps/surrogate/app/options.hpp"
#include "apps/surrogate/app/results.hpp"
#include "apps/surrogate/app/testing/oscillator.hpp"
#include "apps/surrogate/app/testing/run_through.hpp"
#include "apps/surrogate/sampler/diagnostics.hpp"

namespace surrogate {
namespace {

using test::oscillator;
using test::run_phase;

Settings small() {
  Settings s;
  s.reference_points = 50;
  s.tolerance = 0.01;
  s.ensembles = 4;
  s.samples = 4000;
  s.segment = 700;
  s.sampler.chains = 4;
  s.sampler.burn_in = 1500;
  return s;
}

mcmc::Sequences coordinate(const Inversion& inversion, std::size_t k) {
  const Parameter& p = inversion.problem().parameters[k];
  mcmc::Sequences result;
  for (const auto& rows : inversion.samples()) {
    auto& sequence = result.emplace_back();
    for (std::size_t at = 0; at < rows.size(); at += inversion.problem().parameters.size() + 1)
      sequence.push_back(p.low + (p.high - p.low) * rows[at + k]);
  }
  return result;
}

TEST(Inversion, TasksMayBeDoneInAnyOrder) {
  Inversion one(oscillator(), small()), other(oscillator(), small());
  std::mt19937 order(3);
  double progress = -1;
  while (!one.done()) {
    run_phase(one);
    EXPECT_GE(one.progress(), progress);
    progress = one.progress();
  }
  while (!other.done()) run_phase(other, &order);
  EXPECT_EQ(one.fingerprint(), other.fingerprint());
  EXPECT_EQ(one.progress(), 1);
  EXPECT_GT(one.state().builds.size(), 2u);
}

// What a joining rank does: it has the others' state and nothing else.
TEST(Inversion, GoesOnFromTheStateOfAnother) {
  Inversion whole(oscillator(), small());
  while (!whole.done()) run_phase(whole);
  Inversion before(oscillator(), small());
  while (!before.done()) {
    Inversion joined(oscillator(), small());
    joined.state() = before.state();
    joined.restore();
    run_phase(joined);
    run_phase(before);
    ASSERT_EQ(joined.fingerprint(), before.fingerprint()) << "phase " << before.state().phase;
    before.state() = joined.state();
    before.restore();
  }
  EXPECT_EQ(before.fingerprint(), whole.fingerprint());
}

TEST(Inversion, HierarchisesAsTasksWithTheSameResult) {
  Settings settings = small();
  Inversion whole(oscillator(), settings);
  while (!whole.done()) run_phase(whole);
  settings.hierarchise_as_tasks = 0;
  Inversion tasks(oscillator(), settings);
  int phases = 0;
  while (!tasks.done()) {
    phases += tasks.state().stage == Stage::Hierarchise ? 1 : 0;
    Inversion joined(oscillator(), settings);
    joined.state() = tasks.state();
    joined.restore();
    run_phase(tasks);
    run_phase(joined);
    ASSERT_EQ(joined.fingerprint(), tasks.fingerprint());
  }
  EXPECT_EQ(phases, static_cast<int>(tasks.state().builds.size()));
  EXPECT_EQ(tasks.fingerprint(), whole.fingerprint());
}

TEST(Inversion, TakesASurrogateThatIsThereAlready) {
  Inversion first(oscillator(), small());
  while (!first.done()) run_phase(first);
  Inversion second(oscillator(), small(), first.grid());
  int phases = 0;
  for (; !second.done(); ++phases) run_phase(second);
  EXPECT_EQ(second.samples(), first.samples());
  EXPECT_LT(phases, first.state().phase);
  Problem other = oscillator();
  other.outputs = 12;
  EXPECT_THROW(Inversion(other, small(), first.grid()), std::invalid_argument);
}

TEST(Inversion, ASurrogateOfAnotherModelIsRefused) {
  Problem other = oscillator();
  other.parameters[0].high = 3;
  const std::string note = R"({"cells": 20})", mine = describe_model(oscillator(), note);
  EXPECT_NO_THROW(check_model("file", mine, mine));
  EXPECT_NO_THROW(check_model("file", "{}", mine));  // nothing is known
  EXPECT_THROW(check_model("file", describe_model(other, note), mine), io::FileError);
  EXPECT_THROW(check_model("file", describe_model(oscillator(), R"({"cells": 40})"), mine), io::FileError);
}

// surrogate.grid of a run that ended early, or that was content with less, is a checkpoint.
TEST(Inversion, RefinesASurrogateThatIsThereAlready) {
  Inversion whole(oscillator(), small());
  while (!whole.done()) run_phase(whole);
  ASSERT_GT(whole.state().builds.size(), 2u);
  Settings early = small();
  early.most_points = std::llround(whole.state().builds[1].points);
  Inversion first(oscillator(), early);
  while (!first.done()) run_phase(first);
  Inversion second(oscillator(), small(), first.grid());
  Inversion joined(oscillator(), small());  // a rank that joins has no file
  joined.state() = second.state();
  joined.restore();
  while (!second.done()) run_phase(second);
  while (!joined.done()) run_phase(joined);
  EXPECT_EQ(joined.fingerprint(), second.fingerprint());
  EXPECT_GT(second.grid().size(), first.grid().size());
  EXPECT_EQ(second.state().nodes.size(), whole.state().nodes.size());
  EXPECT_EQ(second.state().values, whole.state().values);
  EXPECT_EQ(second.samples(), whole.samples());
}

TEST(Inversion, DelayedAcceptanceCorrectsAPoorSurrogate) {
  Settings settings = small();
  settings.tolerance = 1e-4;
  settings.samples = 12000;
  Inversion exact(oscillator(), settings);
  while (!exact.done()) run_phase(exact);
  settings.level = 2;
  settings.tolerance = 1;  // the first grid is good enough
  Inversion poor(oscillator(), settings);
  while (!poor.done()) run_phase(poor);
  settings.delayed_acceptance = true;
  Inversion corrected(oscillator(), settings);
  while (!corrected.done()) run_phase(corrected);
  EXPECT_EQ(corrected.grid().size(), 7u);
  double worst_without = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    const auto a = coordinate(exact, k), b = coordinate(corrected, k), c = coordinate(poor, k);
    const double error = std::hypot(mcmc::mcse(a), mcmc::mcse(b));
    EXPECT_NEAR(mcmc::mean(a), mcmc::mean(b), 4 * error) << "parameter " << k;
    worst_without = std::max(worst_without, std::abs(mcmc::mean(a) - mcmc::mean(c)) / error);
  }
  EXPECT_GT(worst_without, 10);  // without, the posterior is elsewhere
}

// Seed 000, section 7.4: error (7.33) of at most .06, there with 50 points, here with 500; and the obstacles.
TEST(Inversion, FindsTheObstacles) {
  const char* arguments[] = {"empi-surrogate", "--tolerance", "0.03", "--samples", "8000"};
  const Options options = parse_options(5, const_cast<char**>(arguments));
  ASSERT_EQ(options.settings.reference_points, 500);
  Inversion inversion(channel_problem(options), options.settings);
  while (!inversion.done()) run_phase(inversion);
  EXPECT_LE(inversion.state().builds.back().error, 0.06);
  EXPECT_LT(inversion.grid().size(), 500u);  // the thesis has 1306
  for (std::size_t k = 0; k < 8; ++k) {
    const auto values = coordinate(inversion, k);
    EXPECT_LT(mcmc::split_rhat(values), 1.02) << k;
    EXPECT_GT(mcmc::bulk_ess(values), 400) << k;
    EXPECT_GT(options.truth[k], mcmc::quantile(values, 0.0005)) << k;
    EXPECT_LT(options.truth[k], mcmc::quantile(values, 0.9995)) << k;
    // More is known than before: a uniform prior of width 1 has a deviation of .29.
    EXPECT_LT(mcmc::standard_deviation(values), 0.2) << k;
  }
  for (const mcmc::Ensemble& e : inversion.ensembles())
    for (std::size_t pair = 0; pair + 1 < e.chains.size(); ++pair) {
      EXPECT_GT(e.swapped[pair] / e.tried[pair], 0.1);
      EXPECT_LT(e.swapped[pair] / e.tried[pair], 0.6);
    }
}

// A noise of 0 would leave no density above 0 anywhere.
TEST(Measurements, OfNothingHaveNoNoise) {
  Problem p = oscillator();
  p.model = [](std::span<const double>, std::span<double> y) { std::ranges::fill(y, 0.0); };
  Inversion inversion(p, small());
  EXPECT_NE(io::test::file_error_of([&] { run_phase(inversion); }).find("outputs that are not all 0"),
            std::string::npos);
}

// It would go into the surrogate, and no error be above the tolerance.
TEST(Inversion, AnOutputThatIsNoNumberEndsItInEachStage) {
  for (const Stage stage : {Stage::Reference, Stage::Build, Stage::Sample})
    for (const double no_number : {std::nan(""), -std::numeric_limits<double>::infinity()}) {
      Problem p = oscillator();
      const auto broken = std::make_shared<bool>(false);
      p.model = [model = p.model, broken, no_number](std::span<const double> x, std::span<double> y) {
        model(x, y);
        if (*broken) y[2] = no_number;
      };
      Settings settings = small();
      settings.delayed_acceptance = true;  // runs the model while it samples
      Inversion inversion(p, settings);
      while (inversion.state().stage != stage) run_phase(inversion);
      *broken = true;
      const std::string said = io::test::file_error_of([&] { run_phase(inversion); });
      for (const char* word : {"output 3 = ", "amplitude = ", ", damping = "})
        EXPECT_NE(said.find(word), std::string::npos) << name_of(stage) << ": " << said;
    }
}

// The same by another way: outputs are finite, their squares are not.
TEST(Inversion, AnErrorThatIsNoNumberEndsIt) {
  Problem p = oscillator();
  p.model = [](std::span<const double> x, std::span<double> y) { std::ranges::fill(y, 1e200 * x[0] * x[1]); };
  Inversion inversion(p, small());
  run_phase(inversion);
  EXPECT_NE(io::test::file_error_of([&] { run_phase(inversion); }).find("scale the outputs"),
            std::string::npos);
}

TEST(Measurements, AreTheNumbersOfAFile) {
  const io::test::ScratchFolder folder;
  Options options;
  const int count = options.channel.outputs();
  std::string text = "\xEF\xBB\xBF# of ten sensors, 3.5\r\n";
  for (int k = 0; k < count; ++k) text += std::to_string(k) + (k % 3 == 0 ? ",# there\r\n" : " \t");
  options.observed = folder.write("v.txt", text);
  const std::vector<double> observed = channel_problem(options).observed;
  ASSERT_EQ(observed.size(), static_cast<std::size_t>(count));
  for (int k = 0; k < count; ++k) EXPECT_EQ(observed[static_cast<std::size_t>(k)], k);
  const auto refusal = [&](const std::string& word) {
    folder.write("v.txt", "1 2\n" + word + "\n");
    return io::test::file_error_of([&] { channel_problem(options); });
  };
  for (const std::string& bad :
       {std::string("nan"), std::string("1x"), std::string("0x1"), std::string("1\0002", 3)})
    EXPECT_TRUE(refusal(bad).starts_with("v.txt:2: expected a velocity in m/s, found '")) << refusal(bad);
  EXPECT_NE(refusal("3").find("found 3; complete the file"), std::string::npos);
}

TEST(Inversion, RefusesWhatMakesNoSense) {
  Problem p = oscillator();
  p.truth = {1};
  EXPECT_THROW(Inversion(p, small()), std::invalid_argument);
  p = oscillator();
  p.observed = {1, 2, 3};
  EXPECT_THROW(Inversion(p, small()), std::invalid_argument);
  p.observed.assign(24, 0.5);
  EXPECT_THROW(Inversion(p, small()), std::invalid_argument);  // without a noise
  p.noise = 0.1;
  EXPECT_NO_THROW(Inversion(p, small()));
  p.parameters[1].high = p.parameters[1].low;
  EXPECT_THROW(Inversion(p, small()), std::invalid_argument);
  p = oscillator();
  p.parameters[1].name = "chain";
  EXPECT_THROW(Inversion(p, small()), std::invalid_argument);
  Settings settings = small();
  settings.sampler.chains = 0;
  EXPECT_THROW(Inversion(oscillator(), settings), std::invalid_argument);
}

}  // namespace
}  // namespace surrogate
