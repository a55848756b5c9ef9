// SPDX-License-Identifier: Apache-2.0
// Promise: a name that the results do not take is refused before the first forward run, and one that is not
// refused is written and read again.
#include "apps/surrogate/app/parameter_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "apps/io/report.hpp"
#include "apps/io/test_files.hpp"
#include "apps/surrogate/app/results.hpp"
#include "apps/surrogate/app/testing/run_through.hpp"

namespace surrogate {
namespace {

std::vector<Parameter> named(const std::vector<std::string>& names) {
  std::vector<Parameter> parameters;
  for (const std::string& name : names) parameters.push_back({name, 0, 1});
  return parameters;
}

TEST(ParameterNames, ThatTheResultsDoNotTakeAreRefused) {
  for (const std::string& name :
       {std::string("chain"), std::string("draw"), std::string("ensemble"), std::string("log_density"),
        std::string(), std::string(" a"), std::string("a "), std::string("/a"), std::string("-1"),
        std::string("a,b"), std::string("a\"b"), std::string("a\nb"), std::string("a\tb"),
        std::string("a\x7f"), std::string("a\0b", 3), std::string("\xff"), std::string(201, 'a')}) {
    const auto bad = find_bad_name(named({"fine", name}));
    ASSERT_TRUE(bad) << name;
    EXPECT_EQ(bad->parameter, 1u) << name;
    EXPECT_FALSE(find_bad_name(named({"fine"})));
  }
}

TEST(ParameterNames, ThatAreOneInAFileAreRefused) {
  EXPECT_EQ(find_bad_name(named({"a", "b", "a"}))->found, "'a' again");
  const auto bad = find_bad_name(named({"a/b", "c", "a_b"}));
  ASSERT_TRUE(bad);
  EXPECT_EQ(bad->parameter, 2u);
  EXPECT_EQ(bad->found, "'a_b' beside 'a/b'");
}

TEST(ParameterNames, ThatAreNotRefusedAreWritten) {
  const std::vector<std::string> names = {"a/b", "0", "_x", "\u00b5 (m/s) 'of' \\ #1 %2 <&>",
                                          std::string(200, 'n')};
  Problem problem;
  problem.parameters = named(names);
  problem.outputs = 1;
  problem.model = [](std::span<const double> p, std::span<double> y) { y[0] = 1 + p[0]; };
  problem.truth.assign(names.size(), 0.5);
  Settings settings = test::short_run();
  settings.ensembles = 2;
  settings.samples = 16;
  Inversion inversion(std::move(problem), settings);
  test::run_through(inversion);
  const io::test::ScratchFolder folder;
  EXPECT_NO_THROW(write_results(folder.path(""), "{}", inversion));
  const io::Table table(folder.path("samples.csv"));
  for (const std::string& name : names) EXPECT_EQ(table.numbers(name).size(), 16u) << name;
}

}  // namespace
}  // namespace surrogate
