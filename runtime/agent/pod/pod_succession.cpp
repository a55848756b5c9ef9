// SPDX-License-Identifier: Apache-2.0
// Where the lead is lost (decision R20). A member of a job that can go on without it waits for a controller's
// word, bounded: it is named, or hears who was. What its ranks have reported it says again.
#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/agent/pod/pod.hpp"
#include "runtime/base/json_text.hpp"
#include "runtime/base/log.hpp"
#include "runtime/protocol/json.hpp"

namespace empi::agent {
namespace {

bool contains(const std::vector<std::string>& uids, const std::string& uid) {
  return std::ranges::find(uids, uid) != uids.end();
}

}  // namespace

// A member, or of the change in hand: who knows of no commit yet, say.
bool Pod::is_ours(const std::string& uid) const {
  return membership_.find(uid) || (plan_ && (plan_->old.find(uid) || plan_->joins(uid)));
}

// Of the lead: another one may be named.
bool Pod::waits_for_word(const std::string& uid) const {
  return !is_lead() && uid == lead_uid_ && news_ && membership_.find(self_.uid);
}

RunningTime Pod::silence_of_lead() const {
  return is_lead() ? RunningTime{0} : edges_.moment().running - lead_heard_;
}

void Pod::bound_silence_of_lead() {
  const RunningTime silence = silence_of_lead();
  // Of one that nothing is sent to nobody finds out that it cannot be reached.
  const bool waits = waits_for_word(lead_uid_) || (!is_lead() && !edges_.knows(lead_uid_));
  if (!started_ || !waits || silence <= kWaitsForWord * self_.partition) return;
  end({JobResult::Failed,
       "lost the lead (pod " + lead_uid_ + "): it was not heard of for " +
           std::to_string(std::chrono::duration_cast<std::chrono::seconds>(silence).count()) +
           " s, and no controller has named another",
       1,
       {},
       {}});
}

// The controller goes by a newer membership than ours, without it.
bool Pod::was_dropped(const LeadRequest& request, const std::string& uid) const {
  return request.epoch > membership_.epoch && !contains(request.members, uid);
}

// Before all others that it was not told to be lost: it will be the first member.
std::optional<ApiAnswer> Pod::refusal_to_lead(const LeadRequest& request) const {
  const auto is_dead = [&](const std::string& uid) { return contains(request.dead, uid); };
  if (!started_ || over_) return refuse(409, over_ ? "the job is over" : "the job has not been started");
  if (is_lead()) return std::nullopt;
  const auto is_left = [&](const std::string& uid) { return !is_dead(uid) && !was_dropped(request, uid); };
  if (is_left(lead_uid_))
    return refuse(409, "pod " + lead_uid_ + " leads, which is not among those that are said to be lost");
  const auto first = std::ranges::find_if(membership_.members, is_left, &Member::uid);
  if (first == membership_.members.end() || first->uid != self_.uid)
    return refuse(409, "the first member that is left is " +
                           (first == membership_.members.end() ? "none" : "pod " + first->uid) +
                           ", and not pod " + self_.uid);
  if (!lead_ && !news_)
    return refuse(409, "the program cannot go on without its lead: it is not recoverable");
  return std::nullopt;
}

ApiAnswer Pod::name_lead(const LeadRequest& request) {
  if (request.lead != self_.uid)
    return refuse(409, "this is pod " + self_.uid + ", and pod " + request.lead + " is to lead");
  if (ApiAnswer a = check_controller(request.fence); a.status != 200) return a;
  if (const auto refusal = refusal_to_lead(request)) return *refusal;
  if (is_lead()) {
    lead_->lose(request, edges_.moment());
  } else {
    LeadRequest word = request;
    for (const Member& member : membership_.members)
      if (was_dropped(request, member.uid) && !contains(word.dead, member.uid))
        word.dead.push_back(member.uid);
    deposed_.insert(word.dead.begin(), word.dead.end());
    for (const std::string& uid : word.dead) requests_.fail(uid, kPmixError);
    if (lead_) {  // the lead before us had handed everything over, and is gone before all knew
      follow(self_.uid);
      lead_->begin_to_lead(edges_.moment());
      lead_->lose(word, edges_.moment());
    } else {
      reach_all();
      make_lead();
      lead_->succeed(knowledge(), word, edges_.moment());
      follow(self_.uid);
    }
  }
  follow_lead();
  return {200, json_text::safe_text(view())};
}

// A member that we could not reach for a while was the former lead's to judge: it is ours now.
void Pod::reach_all() {
  for (const Member& member : membership_.members)
    if (member.uid != self_.uid && !edges_.knows(member.uid)) edges_.admit(member.uid, member.address);
}

PodKnowledge Pod::knowledge() const {
  PodKnowledge own{membership_, {},        leaver_grace_, probe_, news_.value_or(LeadNews{}),
                   plan_,       followed_, iteration_,    said_};
  for (const auto& [name, space] : spaces_.all()) own.spaces.push_back(space);
  return own;
}

// Reports of before are lost with a lead that is.
void Pod::keep_for_next_lead(const RankReport& report) {
  const bool of_change = plan_ && report.change == plan_->id;
  if (of_change || report.kind == RankReport::Kind::Finalizing) said_.push_back(report);
}

void Pod::on_message(const Beat& m, const std::string& from) {
  if (from == lead_uid_ && !is_lead()) news_ = m.news;
}

// The lead has none in hand: we have missed its end, or it the beginning.
void Pod::forget_change() {
  Step forget{.kind = StepKind::Forget};
  if (membership_.epoch < plan_->next) {
    forget.pods = uids_of(plan_->add);
    if (!plan_->add.empty()) forget.spaces = {plan_->joiners.name};
  }
  do_forget(forget);
}

// One that was named, and dropped by a later word before we heard of it: it leads nobody, and learns so at
// its next message.
void Pod::refuse_to_follow(const std::string& uid) {
  if (is_ours(uid) || uid == lead_uid_) return;
  deposed_.insert(uid);
  dismiss(uid);
}

void Pod::on_message(const TakeOver& m, const std::string& from) {
  if (m.fence <= (is_lead() ? lead_->fence() : followed_fence_)) return refuse_to_follow(from);
  followed_fence_ = m.fence;
  fence_ = std::max(fence_, m.fence);
  if (is_lead() || contains(m.dead, self_.uid))
    return end({JobResult::Failed, "pod " + from + " leads the job from now on: " + m.reason, 1, {}, {}});
  lead_.reset();  // of one that was to hand over to us
  deposed_.insert(m.dead.begin(), m.dead.end());
  for (const std::string& uid : m.dead) dismiss(uid);
  if (const Member* member = membership_.find(from)) edges_.admit(from, member->address);
  follow(from);
  if (plan_ && plan_->id != m.change) forget_change();
  send(from, TakenOver{m.fence, membership_, said_});
}

}  // namespace empi::agent
