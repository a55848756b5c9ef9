// SPDX-License-Identifier: Apache-2.0
// What is written to the API server, and what never is: against a server in this process that keeps objects.
#include <gmock/gmock.h>

#include "operator/api/parse.hpp"
#include "operator/kube/outcome.hpp"
#include "operator/kube/testing/kube_cluster_fixture.hpp"

namespace emj::manager {
namespace {

using namespace testing;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(KubeClusterTest, ManyPodsAreMadeAtATime) {
  Operator op(*this);
  server.let_creates_meet("pods", 4);
  const ElasticMPIJob job = job_of(op);
  std::vector<json> pods;
  for (int i = 0; i < 6; ++i) pods.push_back(build_pod(job, i));
  EXPECT_TRUE(op.cluster.create_pods(job, pods).ok());
  EXPECT_GE(server.creates_at_once(), 4);
  EXPECT_EQ(op.cluster.list_pods({"a", "db"}).size(), 6u) << "known at once: the next pass makes no others";
}

TEST_F(KubeClusterTest, TheFirstPodThatIsNotMadeIsTold) {
  Operator op(*this);
  json foreign = {{"metadata", {{"name", "db-w-3"}, {"namespace", "a"}, {"uid", "theirs"}}}};
  server.put("/api/v1/namespaces/a/pods/db-w-3", foreign);
  const ElasticMPIJob job = job_of(op);
  std::vector<json> pods;
  for (int i = 0; i < 6; ++i) pods.push_back(build_pod(job, i));
  const Outcome outcome = op.cluster.create_pods(job, pods);
  EXPECT_EQ(outcome.kind, Outcome::Kind::Retry);
  EXPECT_THAT(outcome.message, HasSubstr("db-w-3 exists already and is not of this job"));
  EXPECT_TRUE(op.cluster.create_pods(job, {}).ok());
}

TEST_F(KubeClusterTest, APodThatHasJustGoneIsInNobodysWay) {
  const std::string pod = "/api/v1/namespaces/a/pods/db-w-0";
  server.put(pod, {{"metadata", {{"name", "db-w-0"}, {"namespace", "a"}, {"uid", "before"}}}});
  server.let_vanish(pod);
  Operator op(*this);
  const Outcome made = create_pod(op);
  EXPECT_TRUE(made.ok()) << made.message;
  EXPECT_EQ(kube::controller_uid_of(server.object(pod)), "uid-job");
}

// Only who leaves a program that goes on has a planned leave to wait for.
TEST_F(KubeClusterTest, PodsWithoutARunGetNoGraceForALeave) {
  Operator op(*this);
  const auto grace_of = [&](DeleteReason reason, const json& template_grace) {
    json changed = running();
    if (!template_grace.is_null())
      changed["spec"]["worker"]["template"]["spec"]["terminationGracePeriodSeconds"] = template_grace;
    put(changed);
    const std::string version = server.object(jobs_path)["metadata"]["resourceVersion"];
    EXPECT_TRUE(server.wait_until([&] { return job_of(op).metadata.resource_version == version; }));
    EXPECT_TRUE(create_pod(op).ok());
    const std::string uid = kube::uid_of(server.object("/api/v1/namespaces/a/pods/db-w-0"));
    EXPECT_TRUE(op.cluster.delete_pod({"a", "db"}, {"db-w-0", uid, reason}).ok());
    const std::vector<json> deletions = server.deletions();
    return deletions.empty() ? -2 : deletions.back().value("gracePeriodSeconds", -1);
  };
  EXPECT_EQ(grace_of(DeleteReason::Suspended, nullptr), 30);
  EXPECT_EQ(grace_of(DeleteReason::JobEnded, nullptr), 30);
  EXPECT_EQ(grace_of(DeleteReason::JobEnded, 600), -1) << "the user's own";
  EXPECT_EQ(grace_of(DeleteReason::Released, nullptr), -1) << "the pod's own";
}

// They may take the whole of their grace: nothing that a user should delete or rename anything for.
TEST_F(KubeClusterTest, ThePredecessorsPodsAreWaitedForInWords) {
  const json owner = {{"apiVersion", kApiVersion},
                      {"kind", kJobKind},
                      {"name", "db"},
                      {"uid", "before"},
                      {"controller", true}};
  const std::string pod = "/api/v1/namespaces/a/pods/db-w-0";
  server.put(pod, {{"metadata", {{"name", "db-w-0"}, {"namespace", "a"}, {"ownerReferences", {owner}}}}});
  Operator op(*this);
  const Outcome waits = create_pod(op);
  EXPECT_EQ(waits.kind, Outcome::Kind::Retry);
  EXPECT_THAT(waits.message, HasSubstr("pod db-w-0 is of a deleted job of this name"));
  EXPECT_THAT(waits.message, Not(HasSubstr("delete it")));
}

// Cancelling cannot be taken back: "no" is no wish to cancel.
TEST_F(KubeClusterTest, AnAnnotationAsksByTheWordTrueOnly) {
  for (const char* value : {"true", "no", "false", "0", ""}) {
    SCOPED_TRACE(value);
    json job = manifest;
    job["metadata"]["annotations"] = {{kAnnotationCancel, value}};
    put(job);
    Operator op(*this);
    EXPECT_EQ(op.cluster.read_job({"a", "db"})->cancel_requested, std::string(value) == "true");
  }
}

TEST_F(KubeClusterTest, AStatusIsWrittenAgainstWhatWasDecidedOn) {
  Operator op(*this);
  const ElasticMPIJob read = job_of(op);
  json other = manifest;  // deleted and made again under the same name, while a pass was under way
  other["metadata"]["uid"] = "uid-other";
  put(other);
  ASSERT_TRUE(
      server.wait_until([&] { return op.cluster.read_job({"a", "db"})->job.metadata.uid == "uid-other"; }));
  JobStatus status;
  status.state = JobState::Running;
  status.fence = 1;
  EXPECT_EQ(op.cluster.write_status(read, status).kind, Outcome::Kind::Conflict);
  EXPECT_EQ(op.cluster.write_scale(read, 3).kind, Outcome::Kind::Conflict);
  EXPECT_EQ(op.cluster.create_pod(read, build_pod(read, 0)).kind, Outcome::Kind::Conflict);
  EXPECT_FALSE(server.object(jobs_path).contains("status"));
  EXPECT_EQ(server.object(jobs_path)["spec"]["worker"]["replicas"], 1);
}

// `kubectl scale` came after the job was read: it must not vanish under the autoscaler's own write.
TEST_F(KubeClusterTest, ASizeThatAUserWritesMeanwhileIsNotOverwritten) {
  Operator op(*this);
  const ElasticMPIJob read = job_of(op);
  JobStatus status;
  status.fence = 1;
  ASSERT_TRUE(op.cluster.write_status(read, status).ok());
  ASSERT_TRUE(op.cluster.write_scale(read, 2).ok()) << "our own status write is no other's";
  EXPECT_EQ(server.object(jobs_path)["spec"]["replicas"], 2);
  EXPECT_EQ(op.cluster.write_scale(read, 3).kind, Outcome::Kind::Conflict) << "the job has changed since";
}

TEST_F(KubeClusterTest, AJobThatCannotBeReadIsThereAndIsToldSo) {
  json spoiled = manifest;
  spoiled["spec"]["autoscaling"]["mode"] = "Telepathic";
  spoiled["status"] = {{"state", "Running"}, {"conditions", {{{"type", "Running"}, {"status", "True"}}}}};
  put(spoiled);
  Operator op(*this);
  const auto record = op.cluster.read_job({"a", "db"});
  ASSERT_TRUE(record) << "it is not gone";
  EXPECT_THAT(record->unreadable, HasSubstr("spec.autoscaling.mode"));
  ASSERT_TRUE(op.cluster.tell_unreadable(*record).ok());
  const json conditions = server.object(jobs_path)["status"]["conditions"];
  ASSERT_EQ(conditions.size(), 2u) << "the others stay";
  EXPECT_EQ(conditions[1]["type"], "Readable");
  EXPECT_EQ(conditions[1]["status"], "False");
  EXPECT_THAT(conditions[1]["message"].get<std::string>(), HasSubstr("Telepathic"));
  EXPECT_EQ(server.object(jobs_path)["status"]["state"], "Running");
  EXPECT_EQ(server.object(jobs_path)["status"]["reason"], "Unreadable");
  const auto writes = op.client.writes();
  ASSERT_TRUE(server.wait_until([&] { return op.cluster.settled({"a", "db"}); }));
  EXPECT_TRUE(op.cluster.tell_unreadable(*op.cluster.read_job({"a", "db"})).ok());
  EXPECT_EQ(op.client.writes(), writes) << "told once";
}

// Of another version of the operator, or of a newer schema: no reason to leave the job alone.
TEST_F(KubeClusterTest, FieldsThatAreNotKnownHereAreNoHindrance) {
  json newer = manifest;
  newer["spec"]["shiny"] = true;
  newer["spec"]["worker"]["colour"] = "red";
  newer["status"] = {{"state", "Running"}, {"mood", "good"}};
  put(newer);
  Operator op(*this);
  const auto record = op.cluster.read_job({"a", "db"});
  ASSERT_TRUE(record);
  EXPECT_EQ(record->unreadable, "");
  EXPECT_EQ(record->job.status.state, JobState::Running);
}

// 422 for what is no valid pod, 400 for what is no pod: neither will ever work.
TEST_F(KubeClusterTest, ATemplateOfWrongTypesIsRefusedForGood) {
  server.refuse_dry_runs(
      400, "json: cannot unmarshal number into Go struct field Pod.spec.hostNetwork of type bool");
  Operator op(*this);
  const Outcome refused = create_pod(op);
  EXPECT_EQ(refused.kind, Outcome::Kind::Refused);
  EXPECT_THAT(refused.message, HasSubstr("hostNetwork"));
  EXPECT_TRUE(server.object(secret_path).is_null()) << "nothing is made for it";
  EXPECT_THAT(server.dry_runs(), ::testing::Each(HasSubstr("fieldValidation=Strict"))) << "typos are errors";
}

TEST_F(KubeClusterTest, APodThatARuleOfTheClusterForbidsIsDeniedForNow) {
  server.refuse_dry_runs(403, "pods \"db-w-0\" is forbidden: exceeded quota: few");
  Operator op(*this);
  const Outcome denied = create_pod(op);
  EXPECT_EQ(denied.kind, Outcome::Kind::Denied);
  EXPECT_THAT(denied.message, HasSubstr("exceeded quota: few"));
}

// A quota may be raised; a namespace that is being deleted takes no object any more.
TEST(Outcomes, ANamespaceThatIsBeingDeletedIsTheEnd) {
  using Kind = Outcome::Kind;
  EXPECT_EQ(
      outcome_of(kube::api_error("x", 403, R"({"reason": "Forbidden", "message": "exceeded quota"})", ""))
          .kind,
      Kind::Denied);
  EXPECT_EQ(outcome_of(kube::api_error("x", 403, R"({"reason": "Forbidden", "details": {"causes": [
      {"reason": "NamespaceTerminating", "message": "namespace a is being terminated",
       "field": "metadata.namespace"}]}})",
                                       ""))
                .kind,
            Kind::Ending);
}

}  // namespace
}  // namespace emj::manager
