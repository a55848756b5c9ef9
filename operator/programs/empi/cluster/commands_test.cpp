// SPDX-License-Identifier: Apache-2.0
// Commands against a server that holds a few jobs.

#include "operator/programs/empi/cluster/commands.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "operator/kube/testing/object_server.hpp"
#include "operator/programs/empi/cluster/testing/cluster.hpp"

namespace emj::cli::cluster {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing_cluster::job_path;
using testing_cluster::refusal_of;
using testing_cluster::stored_job;

class ClusterCommandTest : public testing::Test {
 protected:
  ClusterCommandTest() {
    kubeconfig_.write(server_.config().server);
    server_.put(job_path("demo"), stored_job("demo"));
    server_.put(job_path("far", "other"), stored_job("far", "other"));
  }
  ClusterAccess access() { return ClusterAccess({.kubeconfig = kubeconfig_.file()}); }

  kube::testing::ObjectServer server_;
  testing_cluster::Kubeconfig kubeconfig_;
  std::ostringstream out_;
};

TEST_F(ClusterCommandTest, TopShowsTheJobsOfTheNamespaceOrOfAll) {
  ClusterAccess cluster = access();
  top(cluster, "", false, false, out_);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("demo  Running  2  "), Not(HasSubstr("far"))));
  out_.str("");
  top(cluster, "", true, false, out_);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("team       demo"), HasSubstr("other      far")));
  out_.str("");
  top(cluster, "demo", false, false, out_);
  EXPECT_THAT(out_.str(), HasSubstr("demo"));
}

TEST_F(ClusterCommandTest, AQueueShowsItsJobsOfTheNamespaceOrOfAll) {
  const auto put = [&](const std::string& name, const std::string& space, int workers) {
    auto job = stored_job(name, space);
    job["spec"]["scheduling"]["queueName"] = "main";
    job["status"]["state"] = workers > 0 ? "Running" : "Queued";
    job["status"]["allocation"] = {
        {"workers", workers}, {"sequence", 1}, {"reason", "gets all that is free"}};
    job["status"]["queue"] = {
        {"since", "2026-01-31T12:00:00Z"}, {"cause", "Waiting"}, {"reason", "old words"}};
    server_.put(job_path(name, space), job);
  };
  put("demo", "team", 2);
  put("far", "other", 0);
  ClusterAccess cluster = access();
  EXPECT_THAT(refusal_of([&] { queue(cluster, "", false, out_); }),
              HasSubstr("no ElasticQueue in the cluster"));
  server_.put("/apis/elasticmpi.io/v1alpha1/elasticqueues/main",
              {{"metadata", {{"name", "main"}}},
               {"spec", {{"pools", {{{"name", "p"}, {"quota", {{"cpu", 4}}}}}}}},
               {"status",
                {{"running", 1},
                 {"queued", 1},
                 {"head", {{{"namespace", "other"}, {"name", "far"}, {"reason", "needs 4 workers"}}}}}}});
  queue(cluster, "main", false, out_);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("queue main  "), HasSubstr("1 job runs, 1 waits"),
                                HasSubstr("  demo  Running  2 workers"), Not(HasSubstr("far"))));
  out_.str("");
  queue(cluster, "", true, out_);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("  team/demo  Running"), HasSubstr("  other/far  Queued"),
                                HasSubstr("needs 4 workers")));
  EXPECT_THAT(refusal_of([&] { queue(cluster, "mian", false, out_); }),
              HasSubstr("no ElasticQueue named mian; there: main"));
}

TEST_F(ClusterCommandTest, AJobThatCannotBeReadDoesNotHideTheOthers) {
  auto strange = stored_job("strange");
  strange["spec"] = "of another version";
  server_.put(job_path("strange"), strange);
  ClusterAccess cluster = access();
  top(cluster, "", false, false, out_);
  EXPECT_THAT(out_.str(), AllOf(HasSubstr("demo"), HasSubstr("Unreadable")));
  EXPECT_THAT(refusal_of([&] { why(cluster, "strange", out_); }),
              HasSubstr("job strange cannot be read: spec"));
}

TEST_F(ClusterCommandTest, NoSuchJobNamesThoseThatThereAre) {
  ClusterAccess cluster = access();
  for (const auto& said : {refusal_of([&] { why(cluster, "dmeo", out_); }),
                           refusal_of([&] { history(cluster, "dmeo", false, out_); }),
                           refusal_of([&] { top(cluster, "dmeo", false, false, out_); })})
    EXPECT_THAT(said, AllOf(HasSubstr("no job named dmeo in namespace team"), HasSubstr("; there: demo")));
  EXPECT_THAT(refusal_of([&] { why(cluster, "../pods", out_); }), HasSubstr("is not a name"));
  EXPECT_EQ(out_.str(), "");
}

TEST_F(ClusterCommandTest, AnEmptyNamespaceSaysSo) {
  ClusterAccess cluster({.kubeconfig = kubeconfig_.file(), .namespace_name = "empty"});
  top(cluster, "", false, false, out_);
  EXPECT_EQ(out_.str(), "no jobs in namespace empty; -A shows those of all namespaces\n");
  EXPECT_THAT(refusal_of([&] { why(cluster, "demo", out_); }),
              HasSubstr("there is none: look with -n NAMESPACE"));
}

TEST_F(ClusterCommandTest, WhyAndHistoryComeFromTheStatus) {
  auto job = stored_job("demo");
  job["status"]["decisions"] = {{{"time", "2026-01-31T12:00:00Z"},
                                 {"from", 2},
                                 {"to", 4},
                                 {"policy", "threshold"},
                                 {"action", "Scale"},
                                 {"reason", "MTCT is low"}}};
  server_.put(job_path("demo"), job);
  ClusterAccess cluster = access();
  why(cluster, "demo", out_);
  EXPECT_THAT(out_.str(), HasSubstr("12:00:00  2 -> 4  Scale  MTCT is low"));
  out_.str("");
  history(cluster, "demo", false, out_);
  EXPECT_THAT(out_.str(), HasSubstr("12:00:00  Scale  MTCT is low"));
}

// What a program printed last is in its job's conditions, and so on the screen of whoever looks.
TEST_F(ClusterCommandTest, NothingThatIsShownCommandsTheTerminal) {
  auto job = stored_job("demo");
  job["status"]["conditions"] = {{{"type", "Degraded"},
                                  {"status", "True"},
                                  {"reason", "x"},
                                  {"message", "a\x1b[2Jb\nc\u009bd \u00e4"},
                                  {"lastTransitionTime", "2026-01-31T12:00:00Z"}}};
  server_.put(job_path("demo"), job);
  ClusterAccess cluster = access();
  why(cluster, "demo", out_);
  EXPECT_THAT(out_.str(), HasSubstr("a [2Jb c  d \u00e4\n"));
}

TEST_F(ClusterCommandTest, HistoryWithEventsListsThemByTime) {
  const std::string events = "/api/v1/namespaces/team/events/";
  server_.put(events + "b", {{"metadata", {{"name", "b"}}},
                             {"reason", "Resized"},
                             {"message", "2 -> 4 workers"},
                             {"eventTime", "2026-01-31T12:00:01.000000Z"}});
  server_.put(events + "a", {{"metadata", {{"name", "a"}}},
                             {"reason", "Started"},
                             {"message", "with 2 workers"},
                             {"eventTime", "2026-01-31T12:00:02.000000Z"},
                             {"lastTimestamp", "2026-01-31T12:00:00Z"}});
  ClusterAccess cluster = access();
  history(cluster, "demo", true, out_);
  EXPECT_EQ(out_.str(),
            "2026-01-31T12:00:00  Started  with 2 workers\n2026-01-31T12:00:01  Resized  2 -> 4 workers\n");
}

}  // namespace
}  // namespace emj::cli::cluster
