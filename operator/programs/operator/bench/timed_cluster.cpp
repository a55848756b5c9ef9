// SPDX-License-Identifier: Apache-2.0
#include "operator/programs/operator/bench/timed_cluster.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include "operator/api/job.hpp"

namespace emj::bench {
namespace {

namespace resources = kube::resources;

bool condition_is_true(const json& pod, const std::string& type) {
  const json status = pod.value("status", json::object());
  for (const json& condition : status.value("conditions", json::array()))
    if (condition.value("type", "") == type) return condition.value("status", "") == "True";
  return false;
}

}  // namespace

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void note(const std::string& text) { std::fprintf(stderr, "k8s: %s\n", text.c_str()); }

void figure(const std::string& name, double seconds) {
  std::printf("bench %s %.3f s\n", name.c_str(), seconds);
  std::fflush(stdout);
}

double quantile(std::vector<double> values, double q) {
  std::ranges::sort(values);
  return values.at(static_cast<std::size_t>(std::lround(q * static_cast<double>(values.size() - 1))));
}

json job_object(const Options& options, const std::string& name, int workers, int most, int standby) {
  const json container = {
      {"name", "worker"},
      {"image", options.image},
      {"command", {"empi-jacobi"}},
      {"args", {"--n", "64", "--iterations", "1000000000", "--tolerance", "0", "--pace", "20"}},
      {"resources", {{"requests", {{"cpu", "10m"}, {"memory", "32Mi"}}}}}};
  return {{"apiVersion", "elasticmpi.io/v1alpha1"},
          {"kind", "ElasticMPIJob"},
          {"metadata", {{"name", name}, {"namespace", options.namespace_name}}},
          {"spec",
           {{"worker",
             {{"replicas", workers},
              {"minReplicas", 1},
              {"maxReplicas", most},
              {"standby", standby},
              {"template", {{"spec", {{"containers", json::array({container})}}}}}}},
            {"resize", {{"joinTimeoutSeconds", 120}, {"prepareTimeoutSeconds", 60}}}}}};
}

Cluster::Cluster(const Options& options) : options_(options), client_(kube::load_config()) {
  kube::WatcherOptions watched;
  watched.namespace_name = options.namespace_name;
  const auto news = [this](const kube::Change&) {
    {
      const std::lock_guard lock(mutex_);
    }
    changed_.notify_all();
  };
  jobs_ = std::make_unique<kube::Informer>(client_, resources::kElasticMpiJobs, watched, news);
  pods_ = std::make_unique<kube::Informer>(client_, resources::kPods, watched, news);
  jobs_->start();
  pods_->start();
}

void Cluster::wait(const std::string& what, const std::function<bool()>& so) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_for(lock, std::chrono::seconds(options_.patience), so))
    throw std::runtime_error("not so after " + std::to_string(options_.patience) + " s: " + what);
}

json Cluster::status(const std::string& job) const {
  const kube::ObjectPtr object = jobs_->get({options_.namespace_name, job});
  return object ? object->value("status", json::object()) : json::object();
}

bool Cluster::has(const std::string& job, int size) const {
  return status(job).value("joinedReplicas", 0) == size;
}

bool Cluster::rests(const std::string& job, int size) const {
  return has(job, size) && status(job).value("state", "") == "Running" &&
         pods(job).size() == static_cast<std::size_t>(size);
}

bool Cluster::rests_beside_pool(const std::string& job, int size, int standby) const {
  const json now = status(job);
  return has(job, size) && now.value("state", "") == "Running" &&
         now.value("standby", json::object()).value("ready", 0) == standby &&
         pods(job).size() == static_cast<std::size_t>(size) + static_cast<std::size_t>(standby);
}

std::vector<kube::ObjectPtr> Cluster::pods(const std::string& job) const {
  std::vector<kube::ObjectPtr> found;
  for (const kube::ObjectPtr& pod : pods_->list())
    if ((*pod)["metadata"].value("labels", json::object()).value(kLabelJob, "") == job) found.push_back(pod);
  return found;
}

bool Cluster::scheduled(const std::string& job, int count) const {
  return std::ranges::count_if(pods(job),
                               [](const auto& pod) { return (*pod)["spec"].contains("nodeName"); }) >= count;
}

bool Cluster::ready(const std::string& job, int count) const {
  return std::ranges::count_if(pods(job), [](const auto& pod) { return condition_is_true(*pod, "Ready"); }) >=
         count;
}

void Cluster::create(const json& job) {
  const auto made = client_.create(resources::kElasticMpiJobs, options_.namespace_name, job);
  if (!made) throw std::runtime_error(made.error().message);
}

void Cluster::remove(const std::string& job) {
  const auto gone = client_.remove(resources::kElasticMpiJobs, {options_.namespace_name, job}, {});
  if (!gone) throw std::runtime_error(gone.error().message);
  wait(job + " and its pods are gone", [&] { return pods(job).empty(); });
}

void Cluster::scale(const std::string& job, int size) {
  const auto done = client_.merge_patch(resources::kElasticMpiJobs, {options_.namespace_name, job},
                                        {{"spec", {{"replicas", size}}}}, {.subresource = "scale"});
  if (!done) throw std::runtime_error(done.error().message);
}

Cluster::Metrics Cluster::metrics(const std::string& pod) {
  const auto text = client_.get_text("/api/v1/namespaces/" + options_.namespace_name + "/pods/" + pod +
                                     ":7401/proxy/metrics");
  Metrics metrics;
  if (!text) return metrics;
  std::istringstream lines(text.value());
  for (std::string line; std::getline(lines, line);) {
    const auto space = line.rfind(' ');
    if (!line.starts_with('#') && space != std::string::npos)
      metrics[line.substr(0, space)] = std::strtod(line.c_str() + space, nullptr);
  }
  return metrics;
}

}  // namespace emj::bench
