// SPDX-License-Identifier: Apache-2.0
#include "runtime/agent/pod/gathered_reports.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace empi::agent {
namespace {

// Something of this one rank.
bool goes_alone(const RankReport& report) {
  return report.kind == RankReport::Kind::Queue || report.kind == RankReport::Kind::WorldDropped ||
         report.kind == RankReport::Kind::Checkpoint || report.parked > 0;
}

std::chrono::milliseconds patience_with(const RankReport& report) {
  switch (report.kind) {
    case RankReport::Kind::Hello:
    case RankReport::Kind::Recoverable:
    case RankReport::Kind::Built:
    case RankReport::Kind::AtBegin:
    case RankReport::Kind::Past:
    case RankReport::Kind::Adapted:
    case RankReport::Kind::Finalized:
      return report.ok ? GatheredReports::kLongest : GatheredReports::kSoon;
    default:
      return GatheredReports::kSoon;
  }
}

bool alike(const RankReport& a, const RankReport& b) {
  return a.kind == b.kind && a.change == b.change && a.ok == b.ok && a.error == b.error &&
         a.tasks == b.tasks && a.address == b.address && a.iteration == b.iteration && !goes_alone(a) &&
         !goes_alone(b);
}

void add_up(RankReport& sum, const RankReport& report) {
  sum.build_ms = std::max(sum.build_ms, report.build_ms);
  sum.wait_ms = std::max(sum.wait_ms, report.wait_ms);
  sum.pause_ms = std::max(sum.pause_ms, report.pause_ms);
  sum.redistribute_ms = std::max(sum.redistribute_ms, report.redistribute_ms);
  sum.lost_ms = std::max(sum.lost_ms, report.lost_ms);
  sum.bytes += report.bytes;
}

}  // namespace

void GatheredReports::add(const RankReport& report, TimePoint now) {
  // Into none that is before one with a report of the same rank.
  for (auto group = groups_.rbegin(); group != groups_.rend(); ++group) {
    RankReported& message = group->message;
    if (message.ranks.contains(report.proc)) break;
    if (!alike(message.report, report)) continue;
    add_up(message.report, report);
    message.ranks.insert(report.proc);
    return;
  }
  groups_.push_back({{report, {report.proc}}, now});
}

std::vector<RankReported> GatheredReports::take(std::size_t ranks, TimePoint now) {
  const auto due = [&](const Group& group) {
    return group.message.ranks.size() >= ranks || goes_alone(group.message.report) ||
           now - group.since >= patience_with(group.message.report);
  };
  const auto last = std::find_if(groups_.rbegin(), groups_.rend(), due);
  return take_first(static_cast<std::size_t>(std::distance(last, groups_.rend())));
}

std::vector<RankReported> GatheredReports::take_all() { return take_first(groups_.size()); }

std::vector<RankReported> GatheredReports::take_first(std::size_t count) {
  std::vector<RankReported> messages;
  const auto end = groups_.begin() + static_cast<std::ptrdiff_t>(count);
  for (auto group = groups_.begin(); group != end; ++group) messages.push_back(std::move(group->message));
  groups_.erase(groups_.begin(), end);
  return messages;
}

}  // namespace empi::agent
