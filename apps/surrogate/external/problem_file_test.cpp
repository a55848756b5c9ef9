// SPDX-License-Identifier: Apache-2.0
#include "apps/surrogate/external/problem_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "apps/io/file_error.hpp"
#include "apps/io/test_files.hpp"

namespace surrogate {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

class ProblemFile : public testing::Test {
 protected:
  ExternalProblem read(const std::string& text) { return read_problem(folder.write("problem.yaml", text)); }
  std::string refusal(const std::string& text) {
    return io::test::file_error_of([&] { read(text); });
  }
  const io::test::ScratchFolder folder;
};

const std::string kParameters = "parameters: [{name: a, low: 0, high: 1}, {name: b, low: -1, high: 1}]\n";
const std::string kCommand =
    "model: {command: [./run, \"{here}/model\", -x], timeoutSeconds: 5, attempts: 7}\n";

TEST_F(ProblemFile, SaysAllThatIsAsked) {
  const ExternalProblem given =
      read(kParameters + "outputs: 2\n" + kCommand + "observed: [1, 2]\nnoise: 0.5\n");
  EXPECT_EQ(given.problem.parameters[1].name, "b");
  EXPECT_EQ(given.problem.parameters[1].low, -1);
  EXPECT_THAT(given.problem.observed, ElementsAre(1, 2));
  EXPECT_EQ(given.problem.noise, 0.5);
  const std::string here = fs::path(folder.path("x")).parent_path().string();
  EXPECT_THAT(std::get<Command>(given.external.model).words,
              ElementsAre(here + "/./run", here + "/model", "-x"));
  EXPECT_EQ(given.external.options.timeout_seconds, 5);
  EXPECT_EQ(given.external.options.attempts, 7);
}

TEST_F(ProblemFile, NamesAServer) {
  const ExternalProblem given =
      read(kParameters +
           "outputs: 2\nmodel: {umbridge: {url: 'http://h:1', name: m, config: '{\"level\": 2}'}}\n"
           "truth: [0.5, 0]\n");
  const auto& server = std::get<UmBridge>(given.external.model);
  EXPECT_EQ(server.address, "http://h:1");
  EXPECT_EQ(server.name, "m");
  EXPECT_EQ(server.configuration, R"({"level": 2})");
  EXPECT_THAT(given.problem.truth, ElementsAre(0.5, 0));
}

TEST_F(ProblemFile, WhatIsWrongIsSaidWithItsLine) {
  const std::string end = "truth: [0, 0]\n";
  const std::pair<std::string, const char*> cases[] = {
      {"- 1\n", ":1: expected the problem as a map"},
      {"a: [\n", "expected YAML"},
      {kParameters + "outputs: 2\n" + kCommand + end + "paramters: 1\n", ":5: expected one of model, noise"},
      {"outputs: 2\n" + kCommand + end, "expected 'parameters'"},
      {"parameters: [{name: a, low: 1, high: 1}]\noutputs: 2\n" + kCommand,
       ":1: expected low below high, found 1 and 1"},
      {"parameters: [{name: a, low: 1}]\noutputs: 2\n" + kCommand, "expected 'high' of the parameter"},
      {"parameters: [{name: a, low: 0, high: 1}, {name: a, low: 0, high: 1}]\noutputs: 2\n" + kCommand,
       ":1: expected as a parameter's name another name for each parameter, '/' and '_' taken for one, found "
       "'a' "
       "again"},
      {"parameters:\n - {name: a/b, low: 0, high: 1}\n - {name: a_b, low: 0, high: 1}\noutputs: 2\n" +
           kCommand,
       ":3: expected as a parameter's name another name for each parameter, '/' and '_' taken for one, found "
       "'a_b' "
       "beside 'a/b'"},
      {"parameters:\n - {name: draw, low: 0, high: 1}\noutputs: 2\n" + kCommand,
       ":2: expected as a parameter's name another name than ensemble, log_density, chain and draw"},
      {"parameters:\n - {name: 'a, b', low: 0, high: 1}\noutputs: 2\n" + kCommand,
       "without a blank at the end, found 'a, b'; give it another name"},
      {"parameters: []\noutputs: 2\n" + kCommand, ":1: expected a list of parameters, found none"},
      {kParameters + "outputs: 2\noutputs: 3\n" + kCommand + end,
       ":3: expected each name once, found 'outputs' again"},
      {kParameters + "outputs: 2\nmodel: {command: [sh], attempts: 2.5}\n" + end,
       ":3: expected a number of attempts, found 2.5"},
      {kParameters + "outputs: 0\n" + kCommand + end, ":2: expected outputs from 1 to 1e+06, found 0"},
      {kParameters + "outputs: 1.5\n" + kCommand + end, ":2: expected a number of outputs, found 1.5"},
      {kParameters + "outputs: 2\nmodel: {}\n" + end, ":3: expected one of command, python and umbridge"},
      {kParameters + "outputs: 2\nmodel: {command: sh}\n" + end,
       "expected the words of a command, found no list"},
      {kParameters + "outputs: 2\nmodel: {command: [sh], attempts: 0}\n" + end,
       "expected attempts from 1 to 1000, found 0"},
      {kParameters + "outputs: 2\nmodel: {python: model.py}\n" + end,
       "expected FILE.py:FUNCTION, found 'model.py'"},
      {kParameters + "outputs: 2\nmodel: {python: model.py:f}\n" + end, "found no file"},
      {kParameters + "outputs: 2\nmodel: {umbridge: {name: m}}\n" + end,
       "expected either url or command, found neither"},
      {kParameters + "outputs: 2\nmodel: {umbridge: {url: u, config: {a: 1}}}\n" + end,
       "configuration as JSON"},
      {kParameters + "outputs: 2\n" + kCommand, "expected either observed or truth, found neither"},
      {kParameters + "outputs: 2\n" + kCommand + "truth: [2, 0]\n",
       ":4: expected the true a from 0 to 1, found 2"},
      {kParameters + "outputs: 2\n" + kCommand + "truth: [1]\n",
       "expected 2 numbers for the true parameters, found 1"},
      {kParameters + "outputs: 2\n" + kCommand + "observed: [1, 2]\n", "expected noise"},
      {kParameters + "outputs: 2\n" + kCommand + "observed: [1, x]\nnoise: 1\n", ":4: expected measurements"},
      {kParameters + "outputs: 2\n" + kCommand + end + "noise: 1\n",
       "expected relativeNoise, for made-up measurements"},
  };
  for (const auto& [text, words] : cases) EXPECT_THAT(refusal(text), HasSubstr(words)) << text;
}

}  // namespace
}  // namespace surrogate
