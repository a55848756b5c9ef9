// SPDX-License-Identifier: Apache-2.0
#include "operator/agents/convert.hpp"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "runtime/base/json_text.hpp"
#include "runtime/protocol/json.hpp"

namespace emj {

using empi::json_text::cut;

namespace {

constexpr double kMost = 1e15;  // of any figure of a window, and milliseconds of a change
constexpr std::int64_t kHighestFence = std::int64_t{1} << 53;  // the controller counts on from it
constexpr int kMostRanks = 1 << 20;
constexpr std::int64_t kLatestMillis = 253'402'300'799'000;  // the year 9999 ends: later times have no text
constexpr std::size_t kLongestId = 253, kLongestReason = 2000, kLongestMessage = 16000;

std::int64_t whole_millis(double millis) {
  return std::isfinite(millis) ? std::llround(std::clamp(millis, 0.0, kMost)) : 0;
}

Seconds whole_seconds(double seconds) {
  constexpr double kLongest = 1e9;
  return Seconds(std::isfinite(seconds) ? std::llround(std::clamp(seconds, 0.0, kLongest)) : 0);
}

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
  into.wish_min = next.wish_min;  // as it is at the end
  into.wish_max = next.wish_max;
  into.tasks.queue = next.tasks.queue;
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
  sample.wish_min = sum.wish_min;
  sample.wish_max = sum.wish_max;
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

using empi::json_text::cut;

namespace {

// What a program says of itself: any number may stand there.
CheckpointStatus checkpoint_of(const empi::CheckpointNews& news) {
  const auto bounded = [](std::int64_t value) { return std::clamp<std::int64_t>(value, 0, kHighestFence); };
  CheckpointStatus status;
  status.number = bounded(news.number);
  status.iteration = bounded(news.iteration);
  status.bytes = bounded(news.bytes);
  status.written_millis = whole_millis(news.seconds * 1e3);
  if (status.number > 0)
    status.time = Time(Millis(std::clamp<std::int64_t>(news.wall_millis, 0, kLatestMillis)));
  status.restored_from = cut(news.restored, kLongestReason);
  status.restored_iteration = bounded(news.restored_iteration);
  return status;
}

}  // namespace

bool plausible(const empi::WindowSample& w) {
  const auto figure = [](double value) { return value >= 0 && value <= kMost; };  // false of NaN
  const double all[] = {w.elapsed_s,
                        w.useful_s,
                        w.max_useful_s,
                        w.max_pod_useful_s,
                        w.mpi_s,
                        w.mpi_collective_s,
                        w.adapt_s,
                        w.emulated_s,
                        w.iteration_s,
                        w.iteration_s2,
                        w.work_units,
                        w.tasks.task_s,
                        w.tasks.task_s2,
                        w.tasks.longest_s,
                        w.tasks.busy_s,
                        static_cast<double>(w.iterations),
                        static_cast<double>(w.tasks.ended),
                        static_cast<double>(w.tasks.queue.total),
                        static_cast<double>(w.tasks.queue.done),
                        static_cast<double>(w.tasks.queue.queued),
                        static_cast<double>(w.tasks.queue.phase),
                        static_cast<double>(w.wish_min),
                        static_cast<double>(w.wish_max),
                        static_cast<double>(w.index)};
  return w.width_s >= 0 && w.width_s <= 3600 && w.ranks >= 0 && w.pods >= 0 && w.progress <= kMost &&
         std::ranges::all_of(all, figure) && static_cast<double>(w.index) * w.width_s <= kMost / 1000;
}

std::vector<Sample> to_samples(const std::vector<empi::WindowSample>& windows, Seconds window) {
  std::vector<Sample> samples;
  std::vector<empi::WindowSample> group;
  const auto finish = [&](double group_seconds) {
    if (group.empty()) return;
    if (complete(group, group_seconds) && empi::efficiency(group.front()).known) {
      samples.push_back(to_sample(group));
    }
    group.clear();
  };
  for (const auto& next : windows) {
    if (!plausible(next) || next.width_s <= 0 || next.ranks == 0) continue;
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

using empi::json_text::cut;

namespace {

std::optional<ChangeView> view_of(const empi::MembershipView& view) {
  if (!empi::is_in_flight(view.state)) return std::nullopt;
  return ChangeView{cut(view.change, kLongestId), view.state};
}

ProgramState program_of(const empi::MembershipView& view) {
  if (view.outcome.result == empi::JobResult::Succeeded) return ProgramState::Succeeded;
  if (view.outcome.result != empi::JobResult::Running || view.state == empi::ChangeState::Failed)
    return ProgramState::Failed;
  return view.membership.epoch.value > 0 ? ProgramState::Running : ProgramState::NotStarted;
}

LossView loss_of(const empi::ChangeStatus& lost) {
  LossView loss;
  loss.epoch = std::clamp<std::int64_t>(lost.request.epoch.value, 0, kHighestFence);
  loss.reason = cut(lost.reason, kLongestReason);
  loss.ranks = std::clamp(lost.to_ranks, 0, kMostRanks);
  loss.repeated_iterations = std::clamp<std::int64_t>(lost.repeated_iterations, 0, kHighestFence);
  loss.lost_millis = whole_millis(lost.times.lost_ms);
  return loss;
}

std::string message_of(const empi::JobOutcome& outcome) {
  std::string text = cut(outcome.reason, kLongestMessage);
  for (const std::string& line : outcome.tail) {
    if (text.size() >= kLongestMessage) break;
    text += (text.empty() ? "" : "\n") + cut(line, kLongestMessage);
  }
  return cut(text, kLongestMessage);
}

}  // namespace

using empi::json_text::cut;

namespace {

// What to do about an image in which the agent cannot even be loaded (decision K4): it has no word of its own
// then.
std::string with_advice(const std::string& printed) {
  const auto says = [&](const char* words) { return printed.find(words) != printed.npos; };
  if (says("version `GLIBC_") && says("not found"))
    return printed +
           "\nThe image's C library is older than that of Elastic MPI's runtime: use an image of Debian 13 "
           "or newer.";
  if (says("libpmix.so.2: cannot open shared object file"))
    return printed +
           "\nThe image has no PMIx: install Open MPI 5.0 in it, with PMIx 5 (Debian 13: libopenmpi40).";
  return printed;
}

}  // namespace

Termination read_termination(const std::string& message) {
  const auto record = empi::json_text::try_parse(message, empi::json_text::kDeepestMessage);
  if (!record.is_object() || !record.contains("result")) return {with_advice(message), {}};
  try {
    const auto outcome = record.get<empi::JobOutcome>();
    return {message_of(outcome), outcome.last_change, outcome.result == empi::JobResult::Succeeded};
  } catch (const nlohmann::json::exception&) {
    return {message, {}};
  }
}

RuntimeView to_runtime_view(const empi::MembershipView& view,
                            const std::vector<empi::ChangeStatus>& changes) {
  RuntimeView result;
  result.reachable = true;
  result.epoch = view.membership.epoch.value;
  result.fence = std::clamp<std::int64_t>(view.fence.value, 0, kHighestFence);
  result.ranks = std::clamp(view.ranks, 0, kMostRanks);
  if (!view.membership.members.empty()) result.lead_uid = view.membership.lead().uid;
  for (const empi::Member& member : view.membership.members) result.members.push_back(member.uid);
  result.change = view_of(view);
  for (const empi::ChangeStatus& change : changes) {
    result.released.insert(result.released.end(), change.released.begin(), change.released.end());
    if (change.origin == empi::ChangeOrigin::LostMember) {  // that nobody waits for the end of
      result.losses.push_back(loss_of(change));
      continue;
    }
    if (change.outcome == empi::ChangeOutcome::Unfinished) continue;
    EndedChange ended;
    ended.id = cut(change.request.id, kLongestId);
    ended.committed = change.outcome == empi::ChangeOutcome::Committed;
    ended.reason = cut(change.reason, kLongestReason);
    ended.timed_out = !ended.committed && change.ended_by == empi::ChangeEvent::Deadline;
    ended.paused_millis = whole_millis(change.times.pause_ms);
    ended.lost_millis = whole_millis(change.times.lost_ms);
    result.ended = ended;
  }
  result.program = program_of(view);
  result.exit_code = view.outcome.exit_code;
  result.notice = cut(view.notice, kLongestId);
  result.ending = view.ending;
  result.survives_loss = view.survives_loss;
  result.survives_lead_loss = view.survives_lead_loss;
  result.silent = view.silent;
  result.lead_silence = whole_seconds(view.lead_silent_seconds);
  if (view.partition_seconds > 0)
    result.partition = std::max(Seconds(1), whole_seconds(view.partition_seconds));
  result.recovering = cut(view.recovering, kLongestReason);
  result.message = message_of(view.outcome);
  result.checkpoint = checkpoint_of(view.checkpoint);
  result.checkpoint_trouble = cut(view.checkpoint.trouble, kLongestReason);
  return result;
}

empi::StartRequest to_start_request(const JobSpec& spec, std::int64_t fence,
                                    std::vector<empi::Member> members) {
  empi::StartRequest request;
  request.fence.value = fence;
  request.members = std::move(members);
  request.recover = spec.resize.on_worker_loss != "Fail";
  request.leaver_grace = spec.runtime.leaver_grace;
  request.probe = spec.runtime.probe == Probe::Root ? empi::ProbeMode::Root : empi::ProbeMode::All;
  return request;
}

}  // namespace emj
