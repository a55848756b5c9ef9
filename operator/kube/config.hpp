// SPDX-License-Identifier: Apache-2.0
// Where the API server is and who we are there: from the service account of a pod, or from a kubeconfig.
// Loading happens once at start, so it throws: ConfigError says file, field and what to do.
#pragma once
#include <functional>
#include <stdexcept>
#include <string>
#include <vector>

#include "operator/kube/exec_plugin.hpp"

namespace emj::kube {

class ConfigError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// A piece of a credential: given as text, or as a file that is read again when it may have changed.
struct Material {
  std::string text;
  std::string file;
  std::string origin;  // where it was named, for messages: "/root/.kube/config: users[admin].client-key"
  bool empty() const { return text.empty() && file.empty(); }
};

struct Config {
  std::string server;           // https://host:port, perhaps with a path prefix; http:// only for tests
  std::string tls_server_name;  // expected in the certificate instead of the host of `server`
  bool insecure_skip_tls_verify = false;
  Material ca;  // PEM; empty: the certificates that the system trusts
  Material client_certificate, client_key;
  Material token;
  ExecPlugin exec;  // instead of token and client certificate
  std::string namespace_name = "default";
  std::string origin;  // "in-cluster service account", "/root/.kube/config, context admin@c"
};

struct Surroundings {
  std::function<std::string(const std::string& name)> environment;  // "" when unset
  std::string service_account = "/var/run/secrets/kubernetes.io/serviceaccount";
};
Surroundings real_surroundings();

// The service account of the pod that this process runs in.
Config in_cluster_config(const Surroundings& surroundings = real_surroundings());

// Merges the files as kubectl does: the first that names a thing wins. Files that do not exist are skipped,
// unless there is none at all. `context` empty: the current-context.
Config kubeconfig(const std::vector<std::string>& files, const std::string& context = {});

// An explicit file, else $KUBECONFIG, else the service account when in a pod, else ~/.kube/config.
Config load_config(const std::string& explicit_file = {}, const std::string& context = {},
                   const Surroundings& surroundings = real_surroundings());

// The bytes of `material`. Throws ConfigError when its file cannot be read or is empty.
std::string read_material(const Material& material);
std::string encode_base64(const std::string& bytes);
std::string decode_base64(const std::string& text, const std::string& origin);  // throws ConfigError

}  // namespace emj::kube
