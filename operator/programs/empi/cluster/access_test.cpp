// SPDX-License-Identifier: Apache-2.0
// Which cluster is meant, and what is said when it refuses.

#include "operator/programs/empi/cluster/access.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/kube/testing/stub_server.hpp"
#include "operator/programs/empi/cluster/testing/cluster.hpp"

namespace emj::cli {
namespace {

using kube::testing::Exchange;
using kube::testing::Request;
using kube::testing::StubServer;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing_cluster::refusal_of;

std::string status(int code, const std::string& reason, const std::string& message) {
  return nlohmann::json{{"kind", "Status"}, {"code", code}, {"reason", reason}, {"message", message}}.dump();
}

TEST(Plugin, IsKnownByItsName) {
  EXPECT_TRUE(is_kubectl_plugin("kubectl-empi"));
  EXPECT_TRUE(is_kubectl_plugin("/usr/local/bin/kubectl-empi"));
  EXPECT_FALSE(is_kubectl_plugin("/opt/kubectl-empi/bin/empi"));
}

class AccessTest : public testing::Test {
 protected:
  testing_cluster::Kubeconfig kubeconfig_;
};

TEST_F(AccessTest, TheNamespaceIsTheContextsUnlessAnotherIsGiven) {
  kubeconfig_.write("http://127.0.0.1:1");
  EXPECT_EQ(ClusterAccess({.kubeconfig = kubeconfig_.file()}).namespace_name(), "team");
  EXPECT_EQ(ClusterAccess({.kubeconfig = kubeconfig_.file(), .namespace_name = "x"}).namespace_name(), "x");
  EXPECT_EQ(ClusterAccess({.cluster = true}, kubeconfig_.surroundings()).namespace_name(), "team");
}

TEST_F(AccessTest, AFileInTheHomeFolderComesBeforeTheServiceAccountOfAPod) {
  kubeconfig_.write("http://127.0.0.1:1");
  auto surroundings = kubeconfig_.surroundings({{"KUBERNETES_SERVICE_HOST", "10.0.0.1"}});
  EXPECT_EQ(ClusterAccess({.cluster = true}, surroundings).namespace_name(), "team");
}

TEST_F(AccessTest, AContextOrAFileThatIsNotThereIsSaid) {
  kubeconfig_.write("http://127.0.0.1:1");
  const auto refusal = [&](const ClusterOptions& options) {
    return refusal_of([&] { ClusterAccess access(options, kubeconfig_.surroundings()); });
  };
  EXPECT_THAT(refusal({.context = "nowhere"}), HasSubstr("there is no 'nowhere'; there are: here"));
  EXPECT_THAT(refusal({.kubeconfig = "/no/such/file"}), HasSubstr("/no/such/file does not exist"));
  EXPECT_THAT(refusal_of([&] {
                ClusterAccess access({.cluster = true},
                                     kubeconfig_.surroundings({{"HOME", "/nowhere"}, {"KUBECONFIG", ""}}));
              }),
              HasSubstr("set KUBECONFIG"));
}

TEST_F(AccessTest, RefusalsSayWhatToDo) {
  int code = 403;
  std::string body =
      status(403, "Forbidden", "elasticmpijobs \"demo\" is forbidden:\nUser \"eve\" cannot get it");
  StubServer server([&](const Request&, Exchange& exchange) { exchange.reply(code, body); });
  kubeconfig_.write(server.url());
  ClusterAccess access({.kubeconfig = kubeconfig_.file()});
  EXPECT_THAT(refusal_of([&] { access.job("demo"); }),
              AllOf(HasSubstr("User \"eve\" cannot get it; ask for the role edit"), Not(HasSubstr("\n"))));
  code = 401;
  body = status(401, "Unauthorized", "Unauthorized");
  EXPECT_THAT(refusal_of([&] { access.jobs(); }), HasSubstr("log in again"));
  code = 404;
  body = status(404, "NotFound", "the server could not find the requested resource");
  EXPECT_THAT(refusal_of([&] { access.job("demo"); }), HasSubstr("Elastic MPI is not installed"));
  code = 500;
  body = std::string(100000, 'x');
  EXPECT_LT(refusal_of([&] { access.job("demo"); }).size(), 700u);
}

TEST_F(AccessTest, AServerThatIsNotThereIsSaid) {
  kubeconfig_.write("http://127.0.0.1:1");
  ClusterAccess access({.kubeconfig = kubeconfig_.file()});
  EXPECT_THAT(refusal_of([&] { access.jobs(); }), HasSubstr("running, and the right one?"));
}

}  // namespace
}  // namespace emj::cli
