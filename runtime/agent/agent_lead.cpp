// SPDX-License-Identifier: Apache-2.0
// When this pod leads: carries out what the Lead wants, and hands it what controllers ask.
#include <algorithm>

#include "runtime/agent/agent.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"
#include "runtime/protocol/json.hpp"

namespace empi::agent {

void Agent::make_lead() {
  lead_.emplace(LeadIdentity{
      options_.pod_uid, options_.job_name, options_.malleable,
      std::chrono::duration_cast<RunningTime>(std::chrono::duration<double>(options_.partition_seconds))});
}

void Agent::follow_lead() {
  struct Follow {
    Agent& agent;
    void operator()(const SendMessage& a) const { agent.send_all(a.uids, a.message); }
    void operator()(const AdmitPod& a) const { agent.add_peer(a.uid, a.address); }
    void operator()(const PartFromPod& a) const { agent.dismiss_peer(a.uid); }
    void operator()(const DropPod& a) const { agent.drop_peer(a.uid); }
  };
  for (const LeadAction& action : lead_->take_actions()) std::visit(Follow{*this}, action);
  if (lead_->verdict()) end(*lead_->verdict());
}

Moment Agent::moment() const {
  return {Clock::now(), clock_.now(),
          profile::window_index(profile::wall_ns(), std::int64_t{options_.window_millis} * 1'000'000)};
}

ApiAnswer Agent::check_controller(Fence fence) {
  return lead_ ? lead_->check_controller(fence) : check_fence(fence, fence_);
}

ApiAnswer Agent::begin_start(const StartRequest& request) {
  if (const auto refusal = refusal_of(request, options_.pod_uid)) return *refusal;
  if (ApiAnswer a = check_controller(request.fence); a.status != 200) return a;
  if (started_) {  // the controller repeats itself, after a crash say
    const Membership now = view().membership;
    const bool same = now.epoch.value == 1 &&
                      std::ranges::equal(request.members, now.members, {}, &Member::uid, &Member::uid);
    return same ? ApiAnswer{200, json_text::safe_text(view())}
                : refuse(409, "the job is running already, in epoch " + std::to_string(now.epoch.value));
  }
  make_lead();
  lead_->raise_fence(fence_);
  lead_->start(request, moment());
  started_ = true;
  lead_uid_ = options_.pod_uid;
  membership_ = lead_->membership();
  probe_ = request.probe;
  follow_lead();
  return {200, json_text::safe_text(view())};
}

ApiAnswer Agent::begin_change(const ChangeRequest& request) {
  if (const auto refusal = refusal_of(request)) return *refusal;
  if (!started_ || over_) return refuse(409, over_ ? "the job is over" : "the job has not been started");
  if (!is_lead())
    return refuse(409, "pod " + options_.pod_uid + " is not the lead: ask " + membership_.lead().uid +
                           " at " + membership_.lead().address);
  ApiAnswer answer = lead_->begin_change(request, moment());
  follow_lead();
  return answer;
}

MembershipView Agent::view() const {
  MembershipView v;
  v.uid = options_.pod_uid;
  v.fence = fence_;
  v.membership = membership_;
  v.state = followed_;
  v.change = plan_ ? plan_->id : "";
  v.outcome = outcome_;
  if (membership_.find(options_.pod_uid)) {
    v.ranks = connected_ranks();
    if (leaving_) v.leave_requests = {options_.pod_uid};
  }
  v.parked_seconds = parked_seconds_;
  if (is_lead()) lead_->describe(v);
  return v;
}

std::vector<ChangeStatus> Agent::known_changes() const {
  return lead_ ? lead_->known_changes() : std::vector<ChangeStatus>{};
}

std::vector<WindowSample> Agent::known_samples(std::int64_t since) const {
  return lead_ ? lead_->samples(since) : std::vector<WindowSample>{};
}

}  // namespace empi::agent
