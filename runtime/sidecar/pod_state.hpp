// SPDX-License-Identifier: Apache-2.0
// What the sidecar knows: sums over the life of the pod, the last windows, and what the agent said. Values
// only; the caller locks.
#pragma once
#include <array>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "runtime/base/trend.hpp"
#include "runtime/profile/read/window_reader.hpp"
#include "runtime/sidecar/agent_client.hpp"

namespace empi::metrics {
class Exposition;
}

namespace empi::sidecar {

struct Identity {
  std::string job, job_namespace, pod;
  int slots = 1;
  bool per_rank = false;
};

class PodState {
 public:
  explicit PodState(Identity identity) : identity_(std::move(identity)) {}

  // A window has ended: the pod's partial, its ranks, and how long it was.
  void add_window(const WindowSample& sample, const std::vector<profile::RankWindow>& ranks, double length_s);
  void add_view(const AgentView& view);

  const std::deque<WindowSample>& windows() const { return windows_; }  // newest last, at most kWindows
  std::string metrics() const;                                          // Prometheus text

  static constexpr std::size_t kWindows = 120;
  static constexpr std::size_t kTrendWindows = 30;

 private:
  struct Sums {
    double useful_s = 0, mpi_s = 0, mpi_collective_s = 0, adapt_s = 0, emulated_s = 0, idle_s = 0;
    double work_units = 0, iteration_s = 0, task_s = 0;
    std::uint64_t mpi_calls = 0, mpi_bytes = 0, iterations = 0, tasks = 0;
    std::array<std::uint64_t, kIterationBounds.size() + 1> iteration_buckets{};
  };
  struct RankSums {
    double useful_s = 0, mpi_s = 0;
    std::uint64_t iterations = 0;
  };
  // The newest window with known efficiency, and where its MTCT is heading.
  struct Scope {
    std::optional<WindowSample> window;
    profile::Trend trend{kTrendWindows, 0.3};
    void add(const WindowSample& sample);
  };
  struct PhaseSum {
    double seconds = 0;
    std::uint64_t count = 0;
  };

  void write_ranks(metrics::Exposition& out, const std::string& epoch) const;
  void write_efficiency(metrics::Exposition& out) const;
  void write_tasks(metrics::Exposition& out, const std::string& epoch) const;
  void write_job(metrics::Exposition& out) const;
  void write_per_rank(metrics::Exposition& out) const;

  Identity identity_;
  Sums sums_;
  std::map<ProcId, RankSums> rank_sums_;
  std::deque<WindowSample> windows_;
  Scope pod_, job_;
  std::int64_t epoch_ = 0;
  bool was_lead_ = false;
  std::int64_t last_job_index_ = -1;
  int pods_ = 0, parked_helpers_ = 0;
  double parked_seconds_ = 0;
  double wait_collective_s_ = 0, wait_p2p_s_ = 0, transfer_s_ = 0, task_idle_s_ = 0;
  std::set<std::string> counted_changes_;
  struct ChangeKey {
    std::string type, reason, outcome;
    auto operator<=>(const ChangeKey&) const = default;
  };
  std::map<ChangeKey, std::uint64_t> changes_;
  std::map<std::string, PhaseSum> phases_;
};

}  // namespace empi::sidecar
