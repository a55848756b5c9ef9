// SPDX-License-Identifier: Apache-2.0
// Credentials that a program of the user's prints, as most clouds have it in their kubeconfigs
// (client.authentication.k8s.io/v1: aws, gke-gcloud-auth-plugin, kubelogin). It is started without a shell
// and without a standard input, it has a minute, and what it prints is believed as far as it has the right
// form. Whatever goes wrong is a ConfigError: command, field and what to do.
#pragma once
#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "operator/kube/clock.hpp"

namespace emj::kube {

struct ExecPlugin {
  std::string command{};  // a name on PATH, or a path
  std::vector<std::string> arguments{};
  std::map<std::string, std::string> environment{};  // beside ours
  std::string api_version{};                         // client.authentication.k8s.io/v1 or v1beta1
  std::string install_hint{};                        // for who lacks the program
  std::string cluster{};                             // JSON: what is told of the cluster; empty: nothing
  std::string origin{};                              // "/root/.kube/config: users[admin].exec"
  bool empty() const { return command.empty(); }
};

struct ExecCredential {
  std::string token{}, certificate{}, key{};  // certificate and key as PEM
  std::optional<WallTime> expires{};          // absent: when the server refuses it
};

inline constexpr std::size_t kLongestCredential = std::size_t{1} << 20;

// Runs it to its end, `patience` at most: then it and what it has started are killed. Its standard error is
// ours.
ExecCredential run_plugin(const ExecPlugin& plugin, Millis patience = Seconds(60));
// What it has printed.
ExecCredential read_credential(const ExecPlugin& plugin, const std::string& printed);

}  // namespace emj::kube
