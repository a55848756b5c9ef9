// SPDX-License-Identifier: Apache-2.0
// An operator from outside, for benchmarks on simulated nodes: its memory, its processor time, its metrics.
// All throw std::runtime_error when it is gone.
#pragma once
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "operator/kube/client.hpp"

namespace emj::bench {

using Clock = std::chrono::steady_clock;

inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double memory_mib(int pid, const std::string& field);  // of /proc/PID/status: VmRSS, VmHWM
int threads_of(int pid);
double cpu_seconds(int pid);
double load_of(int pid, int seconds);  // share of a core over that time

using Metrics = std::map<std::string, double>;  // by name and labels, as printed
Metrics read_metrics(int port);
// Sums what has grown over all series of a metric that contain each of the words.
double grown(const Metrics& before, const Metrics& after, const std::string& name,
             const std::vector<std::string>& words = {});
double writes(const Metrics& before, const Metrics& after);  // to the API server, but for leases
// The same by verb and resource, as often as each was written per `count`: "create pods 4, patch leases .1".
std::string writes_by_kind(const Metrics& before, const Metrics& after, double count);
// As Prometheus's histogram_quantile: linear within a bucket.
double quantile(const Metrics& before, const Metrics& after, const std::string& name, double q);
// Of these values, which are sorted; 0 of none.
double quantile_of(std::vector<double>& values, double q);

kube::ClientOptions quick_client();
inline constexpr const char* kNamespace = "scale";  // of the simulated jobs
// One whose pods simulated nodes take, of 100m CPU each.
nlohmann::json simulated_job(const std::string& name, int workers, int least, int most);
void keep_size(nlohmann::json& job);  // what is kept of a job: its state and its size

// work(0) to work(count - 1), by so many threads. Throws what the first of them has thrown, when all are
// over.
template <class Work>
void side_by_side(int threads, int count, Work work) {
  std::atomic<int> next{0};
  std::mutex mutex;
  std::string problem;
  std::vector<std::thread> pool;
  for (int t = 0; t < threads; ++t)
    pool.emplace_back([&] {
      for (int i = next++; i < count; i = next++) {
        try {
          work(i);
        } catch (const std::exception& error) {
          const std::lock_guard lock(mutex);
          problem = error.what();
          next = count;
        }
      }
    });
  for (std::thread& thread : pool) thread.join();
  if (!problem.empty()) throw std::runtime_error(problem);
}

}  // namespace emj::bench
