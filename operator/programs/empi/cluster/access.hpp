// SPDX-License-Identifier: Apache-2.0
// The way of `kubectl empi` to a cluster: which one is asked for on the command line, its jobs, and what to
// do when it refuses. Everything here throws Refusal.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "operator/api/queue.hpp"
#include "operator/kube/client.hpp"
#include "operator/programs/empi/input.hpp"
#include "runtime/base/options.hpp"

namespace emj::cli {

// As kubectl has them. Any of them means a cluster, and without them a command is about local jobs, unless
// the program is called kubectl-empi.
struct ClusterOptions {
  bool cluster = false;  // the current context of the kubeconfig
  std::string kubeconfig{}, context{}, namespace_name{};
  bool all_namespaces = false;

  bool given() const {
    return cluster || all_namespaces || !kubeconfig.empty() || !context.empty() || !namespace_name.empty();
  }
};
empi::options::OptionList cluster_options(ClusterOptions& options);
empi::options::OptionList cluster_options_of_all(ClusterOptions& options);  // -A, too

// True for "kubectl-empi" and "/usr/local/bin/kubectl-empi".
bool is_kubectl_plugin(const std::string& called_as);
bool is_kubectl_completion(const std::string& called_as);  // "kubectl_complete-empi", which kubectl looks for

class ClusterAccess {
 public:
  explicit ClusterAccess(const ClusterOptions& options,
                         const kube::Surroundings& surroundings = kube::real_surroundings());
  // For who cannot wait: one attempt, that long.
  ClusterAccess(const ClusterOptions& options, Millis patience);

  kube::Client& client() { return *client_; }
  // Of the option, else of the context.
  const std::string& namespace_name() const { return namespace_; }
  void use_namespace(const std::string& name) { namespace_ = name; }

  ElasticMPIJob job(const std::string& name);
  std::vector<ElasticMPIJob> jobs(bool of_all_namespaces = false);  // by namespace and name
  std::vector<ElasticQueue> queues();                               // by name, those that can be read
  kube::ObjectKey key(const std::string& name) const { return {namespace_, name}; }
  // Why `error` came, and what to do.
  Refusal refusal(const kube::ApiError& error) const;

 private:
  ClusterAccess(const ClusterOptions& options, const kube::Surroundings& surroundings,
                kube::ClientOptions client);
  kube::Client::Object try_job(const std::string& name);

  std::unique_ptr<kube::Client> client_;
  std::string namespace_;
};

}  // namespace emj::cli
