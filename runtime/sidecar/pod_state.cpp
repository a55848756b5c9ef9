// SPDX-License-Identifier: Apache-2.0
#include "runtime/sidecar/pod_state.hpp"

#include <algorithm>

#include "runtime/base/exposition.hpp"
#include "runtime/protocol/metrics.hpp"

namespace empi::sidecar {

using metrics::Exposition;
using metrics::Labels;
namespace {

double seconds(std::uint64_t ns) { return static_cast<double>(ns) * 1e-9; }

std::string pmix_name(const ProcId& proc) { return proc.nspace + "." + std::to_string(proc.rank); }

// Only what we know of: a label must not take any text that a controller sends.
std::string label_of_cause(const std::string& cause) {
  return std::ranges::find(metrics::kCauses, cause) != metrics::kCauses.end() ? cause : "unknown";
}

}  // namespace

void PodState::Scope::add(const WindowSample& sample) {
  if (window && window->epoch != sample.epoch) trend.reset();
  if (sample.mixed) return;  // saw two sizes: describes neither
  const Efficiency e = efficiency(sample);
  if (!e.known) return;
  window = sample;
  trend.add(static_cast<double>(sample.index) * sample.width_s, e.mtct);
}

void PodState::add_window(const WindowSample& sample, const std::vector<profile::RankWindow>& ranks,
                          double length_s) {
  windows_.push_back(sample);
  if (windows_.size() > kWindows) windows_.pop_front();
  epoch_ = std::max(epoch_, sample.epoch);
  pod_.add(sample);
  if (sample.ranks == 0) pod_.window.reset();

  double measured_s = 0;
  const profile::RankWindow* leading = nullptr;  // one rank stands for the iterations of all
  for (const profile::RankWindow& r : ranks) {
    measured_s += seconds(r.elapsed_ns);
    sums_.useful_s += seconds(r.useful_ns);
    sums_.mpi_s += seconds(r.mpi_ns);
    sums_.mpi_collective_s += seconds(r.mpi_collective_ns);
    sums_.adapt_s += seconds(r.adapt_ns);
    sums_.emulated_s += seconds(r.emulated_ns);
    sums_.work_units += std::max(0.0, r.work_units);
    sums_.tasks += r.tasks.ended;
    sums_.task_s += seconds(r.tasks.task_ns);
    sums_.mpi_calls += r.mpi_calls;
    sums_.mpi_bytes += r.mpi_bytes;
    if (!leading || r.iterations > leading->iterations) leading = &r;
    if (identity_.per_rank) {
      RankSums& own = rank_sums_[r.proc];
      own.useful_s += seconds(r.useful_ns);
      own.mpi_s += seconds(r.mpi_ns);
      own.iterations += r.iterations;
    }
  }
  sums_.idle_s += std::max(0.0, identity_.slots * length_s - measured_s);
  if (!leading) return;
  sums_.iterations += leading->iterations;
  sums_.iteration_s += seconds(leading->iteration_ns);
  for (std::size_t i = 0; i < sums_.iteration_buckets.size(); ++i)
    sums_.iteration_buckets[i] += leading->iteration_buckets[i];
}

void PodState::add_view(const AgentView& view) {
  epoch_ = std::max(epoch_, view.epoch);
  pods_ = view.pods;
  parked_helpers_ = view.parked_helpers;
  parked_seconds_ = view.parked_seconds;
  if (!view.lead) job_.window.reset();
  const std::int64_t newest = view.job_windows.empty() ? 0 : view.job_windows.back().index;
  for (const WindowSample& w : view.job_windows) {
    if (w.index <= last_job_index_ || w.index == newest) continue;  // the newest may still lack pods
    last_job_index_ = w.index;
    const Efficiency e = efficiency(w);
    if (was_lead_) {  // what an earlier lead has counted is not counted again
      const double collective = w.mpi_s > 0 ? std::min(1.0, w.mpi_collective_s / w.mpi_s) : 0;
      wait_collective_s_ += e.wait_s * collective;
      wait_p2p_s_ += e.wait_s * (1 - collective);
      transfer_s_ += e.transfer_s;
      task_idle_s_ += task_efficiency(w).idle_s;
    }
    job_.add(w);
  }
  std::set<std::string> listed;
  for (const ChangeStatus& c : view.changes) {
    if (c.outcome == ChangeOutcome::Unfinished) continue;
    listed.insert(c.request.id);
    if (counted_changes_.contains(c.request.id) || !was_lead_) continue;
    ++changes_[{std::string(c.request.kind()), label_of_cause(c.request.cause),
                std::string(to_string(c.outcome))}];
    if (c.outcome != ChangeOutcome::Committed) continue;
    const ChangeTimes& t = c.times;
    for (const auto& [phase, ms] : {std::pair<const char*, double>{"prepare", t.prepare_ms},
                                    {"build", t.build_ms},
                                    {"arm", t.arm_ms},
                                    {"wait", t.wait_ms},
                                    {"pause", t.pause_ms},
                                    {"redistribute", t.redistribute_ms},
                                    {"drain", t.drain_ms}}) {
      phases_[phase].seconds += ms * 1e-3;
      ++phases_[phase].count;
    }
  }
  counted_changes_ = std::move(listed);
  was_lead_ = view.lead;
}

std::string PodState::metrics() const {
  Exposition out({{"job", identity_.job}, {"namespace", identity_.job_namespace}, {"pod", identity_.pod}});
  write_ranks(out, std::to_string(epoch_));
  write_tasks(out, std::to_string(epoch_));
  write_efficiency(out);
  if (was_lead_) write_job(out);
  if (identity_.per_rank) write_per_rank(out);
  return out.text();
}

void PodState::write_ranks(Exposition& out, const std::string& epoch) const {
  const auto plain = [&out](const metrics::Metric& metric, double value) {
    out.metric(metric);
    out.sample(value);
  };
  out.metric(metrics::kRanks);
  out.sample(windows_.empty() ? 0 : windows_.back().ranks, {{"epoch", epoch}});
  plain(metrics::kEpoch, static_cast<double>(epoch_));
  plain(metrics::kParkedHelperSeconds, parked_seconds_);
  plain(metrics::kIterations, static_cast<double>(sums_.iterations));
  out.metric(metrics::kIterationDuration);
  out.histogram({kIterationBounds.begin(), kIterationBounds.end()},
                {sums_.iteration_buckets.begin(), sums_.iteration_buckets.end()}, sums_.iteration_s);
  plain(metrics::kMpiSeconds, sums_.mpi_s);
  plain(metrics::kMpiCollectiveSeconds, sums_.mpi_collective_s);
  plain(metrics::kUsefulSeconds, sums_.useful_s);
  plain(metrics::kEmulatedSeconds, sums_.emulated_s);
  plain(metrics::kMpiCalls, static_cast<double>(sums_.mpi_calls));
  plain(metrics::kMpiBytes, static_cast<double>(sums_.mpi_bytes));
  out.metric(metrics::kCoreSeconds);
  out.sample(sums_.useful_s, {{"class", "useful"}});
  out.sample(sums_.mpi_s, {{"class", "mpi"}});
  out.sample(sums_.adapt_s, {{"class", "resize"}});
  out.sample(sums_.idle_s, {{"class", "idle"}});
  plain(metrics::kWorkUnits, sums_.work_units);
  if (!windows_.empty() && windows_.back().progress >= 0) {
    out.metric(metrics::kProgress);
    out.sample(windows_.back().progress, {{"epoch", epoch}});
  }
}

void PodState::write_tasks(Exposition& out, const std::string& epoch) const {
  if (sums_.tasks > 0) {
    out.metric(metrics::kTaskDuration);
    out.summary(sums_.task_s, sums_.tasks, {});
  }
  if (windows_.empty() || !windows_.back().master_worker()) return;
  const TaskQueue& queue = windows_.back().tasks.queue;
  out.metric(metrics::kTaskPhase);
  out.sample(static_cast<double>(queue.phase), {{"epoch", epoch}});
  out.metric(metrics::kTasks);
  const std::uint64_t away = std::min(queue.total, queue.done + queue.queued);
  for (const auto& [state, count] :
       {std::pair("done", queue.done), {"queued", queue.queued}, {"running", queue.total - away}})
    out.sample(static_cast<double>(count), {{"epoch", epoch}, {"state", state}});
}

void PodState::write_efficiency(Exposition& out) const {
  struct Known {
    const char* name;
    const Scope* scope;
    Efficiency e;
  };
  std::vector<Known> known;
  for (const auto& [name, scope] : {std::pair<const char*, const Scope*>{"pod", &pod_}, {"job", &job_}})
    if (scope->window) known.push_back({name, scope, efficiency(*scope->window)});
  const auto gauge = [&](const metrics::Metric& metric, auto value) {
    bool started = false;
    for (const Known& k : known) {
      const std::optional<double> v = value(k);
      if (!v) continue;
      if (!std::exchange(started, true)) out.metric(metric);
      out.sample(*v, {{"epoch", std::to_string(k.scope->window->epoch)}, {"scope", k.name}});
    }
  };
  gauge(metrics::kParallelEfficiency, [](const Known& k) { return std::optional(k.e.parallel); });
  gauge(metrics::kLoadBalance, [](const Known& k) { return std::optional(k.e.load_balance); });
  gauge(metrics::kLoadBalanceIn, [](const Known& k) { return std::optional(k.e.load_balance_in); });
  gauge(metrics::kLoadBalanceOut, [](const Known& k) { return std::optional(k.e.load_balance_out); });
  gauge(metrics::kCommunicationEfficiency, [](const Known& k) { return std::optional(k.e.communication); });
  gauge(metrics::kMtct, [](const Known& k) { return std::optional(k.e.mtct); });
  gauge(metrics::kMtctTrend, [](const Known& k) { return k.scope->trend.slope(); });
  const auto of_tasks = [&](const metrics::Metric& metric, double TaskEfficiency::* value) {
    gauge(metric, [value](const Known& k) {
      const TaskEfficiency e = task_efficiency(*k.scope->window);
      return e.known ? std::optional(e.*value) : std::nullopt;
    });
  };
  of_tasks(metrics::kTaskMean, &TaskEfficiency::mean_s);
  of_tasks(metrics::kTaskDeviation, &TaskEfficiency::deviation_s);
  of_tasks(metrics::kTaskIdle, &TaskEfficiency::idle_share);
}

void PodState::write_job(Exposition& out) const {
  const Labels epoch = {{"epoch", std::to_string(epoch_)}};
  out.metric(metrics::kNodes);
  out.sample(pods_, epoch);
  out.metric(metrics::kParkedHelpers);
  out.sample(parked_helpers_, epoch);
  out.metric(metrics::kMpiWaitSeconds);
  out.sample(wait_collective_s_, {{"kind", "collective"}});
  out.sample(wait_p2p_s_, {{"kind", "p2p"}});
  out.metric(metrics::kMpiTransferSeconds);
  out.sample(transfer_s_);
  if (task_idle_s_ > 0) {
    out.metric(metrics::kTaskIdleSeconds);
    out.sample(task_idle_s_);
  }
  if (!changes_.empty()) out.metric(metrics::kReconfigurations);
  for (const auto& [key, count] : changes_)
    out.sample(static_cast<double>(count),
               {{"type", key.type}, {"reason", key.reason}, {"outcome", key.outcome}});
  if (!phases_.empty()) out.metric(metrics::kReconfigurationPhase);
  for (const auto& [phase, sum] : phases_) out.summary(sum.seconds, sum.count, {{"phase", phase}});
}

void PodState::write_per_rank(Exposition& out) const {
  const auto series = [&](const metrics::Metric& metric, auto value) {
    if (!rank_sums_.empty()) out.metric(metric);
    for (const auto& [proc, sums] : rank_sums_) out.sample(value(sums), {{"rank", pmix_name(proc)}});
  };
  series(metrics::kRankUsefulSeconds, [](const RankSums& r) { return r.useful_s; });
  series(metrics::kRankMpiSeconds, [](const RankSums& r) { return r.mpi_s; });
  series(metrics::kRankIterations, [](const RankSums& r) { return static_cast<double>(r.iterations); });
}

}  // namespace empi::sidecar
