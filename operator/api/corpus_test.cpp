// SPDX-License-Identifier: Apache-2.0
// The corpus of manifests: the same files go through a real API server, with the same verdicts.

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "operator/api/parse.hpp"

namespace emj {
namespace {

namespace fs = std::filesystem;

std::vector<fs::path> manifests(const char* folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(fs::path(EMJ_CRDS) / "corpus" / folder))
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

class Good : public testing::TestWithParam<fs::path> {};
class Bad : public testing::TestWithParam<fs::path> {};

std::string case_name(const testing::TestParamInfo<fs::path>& info) {
  std::string name = info.param.stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

TEST_P(Good, IsAccepted) {
  const Result<ElasticMPIJob> job = parse_yaml(content(GetParam()), GetParam().filename().string());
  EXPECT_TRUE(job.ok()) << job.message();
}

TEST_P(Bad, IsRefusedAtTheFieldItNames) {
  const std::string text = content(GetParam());
  const std::string mark = "# refused: ";
  ASSERT_TRUE(text.starts_with(mark)) << "the first line must name the field";
  const std::string field = text.substr(mark.size(), text.find('\n') - mark.size());
  const Result<ElasticMPIJob> job = parse_yaml(text, GetParam().filename().string());
  ASSERT_FALSE(job.ok());
  bool named = false;
  for (const Violation& violation : job.violations()) {
    if (violation.warning) continue;
    named = named || violation.field == field;
    EXPECT_GT(violation.line, 0) << violation.field << ": no line";
    EXPECT_FALSE(violation.reason.empty());
    EXPECT_FALSE(violation.expected.empty() && violation.hint.empty())
        << "does not say what to do: " << job.message();
  }
  EXPECT_TRUE(named) << "expected a violation of " << field << ", got\n" << job.message();
}

INSTANTIATE_TEST_SUITE_P(Corpus, Good, testing::ValuesIn(manifests("good")), case_name);
INSTANTIATE_TEST_SUITE_P(Corpus, Bad, testing::ValuesIn(manifests("bad")), case_name);

}  // namespace
}  // namespace emj
