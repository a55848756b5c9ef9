// SPDX-License-Identifier: Apache-2.0
// Where a configuration comes from, and what its errors say.

#include "operator/kube/config.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "operator/kube/connection.hpp"

namespace emj::kube {
namespace {

namespace fs = std::filesystem;

class ConfigTest : public ::testing::Test {
 public:
  ConfigTest() {
    char name[] = "/tmp/empi-kube-config-XXXXXX";
    folder = mkdtemp(name);
  }
  ~ConfigTest() override { fs::remove_all(folder); }

 protected:
  std::string write(const std::string& name, const std::string& text) {
    fs::create_directories((folder / name).parent_path());
    std::ofstream(folder / name) << text;
    return folder / name;
  }
  Surroundings surroundings() {
    return {[this](const std::string& name) { return environment[name]; }, folder / "serviceaccount"};
  }
  // The message of the ConfigError that reading this kubeconfig gives.
  std::string refusal(const std::string& text, const std::string& context = {}) {
    try {
      kubeconfig({write("bad", text)}, context);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "accepted";
  }

  fs::path folder;
  std::map<std::string, std::string> environment;
};

constexpr char kComplete[] = R"(
apiVersion: v1
kind: Config
current-context: two
clusters:
- name: c
  cluster: {server: "https://h:6443", certificate-authority-data: "Y2E=", tls-server-name: api.test}
- name: open
  cluster: {server: "https://o:6443", insecure-skip-tls-verify: true}
users:
- name: cert
  user: {client-certificate: pki/c.pem, client-key: pki/k.pem}
- name: token
  user: {token: secret}
contexts:
- name: one
  context: {cluster: c, user: cert, namespace: space}
- name: two
  context: {cluster: open, user: token}
)";

TEST_F(ConfigTest, ContextsCertificatesAndTokens) {
  const std::string file = write("deep/config", kComplete);
  const Config two = kubeconfig({file});
  EXPECT_EQ(two.server, "https://o:6443");
  EXPECT_TRUE(two.insecure_skip_tls_verify);
  EXPECT_EQ(two.token.text, "secret");
  EXPECT_EQ(two.namespace_name, "default");
  const Config one = kubeconfig({file}, "one");
  EXPECT_EQ(one.ca.text, "ca");
  EXPECT_EQ(one.tls_server_name, "api.test");
  EXPECT_EQ(one.namespace_name, "space");
  EXPECT_FALSE(one.insecure_skip_tls_verify);
  EXPECT_EQ(one.client_certificate.file, folder / "deep/pki/c.pem");  // relative to the kubeconfig
  EXPECT_EQ(one.client_key.file, folder / "deep/pki/k.pem");
  EXPECT_EQ(one.origin, file + ", context one");
}

TEST_F(ConfigTest, TheFirstFileThatNamesAThingWins) {
  const std::string first =
      write("first", "current-context: one\nusers: [{name: token, user: {token: mine}}]\n");
  const std::string second = write("second", kComplete);
  environment["KUBECONFIG"] = first + ":" + (folder / "missing").string() + ":" + second;
  const Config one = load_config({}, {}, surroundings());
  EXPECT_EQ(one.namespace_name, "space");
  EXPECT_EQ(load_config({}, "two", surroundings()).token.text, "mine");
  EXPECT_EQ(load_config(second, {}, surroundings()).token.text, "secret");  // an explicit file alone
}

TEST_F(ConfigTest, ErrorsNameFileAndField) {
  const std::string at = (folder / "bad").string();
  const auto with = [](const std::string& cluster, const std::string& user) {
    return "current-context: x\nclusters: [{name: c, cluster: {" + cluster +
           "}}]\nusers: [{name: u, user: {" + user +
           "}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n";
  };
  const std::string server = "server: 'https://h'";
  EXPECT_EQ(refusal(with(server, "")), "accepted");
  EXPECT_EQ(refusal(with("", "")), at + ": clusters[c].server: is missing");
  EXPECT_EQ(refusal(with("server: 'h:6443'", "")),
            at + ": clusters[c].server: is 'h:6443', expected https://HOST:PORT");
  EXPECT_EQ(refusal(with(server + ", certificate-authority-data: 'a*=='", "")),
            at + ": clusters[c].certificate-authority-data: is not base64 (character 2)");
  EXPECT_EQ(refusal(with(server + ", proxy-url: 'http://p'", "")),
            at + ": clusters[c].proxy-url: proxies are not supported: use a direct address");
  EXPECT_EQ(refusal(with(server + ", insecure-skip-tls-verify: perhaps", "")),
            at + ": clusters[c].insecure-skip-tls-verify: is 'perhaps', expected true or false");
  EXPECT_EQ(refusal(with(server, "auth-provider: {name: gcp}")),
            at + ": users[u].auth-provider: is not supported: use exec, token, tokenFile or "
                 "client-certificate with client-key");
  EXPECT_EQ(refusal(with(server, "client-key: k")),
            at + ": users[u].client-certificate: is missing: certificate and key belong together");
  EXPECT_EQ(refusal(with(server, ""), "y"), at + ": contexts: there is no 'y'; there are: x");
  EXPECT_EQ(refusal("a: [\nb"), at + ":2: is not YAML: end of sequence flow not found");
  EXPECT_EQ(refusal("clusters: {}"), at + ": clusters: expected a list");
  EXPECT_EQ(refusal("contexts: [{context: {}}]"), at + ": contexts[0].name: is missing");
  EXPECT_EQ(refusal(""), at + ": current-context: is missing; name a context");
  EXPECT_THROW(kubeconfig({folder / "nothing"}), ConfigError);
}

TEST_F(ConfigTest, InClusterNeedsAServiceAccount) {
  EXPECT_THROW(in_cluster_config(surroundings()), ConfigError);
  environment = {{"KUBERNETES_SERVICE_HOST", "fd00::1"}, {"KUBERNETES_SERVICE_PORT", "443"}};
  write("serviceaccount/ca.crt", "ca");
  try {
    in_cluster_config(surroundings());
    FAIL() << "there is no token";
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("serviceaccount/token"), std::string::npos) << error.what();
  }
  write("serviceaccount/token", "t\n");
  write("serviceaccount/namespace", "operators\n");
  const Config config = load_config({}, {}, surroundings());
  EXPECT_EQ(config.server, "https://[fd00::1]:443");
  EXPECT_EQ(config.namespace_name, "operators");
  EXPECT_EQ(config.token.file, folder / "serviceaccount/token");
}

TEST_F(ConfigTest, HomeComesLast) {
  environment["HOME"] = folder;
  write(".kube/config", kComplete);
  EXPECT_EQ(load_config({}, {}, surroundings()).server, "https://o:6443");
  environment.clear();
  EXPECT_THROW(load_config({}, {}, surroundings()), ConfigError);
}

TEST(Base64, DecodesAndRefuses) {
  EXPECT_EQ(decode_base64("aGVsbG8gd29ybGQ=", "x"), "hello world");
  EXPECT_EQ(decode_base64("/+8=\n", "x"), "\xff\xef");
  EXPECT_EQ(decode_base64("", "x"), "");
  for (const char* bad : {"abc", "a===", "ab=c", "ab c*"})
    EXPECT_THROW(decode_base64(bad, "x"), ConfigError) << bad;
}

TEST(Server, IsTakenApart) {
  const ServerAddress plain = parse_server("https://h", "x");
  EXPECT_TRUE(plain.tls && plain.host == "h" && plain.port == 443 && plain.prefix.empty());
  const ServerAddress full = parse_server("http://[::1]:8080/k8s/clusters/c/", "x");
  EXPECT_TRUE(!full.tls && full.host == "::1" && full.port == 8080);
  EXPECT_EQ(full.prefix, "/k8s/clusters/c");
  for (const char* bad : {"h:1", "https://", "https://h:", "https://h:0", "https://h:70000", "https://u@h",
                          "https://[::1", "https://h:12x", "ftp://h"})
    EXPECT_THROW(parse_server(bad, "x"), ConfigError) << bad;
}

}  // namespace
}  // namespace emj::kube
