// SPDX-License-Identifier: Apache-2.0
// What is written to the API server, and what never is: against a server in this process that keeps objects.

#include "operator/kube/kube_cluster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "operator/api/parse.hpp"
#include "operator/kube/outcome.hpp"
#include "operator/kube/testing/manual_clock.hpp"
#include "operator/kube/testing/object_server.hpp"
#include "operator/objects/pods.hpp"

namespace emj::manager {
namespace {

using kube::testing::ObjectServer;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

const json manifest = json::parse(R"({
  "apiVersion": "elasticmpi.io/v1alpha1", "kind": "ElasticMPIJob",
  "metadata": {"name": "db", "namespace": "a", "uid": "uid-job", "generation": 1},
  "spec": {"worker": {"replicas": 1, "minReplicas": 1, "maxReplicas": 4,
           "template": {"spec": {"containers": [{"name": "worker", "image": "i", "command": ["program"]}]}}}}})");
const std::string jobs_path = "/apis/elasticmpi.io/v1alpha1/namespaces/a/elasticmpijobs/db";
const std::string secret_path = "/api/v1/namespaces/a/secrets/db-token";
const std::string service_path = "/api/v1/namespaces/a/services/db-workers";
const std::string policy_path = "/apis/networking.k8s.io/v1/namespaces/a/networkpolicies/db-workers";

class KubeClusterTest : public ::testing::Test {
 public:
  ~KubeClusterTest() override { std::filesystem::remove_all(folder); }

 protected:
  KubeClusterTest() {
    char name[] = "/tmp/empi-cluster.XXXXXX";
    folder = mkdtemp(name);
    write_keys(std::string(32, 'k') + "\n");
    put(manifest);
  }
  void write_keys(const std::string& text) { std::ofstream(folder + "/key") << text; }
  void put(const json& job) { server.put(jobs_path, job); }

  // The operator as it starts now.
  struct Operator {
    explicit Operator(KubeClusterTest& test)
        : client(test.server.config()),
          events_client(test.server.config()),
          jobs(client, kube::resources::elastic_mpi_jobs, {}, [](const kube::Change&) {}),
          pods(client, kube::resources::pods, {}, [](const kube::Change&) {}),
          events(events_client, "c", "h", [](const std::string&) {}),
          root_key(test.folder + "/key"),
          cluster(
              client, jobs, pods, events, root_key, {},
              [&test](const std::string& line) { test.log.push_back(line); }, test.clock) {
      jobs.start();
      pods.start();
      EXPECT_TRUE(jobs.wait_synced(Millis(20000)) && pods.wait_synced(Millis(20000)));
    }
    ~Operator() {
      events.stop(Millis(100));
      events_client.stop();
      client.stop();
    }
    kube::Client client;
    kube::Client events_client;  // Events are written in their own time: tests count what `client` writes
    kube::Informer jobs, pods;
    kube::EventRecorder events;
    RootKey root_key;
    KubeCluster cluster;
  };
  static ElasticMPIJob job_of(Operator& op) { return op.cluster.read_job({"a", "db"})->job; }
  static Outcome create_pod(Operator& op) {
    const ElasticMPIJob job = job_of(op);
    return op.cluster.create_pod(job, build_pod(job, 0));
  }

  static json running() {
    json job = manifest;
    job["status"] = {{"state", "Running"}, {"epoch", 1}};
    return job;
  }

  static std::string entry(const json& secret, const std::string& name) {
    return kube::decode_base64(secret.at("data").at(name), name);
  }

  std::string folder;
  kube::testing::ManualClock clock;
  std::vector<std::string> log;
  ObjectServer server;
};

TEST_F(KubeClusterTest, AJobsChildrenAreMadeBeforeItsFirstPodAndAreItsOwn) {
  Operator op(*this);
  const Outcome made = create_pod(op);
  ASSERT_TRUE(made.ok()) << made.message;
  for (const std::string& path : {secret_path, service_path, policy_path})
    EXPECT_EQ(kube::controller_uid_of(server.object(path)), "uid-job") << path;
  EXPECT_TRUE(server.object("/api/v1/namespaces/a/pods/db-w-0").is_object());
}

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

// Those of one Secret are in it before the first pod that mounts it, in one write; the pod has its own and no
// other.
TEST_F(KubeClusterTest, CertificatesAreThereBeforeThePodsThatMountThem) {
  Operator op(*this);
  ElasticMPIJob job = job_of(op);
  job.status.mutual_tls = true;
  const auto entries = [&](int number) {
    std::set<std::string> names;
    const json secret = server.object("/api/v1/namespaces/a/secrets/db-tls-" + std::to_string(number));
    for (const auto& [name, text] : secret.at("data").items()) names.insert(name);
    return names;
  };
  ASSERT_TRUE(
      op.cluster.create_pods(job, {build_pod(job, 0), build_pod(job, 199), build_pod(job, 200)}).ok());
  EXPECT_EQ(entries(0), (std::set<std::string>{"authorities.pem", "worker-0.pem", "worker-199.pem"}));
  EXPECT_EQ(entries(1), (std::set<std::string>{"authorities.pem", "worker-200.pem"}));
  const json pod = server.object("/api/v1/namespaces/a/pods/db-w-199");
  std::string mounted;
  for (const json& volume : pod["spec"]["volumes"])
    if (volume["name"] == "elastic-mpi-tls") mounted = volume["secret"].dump();
  EXPECT_THAT(mounted, HasSubstr("db-tls-0"));
  EXPECT_THAT(mounted, HasSubstr("worker-199.pem"));
  EXPECT_THAT(mounted, Not(HasSubstr("worker-0.pem")));
  EXPECT_EQ(kube::controller_uid_of(server.object("/api/v1/namespaces/a/secrets/db-tls-0")), "uid-job");
  // A grow leaves those of the others as they are, to the byte.
  const auto of_0 = [&] {
    return entry(server.object("/api/v1/namespaces/a/secrets/db-tls-0"), "worker-0.pem");
  };
  const std::string before = of_0();
  ASSERT_TRUE(op.cluster.create_pods(job, {build_pod(job, 1)}).ok());
  EXPECT_EQ(entries(0),
            (std::set<std::string>{"authorities.pem", "worker-0.pem", "worker-1.pem", "worker-199.pem"}));
  EXPECT_EQ(of_0(), before);
}

TEST_F(KubeClusterTest, ANewRootKeyReachesTheCertificatesOfPodsThatRun) {
  put(running());
  Operator op(*this);
  ElasticMPIJob job = job_of(op);
  job.status.mutual_tls = true;
  ASSERT_TRUE(op.cluster.create_pod(job, build_pod(job, 0)).ok());
  const std::string path = "/api/v1/namespaces/a/secrets/db-tls-0";
  const json before = server.object(path);
  write_keys(std::string(32, 'n') + "\n" + std::string(32, 'k') + "\n");
  Operator next(*this);
  ASSERT_TRUE(next.cluster.renew_token(job).ok());
  const json after = server.object(path);
  EXPECT_NE(entry(after, "worker-0.pem"), entry(before, "worker-0.pem"));
  EXPECT_THAT(entry(after, "authorities.pem"), HasSubstr(entry(before, "authorities.pem")))
      << "the old authority is trusted, too";
}

// Its key is nobody's any more. Its like go when all children are looked at, with a right to write alone.
TEST_F(KubeClusterTest, CertificatesOfWorkersThatHaveGoneGo) {
  put(running());
  Operator op(*this);
  ElasticMPIJob job = job_of(op);
  job.status.mutual_tls = true;
  job.status.next_index = 401;
  ASSERT_TRUE(op.cluster.create_pods(job, {build_pod(job, 0), build_pod(job, 1), build_pod(job, 400)}).ok());
  const auto entries = [&](const std::string& number) {
    std::set<std::string> names;
    const json secret = server.object("/api/v1/namespaces/a/secrets/db-tls-" + number);
    for (const auto& [name, text] : secret.at("data").items()) names.insert(name);
    return names;
  };
  const json kept = server.object("/api/v1/namespaces/a/secrets/db-tls-0");
  json extra = kept;
  extra["data"]["theirs"] = "";
  server.put("/api/v1/namespaces/a/secrets/db-tls-0", extra);
  for (const char* pod : {"db-w-1", "db-w-400"})
    server.erase(std::string("/api/v1/namespaces/a/pods/") + pod);
  ASSERT_TRUE(server.wait_until([&] { return op.cluster.list_pods({"a", "db"}).size() == 1; }));
  EXPECT_TRUE(op.cluster.keep_children(job).ok());
  clock.advance(Seconds(600));
  EXPECT_TRUE(op.cluster.keep_children(job).ok());
  EXPECT_EQ(entries("0"), (std::set<std::string>{"authorities.pem", "theirs", "worker-0.pem"}));
  EXPECT_EQ(entries("2"), (std::set<std::string>{"authorities.pem"}));
  EXPECT_TRUE(server.object("/api/v1/namespaces/a/secrets/db-tls-1").is_null());
  const auto writes = op.client.writes();
  clock.advance(Seconds(600));
  EXPECT_TRUE(op.cluster.keep_children(job).ok());
  EXPECT_EQ(op.client.writes() - writes, 11u)
      << "five objects looked at and applied, or not; nothing to take out";
}

TEST_F(KubeClusterTest, AJobThatBeganWithoutCertificatesGetsNone) {
  Operator op(*this);
  ASSERT_TRUE(create_pod(op).ok());
  EXPECT_TRUE(server.object("/api/v1/namespaces/a/secrets/db-tls-0").is_null());
  EXPECT_THAT(server.object("/api/v1/namespaces/a/pods/db-w-0").dump(), Not(HasSubstr("elastic-mpi-tls")));
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

// A user who may make jobs may not thereby write, take over or delete what others have made.
TEST_F(KubeClusterTest, ForeignObjectsOfAChildsNameAreNeverTouched) {
  for (const std::string& path : {secret_path, service_path, policy_path}) {
    SCOPED_TRACE(path);
    server.clear();
    put(manifest);
    json foreign = {
        {"metadata", {{"name", path.substr(path.rfind('/') + 1)}, {"namespace", "a"}, {"uid", "theirs"}}},
        {"data", {{"token", "theirs"}}}};
    server.put(path, foreign);
    const json before = server.object(path);
    Operator op(*this);
    const Outcome refused = create_pod(op);
    EXPECT_EQ(refused.kind, Outcome::Kind::Retry);
    EXPECT_THAT(refused.message, HasSubstr("exists already and is not of this job"));
    EXPECT_EQ(server.object(path), before) << "neither its content nor its owner";
    EXPECT_TRUE(server.object("/api/v1/namespaces/a/pods/db-w-0").is_null());
    server.erase(path);
    EXPECT_TRUE(create_pod(op).ok()) << "once it is gone";
  }
}

// The job was deleted and made again: its predecessor's children are collected within moments.
TEST_F(KubeClusterTest, ThePredecessorsChildrenAreWaitedForWithoutAFuss) {
  const json owner = {{"apiVersion", kApiVersion},
                      {"kind", kJobKind},
                      {"name", "db"},
                      {"uid", "before"},
                      {"controller", true}};
  server.put(secret_path,
             {{"metadata", {{"name", "db-token"}, {"namespace", "a"}, {"ownerReferences", {owner}}}}});
  const json before = server.object(secret_path);
  Operator op(*this);
  EXPECT_EQ(create_pod(op).kind, Outcome::Kind::Conflict) << "no condition, no log line: look again";
  EXPECT_EQ(server.object(secret_path), before);
  server.erase(secret_path);
  EXPECT_TRUE(create_pod(op).ok());
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

TEST_F(KubeClusterTest, AnOperatorThatStartsAnewKnowsItsOwnChildren) {
  {
    EXPECT_TRUE(create_pod(*std::make_unique<Operator>(*this)).ok());
  }
  server.erase("/api/v1/namespaces/a/pods/db-w-0");
  write_keys(std::string(32, 'n') + "\n" + std::string(32, 'k') + "\n");
  Operator op(*this);
  const Outcome made = create_pod(op);
  ASSERT_TRUE(made.ok()) << made.message;
  EXPECT_EQ(entry(server.object(secret_path), "token"), op.root_key.token_file("uid-job"));
}

TEST_F(KubeClusterTest, TheChildrenOfAJobThatHasRunAreLookedForFirst) {
  {
    EXPECT_TRUE(create_pod(*std::make_unique<Operator>(*this)).ok());
  }
  put(running());
  server.erase("/api/v1/namespaces/a/pods/db-w-0");
  server.erase(service_path);
  Operator op(*this);
  EXPECT_TRUE(create_pod(op).ok());
  EXPECT_EQ(op.client.writes(), 8u)
      << "the pod tried and made, each child looked for, then applied or created";
  EXPECT_EQ(kube::controller_uid_of(server.object(service_path)), "uid-job");
}

// They are not watched: the operator has no right to read Secrets, and a job may never grow again.
TEST_F(KubeClusterTest, AChildThatSomebodyHasDeletedIsMadeAgain) {
  Operator op(*this);
  ASSERT_TRUE(create_pod(op).ok());
  put(running());
  ASSERT_TRUE(server.wait_until([&] { return job_of(op).status.epoch == 1; }));
  for (const std::string& path : {secret_path, service_path, policy_path}) server.erase(path);
  const auto writes = op.client.writes();
  clock.advance(Seconds(599));
  EXPECT_TRUE(op.cluster.keep_children(job_of(op)).ok());
  EXPECT_EQ(op.client.writes(), writes) << "it was all there a moment ago";
  clock.advance(Seconds(1));
  EXPECT_TRUE(op.cluster.keep_children(job_of(op)).ok());
  for (const std::string& path : {secret_path, service_path, policy_path})
    EXPECT_EQ(kube::controller_uid_of(server.object(path)), "uid-job") << path;
  EXPECT_TRUE(op.cluster.keep_children(job_of(op)).ok());
  EXPECT_EQ(op.client.writes(), writes + 6) << "looked for and created, once in ten minutes";
}

// A thousand jobs that an operator finds when it starts are not looked at in one go.
TEST_F(KubeClusterTest, AnOperatorThatStartsAnewTakesItsTimeToLookForThem) {
  put(running());
  Operator op(*this);
  EXPECT_TRUE(op.cluster.keep_children(job_of(op)).ok());
  EXPECT_EQ(op.client.writes(), 0u);
  clock.advance(Seconds(600));
  EXPECT_TRUE(op.cluster.keep_children(job_of(op)).ok());
  EXPECT_EQ(kube::controller_uid_of(server.object(policy_path)), "uid-job");
}

TEST_F(KubeClusterTest, ANewRootKeyReachesJobsThatNeverGrow) {
  Operator op(*this);
  ASSERT_TRUE(create_pod(op).ok());
  write_keys(std::string(32, 'n') + "\n" + std::string(32, 'k') + "\n");
  Operator later(*this);
  put(running());
  ASSERT_TRUE(server.wait_until([&] { return job_of(later).status.epoch == 1; }));
  EXPECT_TRUE(later.cluster.keep_children(job_of(later)).ok());
  clock.advance(Seconds(600));
  EXPECT_TRUE(later.cluster.keep_children(job_of(later)).ok());
  EXPECT_EQ(entry(server.object(secret_path), "token"), later.root_key.token_file("uid-job"));
}

TEST_F(KubeClusterTest, AJobsTokenIsWrittenAnewWhenItIsStale) {
  {
    EXPECT_TRUE(create_pod(*std::make_unique<Operator>(*this)).ok());
  }
  write_keys(std::string(32, 'n') + "\n" + std::string(32, 'k') + "\n");
  Operator op(*this);
  EXPECT_TRUE(op.cluster.renew_token(job_of(op)).ok());
  EXPECT_EQ(entry(server.object(secret_path), "token"), op.root_key.token_file("uid-job"));
  const auto writes = op.client.writes();
  EXPECT_TRUE(op.cluster.renew_token(job_of(op)).ok());
  EXPECT_EQ(op.client.writes(), writes) << "kubelets take a minute to bring it: once is enough until then";
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
