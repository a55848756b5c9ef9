// SPDX-License-Identifier: Apache-2.0
// What the benchmarks of real jobs share: the jobs they make, the cluster as they see it, their figures.
#pragma once
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "operator/kube/client.hpp"
#include "operator/kube/informer.hpp"

namespace emj::bench {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

struct Options {
  std::string namespace_name, image;
  int from = 4, to = 8, trials = 20;
  std::vector<int> workers{4, 16};
  int patience = 180;  // s, for a job to start or to change
};

double seconds_since(Clock::time_point start);
void note(const std::string& text);
void figure(const std::string& name, double seconds);
double quantile(std::vector<double> values, double q);

// Iterations of 20 ms in which ranks sleep, so that many fit on a small machine.
json job_object(const Options& options, const std::string& name, int workers, int most, int standby = 0);

// The namespace's jobs and pods as two watches tell them.
class Cluster {
 public:
  explicit Cluster(const Options& options);

  // Returns at the first news after which it is so; throws when the patience is over.
  void wait(const std::string& what, const std::function<bool()>& so);

  json status(const std::string& job) const;
  bool has(const std::string& job, int size) const;  // so many members
  // That, and no other pod.
  bool rests(const std::string& job, int size) const;
  bool rests_beside_pool(const std::string& job, int size, int standby) const;
  bool scheduled(const std::string& job, int count) const;  // so many of its pods, at least
  bool ready(const std::string& job, int count) const;

  void create(const json& job);
  void remove(const std::string& job);  // and its pods are gone
  void scale(const std::string& job, int size);

  using Metrics = std::map<std::string, double>;  // by name and labels, as printed
  Metrics metrics(const std::string& pod);        // none while it does not answer

 private:
  std::vector<kube::ObjectPtr> pods(const std::string& job) const;

  const Options& options_;
  kube::Client client_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<kube::Informer> jobs_, pods_;
};

// ./dev bench k8s-shrink-to-start: an ElasticQueue of the namespace's name has room for kSharedWorkers of
// these jobs.
inline constexpr int kSharedWorkers = 8;
void shrink_to_start(const Options& options);

}  // namespace emj::bench
