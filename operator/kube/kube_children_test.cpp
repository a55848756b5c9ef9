// SPDX-License-Identifier: Apache-2.0
// What a job has beside its pods: Secrets, a Service, a NetworkPolicy. When they are written, and which never
// are.
#include <gmock/gmock.h>

#include "operator/kube/testing/kube_cluster_fixture.hpp"

namespace emj::manager {
namespace {

using namespace testing;
using nlohmann::json;
using ::testing::HasSubstr;
using ::testing::Not;

TEST_F(KubeClusterTest, AJobsChildrenAreMadeBeforeItsFirstPodAndAreItsOwn) {
  Operator op(*this);
  const Outcome made = create_pod(op);
  ASSERT_TRUE(made.ok()) << made.message;
  for (const std::string& path : {secret_path, service_path, policy_path})
    EXPECT_EQ(kube::controller_uid_of(server.object(path)), "uid-job") << path;
  EXPECT_TRUE(server.object("/api/v1/namespaces/a/pods/db-w-0").is_object());
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
  EXPECT_EQ(op.client.writes() - writes, 7u) << "all is looked at and as it should be; nothing to take out";
}

TEST_F(KubeClusterTest, AJobThatBeganWithoutCertificatesGetsNone) {
  Operator op(*this);
  ASSERT_TRUE(create_pod(op).ok());
  EXPECT_TRUE(server.object("/api/v1/namespaces/a/secrets/db-tls-0").is_null());
  EXPECT_THAT(server.object("/api/v1/namespaces/a/pods/db-w-0").dump(), Not(HasSubstr("elastic-mpi-tls")));
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

// The create is refused for what is gone when it is asked whose that is.
TEST_F(KubeClusterTest, AForeignObjectThatHasJustGoneKeepsNothingFromBeingMade) {
  for (const std::string& path : {secret_path, service_path, policy_path}) {
    SCOPED_TRACE(path);
    server.clear();
    put(manifest);
    server.put(path, {{"metadata", {{"name", path.substr(path.rfind('/') + 1)}, {"namespace", "a"}}}});
    server.let_vanish(path);
    Operator op(*this);
    const Outcome made = create_pod(op);
    EXPECT_TRUE(made.ok()) << made.message;
    EXPECT_EQ(kube::controller_uid_of(server.object(path)), "uid-job");
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
  EXPECT_EQ(op.client.writes(), 6u)
      << "the pod tried and made, each child looked for, the one that is gone created";
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

// With ten thousand pods that was half of all that is written.
TEST_F(KubeClusterTest, AChildIsWrittenAgainWhereSomebodyHasChangedIt) {
  Operator op(*this);
  ASSERT_TRUE(create_pod(op).ok());
  put(running());
  ASSERT_TRUE(server.wait_until([&] { return job_of(op).status.epoch == 1; }));
  json service = server.object(service_path);
  const json as_made = service;
  service["spec"]["sessionAffinity"] = "None";  // a default of the server
  server.put(service_path, service);
  auto writes = op.client.writes();
  clock.advance(Seconds(600));
  EXPECT_TRUE(op.cluster.keep_children(job_of(op)).ok());
  EXPECT_EQ(op.client.writes(), writes + 3) << "looked for";
  service["spec"]["ports"].push_back({{"port", 1}});
  service["metadata"]["labels"].clear();
  server.put(service_path, service);
  writes = op.client.writes();
  clock.advance(Seconds(600));
  EXPECT_TRUE(op.cluster.keep_children(job_of(op)).ok());
  EXPECT_EQ(op.client.writes(), writes + 4);
  EXPECT_EQ(server.object(service_path)["spec"]["ports"], as_made["spec"]["ports"]);
  EXPECT_EQ(server.object(service_path)["metadata"]["labels"], as_made["metadata"]["labels"]);
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

}  // namespace
}  // namespace emj::manager
