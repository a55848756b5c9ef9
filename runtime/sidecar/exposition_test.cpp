// SPDX-License-Identifier: Apache-2.0
#include "runtime/base/exposition.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "runtime/base/testing/places.hpp"
#include "runtime/sidecar/testing/prometheus_parser.hpp"

namespace empi::sidecar {
namespace {

using metrics::Exposition;
using testing::parse_prometheus;

constexpr metrics::Metric kTest{"test_ratio", metrics::Type::Gauge, "ratio", "A \\ and\na line."};

TEST(Exposition, EscapesLabelsAndHelp) {
  Exposition out({{"job", "a\"b\\c\nd"}});
  out.metric(kTest);
  out.sample(0.1, {{"x", "1"}});
  EXPECT_EQ(out.text(),
            "# HELP test_ratio A \\\\ and\\na line.\n# TYPE test_ratio gauge\n"
            "test_ratio{job=\"a\\\"b\\\\c\\nd\",x=\"1\"} 0.1\n");
  EXPECT_DOUBLE_EQ(parse_prometheus(out.text()).value("test_ratio", {{"job", "a\"b\\c\nd"}}), 0.1);
}

TEST(Exposition, WritesNumbersThatReadBackExactly) {
  for (const double value : {0.0, 1e-300, 1.0 / 3, 123456789012345.0, 1e22}) {
    Exposition out({});
    out.metric(kTest);
    out.sample(value);
    EXPECT_EQ(parse_prometheus(out.text()).value("test_ratio"), value);
  }
  Exposition out({});
  out.metric(kTest);
  out.sample(INFINITY);
  EXPECT_NE(out.text().find("test_ratio +Inf\n"), std::string::npos);
}

TEST(Exposition, MakesHistogramsCumulative) {
  Exposition out({{"pod", "p"}});
  out.metric({"test_seconds", metrics::Type::Histogram, "seconds", "Times."});
  out.histogram({0.5, 1}, {2, 0, 3}, 9.5);
  const auto scrape = parse_prometheus(out.text());
  EXPECT_EQ(scrape.value("test_seconds_bucket", {{"le", "0.5"}}), 2);
  EXPECT_EQ(scrape.value("test_seconds_bucket", {{"le", "1"}}), 2);
  EXPECT_EQ(scrape.value("test_seconds_bucket", {{"le", "+Inf"}}), 5);
  EXPECT_EQ(scrape.value("test_seconds_count"), 5);
  EXPECT_EQ(scrape.value("test_seconds_sum"), 9.5);
}

// The parser is what the other tests rely on: it must refuse what it is there to find.
TEST(PrometheusParser, RefusesWhatTheFormatDoesNotAllow) {
  const std::string head = "# HELP a b\n# TYPE a gauge\n";
  for (const std::string& bad : {
           std::string("a 1\n"),                  // no TYPE
           std::string("# TYPE a gauge\na 1\n"),  // no HELP
           head + "a 1\na 2\n",                   // twice
           head + "a 1",                          // no end of line
           head + "a{x=\"1\",x=\"2\"} 1\n",       // a label twice
           head + "a{x=1} 1\n",
           head + "a{x=\"\\t\"} 1\n",  // quoting
           head + "a one\n",
           head + "a 1x\n",
           head + "a  1\n",                               // numbers
           head + "b 1\n",                                // another metric's sample
           head + "# HELP a b\n",                         // HELP twice
           std::string("# HELP a b\n# TYPE a number\n"),  // type
           std::string("# HELP a b\n# TYPE a histogram\na_bucket{le=\"1\"} 2\na_bucket{le=\"+Inf\"} 1\na_sum "
                       "1\na_count 1\n"),
           std::string("# HELP a b\n# TYPE a histogram\na_bucket{le=\"+Inf\"} 2\na_sum 1\na_count 1\n"),
       })
    EXPECT_THROW(parse_prometheus(bad), std::runtime_error) << bad;
  EXPECT_NO_THROW(parse_prometheus(head + "a{x=\"1\",} 1\n"));
}

TEST(PrometheusParser, FindsCountersThatDecrease) {
  const std::string head = "# HELP a_total b\n# TYPE a_total counter\n";
  const auto five = parse_prometheus(head + "a_total 5\n"), four = parse_prometheus(head + "a_total 4\n");
  EXPECT_TRUE(testing::decreases(four, five).empty());
  EXPECT_EQ(testing::decreases(five, four).size(), 1u);
  EXPECT_EQ(testing::decreases(five, parse_prometheus("")).size(), 1u);
}

// A metric is spelled in runtime/protocol/metrics.hpp and nowhere else in the C++ sources.
TEST(Metrics, AreNamedInOnePlace) {
  namespace fs = std::filesystem;
  const fs::path root = empi::testing::of_checkout("");
  const auto read = [](const fs::path& file) {
    std::ostringstream text;
    text << std::ifstream(file).rdbuf();
    return text.str();
  };
  const fs::path home = root / "runtime/protocol/metrics.hpp";
  std::vector<std::string> names;
  const std::string spelled = read(home);
  for (std::size_t at = spelled.find("\"empi_"); at != std::string::npos;
       at = spelled.find("\"empi_", at + 1))
    names.push_back(spelled.substr(at + 1, spelled.find('"', at + 1) - at - 1));
  ASSERT_GE(names.size(), 20u);
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  for (const char* part : {"runtime", "operator", "apps", "e2e"}) {
    if (!fs::exists(root / part)) continue;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator(root / part)) {
      const std::string extension = entry.path().extension();
      if ((extension != ".hpp" && extension != ".cpp" && extension != ".h") || entry.path() == home) continue;
      if (entry.path().filename().string().ends_with("_test.cpp")) continue;
      const std::string text = read(entry.path());
      for (const std::string& name : names)
        EXPECT_EQ(text.find('"' + name), std::string::npos) << name << " is spelled in " << entry.path();
    }
  }
}

}  // namespace
}  // namespace empi::sidecar
