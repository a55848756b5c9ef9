// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/empi/cluster/access.hpp"

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "operator/api/condition_types.hpp"
#include "operator/api/parse.hpp"

namespace emj::cli {

namespace {

using Kind = kube::ApiError::Kind;
namespace resources = kube::resources;

constexpr std::size_t kMostNames = 8;
constexpr const char* kProgram = "kubectl-empi";

// As kubectl: a file in the home folder comes before the service account of a pod.
kube::Config load(const ClusterOptions& options, const kube::Surroundings& surroundings) {
  std::string file = options.kubeconfig;
  if (file.empty() && surroundings.environment("KUBECONFIG").empty()) {
    const std::string home = surroundings.environment("HOME");
    std::error_code none;
    if (!home.empty() && std::filesystem::exists(home + "/.kube/config", none)) file = home + "/.kube/config";
  }
  return kube::load_config(file, options.context, surroundings);
}

kube::ClientOptions client_options() {
  kube::ClientOptions options;
  options.user_agent = options.field_manager = kProgram;
  return options;
}

kube::ClientOptions hurried(Millis patience) {
  kube::ClientOptions options = client_options();
  options.connect_timeout = options.answer_timeout = patience;
  options.retries = 0;
  return options;
}

ElasticMPIJob read_job(const nlohmann::json& object) {
  const auto job = parse_stored(object);
  if (!job) throw Refusal("job " + kube::key_of(object).name + " cannot be read: " + job.message());
  return job.value();
}

}  // namespace

empi::options::OptionList cluster_options(ClusterOptions& options) {
  return {{"--cluster", &options.cluster, "on the cluster of the kubeconfig's current context"},
          {"--context", &options.context, "on the cluster of this context of the kubeconfig"},
          {"--kubeconfig", &options.kubeconfig, "file instead of $KUBECONFIG and ~/.kube/config"},
          {"-n,--namespace", &options.namespace_name, "of the cluster, instead of the context's"}};
}

empi::options::OptionList cluster_options_of_all(ClusterOptions& options) {
  auto list = cluster_options(options);
  list.push_back({"-A,--all-namespaces", &options.all_namespaces, "jobs of all namespaces of the cluster"});
  return list;
}

bool is_kubectl_plugin(const std::string& called_as) {
  return std::filesystem::path(called_as).filename() == kProgram;
}

bool is_kubectl_completion(const std::string& called_as) {
  return std::filesystem::path(called_as).filename() == "kubectl_complete-empi";
}

ClusterAccess::ClusterAccess(const ClusterOptions& options, const kube::Surroundings& surroundings)
    : ClusterAccess(options, surroundings, client_options()) {}

ClusterAccess::ClusterAccess(const ClusterOptions& options, Millis patience)
    : ClusterAccess(options, kube::real_surroundings(), hurried(patience)) {}

ClusterAccess::ClusterAccess(const ClusterOptions& options, const kube::Surroundings& surroundings,
                             kube::ClientOptions client) {
  try {
    kube::Config config = load(options, surroundings);
    namespace_ = options.namespace_name.empty() ? config.namespace_name : options.namespace_name;
    client_ = std::make_unique<kube::Client>(std::move(config), std::move(client));
  } catch (const kube::ConfigError& error) {
    throw Refusal(error.what());
  }
}

Refusal ClusterAccess::refusal(const kube::ApiError& error) const {
  const std::string origin = client_->config().origin;
  switch (error.kind) {
    case Kind::Unauthorized:
      return Refusal(error.message + "; log in again, the credentials of " + origin + " are refused");
    case Kind::Forbidden:
      return Refusal(error.message + "; ask for the role edit (or view, to look only) in namespace " +
                     namespace_);
    case Kind::Unreachable:
    case Kind::Lost:
      return Refusal(error.message + "; is the cluster of " + origin + " running, and the right one?",
                     Refusal::Kind::MayPass);
    case Kind::Timeout:
    case Kind::Unavailable:
    case Kind::TooManyRequests:
    case Kind::Server:
      return Refusal(error.message + "; try again", Refusal::Kind::MayPass);
    default:
      return Refusal(error.message);
  }
}

kube::Client::Object ClusterAccess::try_job(const std::string& name) {
  return client_->get(resources::kElasticMpiJobs, key(name));
}

ElasticMPIJob ClusterAccess::job(const std::string& name) {
  const auto found = try_job(name);
  if (found) return read_job(found.value());
  if (found.error().kind != Kind::NotFound) throw refusal(found.error());
  std::string known;
  std::size_t count = 0;
  for (const ElasticMPIJob& other : jobs())
    if (++count <= kMostNames) known += (known.empty() ? "" : ", ") + other.metadata.name;
  if (count > kMostNames) known += ", ...";
  throw Refusal("no job named " + name + " in namespace " + namespace_ + " of " + client_->config().origin +
                (known.empty() ? "; there is none: look with -n NAMESPACE or top -A" : "; there: " + known));
}

std::vector<ElasticMPIJob> ClusterAccess::jobs(bool of_all_namespaces) {
  const auto list = client_->list(resources::kElasticMpiJobs, of_all_namespaces ? std::string() : namespace_);
  if (!list && list.error().kind == Kind::NotFound)
    throw Refusal("Elastic MPI is not installed in the cluster of " + client_->config().origin +
                  "; see docs/operate.md, or choose another with --context");
  if (!list) throw refusal(list.error());
  std::vector<ElasticMPIJob> jobs;
  for (const auto& object : list.value().items) {
    const auto job = parse_stored(object);
    if (job) {
      jobs.push_back(job.value());
      continue;
    }
    ElasticMPIJob unreadable;  // of another version: the others are to be seen all the same
    unreadable.metadata.name = kube::key_of(object).name;
    unreadable.metadata.namespace_name = kube::key_of(object).namespace_name;
    unreadable.metadata.uid = kube::uid_of(object);
    unreadable.status.reason = condition::kReasonUnreadable;
    jobs.push_back(std::move(unreadable));
  }
  std::ranges::sort(jobs, {}, [](const ElasticMPIJob& job) {
    return std::pair(job.metadata.namespace_name, job.metadata.name);
  });
  return jobs;
}

std::vector<ElasticQueue> ClusterAccess::queues() {
  const auto list = client_->list(resources::kElasticQueues, "");
  if (!list && list.error().kind == Kind::NotFound)
    throw Refusal("the Elastic MPI of the cluster of " + client_->config().origin +
                  " knows no queues: it is older than they are, or not installed");
  if (!list && list.error().kind == Kind::Forbidden)
    throw Refusal(list.error().message + "; ask for a ClusterRoleBinding to elastic-mpi-queue-view");
  if (!list) throw refusal(list.error());
  std::vector<ElasticQueue> queues;
  for (const auto& object : list.value().items)
    if (const auto queue = parse_stored_queue(object)) queues.push_back(queue.value());
  std::ranges::sort(queues, {}, [](const ElasticQueue& queue) { return queue.metadata.name; });
  return queues;
}

}  // namespace emj::cli
