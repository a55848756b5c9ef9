// SPDX-License-Identifier: Apache-2.0
// What the page is told, and who is told it.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "operator/api/parse.hpp"
#include "operator/local/state_folder.hpp"
#include "operator/programs/empi/dashboard/command.hpp"
#include "operator/programs/empi/dashboard/data.hpp"
#include "operator/programs/empi/dashboard/server.hpp"
#include "operator/programs/empi/running_job.hpp"
#include "runtime/base/http_server.hpp"

namespace emj::cli::dashboard {
namespace {

using nlohmann::json;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

constexpr Time kNow{Seconds(1'800'000'000)};

ElasticMPIJob running_job() {
  ElasticMPIJob job;
  job.metadata.name = "tsunami";
  job.metadata.uid = "uid-1";
  job.spec.worker.max_replicas = 8;
  job.status.state = JobState::Resizing;
  job.status.joined_replicas = 2;
  job.status.desired_replicas = 4;
  job.status.start_time = kNow - Seconds(100);
  job.status.performance = Performance{83, kNow};
  ResizeStatus resize;
  resize.from = 2;
  resize.to = 4;
  resize.phase = ResizePhase::Building;
  resize.start_time = kNow - Seconds(3);
  job.status.resize = resize;
  DecisionRecord decision;
  decision.time = kNow - Seconds(4);
  decision.from = 2;
  decision.to = 4;
  decision.reason = "</script><script>alert(1)</script>";
  job.status.decisions.push_back(decision);
  return job;
}

TEST(DashboardData, TellsOfEachJobWhatThereIsToSee) {
  const ElasticMPIJob job = running_job();
  const json data =
      page_data({.where = "here", .jobs = {job}, .splits = {{"uid-1", {.8, .9, .88}}}}, {}, kNow);
  EXPECT_EQ(data["where"], "here");
  EXPECT_THAT(data["phases"], ElementsAre("CreatingPods", "Requested", "Preparing", "Building", "Ready",
                                          "Window", "Draining"));
  const json& told = data["jobs"][0];
  EXPECT_EQ(told["efficiency"], .83);
  EXPECT_EQ(told["split"]["loadBalance"], .9);
  EXPECT_EQ(told["change"]["phase"], "Building");
  EXPECT_THAT(told["change"]["meaning"].get<std::string>(), HasSubstr("while the program goes on"));
  EXPECT_EQ(told["sizes"][0][0], kNow.time_since_epoch().count() - 100'000);
  EXPECT_EQ(told["sizes"][0][1], 2);
  EXPECT_EQ(told["decisions"][0]["to"], 4);
  EXPECT_THAT(told["why"][0].get<std::string>(), HasSubstr("tsunami"));
}

TEST(DashboardData, AJobOfWhichNothingIsKnownIsShownAsThat) {
  const json told = page_data({.jobs = {ElasticMPIJob{}}}, {}, kNow)["jobs"][0];
  for (const char* field : {"start", "efficiency", "split", "change", "lastChange"})
    EXPECT_TRUE(told[field].is_null()) << field;
}

TEST(DashboardData, ReadsTheSplitOfTheWholeJob) {
  const std::string pod =
      "empi_parallel_efficiency_ratio{scope=\"pod\",epoch=\"3\"} 0.1\n"
      "empi_load_balance_ratio{scope=\"pod\",epoch=\"3\"} 0.1\n";
  const std::string job =
      "# TYPE empi_parallel_efficiency_ratio gauge\n"
      "empi_parallel_efficiency_ratio{scope=\"job\",epoch=\"3\"} 0.72\n"
      "empi_load_balance_ratio{scope=\"job\",epoch=\"3\"} 0.9\n";
  const std::string communication = "empi_communication_efficiency_ratio{scope=\"job\",epoch=\"3\"} 0.8\n";
  EXPECT_FALSE(split_in(pod));
  EXPECT_FALSE(split_in(job)) << "a factor is missing";
  const auto split = split_in(pod + job + communication);
  ASSERT_TRUE(split);
  EXPECT_EQ(split->efficiency, .72);
  EXPECT_EQ(split->load_balance, .9);
  EXPECT_EQ(split->communication, .8);
  for (const char* strange : {"NaN", "2", "-1", "x", ""})
    EXPECT_FALSE(split_in(job + "empi_communication_efficiency_ratio{scope=\"job\"} " + strange + "\n"))
        << strange;
}

class DashboardServer : public testing::Test {
 protected:
  httplib::Result get(const std::string& path, const httplib::Headers& fields = {}) {
    httplib::Client client("127.0.0.1", server_.port());
    return client.Get(path, fields);
  }
  httplib::Headers with_key(httplib::Headers fields = {}) const {
    fields.emplace("X-Empi-Key", server_.key());
    return fields;
  }
  bool broken_ = false;
  Server server_{0, [this]() -> std::string {
                   if (broken_) throw Refusal("the cluster is away");
                   return R"({"jobs": []})";
                 }};
};

TEST_F(DashboardServer, ServesItsPageAndNothingElse) {
  const auto page = get("/");
  ASSERT_TRUE(page);
  EXPECT_EQ(page->status, 200);
  EXPECT_THAT(page->body, HasSubstr("<title>Elastic MPI</title>"));
  EXPECT_THAT(page->get_header_value("Content-Security-Policy"), HasSubstr("default-src 'none'"));
  EXPECT_EQ(page->get_header_value("X-Content-Type-Options"), "nosniff");
  EXPECT_THAT(page->body, Not(HasSubstr("://"))) << "no foreign host";
  EXPECT_EQ(get("/page.css")->get_header_value("Content-Type"), "text/css; charset=utf-8");
  const auto script = get("/page.js");
  EXPECT_EQ(script->status, 200);
  for (const char* way : {"innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("})
    EXPECT_THAT(script->body, Not(HasSubstr(way))) << "what jobs say is text";
  EXPECT_EQ(get("/etc/passwd")->status, 404);
  EXPECT_EQ(get("/../page.js")->status, 404);
}

TEST_F(DashboardServer, TellsWhoHasTheKey) {
  EXPECT_EQ(get("/data")->status, 401) << "another user of this machine";
  EXPECT_EQ(get("/data", {{"X-Empi-Key", "0123456789abcdef0123456789abcdef"}})->status, 401);
  EXPECT_EQ(get("/data?key=" + server_.key())->status, 401) << "addresses are seen and kept";
  const auto told = get("/data", with_key());
  EXPECT_EQ(told->status, 200);
  EXPECT_EQ(told->body, R"({"jobs": []})");
  EXPECT_EQ(told->get_header_value("Cache-Control"), "no-store");
  EXPECT_THAT(server_.address(), HasSubstr("/#" + server_.key()));
  EXPECT_NE(Server(0, [] { return ""; }).key(), server_.key());
}

// A page of evil.example, whose name its owner lets mean 127.0.0.1, and one that asks across sites.
TEST_F(DashboardServer, IsNotForPagesOfOtherSites) {
  const std::string port = ":" + std::to_string(server_.port());
  for (const std::string& host :
       {"evil.example" + port, std::string("127.0.0.1"), std::string("127.0.0.1:1"), std::string()}) {
    EXPECT_EQ(get("/", {{"Host", host}})->status, 403) << host;
    EXPECT_EQ(get("/data", with_key({{"Host", host}}))->status, 403) << host;
  }
  EXPECT_EQ(get("/data", with_key({{"Host", "localhost" + port}}))->status, 200);
  httplib::Client client("127.0.0.1", server_.port());
  const auto asked = client.Options(
      "/data", {{"Origin", "http://evil.example"}, {"Access-Control-Request-Headers", "x-empi-key"}});
  ASSERT_TRUE(asked);
  EXPECT_NE(asked->status, 200);
  EXPECT_FALSE(asked->has_header("Access-Control-Allow-Origin"));
  EXPECT_FALSE(
      get("/data", with_key({{"Origin", "http://evil.example"}}))->has_header("Access-Control-Allow-Origin"));
  EXPECT_NE(client.Post("/data", with_key(), "{}", "application/json")->status, 200);
}

TEST_F(DashboardServer, SaysWhatIsWrong) {
  broken_ = true;
  const auto told = get("/data", with_key());
  EXPECT_EQ(told->status, 503);
  EXPECT_EQ(json::parse(told->body)["error"], "the cluster is away");
  EXPECT_THROW(Server(server_.port(), [] { return ""; }), std::runtime_error);
}

TEST(Dashboard, ShowsLocalJobs) {
  const std::string root = testing::TempDir() + "dashboard-" + local::random_uuid();
  setenv("EMPI_STATE_DIR", root.c_str(), 1);
  local::StateFolder folder("tsunami"), broken("broken");
  const auto parsed = parse_yaml(R"(
apiVersion: elasticmpi.io/v1alpha1
kind: ElasticMPIJob
metadata: {name: tsunami}
spec:
  worker:
    minReplicas: 1
    maxReplicas: 4
    template: {spec: {containers: [{name: worker, image: i, command: [p]}]}}
)",
                                 "job.yaml");
  ASSERT_TRUE(parsed) << parsed.message();
  const local::UniqueFd lock = folder.claim(), other = broken.claim();
  folder.write_spec(parsed.value());
  folder.write_status(running_job().status);
  local::write_file_atomically(folder.file(kFiguresFile),
                               R"({"efficiency": 0.72, "loadBalance": 0.9, "communication": 0.8})");
  local::write_file_atomically(broken.file("spec.yaml"), "[");
  local::write_file_atomically(broken.file("status.json"), "{}");
  const Looked looked = look_at_local_jobs();
  ASSERT_EQ(looked.jobs.size(), 2u);
  EXPECT_EQ(looked.jobs[0].metadata.name, "broken");
  EXPECT_FALSE(looked.jobs[0].status.reason.empty());
  EXPECT_EQ(looked.jobs[1].status.joined_replicas, 2);
  ASSERT_EQ(looked.splits.size(), 1u);
  EXPECT_EQ(looked.splits.at(looked.jobs[1].metadata.uid).efficiency, .72);
  unsetenv("EMPI_STATE_DIR");
  std::filesystem::remove_all(root);
}

}  // namespace
}  // namespace emj::cli::dashboard
