// SPDX-License-Identifier: Apache-2.0
// Logs that move from pod to pod, and running a manifest, against a server that holds the job and the logs.

#include "operator/programs/empi/cluster/following.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>

#include "operator/kube/testing/stub_server.hpp"
#include "operator/programs/empi/cluster/testing/cluster.hpp"

namespace emj::cli::cluster {
namespace {

using kube::testing::Exchange;
using kube::testing::Request;
using kube::testing::StubServer;
using nlohmann::json;
using testing::AllOf;
using testing::HasSubstr;
using testing_cluster::job_path;
using testing_cluster::refusal_of;
using testing_cluster::stored_job;

constexpr char kManifest[] = R"(apiVersion: elasticmpi.io/v1alpha1
kind: ElasticMPIJob
metadata: {name: demo}
spec:
  worker:
    minReplicas: 1
    maxReplicas: 4
    template: {spec: {containers: [{name: worker, image: i, command: ["program"], args: ["a"]}]}}
)";

// A job in a state that a log moves on, and the logs of its pods.
class FollowingTest : public testing::Test {
 protected:
  FollowingTest()
      : server_([this](const Request& request, Exchange& exchange) { answer(request, exchange); }) {
    kubeconfig_.write(server_.url());
    access_.emplace(ClusterOptions{.kubeconfig = kubeconfig_.file()});
    job_ = stored_job("demo");
  }

  void answer(const Request& request, Exchange& exchange) {
    std::unique_lock lock(mutex_);
    if (request.path.ends_with("/log")) {
      const std::string pod = request.path.substr(request.path.find("/pods/") + 6, 8);
      if (!logs_.contains(pod))
        return exchange.reply(404, status(404, "NotFound", "pod " + pod + " not found"));
      const std::string text = logs_[pod];
      if (on_log_) on_log_(pod);
      lock.unlock();
      return exchange.reply(200, text);
    }
    if (request.method == "POST") {
      if (create_status_ != 201)
        return exchange.reply(create_status_, status(create_status_, create_reason_, "no"));
      created_ = json::parse(request.body);
      return exchange.reply(201, request.body);
    }
    if (request.path.ends_with("/pods"))
      return exchange.reply(200, json{{"metadata", {{"resourceVersion", "1"}}}, {"items", pods_}}.dump());
    if (request.path != job_path("demo"))
      return exchange.reply(200,
                            json{{"metadata", {{"resourceVersion", "1"}}}, {"items", json::array()}}.dump());
    if (job_.is_null()) return exchange.reply(404, status(404, "NotFound", "job not found"));
    exchange.reply(200, job_.dump());
  }
  static std::string status(int code, const std::string& reason, const std::string& message) {
    return json{{"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", message}}.dump();
  }
  void ends(const std::string& state, const std::string& reason = "", const std::string& message = "") {
    job_["status"]["state"] = state;
    if (!reason.empty())
      job_["status"]["conditions"] = {
          {{"type", "Failed"}, {"status", "True"}, {"reason", reason}, {"message", message}}};
  }
  Note note() {
    return [this](const std::string& line) {
      const std::lock_guard lock(note_mutex_);
      notes_ += line + "\n";
    };
  }
  std::string write(const std::string& text) {
    const std::string file = std::filesystem::path(kubeconfig_.file()).parent_path() / "demo.yaml";
    std::ofstream(file) << text;
    return file;
  }
  int run_file(const std::string& text, bool namespace_given = false) {
    return run(*access_, {.manifest = write(text), .overrides = {}, .quiet = false, .pause = Millis(1)},
               namespace_given, out_, note());
  }

  std::mutex mutex_, note_mutex_;
  json job_, created_, pods_ = json::array();
  std::map<std::string, std::string> logs_;
  std::function<void(const std::string& pod)> on_log_;  // with mutex_ held
  int create_status_ = 201;
  std::string create_reason_;
  std::ostringstream out_;
  std::string notes_;
  StubServer server_;
  testing_cluster::Kubeconfig kubeconfig_;
  std::optional<ClusterAccess> access_;
};

TEST_F(FollowingTest, LogsAreThoseOfRankZero) {
  logs_["demo-w-0"] = "2026-01-31T12:00:00Z hello\n";
  logs(*access_, "demo", false, out_, note());
  EXPECT_EQ(out_.str(), "hello\n");
  const auto request = server_.requests().back();
  EXPECT_EQ(request.path, "/api/v1/namespaces/team/pods/demo-w-0/log");
  EXPECT_EQ(request.query.at("container"), "worker");
  EXPECT_FALSE(request.query.contains("follow"));
}

TEST_F(FollowingTest, LogsSayWhyThereAreNone) {
  EXPECT_THAT(refusal_of([&] { logs(*access_, "demo", false, out_, note()); }),
              HasSubstr("cleanPodPolicy None keeps"));
  job_["status"].erase("leadPod");
  EXPECT_THAT(refusal_of([&] { logs(*access_, "demo", false, out_, note()); }),
              HasSubstr("no worker has run yet"));
}

TEST_F(FollowingTest, LogsFollowRankZeroFromPodToPodUntilTheEnd) {
  logs_["demo-w-0"] = "2026-01-31T12:00:00Z one\n";
  logs_["demo-w-1"] = "2026-01-31T12:00:01Z two\n";
  on_log_ = [this](const std::string& pod) {  // while it is read
    if (pod == "demo-w-0") {
      job_["status"]["leadPod"] = "demo-w-1";
    } else if (job_["status"]["state"] == "Running") {
      logs_["demo-w-1"] += "2026-01-31T12:00:02Z three\n";
      ends("Succeeded");
    }
  };
  logs(*access_, "demo", true, out_, note(), Millis(1));
  EXPECT_EQ(out_.str(), "one\ntwo\nthree\n");
  EXPECT_EQ(notes_, "rank 0 is in pod demo-w-1 now\n");
  EXPECT_EQ(server_.requests().back().query.at("sinceTime"), "2026-01-31T12:00:01Z");
}

TEST_F(FollowingTest, RunCreatesTheJobFollowsItAndEndsAsItDoes) {
  logs_["demo-w-0"] = "2026-01-31T12:00:00Z hello\n";
  on_log_ = [this](const std::string&) { ends("Succeeded"); };
  EXPECT_EQ(run_file(kManifest), 0) << notes_;
  EXPECT_EQ(out_.str(), "hello\n");
  EXPECT_EQ(created_["metadata"], (json{{"name", "demo"}, {"namespace", "team"}}));
  EXPECT_FALSE(created_.contains("status"));
  EXPECT_EQ(created_["spec"]["worker"]["maxReplicas"], 4);
  EXPECT_THAT(notes_,
              AllOf(HasSubstr("job demo is created in namespace team"), HasSubstr("job demo: Succeeded\n")));
}

TEST_F(FollowingTest, RunExitsWithTheProgramsStatus) {
  logs_["demo-w-0"] = "";
  ends("Failed", "ProgramFailed", "rank 3 exited with 42");
  pods_ = {
      {{"metadata", {{"name", "demo-w-0"}}},
       {"status",
        {{"phase", "Failed"},
         {"containerStatuses", {{{"name", "worker"}, {"state", {{"terminated", {{"exitCode", 42}}}}}}}}}}}};
  EXPECT_EQ(run_file(kManifest), 42) << notes_;
  EXPECT_THAT(notes_, HasSubstr("job demo: Failed, ProgramFailed: rank 3 exited with 42\n"));
  pods_ = json::array();
  EXPECT_EQ(run_file(kManifest), 1) << "nobody knows";
}

TEST_F(FollowingTest, RunRefusesInOneLine) {
  const auto refused = [&](const std::string& text) { return refusal_of([&] { run_file(text); }); };
  EXPECT_THAT(refused(std::string(kManifest) + "---\n" + kManifest), HasSubstr("the file holds 2 documents"));
  EXPECT_THAT(refused(std::string(kManifest) + "  slotsPerWorker: .nan\n"), HasSubstr("spec.slotsPerWorker"));
  EXPECT_THAT(refused(std::string(kManifest) + std::string(1 << 20, '#')), HasSubstr("larger than 1 MiB"));
  EXPECT_THAT(refused(std::string(kManifest) + "  local: {slowdownFactor: 2}\n"), HasSubstr("spec.local"));
  EXPECT_THAT(refused("kind: Pod\n"), HasSubstr("apiVersion"));
  EXPECT_THAT(
      refusal_of([&] { run(*access_, {.manifest = "/no/such", .overrides = {}}, false, out_, note()); }),
      HasSubstr("/no/such: cannot be read"));
  create_status_ = 409;
  create_reason_ = "AlreadyExists";
  EXPECT_THAT(refused(kManifest), HasSubstr("already: name this one differently"));
  create_status_ = 403;
  create_reason_ = "Forbidden";
  EXPECT_THAT(refused(kManifest), HasSubstr("ask for the role edit"));
  create_status_ = 404;
  create_reason_ = "NotFound";
  EXPECT_THAT(refused(kManifest), HasSubstr("is there a namespace team?"));
  EXPECT_TRUE(created_.is_null());
}

TEST_F(FollowingTest, RunTakesTheNamespaceOfTheManifest) {
  std::string text = kManifest;
  text.replace(text.find("{name: demo}"), 12, "{name: demo, namespace: elsewhere}");
  EXPECT_THAT(refusal_of([&] { run_file(text, true); }), HasSubstr("is elsewhere, but -n says team"));
  create_status_ = 403;  // far enough
  EXPECT_THAT(refusal_of([&] { run_file(text); }), HasSubstr("elsewhere/demo"));
}

TEST_F(FollowingTest, AJobThatIsDeletedMeanwhileEndsIt) {
  logs_["demo-w-0"] = "";
  on_log_ = [this](const std::string&) { job_ = nullptr; };
  EXPECT_THAT(refusal_of([&] { run_file(kManifest); }), HasSubstr("no job named demo"));
}

}  // namespace
}  // namespace emj::cli::cluster
