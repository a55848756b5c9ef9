// SPDX-License-Identifier: Apache-2.0
// docs/conditions.md tells what each condition means, and what each alert wants to be done.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <yaml-cpp/yaml.h>

#include <cctype>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "operator/api/condition_types.hpp"
#include "operator/api/job.hpp"
#include "runtime/base/testing/places.hpp"

namespace emj {
namespace {

using ::testing::Contains;
using ::testing::StartsWith;

// The headings of the page, as a browser finds them: #a-pass-over-a-job-does-not-end
std::set<std::string> anchors() {
  std::ifstream page(empi::testing::of_checkout("docs/conditions.md"));
  std::set<std::string> found;
  for (std::string line; std::getline(page, line);) {
    if (!line.starts_with("### ")) continue;
    std::string anchor = line.substr(4);
    for (char& c : anchor)
      c = c == ' ' ? '-' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    found.insert(anchor);
  }
  return found;
}

std::string lower(std::string text) {
  for (char& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

TEST(Runbook, ExplainsEveryCondition) {
  for (const char* type : condition::kAll) EXPECT_THAT(anchors(), Contains(lower(type)));
}

// Why a job waits in a queue, in the words of the column Reason.
TEST(Runbook, ExplainsEveryWait) {
  std::stringstream page;
  page << std::ifstream(empi::testing::of_checkout("docs/conditions.md")).rdbuf();
  int causes = 0;
  for (int i = static_cast<int>(QueueCause::Waiting); *to_string(static_cast<QueueCause>(i)) != '\0'; ++i) {
    const std::string word = to_string(static_cast<QueueCause>(i));
    EXPECT_TRUE(page.str().find("\n| `" + word + "` |") != std::string::npos) << word;
    ++causes;
  }
  EXPECT_GT(causes, 7);
}

TEST(Runbook, HasAPlaceForEveryAlert) {
  const std::string page = "docs/conditions.md#", by_reason = "{{ $labels.reason | toLower }}";
  int alerts = 0;
  const YAML::Node rules =
      YAML::LoadFile(empi::testing::of_checkout("helm/elastic-mpi/alerts/elastic-mpi.yaml"));
  for (const auto& rule : rules["groups"][0]["rules"]) {
    const auto runbook = rule["annotations"]["runbook"].as<std::string>();
    ASSERT_THAT(runbook, StartsWith(page));
    const std::string anchor = runbook.substr(page.size());
    ++alerts;
    if (anchor != by_reason) {
      EXPECT_THAT(anchors(), Contains(anchor)) << rule["alert"].as<std::string>();
      continue;
    }
    // reason=~"A|B|C"
    const auto expression = rule["expr"].as<std::string>();
    std::size_t at = expression.find("reason=~\"") + 9;
    for (const std::size_t end = expression.find('"', at); at < end;) {
      const std::size_t next = std::min(expression.find('|', at), end);
      EXPECT_THAT(anchors(), Contains(lower(expression.substr(at, next - at))));
      at = next + 1;
    }
  }
  EXPECT_GT(alerts, 5);
}

}  // namespace
}  // namespace emj
