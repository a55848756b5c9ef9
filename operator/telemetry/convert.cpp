#include "operator/telemetry/convert.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/profile/trend.hpp"
#include "runtime/protocol/json.hpp"

namespace emj {

namespace {

Time time_of(double seconds) { return Time(Millis(std::llround(seconds * 1000))); }

double end_of(const empi::WindowSample& w) { return static_cast<double>(w.index + 1) * w.width_s; }

// Index of the policy window that an agent's window belongs to, by its middle.
std::int64_t group_of(const empi::WindowSample& w, double group_seconds) {
  return static_cast<std::int64_t>(std::floor((end_of(w) - 0.5 * w.width_s) / group_seconds));
}

// Sums over time, unlike empi::merge(), which adds ranks of the same window.
void append(empi::WindowSample& into, const empi::WindowSample& next) {
  into.width_s += next.width_s;
  into.ranks = std::max(into.ranks, next.ranks);
  into.pods = std::max(into.pods, next.pods);
  into.elapsed_s += next.elapsed_s;
  into.useful_s += next.useful_s;
  into.max_useful_s += next.max_useful_s;
  into.max_pod_useful_s += next.max_pod_useful_s;
  into.mpi_s += next.mpi_s;
  into.mpi_collective_s += next.mpi_collective_s;
  into.adapt_s += next.adapt_s;
  into.emulated_s += next.emulated_s;
  into.mpi_calls += next.mpi_calls;
  into.mpi_bytes += next.mpi_bytes;
  into.iterations += next.iterations;
  into.iteration_s += next.iteration_s;
  into.iteration_s2 += next.iteration_s2;
  into.work_units += next.work_units;
  into.progress = std::max(into.progress, next.progress);
  into.tasks.queue = next.tasks.queue;  // as it is at the end
  into.tasks.ended += next.tasks.ended;
  into.tasks.task_s += next.tasks.task_s;
  into.tasks.task_s2 += next.tasks.task_s2;
  into.tasks.longest_s = std::max(into.tasks.longest_s, next.tasks.longest_s);
  into.tasks.busy_s += next.tasks.busy_s;
}

TaskFigures to_figures(const empi::WindowSample& sum) {
  TaskFigures figures;
  figures.ended = static_cast<std::int64_t>(sum.tasks.ended);
  figures.seconds = sum.tasks.task_s;
  figures.seconds2 = sum.tasks.task_s2;
  figures.longest_seconds = sum.tasks.longest_s;
  if (!sum.master_worker()) return figures;
  const empi::TaskQueue& queue = sum.tasks.queue;
  figures.phase = static_cast<std::int64_t>(queue.phase);
  figures.total = static_cast<std::int64_t>(queue.total);
  figures.done = static_cast<std::int64_t>(queue.done);
  figures.queued = static_cast<std::int64_t>(queue.queued);
  figures.busy_share = 1 - empi::task_efficiency(sum).idle_share;
  return figures;
}

Sample to_sample(const std::vector<empi::WindowSample>& group) {
  empi::WindowSample sum = group.front();
  for (std::size_t i = 1; i < group.size(); ++i) append(sum, group[i]);
  const empi::Efficiency e = empi::efficiency(sum);
  Sample sample;
  sample.start = time_of(end_of(group.front()) - group.front().width_s);
  sample.end = time_of(end_of(group.back()));
  sample.epoch = sum.epoch;
  sample.ranks = sum.ranks;
  sample.workers = sum.pods;
  sample.parallel_efficiency = e.parallel;
  sample.load_balance = e.load_balance;
  sample.communication_efficiency = e.communication;
  sample.mtct = e.mtct;
  sample.iterations = static_cast<std::int64_t>(sum.iterations);
  if (sum.iterations > 0)
    sample.mean_iteration_seconds = sum.iteration_s / static_cast<double>(sum.iterations);
  sample.ci_halfwidth = empi::relative_half_width(group);
  sample.work_units = sum.work_units;
  sample.progress = sum.progress;
  sample.tasks = to_figures(sum);
  return sample;
}

// Windows of one epoch that belong to one policy window, without a hole.
bool complete(const std::vector<empi::WindowSample>& group, double group_seconds) {
  double covered = 0;
  for (const auto& window : group) covered += window.width_s;
  return covered > 0.99 * std::max(group_seconds, group.front().width_s);
}

}  // namespace

std::vector<Sample> to_samples(const std::vector<empi::WindowSample>& windows, Seconds window) {
  std::vector<Sample> samples;
  std::vector<empi::WindowSample> group;
  std::vector<empi::profile::Point> points;
  const auto finish = [&](double group_seconds) {
    if (group.empty()) return;
    if (complete(group, group_seconds) && empi::efficiency(group.front()).known) {
      Sample sample = to_sample(group);
      if (!samples.empty() && samples.back().epoch != sample.epoch) points.clear();
      points.push_back({static_cast<double>(sample.end.time_since_epoch().count()) / 1000, sample.mtct});
      if (points.size() >= empi::profile::Trend::kMinimum) {
        sample.mtct_trend = empi::profile::theil_sen_slope(points).value_or(0);
      }
      samples.push_back(sample);
    }
    group.clear();
  };
  for (const auto& next : windows) {
    if (next.width_s <= 0 || next.ranks == 0) continue;
    const double group_seconds = std::max(next.width_s, static_cast<double>(window.count()));
    if (!group.empty() && (group.front().epoch != next.epoch ||
                           group_of(group.front(), group_seconds) != group_of(next, group_seconds))) {
      finish(group_seconds);
    }
    if (!next.mixed) group.push_back(next);
    if (!group.empty() && complete(group, group_seconds)) finish(group_seconds);
  }
  return samples;
}

namespace {

std::optional<ChangeView> view_of(const empi::MembershipView& view) {
  const auto in_state = [&](ChangeState state) { return ChangeView{view.change, state}; };
  switch (view.state) {
    case empi::ChangeState::Preparing:
      return in_state(ChangeState::Preparing);
    case empi::ChangeState::Building:
      return in_state(ChangeState::Building);
    case empi::ChangeState::Ready:
      return in_state(ChangeState::Ready);
    case empi::ChangeState::Window:
      return in_state(ChangeState::Window);
    case empi::ChangeState::Committed:
      return in_state(ChangeState::Committed);
    case empi::ChangeState::Draining:
      return in_state(ChangeState::Draining);
    case empi::ChangeState::RollingBack:
      return in_state(ChangeState::RollingBack);
    case empi::ChangeState::Stable:
    case empi::ChangeState::Failed:
      return std::nullopt;
  }
  return std::nullopt;
}

ProgramState program_of(const empi::MembershipView& view) {
  if (view.outcome.result == "succeeded") return ProgramState::Succeeded;
  if (!view.outcome.result.empty() || view.state == empi::ChangeState::Failed) return ProgramState::Failed;
  return view.membership.epoch.value > 0 ? ProgramState::Running : ProgramState::NotStarted;
}

std::string message_of(const empi::JobOutcome& outcome) {
  std::string text = outcome.reason;
  for (const std::string& line : outcome.tail) text += (text.empty() ? "" : "\n") + line;
  return text;
}

}  // namespace

namespace {

// What to do about an image in which the agent cannot even be loaded (decision K4): it has no word of its own
// then.
std::string with_advice(const std::string& message) {
  const auto says = [&](const char* words) { return message.find(words) != message.npos; };
  if (says("version `GLIBC_") && says("not found"))
    return message +
           "\nThe image's C library is older than that of Elastic MPI's runtime: use an image of Debian 13 "
           "or newer.";
  if (says("libpmix.so.2: cannot open shared object file"))
    return message +
           "\nThe image has no PMIx: install Open MPI 5.0 in it, with PMIx 5 (Debian 13: libopenmpi40).";
  return message;
}

}  // namespace

std::string termination_text(const std::string& message) {
  const auto record = nlohmann::json::parse(message, nullptr, false);
  if (!record.is_object() || !record.contains("result")) return with_advice(message);
  try {
    return message_of(record.get<empi::JobOutcome>());
  } catch (const nlohmann::json::exception&) {
    return message;
  }
}

RuntimeView to_runtime_view(const empi::MembershipView& view,
                            const std::vector<empi::ChangeStatus>& changes) {
  RuntimeView result;
  result.reachable = true;
  result.epoch = view.membership.epoch.value;
  result.fence = view.fence.value;
  if (!view.membership.members.empty()) result.lead_uid = view.membership.lead().uid;
  for (const empi::Member& member : view.membership.members) result.members.push_back(member.uid);
  result.change = view_of(view);
  for (const empi::ChangeStatus& change : changes) {
    result.released.insert(result.released.end(), change.released.begin(), change.released.end());
    if (change.outcome.empty() || change.request.id.starts_with(empi::kLostPrefix)) continue;
    EndedChange ended;
    ended.id = change.request.id;
    ended.committed = change.outcome == "committed";
    ended.reason = change.reason;
    ended.timed_out = !ended.committed && change.reason.find("deadline") != std::string::npos;
    ended.paused_millis = std::llround(change.times.pause_ms);
    ended.lost_millis = std::llround(change.times.lost_ms);
    result.ended = ended;
  }
  result.program = program_of(view);
  result.ending = view.ending;
  result.survives_loss = view.survives_loss;
  result.message = message_of(view.outcome);
  return result;
}

ChangeRecord to_record(const empi::ChangeStatus& change) {
  // Committed, though leavers are still being seen off.
  const bool draining =
      change.state == empi::ChangeState::Committed || change.state == empi::ChangeState::Draining;
  const std::string outcome = change.outcome.empty() && draining ? "committed" : change.outcome;
  return {change.request.id, std::string(change.request.kind()),
          outcome,           change.reason,
          change.from_ranks, change.to_ranks,
          change.times};
}

}  // namespace emj
