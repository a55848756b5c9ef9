// SPDX-License-Identifier: Apache-2.0
// Credentials of a program: a script that does what programs do.

#include "operator/kube/exec_plugin.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "operator/kube/config.hpp"
#include "operator/kube/credentials.hpp"
#include "operator/kube/testing/certificates.hpp"
#include "operator/kube/testing/manual_clock.hpp"

namespace emj::kube {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class ExecPluginTest : public ::testing::Test {
 protected:
  ExecPluginTest() {
    char name[] = "/tmp/empi-exec-plugin-XXXXXX";
    folder_ = mkdtemp(name);
  }
  void TearDown() override { fs::remove_all(folder_); }

  // A program "login" with these lines.
  std::string program(const std::string& script) const {
    const std::string path = folder_ / "login";
    std::ofstream(path) << "#!/bin/sh\necho run >>" << (folder_ / "runs").string() << "\n" << script << "\n";
    ::chmod(path.c_str(), 0700);
    return path;
  }
  ExecPlugin plugin(const std::string& script) const {
    return {.command = program(script),
            .api_version = "client.authentication.k8s.io/v1",
            .install_hint = "get it from the cloud",
            .origin = "config: users[u].exec"};
  }
  static std::string credential(const std::string& status) {
    return "cat <<'END'\n{\"apiVersion\": \"client.authentication.k8s.io/v1\", \"kind\": \"ExecCredential\", "
           "\"status\": {" +
           status + "}}\nEND";
  }
  int runs() const {
    std::ifstream file(folder_ / "runs");
    int count = 0;
    for (std::string line; std::getline(file, line);) ++count;
    return count;
  }
  static std::string refusal(const ExecPlugin& plugin, Millis patience = Seconds(60)) {
    try {
      run_plugin(plugin, patience);
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "accepted";
  }
  // A kubeconfig whose user is this program.
  std::string kubeconfig_with(const std::string& exec) const {
    const std::string path = folder_ / "config";
    std::ofstream(path) << "current-context: x\nclusters: [{name: c, cluster: {server: 'http://127.0.0.1:1', "
                           "certificate-authority-data: 'Y2E='}}]\nusers: [{name: u, user: {exec: {"
                        << exec << "}}}]\ncontexts: [{name: x, context: {cluster: c, user: u}}]\n";
    return path;
  }

  fs::path folder_;
};

TEST_F(ExecPluginTest, ATokenUntilItExpires) {
  const ExecCredential read =
      run_plugin(plugin(credential(R"("token": "secret", "expirationTimestamp": "2027-01-15T08:00:00Z")")));
  EXPECT_EQ(read.token, "secret");
  EXPECT_EQ(read.expires, WallTime(Seconds(1'800'000'000)));
  EXPECT_FALSE(run_plugin(plugin(credential(R"("token": "secret")"))).expires);
}

TEST_F(ExecPluginTest, ItHasItsArgumentsAndItsEnvironmentAndNoShell) {
  ExecPlugin asked = plugin(R"sh(
case $KUBERNETES_EXEC_INFO in *'"interactive":false'*) ;; *) exit 8 ;; esac
case $KUBERNETES_EXEC_INFO in *'"server":"https://h"'*) ;; *) exit 9 ;; esac
printf '{"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential", '
printf '"status": {"token": "%s|%s|%s|%s"}}' "$#" "$1" "$PROFILE" "$(cat | wc -c)"
)sh");
  asked.arguments = {"$(id); `id` && *", "--flag"};
  asked.environment = {{"PROFILE", "a b"}};
  asked.cluster = R"({"server": "https://h"})";
  EXPECT_EQ(run_plugin(asked).token, "2|$(id); `id` && *|a b|0");
}

TEST_F(ExecPluginTest, WhatGoesWrongIsSaid) {
  ExecPlugin missing = plugin("");
  missing.command = "no-such-program-here";
  EXPECT_THAT(refusal(missing),
              AllOf(HasSubstr("config: users[u].exec: no-such-program-here cannot be started"),
                    HasSubstr("get it from the cloud")));
  EXPECT_THAT(refusal(plugin("exit 3")), HasSubstr("ended with status 3"));
  EXPECT_THAT(refusal(plugin("kill -9 $$")), HasSubstr("ended by signal 9"));
  EXPECT_THAT(refusal(plugin("echo 'secret: [not json'")),
              AllOf(HasSubstr("no JSON object"), Not(HasSubstr("secret"))));
  EXPECT_THAT(refusal(plugin("echo '[]'")), HasSubstr("no JSON object"));
  EXPECT_THAT(refusal(plugin("echo '{\"kind\": \"Status\"}'")), HasSubstr("prints a 'Status'"));
  EXPECT_THAT(
      refusal(plugin(
          R"(echo '{"kind": "ExecCredential", "apiVersion": "client.authentication.k8s.io/v1beta1"}')")),
      HasSubstr("expected client.authentication.k8s.io/v1, as the kubeconfig has it"));
  EXPECT_THAT(refusal(plugin(credential(""))), HasSubstr("neither token nor"));
  EXPECT_THAT(refusal(plugin(credential(R"("token": 7)"))), HasSubstr("a token that is no text"));
  EXPECT_THAT(refusal(plugin(credential(R"("clientKeyData": "k")"))), HasSubstr("belong together"));
  EXPECT_THAT(refusal(plugin(credential(R"("token": "t", "expirationTimestamp": "tomorrow")"))),
              HasSubstr("'tomorrow'"));
  EXPECT_THAT(refusal(plugin("yes")), HasSubstr("more than a credential"));
}

TEST_F(ExecPluginTest, OneThatDoesNotEndIsEndedWithAllThatItHasStarted) {
  const auto start = std::chrono::steady_clock::now();
  EXPECT_THAT(
      refusal(plugin("sleep 1000 & echo $! >" + (folder_ / "child").string() + "; wait"), Millis(300)),
      HasSubstr("has not ended within 300 ms"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, Seconds(20));
  int child = 0;
  std::ifstream(folder_ / "child") >> child;
  ASSERT_GT(child, 0);
  const auto gone = [&] {  // or a zombie whose parent has not been told yet
    std::ifstream stat("/proc/" + std::to_string(child) + "/stat");
    std::string text;
    std::getline(stat, text);
    return text.empty() || text.find(") Z ") != std::string::npos;
  };
  while (!gone() && std::chrono::steady_clock::now() - start < Seconds(20)) poll(nullptr, 0, 5);
  EXPECT_TRUE(gone());
}

// One run serves until its credential expires or is refused; a run may cost a login.
TEST_F(ExecPluginTest, ItIsRunAgainWhenItsCredentialExpiresOrIsRefused) {
  testing::ManualClock clock;
  Config config;
  config.server = "http://127.0.0.1:1";
  const std::string in_an_hour = micro_time(clock.wall() + std::chrono::hours(1));
  config.exec = plugin(credential("\"token\": \"t\", \"expirationTimestamp\": \"" + in_an_hour + "\""));
  std::vector<std::string> log;
  Credentials credentials(config, clock, [&](const std::string& line) { log.push_back(line); });
  EXPECT_EQ(credentials.current().token, "t");
  clock.advance(std::chrono::minutes(59));
  EXPECT_EQ(credentials.current().token, "t");
  EXPECT_EQ(runs(), 1);
  clock.advance(std::chrono::minutes(2));
  program(credential(R"("token": "next")"));
  EXPECT_EQ(credentials.current().token, "next");
  EXPECT_EQ(runs(), 2);
  clock.advance(std::chrono::hours(100));
  EXPECT_EQ(credentials.current().token, "next") << "it has no end";
  EXPECT_EQ(runs(), 2);
  program(credential(R"("token": "third")"));
  EXPECT_TRUE(credentials.refresh(credentials.current())) << "the server has refused it";
  EXPECT_EQ(credentials.current().token, "third");
  program("exit 1");
  EXPECT_FALSE(credentials.refresh(credentials.current()));
  EXPECT_EQ(credentials.current().token, "third");
  ASSERT_EQ(log.size(), 1u);
  EXPECT_THAT(log[0], HasSubstr("ended with status 1"));
}

TEST_F(ExecPluginTest, ItMayGiveACertificateInsteadOfAToken) {
  testing::Authority authority("clients");
  const testing::Certificate mine = authority.issue("me", "");
  const nlohmann::json given = {
      {"apiVersion", "client.authentication.k8s.io/v1"},
      {"kind", "ExecCredential"},
      {"status", {{"clientCertificateData", mine.certificate}, {"clientKeyData", mine.key}}}};
  std::ofstream(folder_ / "given") << given.dump();
  testing::ManualClock clock;
  Config config;
  config.server = "http://127.0.0.1:1";
  config.exec = plugin("cat '" + (folder_ / "given").string() + "'");
  Credentials credentials(config, clock, {});
  EXPECT_EQ(credentials.current().token, "");
  EXPECT_EQ(credentials.current().tls->certificate, mine.certificate);
}

TEST_F(ExecPluginTest, TheKubeconfigSaysHow) {
  const std::string head =
      "apiVersion: client.authentication.k8s.io/v1, interactiveMode: IfAvailable, command: ";
  const Config config =
      kubeconfig({kubeconfig_with(head + "./login, args: [get-token, x], env: [{name: A, value: b}], "
                                         "installHint: hint, provideClusterInfo: true")});
  EXPECT_EQ(config.exec.command, folder_ / "./login") << "relative to the kubeconfig";
  EXPECT_EQ(config.exec.arguments, (std::vector<std::string>{"get-token", "x"}));
  EXPECT_EQ(config.exec.environment.at("A"), "b");
  EXPECT_EQ(config.exec.install_hint, "hint");
  EXPECT_THAT(config.exec.cluster, AllOf(HasSubstr("http://127.0.0.1:1"), HasSubstr("Y2E=")));
  EXPECT_EQ(kubeconfig({kubeconfig_with(head + "aws")}).exec.command, "aws") << "on PATH";

  const auto refused = [&](const std::string& exec) -> std::string {
    try {
      kubeconfig({kubeconfig_with(exec)});
    } catch (const ConfigError& error) {
      return error.what();
    }
    return "accepted";
  };
  EXPECT_THAT(refused("command: aws"), HasSubstr("users[u].exec.apiVersion: is ''"));
  EXPECT_THAT(refused("apiVersion: client.authentication.k8s.io/v1alpha1, command: aws"),
              HasSubstr("v1alpha1"));
  EXPECT_THAT(refused("apiVersion: client.authentication.k8s.io/v1"),
              HasSubstr("users[u].exec.command: is missing"));
  EXPECT_THAT(refused("apiVersion: client.authentication.k8s.io/v1, command: aws, interactiveMode: Always"),
              HasSubstr("interactiveMode"));
  EXPECT_THAT(refused(head + "aws, args: x"), HasSubstr("users[u].exec.args: expected a list of texts"));
  EXPECT_THAT(refused(head + "aws, env: [{name: 'A=B', value: c}]"), HasSubstr("users[u].exec.env"));
}

}  // namespace
}  // namespace emj::kube
