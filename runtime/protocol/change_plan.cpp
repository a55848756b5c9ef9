// SPDX-License-Identifier: Apache-2.0
#include "runtime/protocol/change_plan.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>
#include <stdexcept>

namespace empi {
namespace {

int count_ranks(const std::vector<Member>& members) {
  int sum = 0;
  for (const Member& m : members) sum += m.slots;
  return sum;
}

constexpr std::array<std::pair<StepKind, std::string_view>, 16> kStepNames = {{
    {StepKind::Prepare, "prepare"},
    {StepKind::Launch, "launch"},
    {StepKind::Fetch, "fetch"},
    {StepKind::Build, "build"},
    {StepKind::ReadProbes, "read_probes"},
    {StepKind::Arm, "arm"},
    {StepKind::Confirm, "confirm"},
    {StepKind::Interrupt, "interrupt"},
    {StepKind::GiveUp, "give_up"},
    {StepKind::Commit, "commit"},
    {StepKind::Release, "release"},
    {StepKind::Terminate, "terminate"},
    {StepKind::Kill, "kill"},
    {StepKind::Forget, "forget"},
    {StepKind::Attach, "attach"},
    {StepKind::Depart, "depart"},
}};

}  // namespace

ChangePlan::ChangePlan(const PlannedChange& planned, const Membership& before)
    : PlannedChange(planned), old(before) {
  if (before.epoch.value + 1 != next.value)
    throw std::invalid_argument("change " + id + " makes epoch " + std::to_string(next.value) +
                                ", and this pod knows the job in epoch " +
                                std::to_string(before.epoch.value));
  if (!add.empty()) joiners = namespace_of(add.front().nspace, add);
}

bool ChangePlan::is_committed_in(const Membership& later) const {
  const auto is_member = [&](const auto& uid) { return later.find(uid) != nullptr; };
  return later.epoch >= next && std::ranges::none_of(remove, is_member) &&
         (add.empty() || std::ranges::any_of(add, is_member, &Member::uid));
}

bool ChangePlan::leaves(const std::string& uid) const {
  return std::ranges::find(remove, uid) != remove.end();
}

bool ChangePlan::joins(const std::string& uid) const {
  return std::ranges::find(add, uid, &Member::uid) != add.end();
}

std::vector<Member> ChangePlan::leavers() const {
  const std::set<std::string_view> uids(remove.begin(), remove.end());
  std::vector<Member> members;
  std::ranges::copy_if(old.members, std::back_inserter(members),
                       [&](const Member& m) { return uids.contains(m.uid); });
  return members;
}

int ChangePlan::leaving_ranks() const { return count_ranks(leavers()); }
int ChangePlan::joining_ranks() const { return count_ranks(add); }
int ChangePlan::staying_ranks() const { return count_ranks(old.members) - leaving_ranks(); }

std::vector<ProcId> ranks_of(const Member& member) {
  std::vector<ProcId> ranks;
  for (int i = 0; i < member.slots; ++i)
    ranks.push_back({member.nspace, member.first_rank + static_cast<std::uint32_t>(i)});
  return ranks;
}

std::vector<ProcId> ranks_of(const std::vector<Member>& members) {
  std::vector<ProcId> ranks;
  for (const Member& m : members) std::ranges::copy(ranks_of(m), std::back_inserter(ranks));
  return ranks;
}

std::string_view to_string(StepKind kind) {
  for (const auto& [k, name] : kStepNames)
    if (k == kind) return name;
  return "?";
}

bool enum_from(std::string_view text, StepKind& kind) {
  for (const auto& [one, name] : kStepNames)
    if (name == text) return kind = one, true;
  return false;
}

}  // namespace empi
