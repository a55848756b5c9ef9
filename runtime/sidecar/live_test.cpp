// SPDX-License-Identifier: Apache-2.0
// The sidecar beside a real pod: ranks that iterate, an agent that leads, a change.
#include <gtest/gtest.h>
#include <httplib.h>
#include <signal.h>

#include <fstream>

#include "runtime/agent/testing/elastic_fixture.hpp"
#include "runtime/base/testing/places.hpp"
#include "runtime/protocol/json.hpp"
#include "runtime/protocol/names.hpp"
#include "runtime/sidecar/testing/process.hpp"
#include "runtime/sidecar/testing/prometheus_parser.hpp"

namespace empi::sidecar {
namespace {

using testing::Process;

struct Live : empi::testing::Elastic {
  std::string variable(const char* key, const std::string& value) { return std::string(key) + "=" + value; }
  std::unique_ptr<Process> sidecar_of(const Member& pod) {
    const std::string host = pod.address.substr(0, pod.address.rfind(':'));
    const std::string port = pod.address.substr(pod.address.rfind(':') + 1);
    const std::filesystem::path token = std::filesystem::path(pods.run_dir(pod.uid)).parent_path() / "token";
    return std::make_unique<Process>(
        std::vector<std::string>{empi::testing::beside("elastic-mpi-sidecar"), "--listen", "127.0.0.1",
                                 "--port", "0", "--per-rank"},
        std::vector{variable(names::kRunDir, pods.run_dir(pod.uid)), variable(names::kPodAddress, host),
                    variable(names::kAgentPort, port), variable(names::kTokenFile, token),
                    variable(names::kPodUid, pod.uid), variable(names::kPodName, pod.name),
                    variable(names::kSlots, std::to_string(pods.slots)),
                    variable(names::kWindowMillis, "200")});
  }
};

TEST_F(Live, MeasuresRanksThroughAChange) {
  pods.environment[names::kWindowMillis] = "200";
  const std::vector<Member> members = begin(2);
  const auto sidecar = sidecar_of(members[0]);
  const std::string line = sidecar->line(60);
  httplib::Client client("127.0.0.1", std::stoi(line.substr(line.rfind(':') + 1)));
  client.set_read_timeout(60);
  const auto scrape = [&] {
    const auto answer = client.Get("/metrics");
    if (!answer) throw std::runtime_error("no answer on /metrics");
    return testing::parse_prometheus(answer->body);
  };
  pods.wait_until("both ranks of the pod iterate", [&] {
    const testing::Scrape s = scrape();
    return s.value("empi_ranks") == 2 && s.value("empi_iterations_total") > 20 && s.value("empi_epoch") == 1;
  });
  const testing::Scrape before = scrape();
  EXPECT_GT(before.value("empi_useful_seconds_total"), 0);
  EXPECT_GT(before.value("empi_mpi_seconds_total"), 0);
  EXPECT_GT(before.value("empi_mpi_calls_total"), 0);
  EXPECT_EQ(before.value("empi_iteration_duration_seconds_count"), before.value("empi_iterations_total"));
  EXPECT_FALSE(before.has("empi_reconfigurations_total"));

  commit({.add = pods.launch(1)});
  pods.wait_until("the change shows", [&] {
    const testing::Scrape s = scrape();
    return s.value("empi_epoch") == 2 && s.has("empi_reconfigurations_total") &&
           s.value("empi_core_seconds_total", {{"class", "resize"}}) > 0 &&
           s.has("empi_mpi_wait_seconds_total");
  });
  const testing::Scrape after = scrape();
  EXPECT_EQ(after.value("empi_reconfigurations_total", {{"type", "grow"}, {"outcome", "committed"}}), 1);
  EXPECT_GT(after.value("empi_reconfiguration_phase_seconds_sum", {{"phase", "pause"}}), 0);
  EXPECT_EQ(testing::decreases(before, after), std::vector<std::string>{});
  pods.wait_until("the efficiency of the whole job shows", [&] {
    const testing::Scrape s = scrape();
    for (const auto& [series, value] : s.values)
      if (series.name == "empi_parallel_efficiency_ratio" && series.labels.at("scope") == "job" &&
          series.labels.at("epoch") == "2")
        return value > 0 && value <= 1;
    return false;
  });
  // The operator's look says what a look at the agent says.
  std::string token;
  std::ifstream(std::filesystem::path(pods.run_dir(members[0].uid)).parent_path() / "token") >> token;
  const auto looked = client.Get(paths::kReport, {{"Authorization", "Bearer " + token}});
  ASSERT_TRUE(looked);
  ASSERT_EQ(looked->status, 200) << looked->body;
  EXPECT_TRUE(std::filesystem::exists(pods.run_dir(members[0].uid) + "/" + names::kViewSocketFile));
  const auto report = nlohmann::json::parse(looked->body).get<Report>();
  EXPECT_EQ(report.view.membership.epoch.value, 2);
  EXPECT_EQ(report.view.membership.members.size(), 3u);
  EXPECT_EQ(report.changes.size(), 1u);
  EXPECT_FALSE(report.windows.empty());
  expect_finish(6);
  EXPECT_EQ(sidecar->stop(SIGTERM, 60), 0);
}

}  // namespace
}  // namespace empi::sidecar
