// SPDX-License-Identifier: Apache-2.0
// The corpus of manifests: the same files go through a real API server, with the same verdicts.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "operator/api/parse.hpp"
#include "operator/api/queue.hpp"
#include "runtime/base/testing/places.hpp"

namespace emj {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> manifests(const char* folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(empi::testing::of_checkout("crds/corpus/") + folder))
    if (entry.path().extension() == ".yaml") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

std::string content(const fs::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string case_name(const ::testing::TestParamInfo<fs::path>& info) {
  std::string name = info.param.stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

class Good : public ::testing::TestWithParam<fs::path> {};
class Bad : public ::testing::TestWithParam<fs::path> {};
class GoodQueue : public ::testing::TestWithParam<fs::path> {};
class BadQueue : public ::testing::TestWithParam<fs::path> {};

template <class T>
void expect_refused_where_it_says(const Result<T>& read, const std::string& text) {
  const std::string mark = "# refused: ";
  ASSERT_TRUE(text.starts_with(mark)) << "the first line must name the field";
  const std::string field = text.substr(mark.size(), text.find('\n') - mark.size());
  ASSERT_FALSE(read.ok());
  bool named = false;
  for (const Violation& violation : read.violations()) {
    if (violation.warning) continue;
    named = named || violation.field == field;
    EXPECT_GT(violation.line, 0) << violation.field << ": no line";
    EXPECT_FALSE(violation.reason.empty());
    EXPECT_FALSE(violation.expected.empty() && violation.hint.empty())
        << "does not say what to do: " << read.message();
  }
  EXPECT_TRUE(named) << "expected a violation of " << field << ", got\n" << read.message();
}

TEST_P(Good, IsAccepted) {
  const Result<ElasticMPIJob> job = parse_yaml(content(GetParam()), GetParam().filename().string());
  EXPECT_TRUE(job.ok()) << job.message();
}

TEST_P(Bad, IsRefusedAtTheFieldItNames) {
  const std::string text = content(GetParam());
  expect_refused_where_it_says(parse_yaml(text, GetParam().filename().string()), text);
}

TEST_P(GoodQueue, IsAcceptedAndReadAsItIsWritten) {
  const Result<ElasticQueue> queue = parse_queue_yaml(content(GetParam()), GetParam().filename().string());
  ASSERT_TRUE(queue.ok()) << queue.message();
  const Result<ElasticQueue> again = parse_queue_json(to_json(queue.value()));
  ASSERT_TRUE(again.ok()) << again.message();
  EXPECT_EQ(again.value(), queue.value());
}

TEST_P(BadQueue, IsRefusedAtTheFieldItNames) {
  const std::string text = content(GetParam());
  expect_refused_where_it_says(parse_queue_yaml(text, GetParam().filename().string()), text);
}

INSTANTIATE_TEST_SUITE_P(Corpus, Good, ::testing::ValuesIn(manifests("good")), case_name);
INSTANTIATE_TEST_SUITE_P(Corpus, Bad, ::testing::ValuesIn(manifests("bad")), case_name);
INSTANTIATE_TEST_SUITE_P(Corpus, GoodQueue, ::testing::ValuesIn(manifests("queues/good")), case_name);
INSTANTIATE_TEST_SUITE_P(Corpus, BadQueue, ::testing::ValuesIn(manifests("queues/bad")), case_name);

}  // namespace
}  // namespace emj
