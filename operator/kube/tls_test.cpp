// SPDX-License-Identifier: Apache-2.0
// Who is believed to be the API server, and how certificates change while the process runs.

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "operator/kube/client.hpp"
#include "operator/kube/testing/manual_clock.hpp"
#include "operator/kube/testing/stub_server.hpp"

namespace emj::kube {
namespace {

using testing::Authority;
using testing::Certificate;
using testing::Exchange;
using testing::Request;
using testing::StubServer;

const ObjectKey kPod{"a", "p"};
void answers_fine(const Request&, Exchange& exchange) { exchange.reply(200, "{}"); }

class Tls : public ::testing::Test {
 protected:
  Tls() {
    char name[] = "/tmp/empi-kube-tls-XXXXXX";
    folder = mkdtemp(name);
  }
  void TearDown() override { std::filesystem::remove_all(folder); }
  std::string write(const std::string& name, const std::string& text) {
    const std::string file = folder + "/" + name;
    std::ofstream(file) << text;
    return file;
  }
  static std::string outcome(const Config& config) {
    const auto answer = Client(config).get(resources::kPods, kPod);
    return answer ? "ok" : std::string(to_string(answer.error().kind)) + ": " + answer.error().message;
  }

  std::string folder;
  Authority authority{"cluster"}, stranger{"stranger"};
};

TEST_F(Tls, TrustsTheConfiguredAuthorityOnly) {
  StubServer server(answers_fine, authority.issue("api", "IP:127.0.0.1"));
  Config config = server.config();
  config.ca.text = authority.pem();
  EXPECT_EQ(outcome(config), "ok");
  config.ca.text = stranger.pem();
  EXPECT_NE(outcome(config).find("not issued by the configured certificate-authority"), std::string::npos)
      << outcome(config);
  config.ca.text = stranger.pem() + authority.pem();  // a bundle, as during a rotation
  EXPECT_EQ(outcome(config), "ok");
  // What the system trusts does not count once an authority is configured.
  const char* const before = getenv("SSL_CERT_FILE");
  const std::string saved = before ? before : "";
  setenv("SSL_CERT_FILE", write("system.pem", authority.pem()).c_str(), 1);
  config.ca.text = stranger.pem();
  EXPECT_NE(outcome(config), "ok");
  config.ca.text.clear();
  EXPECT_EQ(outcome(config), "ok");
  before ? setenv("SSL_CERT_FILE", saved.c_str(), 1) : unsetenv("SSL_CERT_FILE");
}

TEST_F(Tls, TheNameMustFit) {
  StubServer server(answers_fine,
                    authority.issue("127.0.0.1", "DNS:api.test"));  // the common name does not count
  Config config = server.config();
  config.ca.text = authority.pem();
  EXPECT_NE(outcome(config).find("see tls-server-name"), std::string::npos) << outcome(config);
  config.tls_server_name = "api.test";
  EXPECT_EQ(outcome(config), "ok");
  EXPECT_EQ(server.requests().back().headers.at("host"), "127.0.0.1:" + std::to_string(server.port()));
  config.tls_server_name = "other.test";
  EXPECT_NE(outcome(config), "ok");
  config.insecure_skip_tls_verify = true;
  EXPECT_EQ(outcome(config), "ok");
}

TEST_F(Tls, ClientCertificates) {
  StubServer server(answers_fine, authority.issue("api", "IP:127.0.0.1"), authority.pem());
  Config config = server.config();
  config.ca.text = authority.pem();
  EXPECT_NE(outcome(config), "ok");
  const Certificate admin = authority.issue("admin", "");
  config.client_certificate.text = admin.certificate;
  config.client_key.file = write("key.pem", admin.key);
  EXPECT_EQ(outcome(config), "ok");
  EXPECT_EQ(server.requests().back().client_name, "admin");
}

TEST_F(Tls, BadMaterialIsNamed) {
  Config config;
  config.server = "https://127.0.0.1:1";
  const auto refusal = [&] {
    try {
      Client client(config);
    } catch (const ConfigError& error) {
      return std::string(error.what());
    }
    return std::string("accepted");
  };
  config.ca = {"nonsense", "", "f: clusters[c].certificate-authority-data"};
  EXPECT_EQ(refusal().find("f: clusters[c].certificate-authority-data: is no PEM certificate"), 0u)
      << refusal();
  config.ca.text = authority.pem();
  const Certificate one = authority.issue("one", ""), two = authority.issue("two", "");
  config.client_certificate = {one.certificate, "", "certificate"};
  config.client_key = {two.key, "", "f: users[u].client-key"};
  EXPECT_EQ(refusal(), "f: users[u].client-key: does not belong to the client certificate");
  config.client_key.text = "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n";
  EXPECT_EQ(refusal().find("f: users[u].client-key: is no PEM private key"), 0u) << refusal();
  config.client_key = {"", folder + "/missing", "f: users[u].client-key"};
  EXPECT_EQ(refusal().find("f: users[u].client-key: " + folder + "/missing: cannot be opened"), 0u)
      << refusal();
}

// Pitfall 16: the authority is replaced under the running process; kept connections do not outlive it.
TEST_F(Tls, TheAuthorityIsReadAgain) {
  StubServer server(answers_fine, authority.issue("api", "IP:127.0.0.1"));
  Config config = server.config();
  config.ca.file = write("ca.crt", stranger.pem());
  testing::ManualClock clock;
  Client client(config, {}, clock);
  EXPECT_FALSE(client.get(resources::kPods, kPod));
  write("ca.crt", authority.pem());
  EXPECT_FALSE(client.get(resources::kPods, kPod));
  clock.advance(Seconds(60));
  EXPECT_TRUE(client.get(resources::kPods, kPod));
  const int connection = server.requests().back().connection;
  EXPECT_TRUE(client.get(resources::kPods, kPod));
  EXPECT_EQ(server.requests().back().connection, connection);
  write("ca.crt", authority.pem() + stranger.pem());
  clock.advance(Seconds(60));
  EXPECT_TRUE(client.get(resources::kPods, kPod));
  EXPECT_NE(server.requests().back().connection, connection);
}

TEST_F(Tls, AConnectionLostInTheMiddleIsSaidSo) {
  StubServer server(
      [](const Request&, Exchange& exchange) {
        exchange.raw("HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\n{");
        exchange.hang_up();
      },
      authority.issue("api", "IP:127.0.0.1"));
  Config config = server.config();
  config.ca.text = authority.pem();
  Client client(config);
  EXPECT_EQ(client.merge_patch(resources::kPods, kPod, {}).error().kind, ApiError::Kind::Lost);
}

}  // namespace
}  // namespace emj::kube
