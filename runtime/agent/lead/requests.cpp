// SPDX-License-Identifier: Apache-2.0
// What controllers ask of a lead.
#include <algorithm>
#include <set>

#include "runtime/agent/lead/history_hooks.hpp"
#include "runtime/agent/lead/lead.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"
#include "runtime/protocol/json.hpp"

namespace empi::agent {
namespace {

// The start uses two of the driver's steps, under numbers that no change uses.
constexpr std::uint64_t kStartPrepare = 1, kStartLaunch = 2;

std::string check_members(const std::vector<Member>& members) {
  std::set<std::string> uids, names;
  for (const Member& m : members) {
    if (m.uid.empty() || m.name.empty() || m.address.find(':') == m.address.npos)
      return "a member lacks uid, name or address (host:port)";
    if (m.slots < 1)
      return "member " + m.name + " has " + std::to_string(m.slots) + " slots: expected at least 1";
    if (!uids.insert(m.uid).second) return "uid " + m.uid + " is given twice";
    if (!names.insert(m.name).second) return "name " + m.name + " is given twice";
  }
  return "";
}

}  // namespace

std::optional<ApiAnswer> refusal_of(const StartRequest& request, const std::string& own_uid) {
  if (request.members.empty()) return refuse(400, "no members: expected at least this pod");
  if (const std::string wrong = check_members(request.members); !wrong.empty()) return refuse(400, wrong);
  if (const auto grace = request.leaver_grace.count(); grace < 1 || grace > kLongestLeaverGrace.count())
    return refuse(400, "leaverGraceSeconds is " + std::to_string(grace) + ": expected 1 to " +
                           std::to_string(kLongestLeaverGrace.count()));
  if (request.members.front().uid != own_uid)
    return refuse(409, "the first member is " + request.members.front().uid + ", but this is pod " + own_uid);
  return std::nullopt;
}

std::optional<ApiAnswer> refusal_of(const ChangeRequest& request) {
  if (request.id.empty() || request.id.size() > 64)
    return refuse(
        400, "the change's id has " + std::to_string(request.id.size()) + " characters: expected 1 to 64");
  if (const std::string wrong = check_members(request.add); !wrong.empty()) return refuse(400, wrong);
  return std::nullopt;
}

ApiAnswer check_fence(Fence asked, Fence& held) {
  if (asked < held)
    return refuse(409, "fence " + std::to_string(asked.value) + " is stale: another controller holds fence " +
                           std::to_string(held.value));
  if (asked.value - held.value > kLongestFenceStep)
    return refuse(400, "fence " + std::to_string(asked.value) + " is out of reach: expected at most " +
                           std::to_string(held.value + kLongestFenceStep));
  held = asked;
  return {};
}

void Lead::start(const StartRequest& request, Moment now) {
  leaver_grace_ = request.leaver_grace;
  membership_ = {Epoch{1}, request.members};
  probe_ = request.probe;
  state_.may_recover = request.recover;
  spaces_.add(lay_out(self_.job + "." + std::to_string(next_space_++), membership_.members));
  start_step_ = kStartPrepare;
  for (const Member& member : membership_.members) {
    actions_.push_back(AdmitPod{member.uid, member.address});
    if (member.uid != self_.uid) last_heard_[member.uid] = now.running;
    starting_.insert(member.uid);
  }
  send_all({starting_.begin(), starting_.end()},
           Step{.kind = StepKind::Prepare, .number = kStartPrepare, .record = whole_record()});
  log::info("starting {} ranks in {} pods", membership_.ranks(), membership_.members.size());
}

void Lead::start_step_done(const StepDone& m, const std::string& from) {
  if (m.number != start_step_) return;
  if (!m.answer.ok) return fail_job("pod " + from + " could not start: " + m.answer.error, 1, {});
  starting_.erase(from);
  if (!starting_.empty() || start_step_ != kStartPrepare) return;
  start_step_ = kStartLaunch;
  for (const Member& member : membership_.members) starting_.insert(member.uid);
  send_all({starting_.begin(), starting_.end()},
           Step{.kind = StepKind::Launch, .number = kStartLaunch, .space = membership_.lead().nspace});
}

ApiAnswer Lead::begin_change(const ChangeRequest& request, Moment now) {
  if (membership_.lead().uid != self_.uid)
    return refuse(409, "pod " + self_.uid + " is not the lead: ask " + membership_.lead().uid + " at " +
                           membership_.lead().address);
  if (ApiAnswer a = check_controller(request.fence); a.status != 200) return a;
  if (!self_.malleable) return refuse(409, "the job is rigid: its size cannot change");
  for (const ChangeStatus& past : state_.history)
    if (past.request.id == request.id) return {200, json_text::safe_text(past)};  // asked again
  if (driver_.active() || handing_over_) {
    if (driver_.plan().id == request.id) return {200, json_text::safe_text(driver_.status())};
    return refuse(409, "change " + driver_.plan().id + " is in hand: one at a time");
  }
  if (!state_.recovery.empty()) return refuse(409, "the job is recovering: " + describe_recovery());
  if (request.epoch != membership_.epoch)
    return refuse(409, "epoch " + std::to_string(request.epoch.value) + " is stale: the job is in epoch " +
                           std::to_string(membership_.epoch.value));
  if (state_.ending) return refuse(409, "the job is ending: a rank has finalised");
  std::set<std::string_view> members;
  for (const Member& member : membership_.members) members.insert(member.uid);
  for (const std::string& uid : request.remove)
    if (!members.contains(uid)) return refuse(400, "cannot remove " + uid + ": it is no member");
  for (const Member& m : request.add)
    if (members.contains(m.uid)) return refuse(400, "cannot add " + m.uid + ": it is a member already");
  if (std::set(request.remove.begin(), request.remove.end()).size() != request.remove.size())
    return refuse(400, "a pod is to be removed twice");
  if (request.add.empty() && request.remove.empty())
    return refuse(400, "the change adds and removes nothing");
  if (request.remove.size() == membership_.members.size())
    return refuse(400, "the change removes every old member: expected at least one to stay");
  if (request.deadline_ms <= 0)
    return refuse(
        400, "deadlineMillis is " + std::to_string(request.deadline_ms) + ": expected a positive number");
  if (!starting_.empty() || !state_.exit_codes.empty())
    return refuse(409, "the job is still starting, or ends already");

  driver_.begin(request, membership_, self_.job + "." + std::to_string(next_space_++),
                {state_.hello, state_.tasks && !put_back(OldFault::B24), leaver_grace_, probe_}, now.clock);
  driver_.mark_lost(state_.lost_ranks);
  log::info("change {}: {} from {} to {} ranks", request.id, request.kind(), driver_.status().from_ranks,
            driver_.status().to_ranks);
  const ChangePlan& plan = driver_.plan();
  for (const Member& member : plan.add) actions_.push_back(AdmitPod{member.uid, member.address});
  if (!plan.add.empty()) spaces_.add(plan.joiners);
  perform_steps(now);
  return {200, json_text::safe_text(driver_.status())};
}

ApiAnswer Lead::cancel_change(const std::string& id, Fence fence, Moment now) {
  if (ApiAnswer a = check_controller(fence); a.status != 200) return a;
  if (!driver_.active() || driver_.plan().id != id)
    return refuse(404, "change '" + id + "' is not in hand here");
  driver_.cancel("cancelled by the controller", now.clock);
  perform_steps(now);
  return {200, json_text::safe_text(driver_.status())};
}

}  // namespace empi::agent
